"""Learned contact inside other people's robots: MuJoCo models and Gymnasium environments. Needs the extra `mujoco`."""
