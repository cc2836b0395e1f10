"""Files: written whole or not at all, even if the machine stops, and refused with a clear word if unreadable."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stiction.basics import checks

_UNFINISHED = ".tmp"  # in the names of files that are still being written


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`: it takes the place of `path` if the block succeeds, and disappears if not.

    The folder is made if it is missing. Once the block has ended, the file is on the disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{_UNFINISHED}{path.suffix}")  # writers look at the suffix
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
        _keep_names(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


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
