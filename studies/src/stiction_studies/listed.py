"""The studies that `stiction reproduce` knows: what each is about and needs, and how one or all of them are run."""

import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from stiction.basics.environment import require
from stiction.commands.arguments import CommandError
from stiction_studies.page.section import StudyName

_PAGE = ("pyarrow", "plotly", "jinja2", "viser")
_LEARNING = ("torch", "sklearn", "joblib")


@dataclass(frozen=True)
class Listed:
    """A study: the module of its own name in a folder of `studies`.

    about: one line, for help
    packages: importable names of what it needs besides the core and the page
    folder: where it is
    """

    about: str
    packages: tuple[str, ...] = ()
    folder: str = "paper"

    @property
    def needs(self) -> tuple[str, ...]:
        """Importable names of all that it needs besides the core."""
        return (*self.packages, *_PAGE)


# In the order in which `all` runs them.
STUDIES: dict[StudyName, Listed] = {
    "trajectories": Listed("whole throws of three bodies: learned laws and their baseline against DART", ("dartpy",)),
    "laws": Listed("each law that ships, and its baseline, on contacts that it has never seen", ("dartpy",)),
    "events": Listed("sequences of contact events in throws of a box", ("dartpy",)),
    "anisotropy": Listed("a box sent off in eight directions on ground with unequal friction", ("mujoco",)),
    "slope": Listed("a block at rest on slopes, beside MuJoCo, Bullet and DART", ("dartpy", "mujoco")),
    "nsgs": Listed("whole throws with DART's NSGS solver as ground truth", ("dartpy",)),
    "efficiency": Listed("error against the number of training throws, by approximator", ("dartpy", *_LEARNING)),
    "ablation": Listed("what each choice in learning a law is worth", ("dartpy", *_LEARNING)),
    "materials": Listed(
        "friction that no Coulomb law expresses, learned and carried to other bodies",
        ("dartpy", *_LEARNING, "matplotlib"),
        "materials",
    ),
    "chain": Listed(
        "a three-link chain swings to the ground; its last link has a learned law", ("dartpy", "mujoco"), "robots"
    ),
    "robot": Listed("a quadruped with learned feet stands and walks for a minute", ("mujoco",), "robots"),
    "robots": Listed("models of Gymnasium, dm_control and robosuite on our floor", ("dartpy", "mujoco"), "robots"),
    "grasp": Listed("grasps, a stack and slopes, held for a minute by us and by others", ("mujoco",), "robots"),
    "agreement": Listed("our stepping with Coulomb's law against DART, step by step", ("dartpy", "matplotlib")),
    "tosses": Listed("our law and simulators, all fitted to recorded tosses (--data)", (), "recordings"),
}
ALL = "all"
ABOUT = {name: study.about for name, study in STUDIES.items()}
ABOUT |= {ALL: "all of these, on one page: tosses only with --data, ablation only with --quick"}


def run(name: StudyName, out: Path, scale: str, seed: int, *, animate: bool = False, **rest: Any) -> None:
    """Run one study; by choice, write its replays as animations, too."""
    require(f"`stiction reproduce {name}`", *STUDIES[name].needs, *(("matplotlib",) if animate else ()))
    from stiction.basics.progress import status  # brings rich, for which help need not wait

    with status("Loading"):
        study = import_module(f"stiction_studies.{STUDIES[name].folder}.{name}")
    study.run(out, scale=scale, seed=seed, **rest)
    if animate:
        from stiction_studies.page.animation import animate_kept

        wrote = animate_kept(out / name)
        print(f"Wrote {', '.join(map(str, wrote))}" if wrote else f"The study {name} has no replays to animate.")


def run_all(out: Path, scale: str, seed: int, data: Sequence[Path] = ()) -> None:
    """Run every study in order; one that fails is named, and the others still run."""
    from stiction.basics.checks import InputError  # brings numpy, for which help need not wait

    failed = []
    for number, name in enumerate(STUDIES, 1):
        print(f"\n── {name} ({number} of {len(STUDIES)})", flush=True)
        if name == "tosses" and not data:
            print("Left out: it needs recordings, given by --data.")
            continue
        if name == "ablation" and scale != "quick":
            print("Left out: it trains for hours. Run it by its name.")
            continue
        try:
            rest: dict[str, Any] = {"data": data} if name == "tosses" else {}
            run(name, out, scale, seed, **rest)
        except Exception as error:  # whatever it is, the other studies do not depend on it
            failed.append(name)
            if not isinstance(error, InputError | OSError):
                traceback.print_exc()
            print(f"stiction: {name} failed: {error}", file=sys.stderr)
    if failed:
        raise CommandError(f"{len(failed)} of {len(STUDIES)} studies failed: {', '.join(failed)}.")
