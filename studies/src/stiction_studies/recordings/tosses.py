"""Real recordings: a cube that was tossed, a square that was dropped in a plane, two boxes on a hinge that were tossed.

Each folder or file of recordings is a study of its own, with its own part of the page; none of the data is part of the
project.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from stiction.basics import checks

# The file of each set of recordings, and the module that studies it.
SETS = {
    "cube_tosses_train.npz": "cube_tosses",
    "square_drops.npz": "square_drops",
    "elbow_tosses.npz": "elbow_tosses",
}


def run(out: Path, *, scale: str = "usual", seed: int = 0, data: Sequence[Path] = ()) -> None:
    """Study each set of recordings that is given, by its folder or file."""
    if not data:
        raise checks.InputError(f"The study of tosses needs --data: folders or files with {', '.join(SETS)}.")
    found = [_file(Path(place)) for place in data]  # all of them are there before the first fit begins
    for path, place in zip(found, data):
        study = import_module(f"stiction_studies.recordings.{SETS[path.name]}")
        study.run(out, scale=scale, seed=seed, path=path, data=Path(place))


def _file(place: Path) -> Path:
    paths = [place / name for name in SETS] if place.is_dir() else [place]
    for path in paths:
        if path.is_file() and path.name in SETS:
            return path
    raise checks.InputError(f"There are no recordings at {place}: it must be, or hold, one of {', '.join(SETS)}.")
