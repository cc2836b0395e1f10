"""Files: written whole or not at all, even if the machine stops, and refused with a clear word if unreadable."""

import errno
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from stiction.basics import checks

# Archives of arrays, .npz: a stranger's is data, and is measured before anything of it is unpacked.


LARGEST = 2 * 10**9  # bytes of all arrays together, unpacked
_MOST = 1000  # arrays
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def check_archive(path: Path) -> None:
    """Refuse an .npz file that would unpack to more than `LARGEST`, or whose arrays are not as large as they say."""
    with ZipFile(path) as archive:
        _check_sizes(path, archive)


def _check_sizes(path: Path, archive: ZipFile) -> None:
    members = archive.infolist()
    total = sum(member.file_size for member in members)
    if total > LARGEST or len(members) > _MOST:
        raise checks.InputError(
            f"{path} would unpack to {len(members)} arrays of {total / 1e9:.3g} GB; allowed are {_MOST} arrays of "
            f"{LARGEST / 1e9:g} GB."
        )
    for member in members:
        if member.filename.endswith(".npy"):
            _check_size(path, archive, member)


def _check_size(path: Path, archive: ZipFile, member: ZipInfo) -> None:
    with archive.open(member) as file:
        version = npy.read_magic(file)
        if version not in _HEADERS:
            raise checks.InputError(f"{path} has an array, {member.filename}, in a version that numpy does not write.")
        shape, _, number = _HEADERS[version](file)
        claimed, there = number.itemsize, member.file_size - file.tell()
        for length in shape:
            claimed *= length  # whole numbers of Python, which do not overflow
        if claimed != there:
            raise checks.InputError(
                f"{path} is damaged: its {member.filename} has {there} bytes where shape {shape} needs {claimed}."
            )


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


# Locks: of all processes that would write to one place, one does, and the others are told.


try:
    import fcntl
except ImportError:
    fcntl = None


@contextmanager
def sole_writer_into(folder: Path) -> Iterator[None]:
    """Refuse a second process that writes into this folder, which is made if it is missing."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY) if os.name == "posix" else None
    try:
        _lock(handle, folder)
        yield
    finally:
        if handle is not None:
            os.close(handle)


@contextmanager
def sole_writer_of(path: Path) -> Iterator[None]:
    """Refuse a second process that is at work on this file, which it will write in the end.

    A place that cannot be written is refused here, before the work has gone on for minutes.
    """
    beside = path.with_name(f".{path.name}.lock")
    check_writable(path)
    handle = _locked_file(beside, path)
    try:
        yield
    finally:
        beside.unlink(missing_ok=True)
        os.close(handle)


def _locked_file(beside: Path, path: Path) -> int:
    """A file beside the one that is to be written: that one is replaced when it is, and a lock would go with it."""
    while True:
        with writing(path):
            handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle, path)
            if _is_still(handle, beside):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # who held it before has removed it meanwhile


def _is_still(handle: int, beside: Path) -> bool:
    """Whether the file of that name is the one that was opened; its holder may remove it at any moment."""
    try:
        return os.path.samestat(os.fstat(handle), beside.stat())
    except FileNotFoundError:
        return False


def _lock(handle: int | None, path: Path) -> None:
    if fcntl is None or handle is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise checks.InputError(f"Another process is writing to {path}; wait for it, or give another place.") from error
