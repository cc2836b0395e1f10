"""Locks: of all processes that would write to one place, one does, and the others are told.

A lock goes with the process that holds it, however that ends. Windows has no such locks: there nobody is told.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stiction.basics import checks, files

try:
    import fcntl
except ImportError:
    fcntl = None


@contextmanager
def sole_writer_into(folder: Path) -> Iterator[None]:
    """Refuse a second process that writes into this folder, which is made if it is missing."""
    with files.writing(folder):
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
    files.check_writable(path)
    handle = _locked_file(beside, path)
    try:
        yield
    finally:
        beside.unlink(missing_ok=True)
        os.close(handle)


def _locked_file(beside: Path, path: Path) -> int:
    """A file beside the one that is to be written: that one is replaced when it is, and a lock would go with it."""
    while True:
        with files.writing(path):
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
