"""The studies by name, in the order of a story: what holds, that the physics is right, what the law does, where it goes
beyond the paper, what it costs."""

from typing import Literal, get_args

StudyName = Literal[
    "grasp",
    "agreement",
    "laws",
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
OTHER_RECORDINGS = ("square", "elbow")  # run by `tosses`, each with results of its own
ORDER: tuple[str, ...] = (*get_args(StudyName), *OTHER_RECORDINGS)
