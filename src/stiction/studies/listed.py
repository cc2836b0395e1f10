"""The studies that `stiction reproduce` knows: what each needs, and how one or all of them are run."""

import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from stiction.basics.checks import InputError, require
from stiction.studies.page.order import StudyName

Name = Literal[StudyName, "all"]
# In the order in which `all` runs them: what each needs besides the core, as importable name -> extra that brings it.
_PAGE = {"pyarrow": "train", "plotly": "report", "jinja2": "report"}
STUDIES: dict[StudyName, dict[str, str]] = {
    "trajectories": {"dartpy": "dart", **_PAGE},
    "events": {"dartpy": "dart", **_PAGE},
    "anisotropy": {"mujoco": "mujoco", **_PAGE},
    "slope": {"dartpy": "dart", "mujoco": "mujoco", **_PAGE},
    "nsgs": {"dartpy": "dart", **_PAGE},
    "efficiency": {"dartpy": "dart", "torch": "train", "sklearn": "train", "joblib": "train", **_PAGE},
    "ablation": {"dartpy": "dart", "torch": "train", "sklearn": "train", "joblib": "train", **_PAGE},
    "materials": {
        "dartpy": "dart",
        "torch": "train",
        "sklearn": "train",
        "joblib": "train",
        "matplotlib": "report",
        **_PAGE,
    },
    "chain": {"dartpy": "dart", "mujoco": "mujoco", **_PAGE},
    "robot": {"mujoco": "mujoco", **_PAGE},
    "robots": {"dartpy": "dart", "mujoco": "mujoco", **_PAGE},
    "grasp": {"mujoco": "mujoco", **_PAGE},
    "agreement": {"dartpy": "dart", "matplotlib": "report", **_PAGE},
    "tosses": {**_PAGE, "pyarrow": "record"},
}
# A study is a module of its own name: of these in this folder of `studies`, of all others in `paper`.
_ROOMS: dict[StudyName, str] = {
    "materials": "materials",
    "chain": "robots",
    "robot": "robots",
    "robots": "robots",
    "grasp": "robots",
    "tosses": "recordings",
}


class StudyError(Exception):
    """Some studies of `reproduce all` failed; the message names them."""


def run(name: StudyName, out: Path, scale: str, seed: int, **rest: Any) -> None:
    """Run one study."""
    require(f"reproduce {name}", STUDIES[name])
    import_module(f"stiction.studies.{_ROOMS.get(name, 'paper')}.{name}").run(out, scale=scale, seed=seed, **rest)


def run_all(out: Path, scale: str, seed: int, data: Path | None) -> None:
    """Run every study in order; one that fails is named, and the others still run."""
    failed = []
    for number, name in enumerate(STUDIES, 1):
        print(f"\n── {name} ({number} of {len(STUDIES)})", flush=True)
        if name == "tosses" and data is None:
            print("Left out: it needs recordings, given by --data.")
            continue
        if name == "ablation" and scale != "quick":
            print("Left out: it trains for hours. Run it by its name.")
            continue
        try:
            run(name, out, scale, seed, **({"data": data} if name == "tosses" else {}))
        except Exception as error:  # whatever it is, the other studies do not depend on it
            failed.append(name)
            if not isinstance(error, InputError | OSError):
                traceback.print_exc()
            print(f"stiction: {name} failed: {error}", file=sys.stderr)
    if failed:
        raise StudyError(f"{len(failed)} of {len(STUDIES)} studies failed: {', '.join(failed)}.")
