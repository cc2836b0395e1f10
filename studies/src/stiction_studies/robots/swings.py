"""The paper's three-link chain: swings of it in DART and MuJoCo, and the force in its last joint."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.state import Kind, Mode
from stiction.laws.law import GRAVITY, Law
from stiction.mujoco import simulation as engine
from stiction_studies.engines import dart_chain
from stiction_studies.robots.chain_model import (
    CHAIN,
    FRICTION,
    LAST,
    LENGTH,
    LINK,
    MASS,
    PIN,
    TIMESTEP,
    directions,
)


@dataclass(frozen=True)
class Swing:
    """A swing of the chain.

    angle, rate: of each joint to the link before [rad, rad/s], (steps + 1, 3)
    impulse: contact impulse on the last link about its centre of mass [N s, N m s], (steps, 6)
    mode, kind, evaluations, outside, unsolved: of our steps, (steps,); empty for others
    asked: V1 of the steps in contact, (contact steps, 6)
    """

    angle: NDArray[np.float64]
    rate: NDArray[np.float64]
    impulse: NDArray[np.float64]
    mode: NDArray[np.int64]
    kind: NDArray[np.int64]
    evaluations: NDArray[np.int64]
    outside: NDArray[np.bool_]
    unsolved: NDArray[np.bool_]
    asked: NDArray[np.float64]

    @property
    def joint_force(self) -> NDArray[np.float64]:
        """Force (x, z) [N] that the joint between second and third link puts on the third, (steps, 2), by Newton's
        law from the motion: mass times acceleration, less weight and contact force."""
        acceleration = np.diff(self.rate, axis=0) / TIMESTEP
        motion = _centre_acceleration(self.angle[:-1], self.rate[:-1], acceleration)
        return MASS * (motion - np.array([GRAVITY[0], GRAVITY[2]])) - self.impulse[:, [0, 2]] / TIMESTEP


def swing_in_dart(start: NDArray[np.float64], steps: int, solver: str = "nsgs") -> Swing:
    """The ground truth."""
    run = dart_chain.swing(LINK, start, steps, pin=PIN, friction=FRICTION, solver=solver, timestep=TIMESTEP)
    touched = np.abs(run["impulse"]).sum(axis=1) > 0
    none = np.zeros(steps, dtype=np.int64)
    kind = np.where(touched, int(Kind.LINE), int(Kind.NONE))
    mode = np.where(touched, int(Mode.DYNAMIC), int(Mode.NONE))  # DART does not name its modes
    return Swing(
        **run, mode=mode, kind=kind, evaluations=none, outside=none > 0, unsolved=none > 0, asked=np.zeros((0, 6))
    )


def swing_with(law: Law, start: NDArray[np.float64], steps: int, **options: Any) -> Swing:
    """The chain in MuJoCo, its last link with a law; options of stiction.mujoco.Simulation."""
    model = engine.mujoco.MjModel.from_xml_string(CHAIN)
    sim = engine.Simulation(model, laws={LAST: law}, **options)
    sim.reset(qpos=start)
    contact = sim.contacts[LAST]
    angle, rate, impulse = [start.copy()], [sim.data.qvel.copy()], []
    rows, asked = [], []
    for _ in range(steps):
        before = contact.outside, contact.unsolved
        sim.step()
        angle.append(sim.data.qpos.copy())
        rate.append(sim.data.qvel.copy())
        impulse.append(contact.impulse)
        rows.append(
            (contact.mode, contact.kind, contact.evaluations, contact.outside - before[0], contact.unsolved - before[1])
        )
        if contact.evaluations:
            asked.append(contact.asked_at)
    mode, kind, evaluations, outside, unsolved = np.array(rows, dtype=np.int64).T
    return Swing(
        np.array(angle), np.array(rate), np.array(impulse), mode, kind, evaluations, outside > 0, unsolved > 0,
        np.array(asked).reshape(-1, 6),
    )  # fmt: skip


def swing_in_mujoco(start: NDArray[np.float64], steps: int) -> Swing:
    """The chain with MuJoCo's own contact, for comparison."""
    mujoco = engine.mujoco
    model = mujoco.MjModel.from_xml_string(CHAIN)
    data = mujoco.MjData(model)
    data.qpos[:] = start
    body = model.body(LAST).id
    angle, rate, impulse = [start.copy()], [data.qvel.copy()], []
    force = np.zeros(6)
    for _ in range(steps):
        mujoco.mj_forward(model, data)
        total = np.zeros(6)
        for k in range(data.ncon):
            mujoco.mj_contactForce(model, data, k, force)
            push = data.contact.frame[k].reshape(3, 3).T @ force[:3]  # on the second geom: the link, after the ground
            total[:3] += push
            total[3:] += np.cross(data.contact.pos[k] - data.xipos[body], push)
        mujoco.mj_step(model, data)
        impulse.append(TIMESTEP * total)
        angle.append(data.qpos.copy())
        rate.append(data.qvel.copy())
    none = np.zeros(steps, dtype=np.int64)
    return Swing(
        np.array(angle), np.array(rate), np.array(impulse), none, none, none, none > 0, none > 0, np.zeros((0, 6))
    )


def _centre_acceleration(angle, rate, acceleration) -> NDArray[np.float64]:
    """Acceleration (x, z) of the last link's centre [m/s^2], (steps, 2)."""
    heading, spin, change = (np.cumsum(part, axis=1) for part in (angle, rate, acceleration))
    along, down = directions(heading)
    links = change[..., None] * down - (spin**2)[..., None] * along
    return LENGTH * (links[:, 0] + links[:, 1] + 0.5 * links[:, 2])
