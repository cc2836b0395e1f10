"""`stiction.instances`: contacts from elsewhere, given as arrays, as a data set to learn from."""

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.basics import checks
from stiction.basics.files import digest, new_folder, path_of, write_whole
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import Mode, State
from stiction.data.dataset import DataSet, Manifest, Shard, without_trace, write_manifest
from stiction.data.ground_truth import Elsewhere
from stiction.data.instances import IN_THE_AIR, Columns, chosen, faults, told
from stiction.data.plan import Plan
from stiction.data.store import COLUMNS, count_instances, encode_shard, shard_path
from stiction.laws.law import GRAVITY, checked_gravity, checked_timestep
from stiction.simulation.motion import Motion, Setting, check_in_plane, contacts_at

_CHUNK = 20_000  # contacts that are looked at together, which takes over a kilobyte each
_SHARD_ROWS = 100_000  # in one file, about


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
    """Contacts from elsewhere as a data set. Each of the n rows is one time step of `body` on the ground z = 0.

    position: of the centre of mass before the step [m], world axes, shape (n, 3)
    quaternion: body to world, (w, x, y, z), shape (n, 4)
    twist: velocity of the centre of mass [m/s] and angular velocity [rad/s] before the step, world axes, shape (n, 6)
    twist_after: the same after the step; or
    impulse: of the ground on the body in that step, about the centre of mass [N s, N m s], world axes, shape (n, 6)
    mode: values of Mode, shape (n,); by default what is seen in the motion. Say them if the impulses are noisy.
    throw: number of the throw that each row belongs to, shape (n,): whole throws are held out. None: each row its own.
    timestep: [s]; gravity: [m/s^2], shape (3,)
    out: folder to keep the data set in; None: it is kept as long as the result lives, `save` keeps it

    Rows that cannot be contacts of this body are left out, with a warning that counts them.

        run = stiction.rollout(stiction.CoulombLaw(body, 0.5), stiction.State([0, 0, 0.2], velocity=[3, 0, 0]), 20)
        twist = np.hstack([run.velocity, run.angular_velocity])
        how = {"position": run.position[:-1], "quaternion": run.quaternion[:-1], "twist": twist[:-1]}
        data = stiction.instances(body, **how, impulse=run.impulse)
    """
    if not isinstance(body, Body):
        raise checks.InputError(f"body must be a stiction.Body, got {type(body).__name__}.")
    setting = Setting(checked_timestep(timestep), checked_gravity(gravity))
    motion = _checked_motion(body, position, quaternion, twist)
    number = len(motion.position)
    if (twist_after is None) == (impulse is None):
        raise checks.InputError("Give either twist_after or impulse.")
    answer = _rows("twist_after", twist_after, number) if impulse is None else _rows("impulse", impulse, number)
    labels = None if mode is None else _labels(mode, number)
    throws = np.arange(number) if throw is None else _throws(throw, number)
    parts = [
        _observed(body, motion, setting, answer, labels, slice(begin, begin + _CHUNK), is_impulse=impulse is not None)
        for begin in range(0, max(number, 1), _CHUNK)
    ]
    rows = {name: np.concatenate([part[name] for part, _ in parts]) for name in parts[0][0]}
    counts = {fault: sum(found[fault] for _, found in parts) for fault in parts[0][1]}
    why, kept = told(counts), len(rows["row"])
    if not kept:
        raise checks.InputError(f"None of the {number} contacts can be used: {why}.")
    if why:
        warnings.warn(f"{number - kept:,} of {number:,} contacts are left out: {why}.", stacklevel=2)
    rows["throw"] = np.unique(throws[rows.pop("row")], return_inverse=True)[1].astype(np.int32)
    write = partial(_write, body, rows, setting)
    return without_trace(write) if out is None else write(path_of("out", out))


