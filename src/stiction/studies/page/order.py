"""The studies by name, in the order of a story: what holds, that the physics is right, what the law does, where it goes
beyond the paper, what it costs."""

from typing import Literal, get_args

StudyName = Literal[
    "grasp",
    "agreement",
    "trajectories",
    "events",
    "anisotropy",
    "nsgs",
    "slope",
    "efficiency",
    "ablation",
    "materials",
    "chain",
    "robot",
    "robots",
    "tosses",
]
ORDER: tuple[StudyName, ...] = get_args(StudyName)
