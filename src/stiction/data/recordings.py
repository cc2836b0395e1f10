"""Recordings: tracked poses of tosses of one body, checked, converted, and kept in a folder like any data set.

A folder holds `recordings.parquet`, one row a frame, and `manifest.json`, which says where they come from and what was
found when they were read.
"""

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction import checks
from stiction.bodies import Body
from stiction.data.physics_checks import (
    Finding,
    check_fall,
    check_floor,
    check_reading,
    check_velocities,
    fall,
    flight_frames,
)
from stiction.data.poses import Clean, Conventions, Refused, clean, frame_interval
from stiction.data.readers import RawToss, read_raw
from stiction.data.store import digest, read_bytes, write_whole
from stiction.learn.tosses import Toss, Tosses

FORMAT, VERSION = "stiction recordings", 1
_DATA, _MANIFEST = "recordings.parquet", "manifest.json"
_COLUMNS = ("position_x", "position_y", "position_z", "quaternion_w", "quaternion_x", "quaternion_y", "quaternion_z")
_VELOCITY = ("velocity_x", "velocity_y", "velocity_z", "angular_velocity_x", "angular_velocity_y", "angular_velocity_z")
_LEAST_FLIGHT = 4  # frames; a toss with fewer does not tell its start


@dataclass(frozen=True)
class Recordings:
    """Tosses of one body with one frame interval, the ground at z = 0.

    groups: tosses with the same number are the same recording in other axes, shape (n,)
    held_out: tosses that are to be kept for validation, shape (n,)
    report: what was found when they were read
    """

    tosses: Tosses
    names: list[str]
    groups: NDArray[np.int64]
    held_out: NDArray[np.bool_]
    report: list[str] = field(default_factory=list)
    source: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.tosses)

    def part(self, which: Sequence[int] | NDArray) -> "Recordings":
        """Some of the tosses."""
        which = np.asarray(which)
        return replace(
            self,
            tosses=self.tosses[which],
            names=[self.names[int(i)] for i in which],
            groups=self.groups[which],
            held_out=self.held_out[which],
        )


def import_recordings(
    path: str | Path,
    body: Body,
    how: Conventions | None = None,
    *,
    columns: dict[str, str] | None = None,
    topic: str | None = None,
) -> Recordings:
    """Read recordings of `body`, check them and convert them; what mechanics contradicts is refused by name.

    columns: names of columns in CSV and Parquet files, by ours: time, toss, x, y, z, qw, qx, qy, qz
    topic: of an MCAP file
    """
    how = how or Conventions()
    raw, stated = read_raw(path, columns or {}, topic)
    interval = frame_interval(raw, how, stated)
    tosses, refused, first_error = _clean_all(raw, how, interval)
    if not tosses:
        raise checks.InputError(f"No toss of {path} can be used: {first_error}")
    findings = check_fall(fall(tosses, interval), how)
    _stop_at_wrong(path, findings)
    findings += check_reading(body, how, interval, lambda other: _clean_all(raw, other, interval)[0])
    floor, about_floor = check_floor(body, tosses, how)
    findings += about_floor + check_velocities(tosses, interval)
    _stop_at_wrong(path, findings)
    report = [str(finding) for finding in findings] + _frame_notes(tosses, refused)
    return _assembled(body, tosses, floor, interval, report, {"file": Path(path).name, **asdict(how)})


def _clean_all(raw: list[RawToss], how: Conventions, interval: float) -> tuple[list[Clean], list[str], str]:
    tosses, refused = [], []
    for toss in raw:
        try:
            tosses.append(clean(toss, how, interval))
        except Refused as error:
            refused.append(str(error))
    return tosses, refused, refused[0] if refused else "it holds no toss."


def _stop_at_wrong(path, findings: list[Finding]) -> None:
    wrong = [str(finding) for finding in findings if finding.wrong]
    if wrong:
        raise checks.InputError(f"{path} is not read right. {' '.join(wrong)}")


def _frame_notes(tosses: list[Clean], refused: list[str]) -> list[str]:
    frames = sum(len(toss.frame) for toss in tosses)
    notes = [f"{len(tosses)} tosses, {frames:,} frames."]
    for what in dict.fromkeys(name for toss in tosses for name in toss.notes):
        number, where = sum(t.notes.get(what, 0) for t in tosses), sum(what in t.notes for t in tosses)
        notes.append(f"Frames left out as {what}: {number:,}, in {where} tosses.")
    if refused:
        notes.append(f"Tosses left out: {len(refused)}. {refused[0]}")
    return notes


def _assembled(body, tosses: list[Clean], floor: float, interval: float, report: list[str], source) -> Recordings:
    kept, result = [], []
    for toss in tosses:
        flight = flight_frames(body, toss, floor)
        if _LEAST_FLIGHT <= flight < len(toss.frame):
            kept.append(toss)
            result.append(Toss(toss.frame, toss.position - [0.0, 0.0, floor], toss.quaternion, flight))
    if not result:
        raise checks.InputError(
            f"No toss has {_LEAST_FLIGHT} frames of free flight and then contact: record throws from their release."
        )
    if len(result) < len(tosses):
        report = [*report, f"Tosses left out, without flight and then contact: {len(tosses) - len(result)}."]
    flying = sum(toss.flight for toss in result)
    frames = sum(len(toss.frame) for toss in result)
    report = [*report, f"Free flight before the first touch: {flying:,} frames; then {frames - flying:,}."]
    groups = np.array([toss.group for toss in kept])
    groups = np.where(groups < 0, np.arange(len(kept)) + groups.max() + 1, groups)
    held_out = np.array([toss.held_out for toss in kept])
    return Recordings(Tosses(result, interval), [toss.name for toss in kept], groups, held_out, report, source)


