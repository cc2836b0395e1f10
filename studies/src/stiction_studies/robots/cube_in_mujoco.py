"""The law `cube`, identified from tosses of a real cube, inside MuJoCo, against its own rollout.

A rollout of the law cuts its steps where corners reach the ground. Inside MuJoCo steps cannot be cut, so that impacts
come up to a step late.
"""

import math
import time as clock
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import State
from stiction.laws.law import Law
from stiction.laws.modelfile import load
from stiction.mujoco import plain_throw
from stiction.mujoco.simulation import Simulation
from stiction.simulation.motion import Setting
from stiction.simulation.rollout import rollout
from stiction.viewer.pieces import convex_piece
from stiction_studies.page.motions_shown import Motion, Scene
from stiction_studies.page.section import Table
from stiction_studies.robots.step_recorder import NAME, box_model, joints
from stiction_studies.study import percent

TIMESTEPS = (0.001, 0.002, 0.005, 1 / 148)  # [s]; the last is the law's own
DURATION = 0.75  # [s] of a toss: at its end nearly all cubes are at rest
WANTED, OURS, MUJOCO = "the law's own rollout", "the law in MuJoCo", "MuJoCo's own contact"


class Poses(NamedTuple):
    """Poses of the cube's frame in each toss, above a ground at z = 0: (n, steps + 1, 3) and (n, steps + 1, 4)."""

    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]

    def motion(self, toss: int, timestep: float) -> Motion:
        """Return one toss for a replay, with frames of about 0.01 s."""
        every = max(1, round(0.01 / timestep))
        position, quaternion = (part[toss, ::every, np.newaxis] for part in self)
        return Motion(position, quaternion, every * timestep)


@dataclass(frozen=True)
class Followed:
    """Tosses inside MuJoCo beside the law's own rollout with the same time step.

    poses, wanted: inside MuJoCo, and in the rollout
    width: of the cube [m]
    parts: in which a time step is taken
    contact_steps, unsolved: of all tosses
    """

    name: str
    timestep: float
    poses: Poses
    wanted: Poses
    width: float
    parts: int = 1
    contact_steps: int = 0
    unsolved: int = 0
    microseconds_per_step: float = 0.0

    @property
    def error(self) -> NDArray[np.float64]:
        """Distance between the two cubes, as a share of the cube's width, (tosses, steps + 1)."""
        return np.linalg.norm(self.poses.position - self.wanted.position, axis=-1) / self.width

    def figures(self) -> dict[str, Any]:
        """Return medians over the tosses: of the mean error over a toss, of its greatest, and of that at its end."""
        error = self.error
        names = ("name", "timestep", "parts", "contact_steps", "unsolved", "microseconds_per_step")
        return {name: getattr(self, name) for name in names} | {
            "mean_error": float(np.median(error.mean(axis=1))),
            "greatest_error": float(np.median(error.max(axis=1))),
            "final_error": float(np.median(error[:, -1])),
        }


def draw_tosses(number: int, seed: int = 0) -> State:
    """Return starts (n,) in the range of the recorded tosses: low, at about 1.1 m/s, spins of a few rad/s."""
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
    """Return tosses in MuJoCo with the law `cube` for each time step [s], and with its own contact for the second."""
    law, start = load("cube"), draw_tosses(tosses, seed)
    found = [follow(law, start, timestep) for timestep in timesteps]
    return [*found, follow_mujoco(law, start, timesteps[min(1, len(timesteps) - 1)])]


def follow(law: Law, start: State, timestep: float) -> Followed:
    """Return tosses of the law's body, a box, inside MuJoCo with that law, from each start (n,)."""
    sim = Simulation(box_model(law.body, Setting(timestep, np.array(law.gravity))), laws={NAME: law})
    wanted = _rollout(law, start, timestep)
    tosses, frames = wanted.position.shape[:2]
    pose = np.zeros((tosses, frames, 7))
    contact, contact_steps, unsolved, start_time = sim.contacts[NAME], 0, 0, clock.process_time()
    for k, (qpos, qvel) in enumerate(zip(*joints(law.body, start))):
        sim.reset(qpos=qpos, qvel=qvel)
        pose[k, 0] = sim.data.qpos
        for t in range(1, frames):
            sim.step()
            pose[k, t] = sim.data.qpos
        contact_steps += contact.steps
        unsolved += contact.unsolved
    taken = 1e6 * (clock.process_time() - start_time) / (tosses * (frames - 1))
    arm = rotation_matrices(pose[..., 3:].reshape(-1, 4)) @ law.body.com
    poses = Poses(pose[..., :3] - arm.reshape(tosses, frames, 3), pose[..., 3:])
    parts = max(1, math.ceil(timestep * law.substeps / law.timestep - 1e-6))
    return Followed(OURS, timestep, poses, wanted, law.body.size[0], parts, contact_steps, unsolved, taken)


def follow_mujoco(law: Law, start: State, timestep: float, friction: float = 0.2) -> Followed:
    """Return the same with MuJoCo's own contact and about the law's friction."""
    wanted = _rollout(law, start, timestep)
    steps = wanted.position.shape[1] - 1
    run = plain_throw.throw(law.body, start, steps, timestep=timestep, gravity=law.gravity, friction=friction)
    return Followed(MUJOCO, timestep, Poses(run.position, run.quaternion), wanted, law.body.size[0])


def table(found: list[Followed]) -> Table:
    """Return the figures as a table."""
    rows = []
    for one in found:
        f = one.figures()
        errors = [percent(f[name]) for name in ("mean_error", "greatest_error", "final_error")]
        unsolved = f"{one.unsolved} of {one.contact_steps:,}" if one.contact_steps else "-"
        time = f"{one.microseconds_per_step:.0f}" if one.microseconds_per_step else "-"
        rows.append([f"{one.name}, {1e3 * one.timestep:.3g} ms", str(one.parts), *errors, unsolved, time])
    columns = ["", "Parts of a step", "Mean error", "Greatest", "At the end", "Unsolved steps", "µs a step"]
    note = (
        f"{len(found[0].error)} tosses of {DURATION:g} s, drawn in the range of the recorded ones. Errors are "
        "distances to the law's own rollout with the same time step, which cuts its steps where corners arrive, as "
        "shares of the cube's width: the mean over a toss, the greatest and the last, each in the median over the "
        "tosses. Inside MuJoCo a step is taken in equal parts that are no longer than the law's own."
    )
    return Table("The cube of real tosses inside MuJoCo", columns, rows, note)


def scene(found: list[Followed]) -> Scene:
    """Return the first toss, with the time step of MuJoCo's own contact."""
    alone = found[-1]
    ours = next(one for one in found if one.timestep == alone.timestep)
    runs = {WANTED: ours.wanted, OURS: ours.poses, MUJOCO: alone.poses}
    motions = {name: poses.motion(0, alone.timestep) for name, poses in runs.items()}
    piece = convex_piece(0, load("cube").body.vertices)
    return Scene("The cube of real tosses", [piece] if piece else [], motions, "Faint: its start.")


def _rollout(law: Law, start: State, timestep: float) -> Poses:
    run = rollout(law, start.raised(law.ground), round(DURATION / timestep), timestep=timestep)
    return Poses(run.position - [0.0, 0.0, law.ground], run.quaternion)
