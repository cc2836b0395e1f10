"""Real recordings: a tossed cube, a square that was dropped in a plane, and two tossed boxes on a hinge.

Each folder or file of recordings is a separate study with its part of the page. The data is not part of the project.
"""

from collections.abc import Sequence
from pathlib import Path

from stiction.basics import checks

CUBE, SQUARE, ELBOW = SETS = "cube_tosses_train.npz", "square_drops.npz", "elbow_tosses.npz"  # files of recordings


def run(out: Path, *, scale: str = "usual", seed: int = 0, data: Sequence[Path] = ()) -> None:
    """Study each set of recordings that is given, by its folder or file."""
    if not data:
        raise checks.InputError(f"The study of tosses needs --data: folders or files with {', '.join(SETS)}.")
    found = [_file(Path(place)) for place in data]  # fails before the first fit starts
    for path, place in zip(found, data):
        if path.name == CUBE:
            from stiction_studies.recordings.cube_study import run as run_set
        elif path.name == SQUARE:
            from stiction_studies.recordings.square_study import run as run_set
        else:
            from stiction_studies.recordings.elbow_study import run as run_set  # needs MuJoCo
        run_set(out, scale=scale, seed=seed, path=path, data=Path(place))


def _file(place: Path) -> Path:
    paths = [place / name for name in SETS] if place.is_dir() else [place]
    for path in paths:
        if path.is_file() and path.name in SETS:
            return path
    raise checks.InputError(f"There are no recordings at {place}: it must be, or hold, one of {', '.join(SETS)}.")
