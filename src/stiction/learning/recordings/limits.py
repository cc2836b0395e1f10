"""Limits of recordings: a stranger's file is measured before it is read, and what was read is checked before its use.

Whatever the reader of a damaged file raises becomes one sentence.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.basics.files import path_of

LARGEST = 2 * 10**9  # bytes of one file, unpacked
LONGEST_INTERVAL = 10.0  # [s] between frames
SHORTEST_INTERVAL = 1e-7
MOST_FILES = 100_000  # in a folder
FARTHEST = 1e12  # in any unit: what is farther is no position, and is left out as missing
_LATEST = 1e19  # in any unit: nanoseconds of some centuries
_LONGEST = 500  # letters of a refusal
_PIECE = 2**20  # bytes that are unpacked at a time, to be counted


def checked_reader(read: Callable[..., Any]) -> Callable[..., Any]:
    """The reader of a file or folder of recordings, told by its path, with its input and its results looked at."""

    @wraps(read)
    def checked(path: str | Path, *given: Any, **how: Any) -> Any:
        path = path_of("A recording", path)
        with reading(path):
            tosses, interval = read(path, *given, **how)
        for toss in tosses:
            _check_toss(path, toss)
        return tosses, None if interval is None else checked_interval(f"{path}: dt [s]", interval)

    return checked


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """A block that reads a file or folder, which is measured before; whatever the block raises becomes one sentence."""
    for number, file in enumerate(sorted(path.iterdir()) if path.is_dir() else [path]):
        if number == MOST_FILES:
            raise checks.InputError(f"{path} holds more than {MOST_FILES} files.")
        if file.is_file():
            _check_size(file)
    try:
        yield
    except checks.InputError as error:
        if len(str(error)) > _LONGEST:  # such as a list of a thousand columns
            raise checks.InputError(f"{error!s:.{_LONGEST}}...") from error
        raise
    except Exception as error:  # which, depends on where the damage is
        raise checks.InputError(f"{path} cannot be read: {checks.first_line(error)}.") from error


def checked_interval(name: str, value: float) -> float:
    """The time from frame to frame [s]."""
    interval = checks.positive(name, value)
    if not SHORTEST_INTERVAL <= interval <= LONGEST_INTERVAL:
        raise checks.InputError(
            f"{name} must be {SHORTEST_INTERVAL:g} to {LONGEST_INTERVAL:g} s from frame to frame, got {interval:g} s."
        )
    return interval


def checked_fields(path: Path, data: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The fields of an .npz recording, each with the shape and type that it must have."""
    found: dict[str, Any] = dict(data)
    if "states" in data:
        found["states"] = checks.numbers(f"{path}: states", data["states"])
    if "offsets" in data:
        found["offsets"] = checks.whole_numbers(f"{path}: offsets", data["offsets"])
        if found["offsets"].ndim != 1 or len(found["offsets"]) < 2:
            raise checks.InputError(
                f"{path}: offsets must have shape (tosses + 1,), for at least one toss, got {found['offsets'].shape}."
            )
        for name in ("group_id", "split"):
            if name in data:
                found[name] = checks.whole_numbers(f"{path}: {name}", data[name])
                if found[name].shape != (len(found["offsets"]) - 1,):
                    raise checks.InputError(f"{path}: {name} must have one number a toss, got {found[name].shape}.")
    if "dt" in data:
        found["dt"] = np.array(checked_interval(f"{path}: dt [s]", data["dt"]))  # type: ignore[arg-type]
    return found


def _check_toss(path: Path, toss: Any) -> None:
    """Frames that are nowhere are left out as missing; a time that is nowhere is refused."""
    toss.pose[~(np.abs(toss.pose) < FARTHEST)] = np.nan
    if toss.time is not None and (np.abs(toss.time[np.isfinite(toss.time)]) > _LATEST).any():
        raise checks.InputError(f"{path}: {toss.name} has time stamps beyond {_LATEST:g}, which no recorder writes.")


def _check_size(file: Path) -> None:
    """Refuse a file that is larger than `LARGEST`, or would be once it is unpacked."""
    size, suffix = file.stat().st_size, file.suffix
    if size <= LARGEST and suffix in _UNPACKED:
        try:
            size = max(size, _UNPACKED[suffix](file))
        except checks.InputError:
            raise
        except Exception as error:
            raise checks.InputError(f"{file} is damaged: {checks.first_line(error)}.") from error
    if size > LARGEST:
        raise checks.InputError(f"{file} would unpack to more than {LARGEST / 1e9:g} GB, the most that is read.")


def _size_of_parquet(file: Path) -> int:
    from pyarrow import parquet

    about = parquet.read_metadata(file)
    told = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
    return max(8 * about.num_rows * max(about.num_columns, 1), told)  # a few bytes may stand for many equal rows


def _size_of_mcap(file: Path) -> int:
    """Bytes of all chunks; each is unpacked and counted, since what it says of itself may be wrong."""
    try:
        from mcap.records import Chunk
        from mcap.stream_reader import StreamReader
    except ImportError:  # whose lack the reader tells
        return 0
    total = 0
    with file.open("rb") as stream:
        for record in StreamReader(stream, emit_chunks=True, record_size_limit=file.stat().st_size).records:
            if isinstance(record, Chunk):
                total += _unpacked(record.compression, record.data, LARGEST - total)
            if total > LARGEST:
                break
    return total


def _unpacked(compression: str, data: bytes, most: int) -> int:
    """Length of compressed data, counted no further than a little beyond `most`."""
    if compression == "zstd":
        import io

        import zstandard

        if zstandard.frame_content_size(data) > most:
            return most + 1
        stream: Any = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data))
    elif compression == "lz4":
        import io

        import lz4.frame

        stream = lz4.frame.open(io.BytesIO(data))
    else:
        return len(data)
    total = 0
    while total <= most and (piece := stream.read(_PIECE)):
        total += len(piece)
    return total


_UNPACKED: dict[str, Callable[[Path], int]] = {".parquet": _size_of_parquet, ".mcap": _size_of_mcap}