def save_recordings(recordings: Recordings, folder: str | Path) -> None:
    """Write a folder with the recordings, whole; velocities are estimated from poses, by differences."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()) and not (folder / _MANIFEST).exists():
        raise checks.InputError(f"{folder} is not empty and holds no recordings; give a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    timestep = recordings.tosses.timestep
    parts: dict[str, list[NDArray]] = {name: [] for name in ("toss", "frame", *_COLUMNS, *_VELOCITY, "flight")}
    for number, toss in enumerate(recordings.tosses.tosses):
        rows = np.hstack([toss.position, toss.quaternion, estimated_velocities(toss, timestep)])
        for name, column in zip((*_COLUMNS, *_VELOCITY), rows.T):
            parts[name].append(column)
        parts["toss"].append(np.full(len(toss.frame), number, dtype=np.int32))
        parts["frame"].append(toss.frame.astype(np.int32))
        parts["flight"].append(np.arange(len(toss.frame)) < toss.flight)
    sink = io.BytesIO()
    pq.write_table(pa.table({name: np.concatenate(column) for name, column in parts.items()}), sink)
    data = sink.getvalue()
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "timestep": timestep,
        "names": recordings.names,
        "groups": recordings.groups.tolist(),
        "held_out": recordings.held_out.tolist(),
        "report": recordings.report,
        "source": recordings.source,
        "sha256": digest(data),
    }
    write_whole(folder / _DATA, data)
    write_whole(folder / _MANIFEST, (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode())


def load_recordings(folder: str | Path) -> Recordings:
    """The recordings in a folder."""
    import pyarrow.parquet as pq

    folder = Path(folder)
    if not (folder / _MANIFEST).is_file():
        raise checks.InputError(f"{folder} holds no recordings: it has no {_MANIFEST}; make it with `stiction import`.")
    try:
        manifest = json.loads(read_bytes(folder / _MANIFEST))
        if manifest.get("format") != FORMAT or manifest.get("version") != VERSION:
            raise checks.InputError(f"{folder} does not hold recordings of version {VERSION}.")
        data = read_bytes(folder / _DATA)
        if digest(data) != manifest["sha256"]:
            raise checks.InputError(f"{folder / _DATA} was altered after it was written, or is not whole.")
        found = pq.read_table(io.BytesIO(data))
        table = {name: found.column(name).to_numpy() for name in ("toss", "frame", *_COLUMNS, "flight")}
        return _from_table(manifest, table)
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, checks.InputError):
            raise
        raise checks.InputError(f"{folder} is damaged: {error!s:.150}.") from error


def _from_table(manifest: dict[str, Any], table: dict[str, NDArray]) -> Recordings:
    rows = np.stack([table[name] for name in _COLUMNS], axis=1)
    ends = np.searchsorted(table["toss"], np.arange(len(manifest["names"]) + 1))
    tosses = [
        Toss(table["frame"][a:b].astype(np.int64), rows[a:b, :3], rows[a:b, 3:], int(table["flight"][a:b].sum()))
        for a, b in pairwise(ends)
    ]
    return Recordings(
        Tosses(tosses, manifest["timestep"]),
        manifest["names"],
        np.array(manifest["groups"]),
        np.array(manifest["held_out"], dtype=bool),
        manifest["report"],
        manifest["source"],
    )


def estimated_velocities(toss: Toss, timestep: float) -> NDArray[np.float64]:
    """Velocity and angular velocity (n, 6), world axes, from the poses: differences of neighbours."""
    t = timestep * toss.frame
    linear = np.gradient(toss.position, t, axis=0)
    turn = Rotation.from_quat(toss.quaternion, scalar_first=True)
    spin = (turn[1:] * turn[:-1].inv()).as_rotvec() / np.diff(t)[:, np.newaxis]
    angular = np.concatenate([spin[:1], 0.5 * (spin[1:] + spin[:-1]), spin[-1:]])
    return np.hstack([linear, angular])


def split(recordings: Recordings, share: float = 0.2, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of the tosses to fit and to hold out: as the recording says, else drawn, groups kept together."""
    if recordings.held_out.any() and not recordings.held_out.all():
        return np.flatnonzero(~recordings.held_out), np.flatnonzero(recordings.held_out)
    groups = np.unique(recordings.groups)
    if len(groups) < 2:
        raise checks.InputError("At least two tosses are needed, one of them to hold out.")
    order = np.random.default_rng(seed).permutation(groups)
    out = np.isin(recordings.groups, order[: max(1, round(share * len(groups)))])
    return np.flatnonzero(~out), np.flatnonzero(out)
