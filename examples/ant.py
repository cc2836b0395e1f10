"""Gymnasium's Ant with random controls, on feet of rubber, ice or slanted hairs: the hairs make it walk along x.

    python examples/ant.py [STEPS [ANIMATION.webp]]   # an animation needs stiction-studies

`LearnedFeet` takes the same keys as `stiction.mujoco.Simulation`; here they name the geoms of the lower legs.
"""

import sys
import warnings
from pathlib import Path

import gymnasium
import numpy as np

import stiction

warnings.filterwarnings("ignore", message=".*RK4.*")  # replaced by Euler's method
FEET = ("left_ankle_geom", "right_ankle_geom", "third_ankle_geom", "fourth_ankle_geom")
MATERIALS = {
    "rubber": stiction.Material.coulomb(1.0),
    "ice": stiction.Material.stribeck(static=0.1, dynamic=0.03, speed=0.1),
    "hairs": stiction.Material.directional(forward=0.2, sideways=0.5, backward=0.8),  # along x, in the world
}

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
films = {name: [] for name in MATERIALS}
for name, material in MATERIALS.items():
    env = stiction.gym.LearnedFeet(
        gymnasium.make("Ant-v5", terminate_when_unhealthy=False), laws={foot: material for foot in FEET}
    )
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(steps):
        env.step(rng.uniform(-1, 1, 8))
        films[name].append(env.unwrapped.data.qpos.copy())
    x, y = env.unwrapped.data.qpos[:2]
    touched = sum(contact.steps for contact in env.contacts.values())
    print(f"{name}: {x:.2f} m along x, {y:.2f} m along y; {touched} foot contacts, {env.simulation.unsolved} unsolved")
if len(sys.argv) > 2:
    from stiction_studies.page.animation import write
    from stiction_studies.page.motions_shown import poses_of, scene_of

    model = env.unwrapped.model
    runs = {name: poses_of(model, np.array(film)) for name, film in films.items()}
    write(scene_of("Ant", model, runs, env.unwrapped.dt, seen_from=(0.3, -1.0)), Path(sys.argv[2]))
