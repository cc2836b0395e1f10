"""The law `cube`, identified from tosses of a real cube, inside MuJoCo: does it move as in its own rollout?

A rollout of the law cuts its steps where corners reach the ground. Inside MuJoCo steps cannot be cut, so that impacts
come up to a step late.
"""

import time as clock
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction import _core
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import State
from stiction.laws.law import Law
from stiction.laws.modelfile import load
from stiction.mujoco import plain_throw as mujoco_throw
from stiction.mujoco.plan import max_substep
from stiction.simulation.rollout import rollout
from stiction.viewer.pieces import convex_piece
from stiction_studies.page.motions_shown import Motion, Scene
from stiction_studies.page.section import Table
from stiction_studies.robots import free_body
from stiction_studies.study import percent

TIMESTEPS = (0.001, 0.002, 0.005, 1 / 148)  # [s]; the last is the law's own
DURATION = 0.75  # [s] of a toss: at its end nearly all cubes lie still
WANTED, OURS, MUJOCO = "the law's own rollout", "the law in MuJoCo", "MuJoCo's own contact"
_FRAME = 0.01  # [s] between two frames of a replay


class Poses(NamedTuple):
    """Where the cube's frame is in each toss, above a ground at z = 0: (n, steps + 1, 3) and (n, steps + 1, 4)."""

    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]

    def motion(self, toss: int, timestep: float) -> Motion:
        """One toss, to be watched."""
        every = max(1, round(_FRAME / timestep))
        position, quaternion = (part[toss, ::every, np.newaxis] for part in self)
        return Motion(position, quaternion, every * timestep)


@dataclass(frozen=True)
class Followed:
    """How well tosses inside MuJoCo follow the law's own rollout in the same time steps.

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
        """Medians over the tosses: of the mean error over a toss, of its greatest, and of that at its end."""
        error = self.error
        names = ("name", "timestep", "parts", "contact_steps", "unsolved", "microseconds_per_step")
        return {name: getattr(self, name) for name in names} | {
            "mean_error": float(np.median(error.mean(axis=1))),
            "greatest_error": float(np.median(error.max(axis=1))),
            "final_error": float(np.median(error[:, -1])),
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
    sim = free_body.simulation(law.body, law, timestep, law.gravity)
    wanted = _rollout(law, start, timestep)
    tosses, frames = wanted.position.shape[:2]
    pose = np.zeros((tosses, frames, 7))
    contact, contact_steps, unsolved, began = sim.contacts[free_body.NAME], 0, 0, clock.process_time()
    for k, (qpos, qvel) in enumerate(zip(*free_body.joints(law.body, start))):
        sim.reset(qpos=qpos, qvel=qvel)
        pose[k, 0] = sim.data.qpos
        for t in range(1, frames):
            sim.step()
            pose[k, t] = sim.data.qpos
        contact_steps += contact.steps
        unsolved += contact.unsolved
    taken = 1e6 * (clock.process_time() - began) / (tosses * (frames - 1))
    arm = rotation_matrices(pose[..., 3:].reshape(-1, 4)) @ law.body.com
    poses = Poses(pose[..., :3] - arm.reshape(tosses, frames, 3), pose[..., 3:])
    counts = _core.substeps_of(timestep, max_substep([law])), contact_steps, unsolved
    return Followed(OURS, timestep, poses, wanted, law.body.size[0], *counts, taken)


def follow_mujoco(law: Law, start: State, timestep: float, friction: float = 0.2) -> Followed:
    """The same with MuJoCo's own contact and a friction that is about the law's."""
    wanted = _rollout(law, start, timestep)
    how = {"timestep": timestep, "gravity": law.gravity, "friction": friction}
    run = mujoco_throw.throw(law.body, start, wanted.position.shape[1] - 1, **how)
    return Followed(MUJOCO, timestep, Poses(run.position, run.quaternion), wanted, law.body.size[0])


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


def scene(found: list[Followed]) -> Scene:
    """The first toss, in the time step that MuJoCo's own contact has had."""
    alone = found[-1]
    ours = next(one for one in found if one.timestep == alone.timestep)
    runs = {WANTED: ours.wanted, OURS: ours.poses, MUJOCO: alone.poses}
    motions = {name: poses.motion(0, alone.timestep) for name, poses in runs.items()}
    piece = convex_piece(0, load("cube").body.vertices)
    return Scene("The cube of real tosses", [piece] if piece else [], motions, "Faint: how it began.")


def _rollout(law: Law, start: State, timestep: float) -> Poses:
    run = rollout(law, start.raised(law.ground), round(DURATION / timestep), timestep=timestep)
    return Poses(run.position - [0.0, 0.0, law.ground], run.quaternion)
