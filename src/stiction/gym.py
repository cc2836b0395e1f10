"""Gymnasium environments with learned feet: `stiction.gym.LearnedFeet`. Needs the extra `gym`."""

from stiction.robots.gym import LearnedFeet

__all__ = ["LearnedFeet"]
