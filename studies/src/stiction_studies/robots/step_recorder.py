"""Simulations with laws, step by step: how they move, what contact must never do, and a free body to start with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction._core import TOUCH
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import State
from stiction.mujoco import plain_throw
from stiction.mujoco.contact_reports import PairContact
from stiction.mujoco.simulation import Simulation, mujoco
from stiction.simulation.motion import Setting, to_motion

NAME = "body"  # of the free body in its model
NO_GAP = TOUCH  # [m] with this gap no contact is predicted: it acts once it touches, as in a rollout


@dataclass(frozen=True)
class Record:
    """What a simulation did in some steps.

    qpos, qvel: (steps + 1, nq), (steps + 1, nv); control: (steps, nu)
    touching: whether any body with a law touches, (steps,)
    unsolved: whether no solution was found, (steps,)
    gain: greatest energy that contact added in a step [J]; depth: greatest penetration [m]; both of materials alone
    """

    qpos: NDArray[np.float64]
    qvel: NDArray[np.float64]
    control: NDArray[np.float64]
    touching: NDArray[np.bool_]
    unsolved: NDArray[np.bool_]
    gain: float
    depth: float


class Recorder:
    """Makes the steps of a simulation and records what they do."""

    def __init__(self, sim: Simulation) -> None:
        self._sim, self._points = sim, all(isinstance(one, PairContact) for one in sim.contacts.values())
        self._rows, self._marks = [], []
        self._gain = self._depth = 0.0

    def step(self) -> None:
        """Make one step."""
        sim = self._sim
        self._rows.append(self._now())
        before = sim.unsolved
        sim.step()
        self._marks.append((any(contact.kind for contact in sim.contacts.values()), sim.unsolved > before))
        if self._points:
            self._gain = max(self._gain, sim.core.work)
            self._depth = max(self._depth, -float(sim.data.contact.dist.min(initial=0.0)))

    def _now(self) -> tuple[NDArray[np.float64], ...]:
        data = self._sim.data
        return data.qpos.copy(), data.qvel.copy(), data.ctrl.copy()

    def record(self) -> Record:
        """Return the record of all steps so far."""
        qpos, qvel, control = (np.array(part) for part in zip(*self._rows, self._now()))
        touching, unsolved = np.array(self._marks, dtype=bool).reshape(-1, 2).T
        return Record(qpos, qvel, control[:-1], touching, unsolved, self._gain, self._depth)


def run(sim: Simulation, qpos: NDArray[np.float64], steps: int, *, qvel: NDArray[np.float64] | None = None) -> Record:
    """Return the record of `steps` steps from a state."""
    sim.reset(qpos=qpos, qvel=qvel)
    recorder = Recorder(sim)
    for _ in range(steps):
        recorder.step()
    return recorder.record()


def one_step(sim: Simulation, records: Sequence[Record]) -> dict[str, Any]:
    """Return the errors of another simulation of the same model that makes one step from each state in contact.

    The error is the greatest difference of any joint's velocity after that step [m/s, rad/s], where both have a
    solution.
    """
    errors = np.concatenate([_step_errors(sim, record) for record in records])
    both = errors[np.isfinite(errors)]
    percents = {f"percent_{q}": float(np.percentile(both, q)) for q in (50, 90, 99, 100)} if len(both) else {}
    return {"steps": len(errors), "unsolved": len(errors) - len(both), **percents}


def _step_errors(sim: Simulation, record: Record) -> NDArray[np.float64]:
    """Return the error of each step in contact; NaN where one of the two has no solution."""
    touching = np.flatnonzero(record.touching)
    errors = np.full(len(touching), np.nan)
    for k, t in enumerate(touching):
        sim.reset(qpos=record.qpos[t], qvel=record.qvel[t])
        sim.data.ctrl[:] = record.control[t]
        sim.step()
        if sim.unsolved or record.unsolved[t]:
            continue
        # Penetration recovery after the step turns the axes of a free body's spin, but not here: a body that turns
        # about its spin keeps it in the world.
        got = _in_world(sim.model, record.qpos[t], sim.data.qvel)
        errors[k] = np.abs(got - _in_world(sim.model, record.qpos[t + 1], record.qvel[t + 1])).max()
    return errors


def _in_world(model: Any, qpos: NDArray[np.float64], qvel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return velocities (nv,) with the spins of free bodies and ball joints in world axes instead of the body's."""
    turned, shift = qvel.copy(), {int(mujoco.mjtJoint.mjJNT_FREE): 3, int(mujoco.mjtJoint.mjJNT_BALL): 0}
    for kind, place, dof in zip(model.jnt_type.tolist(), model.jnt_qposadr, model.jnt_dofadr):
        if kind in shift:
            k = shift[kind]  # a free joint starts with a position
            spin = slice(dof + k, dof + k + 3)
            mujoco.mju_rotVecQuat(turned[spin], qvel[spin], qpos[place + k : place + k + 4])
    return turned


def safety(records: Sequence[Record]) -> dict[str, Any]:
    """Return what contact did in all of these that it should not."""
    return {
        "contact_steps": int(sum(record.touching.sum() for record in records)),
        "unsolved": int(sum(record.unsolved.sum() for record in records)),
        "energy_gain_J": max(record.gain for record in records),
        "depth_m": max(record.depth for record in records),
    }


def box_model(body: Body, setting: Setting) -> Any:
    """Return the MjModel of a box above a plane at z = 0, its frame at the centre of mass."""
    return mujoco.MjModel.from_xml_string(plain_throw.scene(body, (0.0, 0.0), setting))


def joints(body: Body, state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return states (n,) as qpos (n, 7) and qvel (n, 6): of the centre of mass, with the spin in body axes."""
    motion = to_motion(body, state)
    R = rotation_matrices(motion.quaternion)
    spin = np.einsum("nji,nj->ni", R, motion.twist[:, 3:])
    return np.hstack([motion.position, motion.quaternion]), np.hstack([motion.twist[:, :3], spin])
