"""`stiction.instances`: external contacts, given as arrays or in a file, as a data set to learn from."""

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.basics import checks
from stiction.basics.files import digest, new_folder, path_of, read_arrays, write_whole
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import Mode, State
from stiction.data.collection_plan import Plan
from stiction.data.dataset import DataSet, temporary_data_set
from stiction.data.ground_truth import ExternalTruth
from stiction.data.instances import fault_text, possible_contacts
from stiction.data.store import (
    COLUMNS,
    Columns,
    Manifest,
    Shard,
    chosen,
    count_instances,
    encode_shard,
    shard_path,
    write_manifest,
)
from stiction.data.tables import read_columns
from stiction.laws.law import GRAVITY, checked_gravity, checked_timestep
from stiction.simulation.motion import Motion, Setting, check_in_plane, contacts_at


def instances(
    body: Body,
    *,
    position: ArrayLike,
    quaternion: ArrayLike,
    twist: ArrayLike,
    twist_after: ArrayLike | None = None,
    impulse: ArrayLike | None = None,
    mode: ArrayLike | None = None,
    throw: ArrayLike | None = None,
    timestep: float = 0.002,
    gravity: ArrayLike = GRAVITY,
    out: str | Path | None = None,
) -> DataSet:
    """External contacts as a data set. Each of the n rows is one time step of `body` on the ground z = 0.

    position: of the centre of mass before the step [m], world axes, shape (n, 3)
    quaternion: body to world, (w, x, y, z), shape (n, 4)
    twist: velocity of the centre of mass [m/s] and angular velocity [rad/s] before the step, world axes, shape (n, 6)
    twist_after: the same after the step; or
    impulse: of the ground on the body in that step, about the centre of mass [N s, N m s], world axes, shape (n, 6)
    mode: values of Mode, shape (n,); by default found from the motion. Give them if the impulses are noisy.
    throw: number of the throw that each row belongs to, shape (n,): whole throws are held out. None: each row is one.
    timestep: [s]; gravity: [m/s^2], shape (3,)
    out: folder of the data set; None: a temporary one, removed together with the result; `save` writes a copy

    Rows that cannot be contacts of this body are left out, with a warning that counts them.

        law, start = stiction.CoulombLaw(body, 0.5), stiction.State([0, 0, 0.2], velocity=[3, 0, 0])
        run = stiction.rollout(law, start, 20, substeps=0)
        twist = np.hstack([run.velocity, run.angular_velocity])
        before = run.states()[:-1]
        data = stiction.instances(
            body, position=before.position, quaternion=before.quaternion, twist=twist[:-1], impulse=run.impulse
        )
    """
    if not isinstance(body, Body):
        raise checks.InputError(f"body must be a stiction.Body, got {type(body).__name__}.")
    setting = Setting(checked_timestep(timestep), checked_gravity(gravity))
    motion = _checked_motion(body, position, quaternion, twist)
    number = len(motion.position)
    if (twist_after is None) == (impulse is None):
        raise checks.InputError("Give either twist_after or impulse.")
    is_impulse = impulse is not None
    answer = _rows("impulse", impulse, number) if is_impulse else _rows("twist_after", twist_after, number)
    labels = np.zeros(number, dtype=np.int64) if mode is None else _whole("mode", mode, number)
    if not np.isin(labels, list(Mode)).all():
        raise checks.InputError(f"mode must be values of Mode, got {checks.shown(mode)}.")
    throws = np.arange(number) if throw is None else _whole("throw", throw, number)
    chunk = 20_000  # contacts that are checked together: each takes over a kilobyte
    parts = []
    for start in range(0, max(number, 1), chunk):
        some = slice(start, start + chunk)
        part, found = _possible(body, setting, Motion(*(p[some] for p in motion)), answer[some], is_impulse)
        parts.append(({**part, "row": start + part["row"]}, found))
    rows = {name: np.concatenate([part[name] for part, _ in parts]) for name in parts[0][0]}
    stated = labels[rows["row"]]
    rows["mode"] = np.where(stated == Mode.NONE, rows["mode"], stated).astype(np.int8)
    counts = {fault: sum(found[fault] for _, found in parts) for fault in parts[0][1]}
    faults, used = fault_text(counts), len(rows["row"])
    if not used:
        raise checks.InputError(f"None of the {number} contacts can be used: {faults}.")
    if faults:
        warnings.warn(f"{number - used:,} of {number:,} contacts are left out: {faults}.", stacklevel=2)
    rows["throw"] = np.unique(throws[rows.pop("row")], return_inverse=True)[1].astype(np.int32)
    write = partial(_write, body, rows, setting)
    return temporary_data_set(write) if out is None else write(path_of("out", out))


def _checked_motion(body: Body, position: ArrayLike, quaternion: ArrayLike, twist: ArrayLike) -> Motion:
    """The states before the step, validated."""
    moves = checks.array("twist", twist, (6,))
    state = State(position, quaternion, moves[..., :3], moves[..., 3:])
    for name, given in (("position", position), ("quaternion", quaternion), ("twist", twist)):
        if np.ndim(given) != 2 or len(state.position) != len(np.asarray(given)):
            raise checks.InputError(f"{name} must have one row per contact, got shape {np.shape(given)}.")
    if body.planar:
        check_in_plane(state)
    # To the body frame, as data sets store it, and back: contacts are detected from the bits that training will read.
    arm = rotation_matrices(state.quaternion) @ body.com
    moving = np.concatenate([state.velocity, state.angular_velocity], axis=1)
    return Motion((state.position - arm) + arm, state.quaternion, moving)


