"""Synthetic recordings of the elbow, made with a known part and material."""

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from stiction.fit.jointed_fit import build_material
from stiction.fit.jointed_starts import SUBSTEPS, frames_of, roll_with

ELBOW = Path(__file__).parents[1] / "examples" / "elbow.xml"
DT, FRAMES, GRAVITY = 1 / 150, 100, 9.81
TRUTH = {
    "rounding": 0.002,
    "friction": 0.25,
    "restitution": 0.4,
    "hinge.friction": 2e-3,
    "link2.mass": 1.15,
    "size": 0.99,
}
LINKS = ("link1", "link2")


def toss(part, number, *, frames=FRAMES, seed=0):
    """Poses (number, frames, 8) of random tosses of the part as it truly is, as a tracker would write them."""
    rng = np.random.default_rng(seed)
    states = np.zeros((number, 8 + 7))
    states[:, :3] = [0.0, 0.0, 0.16]
    states[:, 3:7] = Rotation.random(number, rng=np.random.default_rng(seed)).as_quat(scalar_first=True)
    states[:, 7] = rng.uniform(-2, 2, number)
    states[:, 8:11] = rng.uniform(-0.8, 0.8, (number, 3))
    states[:, 11:] = rng.uniform(-4, 4, (number, 4))
    model = part.model(TRUTH, DT / SUBSTEPS)
    found = frames_of(roll_with(build_material(TRUTH), LINKS), model, states, np.full(number, frames - 1))
    qpos = np.array(found)
    qpos[..., 7] = (qpos[..., 7] + np.pi) % (2 * np.pi) - np.pi  # trackers wrap angles
    return np.concatenate([qpos[..., 3:7], qpos[..., :3], qpos[..., 7:]], axis=-1)


def write(path, poses, **more):
    np.savez(path, poses=poses, dt=DT, **more)
    return path
