"""MCAP files: bags of ROS 2, with messages in CDR, and poses in JSON as Foxglove writes them.

Poses come from PoseStamped, PoseWithCovarianceStamped, TransformStamped, TFMessage, Odometry and foxglove.PoseInFrame.
A body is a topic, or in transforms the child frame. To read another type of message, extend `_poses`.
"""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.recordings.raw import IN_SPACE, RawFile, RawToss, Request, choose_body

TYPES = ("PoseStamped", "PoseWithCovarianceStamped", "TransformStamped", "TFMessage", "Odometry", "Pose")
STATED = {"quaternion": "wxyz", "time_unit": "s"}


@dataclass
class _Track:
    """Poses of one body.

    stamps: of the headers, 0 where there is none; logged: when the messages were recorded; both whole numbers [ns]
    """

    stamps: list[int] = field(default_factory=list)
    logged: list[int] = field(default_factory=list)
    poses: list[tuple[float, ...]] = field(default_factory=list)

    def toss(self, path: Path) -> RawToss:
        """The poses in the order of their stamps."""
        stamps = self.stamps if 0 not in self.stamps and len(set(self.stamps)) > 1 else self.logged
        since = np.array([stamp - stamps[0] for stamp in stamps], dtype=np.float64) * 1e-9  # exact up to the product
        order = np.argsort(since, kind="stable")  # messages may be logged out of order
        return RawToss(path.stem, since[order], checks.numbers(f"{path}: the poses", self.poses)[order])


def read_mcap(path: Path, request: Request) -> RawFile:
    """The poses of one body in an MCAP file."""
    if request.planar:
        raise checks.InputError(f"{path} {IN_SPACE}")
    try:
        from mcap.reader import NonSeekingReader
        from mcap_ros2.decoder import DecoderFactory
    except ImportError as error:
        raise checks.InputError(needs(f"Reading {path}", "mcap", "mcap_ros2")) from error
    ros, seen = DecoderFactory(), {}
    tracks: dict[str, _Track] = {}
    with path.open("rb") as stream:  # from front to back: an index may point to chunks that were not measured
        for schema, channel, message in NonSeekingReader(stream).iter_messages(topics=request.topic):
            about = schema.name if schema is not None else channel.message_encoding
            seen[channel.topic] = f"{channel.topic} ({about}, {channel.message_encoding})"
            decode = _decoder(ros, channel.message_encoding, schema)
            for name, stamp, pose in _poses(decode(message.data)) if decode is not None else ():
                track = tracks.setdefault(name or channel.topic, _Track())
                track.stamps.append(stamp)
                track.logged.append(message.log_time)
                track.poses.append(pose)
    if not tracks:
        found = ", ".join(sorted(seen.values())) or "no messages"
        raise checks.InputError(f"{path} has no poses on topic {request.topic or 'any'}; it has {found}.")
    most = max(len(track.poses) for track in tracks.values())
    moving = {name: track for name, track in tracks.items() if len(track.poses) > 1 or most == 1}  # not static frames
    name, track = choose_body(path, moving, request.name)
    return RawFile([track.toss(path)], stated=STATED, format=f"MCAP, {name}")


def _decoder(ros: Any, encoding: str, schema: Any) -> Callable[[bytes], Any] | None:
    """The function that decodes messages of a channel into objects with attributes; None if there is none."""
    if encoding == "json":
        return lambda data: json.loads(data, object_hook=lambda fields: SimpleNamespace(**fields))
    if schema is None or not schema.name.endswith(TYPES):
        return None  # such as images, which take long
    return ros.decoder_for(encoding, schema)


def _poses(message: Any) -> Iterator[tuple[str, int, tuple[float, ...]]]:
    """The poses in a decoded message: child frame or "", stamp [ns], position and quaternion w, x, y, z."""
    for each in getattr(message, "transforms", [message]):
        pose, name = getattr(each, "pose", each), ""
        pose = getattr(pose, "pose", pose)  # with covariance
        parts = getattr(pose, "position", None), getattr(pose, "orientation", None)
        if hasattr(each, "transform"):
            parts = getattr(each.transform, "translation", None), getattr(each.transform, "rotation", None)
            name = str(getattr(each, "child_frame_id", ""))
        if None not in parts:
            p, q = parts
            yield name, _stamp(each), (p.x, p.y, p.z, q.w, q.x, q.y, q.z)  # type: ignore[union-attr]


def _stamp(message: Any) -> int:
    """The stamp of a message [ns]; 0 if it has none."""
    stamp = getattr(getattr(message, "header", None), "stamp", getattr(message, "timestamp", None))
    part = getattr(stamp, "nanosec", getattr(stamp, "nsec", 0))
    return int(getattr(stamp, "sec", 0)) * 10**9 + int(part)


def size_of_mcap(file: Path, most: int) -> int:
    """Bytes of all chunks; each is unpacked and counted, since the size in its header may be wrong."""
    try:
        from mcap.records import Chunk
        from mcap.stream_reader import StreamReader
    except ImportError:  # which the reader reports
        return 0
    total = 0
    with file.open("rb") as stream:
        for record in StreamReader(stream, emit_chunks=True, record_size_limit=file.stat().st_size).records:
            if isinstance(record, Chunk):
                total += _unpacked(record.compression, record.data, most - total)
            if total > most:
                break
    return total


def _unpacked(compression: str, data: bytes, most: int) -> int:
    """Length of compressed data, counted no further than a little beyond `most`."""
    if compression == "zstd":
        import zstandard

        if zstandard.frame_content_size(data) > most:
            return most + 1
        stream: Any = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data))
    elif compression == "lz4":
        import lz4.frame

        stream = lz4.frame.open(io.BytesIO(data))
    else:
        return len(data)
    total = 0
    while total <= most and (piece := stream.read(2**20)):
        total += len(piece)
    return total