def _checked_motion(body: Body, position: ArrayLike, quaternion: ArrayLike, twist: ArrayLike) -> Motion:
    """The states before the step, refused unless they are some."""
    moves = checks.array("twist", twist, (6,))
    state = State(position, quaternion, moves[..., :3], moves[..., 3:])
    for name, given in (("position", position), ("quaternion", quaternion), ("twist", twist)):
        if np.ndim(given) != 2 or len(state.position) != len(np.asarray(given)):
            raise checks.InputError(f"{name} must have one row a contact, got shape {np.shape(given)}.")
    if body.planar:
        check_in_plane(state)
    # To the body frame, as data sets have it, and back: touching is asked of the very numbers that training will see.
    arm = rotation_matrices(state.quaternion) @ body.com
    moving = np.concatenate([state.velocity, state.angular_velocity], axis=1)
    return Motion((state.position - arm) + arm, state.quaternion, moving)


def _observed(
    body: Body,
    motion: Motion,
    setting: Setting,
    answer: NDArray,
    labels: NDArray | None,
    some: slice,
    *,
    is_impulse: bool,
) -> tuple[Columns, dict[str, int]]:
    """Columns of those of some rows that can be contacts, with "row", the number of each; and what the others are."""
    here = Motion(*(part[some] for part in motion))
    contacts = contacts_at(body, here, setting)
    record: Any = contacts.record
    row = some.start + record.index.astype(np.int64)
    v1 = record.velocity.copy()
    given = answer[row]
    after = v1 + np.einsum("nij,nj->ni", contacts.inverse_inertia, given) if is_impulse else given
    seen, mode = contacts.observe(after)
    impulse = given if is_impulse else seen
    if labels is not None:
        mode = np.where(labels[row] == Mode.NONE, mode, labels[row]).astype(np.int8)
    left_out = {IN_THE_AIR: len(here.position) - len(row)}
    good = np.ones(len(row), dtype=np.bool_)
    for fault, wrong in faults(body, contacts, setting, impulse).items():
        left_out[fault] = int((good & wrong).sum())
        good &= ~wrong
    arm = rotation_matrices(motion.quaternion[row]) @ body.com
    rows = {
        "row": row,
        "step": np.zeros(len(row), dtype=np.int16),
        "position": motion.position[row] - arm,
        "quaternion": motion.quaternion[row],
        "twist": motion.twist[row],
        "v1": v1,
        "impulse": impulse,
        "after": after,
        "mode": mode,
        "kind": record.kind.astype(np.int8),
    }
    return chosen(rows, good), left_out


def _write(body: Body, rows: Columns, setting: Setting, out: Path) -> DataSet:
    """The rows as a data set in the folder `out`."""
    new_folder(out)
    rows = chosen(rows, np.argsort(rows["throw"], kind="stable"))
    content = digest(b"".join(np.ascontiguousarray(rows[name]).tobytes() for name in COLUMNS))
    throws, number = int(rows["throw"][-1]) + 1, len(rows["throw"])
    plan = Plan(
        body, Elsewhere(content), throws, 1, requeries=0, keep_static_surface=1.0,
        shard_throws=max(1, -(-throws * _SHARD_ROWS // number)), timestep=setting.timestep,
        gravity=tuple(setting.gravity.tolist()),
    )  # fmt: skip
    shards = []
    for k in range(plan.shards):
        span = plan.shard(k)
        begin, end = np.searchsorted(rows["throw"], (span.start, span.stop))
        part = chosen(rows, slice(begin, end))
        data = encode_shard(plan, k, part)
        write_whole(shard_path(out, k), data)
        shards.append(Shard(digest(data), count_instances(part)))
    write_manifest(out, Manifest(plan, plan.packages(), shards))
    return DataSet(out)


def _rows(name: str, value: Any, number: int) -> NDArray[np.float64]:
    rows = checks.array(name, value, (6,))
    if rows.shape != (number, 6):
        raise checks.InputError(f"{name} must have one row a contact, ({number}, 6), got shape {rows.shape}.")
    return rows


def _labels(value: ArrayLike, number: int) -> NDArray[np.int8]:
    labels = checks.whole_numbers("mode", value)
    if labels.shape != (number,) or not np.isin(labels, list(Mode)).all():
        raise checks.InputError(f"mode must have {number} values of Mode, got {checks.shown(value)}.")
    return labels.astype(np.int8)


def _throws(value: ArrayLike, number: int) -> NDArray[np.int64]:
    throws = checks.whole_numbers("throw", value)
    if throws.shape != (number,):
        raise checks.InputError(f"throw must have {number} whole numbers, got shape {throws.shape}.")
    return throws
