"""Names of the studies in the order of the page. Imports nothing, so that help is quick."""

from typing import Literal, get_args

# As a story: what holds, that the physics is right, what the law does, where it goes beyond the paper, what it costs.
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
