"""The law `cube`, identified from tosses of a real cube, inside MuJoCo: does it move as in its own rollout?

A rollout of the law cuts its steps where corners reach the ground. Inside MuJoCo steps cannot be cut, so that impacts
come up to a step late.
"""

import time as clock
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import State
from stiction.laws.law import Law
from stiction.laws.modelfile import load
from stiction.robots import mujoco as engine
from stiction.robots.mujoco_step import parts_of
from stiction.simulation.motion import Setting
from stiction.simulation.rollout import rollout
from stiction.simulators import mujoco_throw
from stiction.studies.numbers import percent
from stiction.studies.page.section import Table

TIMESTEPS = (0.001, 0.002, 0.005, 1 / 148)  # [s]; the last is the law's own
DURATION = 0.75  # [s] of a toss: at its end nearly all cubes lie still
OURS, MUJOCO = "the law in MuJoCo", "MuJoCo's own contact"
_BODY = "body"  # its name in the scene


@dataclass(frozen=True)
class Followed:
    """How well tosses inside MuJoCo follow the law's own rollout in the same time steps.

    error: distance between the two cubes, as a share of the cube's width, (tosses, steps + 1)
    parts: in which a time step is taken
    contact_steps, unsolved: of all tosses
    """

    name: str
    timestep: float
    error: NDArray[np.float64]
    parts: int = 1
    contact_steps: int = 0
    unsolved: int = 0
    microseconds_per_step: float = 0.0

    def figures(self) -> dict[str, Any]:
        """Medians over the tosses: of the mean error over a toss, of its greatest, and of that at its end."""
        names = ("name", "timestep", "parts", "contact_steps", "unsolved", "microseconds_per_step")
        return {name: getattr(self, name) for name in names} | {
            "mean_error": float(np.median(self.error.mean(axis=1))),
            "greatest_error": float(np.median(self.error.max(axis=1))),
            "final_error": float(np.median(self.error[:, -1])),
        }


def draw_tosses(number: int, seed: int = 0) -> State:
    """Starts (n,) within what the recorded tosses of the cube had: low, at about 1.1 m/s, spins of a few rad/s."""
    rng = np.random.default_rng(seed)
    nil, heading = np.zeros(number), rng.uniform(0, 2 * np.pi, number)
    speed = rng.uniform(0.95, 1.35, number)
    return State(
        np.stack([nil, nil, rng.uniform(0.11, 0.18, number)], axis=1),
        Rotation.random(number, rng).as_quat(scalar_first=True),
        np.stack([speed * np.cos(heading), speed * np.sin(heading), rng.uniform(-0.4, 0.2, number)], axis=1),
        rng.normal(0, 2.5, (number, 3)),
    )


def compare(tosses: int = 100, *, timesteps: tuple[float, ...] = TIMESTEPS, seed: int = 0) -> list[Followed]:
    """The law `cube` in MuJoCo with each time step [s], and MuJoCo's own contact beside it with the second of them."""
    law, start = load("cube"), draw_tosses(tosses, seed)
    found = [follow(law, start, timestep) for timestep in timesteps]
    return [*found, follow_mujoco(law, start, timesteps[min(1, len(timesteps) - 1)])]


def follow(law: Law, start: State, timestep: float) -> Followed:
    """Toss the law's body, a box, inside MuJoCo with that law, from each start (n,)."""
    text = mujoco_throw.scene(law.body, (0.0, 0.0), "pyramidal", 0.02, 0, Setting(timestep, np.array(law.gravity)))
    sim = engine.Simulation(engine.mujoco.MjModel.from_xml_string(text), laws={_BODY: law})
    wanted = _rollout(law, start, timestep)
    steps = wanted.shape[1] - 1
    poses = np.zeros((len(wanted), steps + 1, 7))
    contact, contact_steps, unsolved, began = sim.contacts[_BODY], 0, 0, clock.process_time()
    for k in range(len(poses)):
        _put(sim, law, start, k)
        poses[k, 0] = sim.data.qpos
        for t in range(1, steps + 1):
            sim.step()
            poses[k, t] = sim.data.qpos
        contact_steps += contact.steps
        unsolved += contact.unsolved
    taken = 1e6 * (clock.process_time() - began) / (steps * len(poses))
    arm = rotation_matrices(poses[..., 3:].reshape(-1, 4)) @ law.body.com
    error = np.linalg.norm(poses[..., :3] - arm.reshape(wanted.shape) - wanted, axis=-1) / law.body.size[0]
    return Followed(OURS, timestep, error, parts_of(timestep, [law]), contact_steps, unsolved, taken)


def follow_mujoco(law: Law, start: State, timestep: float, friction: float = 0.2) -> Followed:
    """The same with MuJoCo's own contact and a friction that is about the law's."""
    wanted = _rollout(law, start, timestep)
    how = {"timestep": timestep, "gravity": law.gravity, "friction": friction}
    run = mujoco_throw.throw(law.body, start, wanted.shape[1] - 1, **how)
    return Followed(MUJOCO, timestep, np.linalg.norm(run.position - wanted, axis=-1) / law.body.size[0])


def table(found: list[Followed]) -> Table:
    """The figures as they are shown."""
    rows = []
    for one in found:
        f = one.figures()
        errors = [percent(f[name]) for name in ("mean_error", "greatest_error", "final_error")]
        unsolved = f"{one.unsolved} of {one.contact_steps:,}" if one.contact_steps else "-"
        time = f"{one.microseconds_per_step:.0f}" if one.microseconds_per_step else "-"
        rows.append([f"{one.name}, {1e3 * one.timestep:.3g} ms", str(one.parts), *errors, unsolved, time])
    columns = ["", "Parts of a step", "Mean error", "Greatest", "At the end", "Unsolved steps", "µs a step"]
    note = (
        f"{len(found[0].error)} tosses of {DURATION:g} s, drawn within what the recorded ones had. Errors are "
        "distances to the law's own rollout with the same time step, which cuts its steps where corners arrive, as "
        "shares of the cube's width: the mean over a toss, the greatest and the last, each in the median over the "
        "tosses. Inside MuJoCo a step is taken in equal parts that are no longer than the law's own."
    )
    return Table("The cube of real tosses inside MuJoCo", columns, rows, note)


def _rollout(law: Law, start: State, timestep: float) -> NDArray[np.float64]:
    """Positions (n, steps + 1, 3) in the law's own rollout, above a ground at z = 0."""
    run = rollout(law, start.raised(law.ground), round(DURATION / timestep), timestep=timestep)
    return run.position - [0.0, 0.0, law.ground]


def _put(sim: engine.Simulation, law: Law, start: State, number: int) -> None:
    """Begin a toss. The body's frame in MuJoCo lies at its centre of mass, and its spin is in body axes."""
    R = rotation_matrices(start.quaternion[number][None])[0]
    arm, spin = R @ law.body.com, start.angular_velocity[number]
    sim.reset(
        qpos=np.concatenate([start.position[number] + arm, start.quaternion[number]]),
        qvel=np.concatenate([start.velocity[number] + np.cross(spin, arm), R.T @ spin]),
    )
