"""MuJoCo with learned feet: `stiction.mujoco.Simulation`. Needs the extra `mujoco`."""

from stiction.robots.mujoco import BodyContact, Simulation, body_of

__all__ = ["BodyContact", "Simulation", "body_of"]
