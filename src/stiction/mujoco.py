"""MuJoCo with contact laws: `stiction.mujoco.Simulation`, `stiction.mujoco.rollout`. Needs the extra `mujoco`."""

from stiction.robots.mujoco import BodyContact, PairContact, Simulation, body_of
from stiction.robots.rollouts import rollout

__all__ = ["BodyContact", "PairContact", "Simulation", "body_of", "rollout"]
