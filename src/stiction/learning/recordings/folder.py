"""Recordings in a folder of their own, like any data set.

A folder holds `recordings.parquet`, one row a frame, and `manifest.json`, which says where they come from and what was
found when they were read.
"""

import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.basics.extras import needs
from stiction.basics.files import digest, new_folder, path_of, read_bytes, write_whole
from stiction.bodies.body import Body
from stiction.learning.recordings.kept import check_kept
from stiction.learning.recordings.recorded import Recordings
from stiction.learning.recordings.tosses import Toss, Tosses

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
    """Write a folder with the recordings, whole; velocities are estimated from poses, by differences."""
    folder = new_folder(path_of("out", folder), _MANIFEST)
    timestep = recordings.tosses.timestep
    parts: dict[str, list[NDArray]] = {name: [] for name in ("toss", "frame", *_COLUMNS, *_VELOCITY, "flight")}
    for number, toss in enumerate(recordings.tosses.tosses):
        rows = np.hstack([toss.position, toss.quaternion, estimated_velocities(toss, timestep)])
        for name, column in zip((*_COLUMNS, *_VELOCITY), rows.T):
            parts[name].append(column)
        parts["toss"].append(np.full(len(toss.frame), number, dtype=np.int32))
        parts["frame"].append(toss.frame.astype(np.int32))
        row = np.arange(len(toss.frame))
        parts["flight"].append((row >= toss.held) & (row < toss.flight))
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
        check_kept(folder, manifest, table)
        return _from_table(manifest, table)
    except checks.InputError:
        raise
    except Exception as error:  # which, depends on where the damage is
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
