"""Folders of recordings: `recordings.parquet`, one row a frame, and `manifest.json`, with their source and report."""

import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.basics.files import digest, new_folder, path_of, read_bytes, write_whole
from stiction.bodies.body import Body
from stiction.recordings.readers import checked_interval
from stiction.recordings.tosses import Recordings, Toss, Tosses

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as error:
    raise ImportError(needs("stiction.recordings", "pyarrow")) from error

FORMAT, VERSION = "stiction recordings", 1
_DATA, _MANIFEST = "recordings.parquet", "manifest.json"
_COLUMNS = ("position_x", "position_y", "position_z", "quaternion_w", "quaternion_x", "quaternion_y", "quaternion_z")
_VELOCITY = ("velocity_x", "velocity_y", "velocity_z", "angular_velocity_x", "angular_velocity_y", "angular_velocity_z")


def save_recordings(recordings: Recordings, folder: str | Path) -> None:
    """Write the recordings to a folder; velocities are estimated from poses, by differences."""
    folder = new_folder(path_of("out", folder), _MANIFEST)
    timestep = recordings.tosses.timestep
    tosses = recordings.tosses.tosses
    motion = [np.hstack([toss.position, toss.quaternion, estimated_velocities(toss, timestep)]) for toss in tosses]
    rows = [np.arange(len(toss.frame)) for toss in tosses]
    table = {
        "toss": np.repeat(np.arange(len(tosses), dtype=np.int32), [len(row) for row in rows]),
        "frame": np.concatenate([toss.frame for toss in tosses]).astype(np.int32),
        **dict(zip((*_COLUMNS, *_VELOCITY), np.ascontiguousarray(np.concatenate(motion).T))),
        "flight": np.concatenate([(row >= toss.held) & (row < toss.flight) for row, toss in zip(rows, tosses)]),
    }
    sink = io.BytesIO()
    pq.write_table(pa.table(table), sink)
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
    if recordings.body is not None:
        manifest["body"] = recordings.body.to_dict()
    write_whole(folder / _DATA, data)
    write_whole(folder / _MANIFEST, (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode())


def load_recordings(folder: str | Path) -> Recordings:
    """The recordings in a folder."""
    folder = path_of("A folder of recordings", folder)
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
        _check_content(folder, manifest, table)
        return _from_table(manifest, table)
    except checks.InputError:
        raise
    except Exception as error:  # the type depends on where the damage is
        raise checks.InputError(f"{folder} is damaged: {checks.first_line(error)}.") from error


def _from_table(manifest: dict[str, Any], table: dict[str, NDArray]) -> Recordings:
    rows = np.stack([table[name] for name in _COLUMNS], axis=1)
    ends = np.searchsorted(table["toss"], np.arange(len(manifest["names"]) + 1))
    tosses = []
    for a, b in pairwise(ends):
        free = np.flatnonzero(table["flight"][a:b])
        held, flight = (int(free[0]), int(free[-1]) + 1) if len(free) else (0, 0)
        frame = table["frame"][a:b].astype(np.int64)
        tosses.append(Toss(frame, rows[a:b, :3], rows[a:b, 3:], flight, held=held))
    return Recordings(
        Tosses(tosses, manifest["timestep"]),
        manifest["names"],
        np.array(manifest["groups"]),
        np.array(manifest["held_out"], dtype=bool),
        manifest["report"],
        manifest["source"],
        Body.from_dict(manifest["body"]) if "body" in manifest else None,
    )


def estimated_velocities(toss: Toss, timestep: float) -> NDArray[np.float64]:
    """Velocity and angular velocity (n, 6), world axes, from the poses: differences of neighbours."""
    t = timestep * toss.frame
    linear = np.gradient(toss.position, t, axis=0)
    turn = Rotation.from_quat(toss.quaternion, scalar_first=True)
    spin = (turn[1:] * turn[:-1].inv()).as_rotvec() / np.diff(t)[:, np.newaxis]
    angular = np.concatenate([spin[:1], 0.5 * (spin[1:] + spin[:-1]), spin[-1:]])
    return np.hstack([linear, angular])


def _check_content(folder: Path, manifest: dict[str, Any], table: dict[str, NDArray[Any]]) -> None:
    """Refuse recordings that cannot have been written by `stiction import`.

    table: columns of the frames, each (n,)
    """
    manifest["timestep"] = checked_interval(f"{folder}: the timestep", manifest["timestep"])
    for name in ("names", "report"):
        lines = manifest[name]
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise checks.InputError(f"{folder} is damaged: {name} must be a list of texts, got {checks.shown(lines)}.")
    number = len(manifest["names"])
    for name in ("groups", "held_out"):
        found = checks.whole_numbers(f"{folder}: {name}", manifest[name])
        if found.shape != (number,):
            raise checks.InputError(f"{folder} is damaged: {name} must have one entry a toss, got shape {found.shape}.")
    numbers = {name: checks.numbers(f"{folder}: {name}", column) for name, column in table.items()}
    for name, column in numbers.items():
        if not np.isfinite(column).all():
            raise checks.InputError(f"{folder} is damaged: {name} must be finite in every frame.")
    _check_order(folder, numbers, number)


def _check_order(folder: Path, table: dict[str, NDArray[np.float64]], tosses: int) -> None:
    """Tosses follow each other, and so do the frames of each, of which one block is in flight."""
    toss, frame, flight = table["toss"], table["frame"], table["flight"]
    step = np.diff(toss)
    whole = len(toss) > 0 and toss[0] == 0 and toss[-1] == tosses - 1 and np.isin(step, (0, 1)).all()
    rising = (np.diff(frame)[step == 0] >= 1).all()
    free = flight > 0
    released = toss[free & ~(np.r_[False, free[:-1]] & np.r_[False, step == 0])]  # where each block of flight starts
    one_block = len(np.unique(released)) == len(released)
    if not whole or not rising or not one_block or not np.isin(flight, (0, 1)).all() or np.abs(frame).max() > 2**31:
        raise checks.InputError(f"{folder} is damaged: its frames must be ordered by toss and by their numbers.")
    length = np.sqrt(sum(table[name] ** 2 for name in table if name.startswith("quaternion")))
    if (np.abs(length - 1) > 1e-6).any():
        raise checks.InputError(f"{folder} is damaged: quaternions must have length 1.")
