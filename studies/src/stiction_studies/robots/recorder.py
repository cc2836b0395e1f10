"""Simulations with laws, step by step: how they move, and what contact must never do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.mujoco import mjcf
from stiction.mujoco.contacts import PairContact
from stiction.mujoco.simulation import Simulation, mujoco


@dataclass(frozen=True)
class Record:
    """What a simulation did in some steps.

    qpos, qvel: (steps + 1, nq), (steps + 1, nv); control: (steps, nu)
    touching: whether anything with a law did, (steps,)
    unsolved: whether no solution was found, (steps,)
    gain: greatest energy that contact gave to the motion in a step [J]; depth: of the deepest contact point [m];
        both of materials alone
    """

    qpos: NDArray[np.float64]
    qvel: NDArray[np.float64]
    control: NDArray[np.float64]
    touching: NDArray[np.bool_]
    unsolved: NDArray[np.bool_]
    gain: float
    depth: float


class Recorder:
    """Makes the steps of a simulation and notes what they do."""

    def __init__(self, sim: Simulation) -> None:
        self._sim, self._points = sim, all(isinstance(one, PairContact) for one in sim.contacts.values())
        self._rows, self._marks = [], []
        self._gain = self._depth = 0.0

    def step(self) -> None:
        """One step."""
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
        """What has been so far."""
        qpos, qvel, control = (np.array(part) for part in zip(*self._rows, self._now()))
        touching, unsolved = np.array(self._marks, dtype=bool).reshape(-1, 2).T
        return Record(qpos, qvel, control[:-1], touching, unsolved, self._gain, self._depth)


def run(sim: Simulation, qpos: NDArray[np.float64], steps: int, *, qvel: NDArray[np.float64] | None = None) -> Record:
    """Begin anew from a state, and make so many steps."""
    sim.reset(qpos=qpos, qvel=qvel)
    recorder = Recorder(sim)
    for _ in range(steps):
        recorder.step()
    return recorder.record()


def one_step(sim: Simulation, records: Sequence[Record]) -> dict[str, Any]:
    """Another simulation of the same model makes one step from each state in contact of some records.

    Its error is the greatest difference of any joint's velocity after that step [m/s, rad/s], where both have a
    solution.
    """
    errors = np.concatenate([_step_errors(sim, record) for record in records])
    both = errors[np.isfinite(errors)]
    percents = {f"percent_{q}": float(np.percentile(both, q)) for q in (50, 90, 99, 100)} if len(both) else {}
    return {"steps": len(errors), "unsolved": len(errors) - len(both), **percents}


def _step_errors(sim: Simulation, record: Record) -> NDArray[np.float64]:
    """Of each step in contact; nan where one of the two has no solution."""
    touching = np.flatnonzero(record.touching)
    errors = np.full(len(touching), np.nan)
    for k, t in enumerate(touching):
        sim.reset(qpos=record.qpos[t], qvel=record.qvel[t])
        sim.data.ctrl[:] = record.control[t]
        sim.step()
        if sim.unsolved or record.unsolved[t]:
            continue
        # What has sunk in is raised after the step, which turns the axes of a free body's spin, but not here: a body
        # that turns about its spin keeps it in the world.
        got = _in_world(sim.model, record.qpos[t], sim.data.qvel)
        errors[k] = np.abs(got - _in_world(sim.model, record.qpos[t + 1], record.qvel[t + 1])).max()
    return errors


def _in_world(model: Any, qpos: NDArray[np.float64], qvel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Velocities (nv,) with the spins of free bodies and ball joints in world axes instead of the body's own."""
    turned = qvel.copy()
    for place, dof in mjcf.spins(model):
        mujoco.mju_rotVecQuat(turned[dof : dof + 3], qvel[dof : dof + 3], qpos[place : place + 4])
    return turned


def safety(records: Sequence[Record]) -> dict[str, Any]:
    """What contact did in all of these, that it should not."""
    return {
        "contact_steps": int(sum(record.touching.sum() for record in records)),
        "unsolved": int(sum(record.unsolved.sum() for record in records)),
        "energy_gain_J": max(record.gain for record in records),
        "depth_m": max(record.depth for record in records),
    }
