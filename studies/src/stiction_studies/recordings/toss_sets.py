"""Real recordings: a tossed cube, a square that was dropped in a plane, and two tossed boxes on a hinge.

Each folder or file of recordings is a study of its own, with its own part of the page; none of the data is part of the
project.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from stiction.basics import checks


def _cube() -> Callable[..., None]:
    from stiction_studies.recordings import cube_study

    return cube_study.run


def _square() -> Callable[..., None]:
    from stiction_studies.recordings import square_study

    return square_study.run


def _elbow() -> Callable[..., None]:
    from stiction_studies.recordings import elbow_study  # needs MuJoCo

    return elbow_study.run


# The file of each set of recordings, and what loads its study.
SETS = {"cube_tosses_train.npz": _cube, "square_drops.npz": _square, "elbow_tosses.npz": _elbow}


def run(out: Path, *, scale: str = "usual", seed: int = 0, data: Sequence[Path] = ()) -> None:
    """Study each set of recordings that is given, by its folder or file."""
    if not data:
        raise checks.InputError(f"The study of tosses needs --data: folders or files with {', '.join(SETS)}.")
    found = [_file(Path(place)) for place in data]  # fails before the first fit starts
    for path, place in zip(found, data):
        SETS[path.name]()(out, scale=scale, seed=seed, path=path, data=Path(place))


def _file(place: Path) -> Path:
    paths = [place / name for name in SETS] if place.is_dir() else [place]
    for path in paths:
        if path.is_file() and path.name in SETS:
            return path
    raise checks.InputError(f"There are no recordings at {place}: it must be, or hold, one of {', '.join(SETS)}.")
