"""Gymnasium environments with contact laws: `LearnedFeet`, and `ThreadVectorEnv` for many. Needs the extra `gym`."""

from stiction.robots.gym import LearnedFeet, ThreadVectorEnv

__all__ = ["LearnedFeet", "ThreadVectorEnv"]
