"""Files: written whole or not at all, even if the machine stops, and refused with a clear word if unreadable."""

import errno
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.basics.archives import check_archive

_UNFINISHED = ".tmp"  # in the names of files that are still being written
# What is wrong with a path that someone gave; other errors, such as a full disk, are the machine's.
_OF_THE_PATH = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP,
    errno.ENOENT, errno.ENOTEMPTY, errno.EINVAL,
}  # fmt: skip


def path_of(what: str, given: Any) -> Path:
    """A path that someone gave and that can be one, whether or not anything is there.

    what: how a refusal calls it
    """
    if not isinstance(given, str | os.PathLike):
        raise checks.InputError(f"{what} must be a path, got {checks.shown(given)}.")
    try:
        path = Path(given)
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return path
    except (OSError, ValueError, TypeError) as error:  # such as too long, with a zero byte in it, or of bytes
        reason = getattr(error, "strerror", None) or error
        raise checks.InputError(f"{what} {checks.shown(given)} cannot be a path: {reason!s:.150}.") from error
    return path


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Refuse, in one sentence, what cannot be written because of where it is to be written to."""
    try:
        yield
    except ValueError as error:
        if "null byte" not in str(error):
            raise
        raise checks.InputError(f"{_told(path)} cannot be written: a name has no zero bytes.") from error
    except OSError as error:
        if error.errno not in _OF_THE_PATH:
            raise
        blocked = error.errno in (errno.EEXIST, errno.ENOTDIR)
        reason = "a file is where its folder would be" if blocked else error.strerror
        raise checks.InputError(f"{_told(path)} cannot be written: {reason}.") from error


def _told(path: Path) -> str:
    """A path as a refusal shows it."""
    text = " ".join(str(path).split())
    return text if len(text) <= 200 else f"{text[:200]}..."


def make_folder(path: Path) -> None:
    """Make a folder, and those that it lies in, where they are missing."""
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)


def new_folder(path: Path, kept: str | None = None) -> Path:
    """The folder at this path, which is made if it is missing, and must be empty unless the file `kept` is in it."""
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()) and not (kept is not None and (path / kept).exists()):
            raise checks.InputError(f"{path} is not empty; give a new folder.")
    return path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`: it takes the place of `path` if the block succeeds, and disappears if not.

    The folder is made if it is missing. Once the block has ended, the file is on the disk.
    """
    check_writable(path)
    temporary = _temporary(path)
    with writing(path):
        try:
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
            _keep_names(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def check_writable(*paths: Path | None) -> None:
    """Refuse files, those that are named, that could not be written in the end, before the work for them begins."""
    for path in (path_of("A file", path) for path in paths if path is not None):
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "it is a folder")
            _temporary(path).touch()
            _temporary(path).unlink()


def _temporary(path: Path) -> Path:
    """Where a file is written before it takes its place; writers look at the suffix."""
    return path.with_name(f".{path.stem}.{os.getpid()}{_UNFINISHED}{path.suffix}")


def write_whole(path: Path, data: bytes) -> None:
    """Write `data` to `path`, whole."""
    with whole_file(path) as temporary:
        temporary.write_bytes(data)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write `content` as JSON that a person can read."""
    write_whole(path, (json.dumps(content, indent=2, allow_nan=False) + "\n").encode())


def remove_strays(folder: Path) -> None:
    """Remove what a killed process had not finished writing."""
    for path in folder.glob(f".*{_UNFINISHED}*"):
        path.unlink(missing_ok=True)


def read_bytes(path: Path) -> bytes:
    """Content of a file; one that cannot be read is refused."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise checks.InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays in an .npz file, by their names; one that is not whole is refused. Nothing in it is run."""
    try:
        check_archive(path)
        with np.load(path, allow_pickle=False) as file:
            return dict(file)
    except checks.InputError:
        raise
    except Exception as error:  # which, depends on where the damage is
        raise checks.InputError(f"{path} is not a whole .npz file: {checks.first_line(error)}.") from error


def digest(data: bytes) -> str:
    """SHA-256, in hex."""
    return hashlib.sha256(data).hexdigest()


def _keep_names(folder: Path) -> None:
    """See to it that the names in a folder are on the disk, too."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
