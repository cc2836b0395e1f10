"""`stiction.instances`: contacts from elsewhere, given as arrays, as a data set to learn from."""

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.basics.files import digest, write_whole
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import Mode, State
from stiction.laws.law import GRAVITY
from stiction.learning.collect.dataset import DataSet, without_trace
from stiction.learning.collect.elsewhere_truth import Elsewhere
from stiction.learning.collect.instances import Columns, chosen
from stiction.learning.collect.manifest import Manifest, Shard, write_manifest
from stiction.learning.collect.plan import Plan
from stiction.learning.collect.store import COLUMNS, count_instances, encode_shard, shard_path
from stiction.simulation.motion import DEEPEST_START, Motion, Setting, check_in_plane, contacts_at

_CHUNK = 20_000  # contacts that are looked at together, which takes over a kilobyte each
_SHARD_ROWS = 100_000  # in one file, about
# What tells an impulse that is wrong from one that is noisy:
_PULL = 0.05  # share of the body's weight in one step by which the ground may seem to pull
_GAIN = 0.5, 0.2  # shares of the impulse's own energy, and of its work by component, by which it may seem to add energy
_BESIDE = 0.25  # share of the body's diameter by which its centre of pressure may seem to lie outside of the patch


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
    """
    if not isinstance(body, Body):
        raise checks.InputError(f"body must be a stiction.Body, got {type(body).__name__}.")
    setting = Setting(checks.positive("timestep [s]", timestep), checks.vector("gravity", gravity, 3))
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
    counts = {fault: sum(faults[fault] for _, faults in parts) for fault in parts[0][1]}
    why, kept = ", ".join(f"{count:,} {fault}" for fault, count in counts.items() if count), len(rows["row"])
    if not kept:
        raise checks.InputError(f"None of the {number} contacts can be used: {why}.")
    if why:
        warnings.warn(f"{number - kept:,} of {number:,} contacts are left out: {why}.", stacklevel=2)
    rows["throw"] = np.unique(throws[rows.pop("row")], return_inverse=True)[1].astype(np.int32)
    write = partial(_write, body, rows, setting)
    return without_trace(write) if out is None else write(Path(out))


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
    faults = {"in the air": len(here.position) - len(row)}
    good = np.ones(len(row), dtype=np.bool_)
    for fault, wrong in _faults(body, contacts, setting, impulse).items():
        faults[fault] = int((good & wrong).sum())
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
    return chosen(rows, good), faults


def _faults(body: Body, contacts: _core.Contacts, setting: Setting, impulse: NDArray) -> dict[str, NDArray[np.bool_]]:
    """Which contacts cannot be, by the reason: a wrong frame or a wrong sign is told by the whole data set."""
    record: Any = contacts.record
    push, weight = impulse[:, 2], body.mass * float(np.linalg.norm(setting.gravity)) * setting.timestep
    change = np.einsum("nij,nj->ni", contacts.inverse_inertia, impulse)
    own = 0.5 * (impulse * change).sum(axis=1)
    work = impulse * record.velocity
    allowed = _GAIN[0] * own + _GAIN[1] * np.abs(work).sum(axis=1) + 1e-12 * body.mass
    torque = impulse[:, 3:] - np.cross(record.centre, impulse[:, :3])  # about the patch's centre
    aside = np.hypot(torque[:, 0], torque[:, 1]) > push * (2 * record.radius + _BESIDE * body.diameter)
    return {
        "too deep in the ground": record.depth > DEEPEST_START * body.diameter,
        "pulled by the ground": push < -_PULL * weight,
        "with a torque that their patch cannot make": (push > _PULL * weight) & aside,
        "whose impulse adds energy": work.sum(axis=1) + own > allowed,
    }


def _write(body: Body, rows: Columns, setting: Setting, out: Path) -> DataSet:
    """The rows as a data set in the folder `out`."""
    if out.exists() and any(out.iterdir()):
        raise checks.InputError(f"{out} is not empty; give a new folder.")
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
    labels = np.asarray(value)
    if labels.shape != (number,) or not np.isin(labels, list(Mode)).all():
        raise checks.InputError(f"mode must have {number} values of Mode, got {value!r:.80}.")
    return labels.astype(np.int8)


def _throws(value: ArrayLike, number: int) -> NDArray[np.int64]:
    throws = np.asarray(value)
    if throws.shape != (number,) or not np.issubdtype(throws.dtype, np.number) or (throws != np.floor(throws)).any():
        raise checks.InputError(f"throw must have {number} whole numbers, got {value!r:.80}.")
    return throws.astype(np.int64)