def _possible(
    body: Body, setting: Setting, motion: Motion, answer: NDArray[np.float64], is_impulse: bool
) -> tuple[Columns, dict[str, int]]:
    """Columns of the possible contacts among some rows, with "row", their numbers; and counts of the others.

    answer: the impulses, or the twists after the step, (n, 6)
    """
    contacts = contacts_at(body, motion, setting)
    record: Any = contacts.record
    row, v1 = record.index.astype(np.int64), record.velocity.copy()
    given = answer[row]
    after = v1 + np.einsum("nij,nj->ni", contacts.inverse_inertia, given) if is_impulse else given
    seen, mode = contacts.observe(after)
    impulse = given if is_impulse else seen
    possible, faults = possible_contacts(body, contacts, setting, impulse, len(motion.position))
    position, quaternion, twist = (part[row] for part in motion)
    rows = {
        "row": row,
        "step": np.zeros(len(row), dtype=np.int16),
        "position": position - rotation_matrices(quaternion) @ body.com,
        "quaternion": quaternion,
        "twist": twist,
        "v1": v1,
        "impulse": impulse,
        "after": after,
        "mode": mode,
        "kind": record.kind.astype(np.int8),
    }
    return chosen(rows, possible), faults


def _write(body: Body, rows: Columns, setting: Setting, out: Path) -> DataSet:
    """The rows as a data set in the folder `out`."""
    new_folder(out)
    rows = chosen(rows, np.argsort(rows["throw"], kind="stable"))
    content = digest(b"".join(np.ascontiguousarray(rows[name]).tobytes() for name in COLUMNS))
    throws, number = int(rows["throw"][-1]) + 1, len(rows["throw"])
    plan = Plan(
        body, ExternalTruth(content), throws, 1, requeries=0, keep_static_surface=1.0,
        shard_throws=max(1, -(-throws * 100_000 // number)),  # about 100,000 rows in one file
        timestep=setting.timestep, gravity=tuple(setting.gravity.tolist()),
    )  # fmt: skip
    shards = []
    for k in range(plan.shards):
        span = plan.shard(k)
        part = chosen(rows, slice(*np.searchsorted(rows["throw"], (span.start, span.stop))))
        data = encode_shard(plan, k, part)
        write_whole(shard_path(out, k), data)
        shards.append(Shard(digest(data), count_instances(part)))
    write_manifest(out, Manifest(plan, plan.packages(), shards))
    return DataSet(out)


def _rows(name: str, value: Any, number: int) -> NDArray[np.float64]:
    rows = checks.array(name, value, (6,))
    if rows.shape != (number, 6):
        raise checks.InputError(f"{name} must have one row per contact, ({number}, 6), got shape {rows.shape}.")
    return rows


def _whole(name: str, value: ArrayLike, number: int) -> NDArray[np.int64]:
    found = checks.whole_numbers(name, value)
    if found.shape != (number,):
        raise checks.InputError(f"{name} must have {number} whole numbers, got shape {found.shape}.")
    return found


# Files of contacts: an .npz with the arrays of `stiction.instances`, or a Parquet table of them.


# Array -> names of its components; in a table, the column of a component is ARRAY_COMPONENT, such as twist_vx.
_REQUIRED = ("position", "quaternion", "twist")
FIELDS = {name: COLUMNS[name][1] for name in (*_REQUIRED, "impulse", "mode", "throw")} | {
    "twist_after": COLUMNS["twist"][1]
}


def read_instances_file(
    path: str | Path,
    body: Body,
    *,
    timestep: float | None = None,
    gravity: ArrayLike | None = None,
    out: str | Path | None = None,
) -> DataSet:
    """The contacts of `body` in a file as a data set, see `stiction.instances`.

    timestep, gravity: by default those in an .npz file, else 0.002 s and 9.81 m/s^2 downwards
    """
    path = path_of("A file of contacts", path)
    if not path.is_file():
        raise checks.InputError(f"There is no file {path}.")
    if path.suffix not in (".npz", ".parquet"):
        raise checks.InputError(f"Contacts are read from .npz and .parquet files, got {path}.")
    arrays = read_arrays(path) if path.suffix == ".npz" else _from_table(path)
    missing = [name for name in _REQUIRED if name not in arrays]
    if missing:
        raise checks.InputError(
            f"{path} has no {', '.join(missing)}; it needs {', '.join(_REQUIRED)} and impulse or twist_after."
        )
    given = {name: arrays[name] for name in FIELDS if name in arrays}
    step = arrays.get("timestep", np.array(0.002)) if timestep is None else timestep
    acceleration = arrays.get("gravity", GRAVITY) if gravity is None else gravity
    return instances(body, **given, timestep=step, gravity=acceleration, out=out)  # type: ignore[arg-type]


def _from_table(path: Path) -> dict[str, NDArray[np.float64]]:
    table = read_columns(path)
    found = {}
    for name, parts in FIELDS.items():
        columns = [f"{name}_{part}" for part in parts] or [name]
        there = [column for column in columns if column in table]
        if there and len(there) < len(columns):
            lacks = ", ".join(column for column in columns if column not in table)
            raise checks.InputError(f"{path} has {there[0]} but no {lacks}.")
        if there:
            found[name] = np.stack([table[column] for column in columns], axis=1) if parts else table[name]
    return found
