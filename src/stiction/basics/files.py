"""Files: written atomically, locked for a single writer, and read with checks."""

import errno
import hashlib
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

import numpy as np
from filelock import FileLock, Timeout
from numpy.lib import format as npy
from numpy.typing import NDArray

from stiction.basics import checks

MAX_UNPACKED = 2 * 10**9  # bytes of all arrays in an .npz file together


def check_archive(path: Path) -> None:
    """Refuse an .npz file that would unpack to more than `MAX_UNPACKED`, or whose arrays have the wrong size.

    Files come from anywhere, so they are measured before anything is unpacked.
    """
    with ZipFile(path) as archive:
        members = archive.infolist()
        total, max_arrays = sum(member.file_size for member in members), 1000
        if total > MAX_UNPACKED or len(members) > max_arrays:
            raise checks.InputError(
                f"{path} would unpack to {len(members)} arrays of {total / 1e9:.3g} GB; allowed are {max_arrays} "
                f"arrays of {MAX_UNPACKED / 1e9:g} GB."
            )
        for member in members:
            if member.filename.endswith(".npy"):
                _check_size(path, archive, member)


def _check_size(path: Path, archive: ZipFile, member: ZipInfo) -> None:
    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    with archive.open(member) as file:
        version = npy.read_magic(file)
        if version not in headers:
            raise checks.InputError(
                f"{path} has an array, {member.filename}, in NumPy's format {version}; read are 1.0 and 2.0."
            )
        shape, _, number = headers[version](file)
        expected, found = math.prod(shape, start=number.itemsize), member.file_size - file.tell()
        if expected != found:
            raise checks.InputError(
                f"{path} is damaged: its {member.filename} has {found} bytes where shape {shape} needs {expected}."
            )


_UNFINISHED = ".tmp"  # part of the names of temporary files
# Errors of a path that a user gave; others, such as a full disk, are not the input's fault.
_PATH_ERRORS = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP,
    errno.ENOENT, errno.ENOTEMPTY, errno.EINVAL,
}  # fmt: skip


def path_of(what: str, given: Any) -> Path:
    """`given` as a path that may or may not exist; what: subject of the error message."""
    if not isinstance(given, str | os.PathLike):
        raise checks.InputError(f"{what} must be a path, got {checks.shown(given)}.")
    try:
        path = Path(given)
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return path
    except (OSError, ValueError, TypeError) as error:  # too long, or with a null byte, or bytes
        reason = getattr(error, "strerror", None) or error
        raise checks.InputError(f"{what} {checks.shown(given)} cannot be a path: {reason!s:.150}.") from error
    return path


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of the path inside the block into an InputError."""
    try:
        yield
    except ValueError as error:
        if "null byte" not in str(error):
            raise
        raise checks.InputError(f"{_short(path)} cannot be written: a name must not hold null bytes.") from error
    except OSError as error:
        if error.errno not in _PATH_ERRORS:
            raise
        blocked = error.errno in (errno.EEXIST, errno.ENOTDIR)
        reason = "a file is where its folder would be" if blocked else error.strerror
        raise checks.InputError(f"{_short(path)} cannot be written: {reason}.") from error


def _short(path: Path) -> str:
    """A path as error messages show it."""
    text = " ".join(str(path).split())
    return text if len(text) <= 200 else f"{text[:200]}..."


def make_folder(path: Path) -> None:
    """Make a folder and its parents where they are missing."""
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)


def new_folder(path: Path, kept: str | None = None) -> Path:
    """The folder at this path, made if missing; it must be empty, or hold the file `kept`."""
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()) and not (kept is not None and (path / kept).exists()):
            raise checks.InputError(f"{path} is not empty; give a new folder.")
    return path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`: it replaces `path` if the block succeeds, and is removed otherwise.

    The folder is made if it is missing. After the block, the file is on the disk (fsync).
    """
    check_writable(path)
    temporary = _temporary(path)
    with writing(path):
        try:
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
            _sync_folder(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def check_writable(*paths: Path | None) -> None:
    """Refuse files that could not be written, before long work for them starts; None is skipped."""
    for path in (path_of("A file", path) for path in paths if path is not None):
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "it is a folder")
            _temporary(path).touch()
            _temporary(path).unlink()


def _temporary(path: Path) -> Path:
    """The temporary file for `path`, with the same suffix, which writers look at."""
    return path.with_name(f".{path.stem}.{os.getpid()}{_UNFINISHED}{path.suffix}")


def write_whole(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically."""
    with whole_file(path) as temporary:
        temporary.write_bytes(data)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write `content` as indented JSON."""
    write_whole(path, (json.dumps(content, indent=2, allow_nan=False) + "\n").encode())


def remove_strays(folder: Path) -> None:
    """Remove the temporary files of a killed process."""
    for path in folder.glob(f".*{_UNFINISHED}*"):
        path.unlink(missing_ok=True)


def read_bytes(path: Path) -> bytes:
    """The content of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise checks.InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays in an .npz file by name. No pickled object is loaded."""
    try:
        check_archive(path)
        with np.load(path, allow_pickle=False) as file:
            return dict(file)
    except checks.InputError:
        raise
    except Exception as error:  # its type depends on where the damage is
        raise checks.InputError(f"{path} is not a whole .npz file: {checks.first_line(error)}.") from error


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _sync_folder(folder: Path) -> None:
    """Write the folder's entries to the disk."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def sole_writer_of(path: Path) -> Iterator[None]:
    """Lock a file that long work will write in the end; a second process gets an InputError at once.

    The lock is a file beside it, because the file itself is replaced when it is written.
    """
    check_writable(path)
    with _locked(path.with_name(f".{path.name}.lock"), path):
        yield


@contextmanager
def sole_writer_into(folder: Path) -> Iterator[None]:
    """Lock a folder, which is made if it is missing; a second process gets an InputError at once."""
    make_folder(folder)
    with _locked(folder.resolve().with_name(f".{folder.resolve().name}.lock"), folder):
        yield


@contextmanager
def _locked(lock: Path, path: Path) -> Iterator[None]:
    held = FileLock(lock, blocking=False)
    try:
        with writing(path):
            held.acquire()
    except Timeout as error:
        raise checks.InputError(f"Another process is writing to {path}; wait for it, or give another place.") from error
    try:
        yield
    finally:
        if os.name == "posix":  # elsewhere an open file cannot be removed; a lock on a removed file is not granted
            lock.unlink(missing_ok=True)
        held.release()
