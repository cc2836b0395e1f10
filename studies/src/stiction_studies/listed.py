"""The studies of `stiction reproduce`: what each is about and needs, and how one or all of them are run."""

import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stiction.basics.environment import require
from stiction.basics.errors import InputError
from stiction.commands.arguments import CommandError, loading
from stiction_studies.page.order import StudyName

_PAGE = ("pyarrow", "plotly", "jinja2", "viser")
_LEARNING = ("torch", "sklearn", "joblib")


@dataclass(frozen=True)
class Listed:
    """A study: one line for help, and the importable names of the packages it needs besides the core and the page."""

    about: str
    packages: tuple[str, ...] = ()

    @property
    def needs(self) -> tuple[str, ...]:
        """Importable names of all packages it needs besides the core."""
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
    ),
    "chain": Listed("a three-link chain swings to the ground; its last link has a learned law", ("dartpy", "mujoco")),
    "robot": Listed("a quadruped with learned feet stands and walks for a minute", ("mujoco",)),
    "robots": Listed("models of Gymnasium, dm_control and robosuite on our floor", ("dartpy", "mujoco")),
    "grasp": Listed("grasps, a stack and slopes, held for a minute by us and by others", ("mujoco",)),
    "agreement": Listed("our stepping with Coulomb's law against DART, step by step", ("dartpy", "matplotlib")),
    "tosses": Listed("our law and simulators, all fitted to recorded tosses (--data)"),
}
ALL = "all"
ABOUT = {name: study.about for name, study in STUDIES.items()}
ABOUT |= {ALL: "all of these, on one page: tosses only with --data, ablation only with --quick"}


def runner(name: StudyName) -> Callable[..., None]:
    """The function that runs a study, imported on demand."""
    match name:
        case "trajectories":
            from stiction_studies.paper.trajectories import run
        case "laws":
            from stiction_studies.paper.laws import run
        case "events":
            from stiction_studies.paper.events import run
        case "anisotropy":
            from stiction_studies.paper.anisotropy import run
        case "slope":
            from stiction_studies.paper.slope import run
        case "nsgs":
            from stiction_studies.paper.nsgs import run
        case "efficiency":
            from stiction_studies.paper.efficiency import run
        case "ablation":
            from stiction_studies.paper.ablation import run
        case "materials":
            from stiction_studies.materials.materials import run
        case "chain":
            from stiction_studies.robots.chain import run
        case "robot":
            from stiction_studies.robots.robot import run
        case "robots":
            from stiction_studies.robots.robots import run
        case "grasp":
            from stiction_studies.robots.grasp import run
        case "agreement":
            from stiction_studies.paper.agreement import run
        case "tosses":
            from stiction_studies.recordings.tosses import run
    return run


def run(
    name: StudyName,
    out: Path,
    scale: str,
    seed: int,
    *,
    law: Path | None = None,
    data: Sequence[Path] = (),
    animate: bool = False,
) -> None:
    """Run one study. law: for trajectories; data: for tosses; animate: also write its replays as animations."""
    require(f"`stiction reproduce {name}`", *STUDIES[name].needs, *(("matplotlib",) if animate else ()))
    with loading():
        study = runner(name)
    if name == "trajectories":
        study(out, scale=scale, seed=seed, law=law)
    elif name == "tosses":
        study(out, scale=scale, seed=seed, data=data)
    else:
        study(out, scale=scale, seed=seed)
    if animate:
        from stiction_studies.page.animation import animate_kept

        written = animate_kept(out / name)
        print(f"Wrote {', '.join(map(str, written))}" if written else f"The study {name} has no replays to animate.")


def run_all(out: Path, scale: str, seed: int, data: Sequence[Path] = ()) -> None:
    """Run every study in order; one that fails is reported, and the others still run."""
    failed = []
    for number, name in enumerate(STUDIES, 1):
        print(f"\n── {name} ({number} of {len(STUDIES)})", flush=True)
        if name == "tosses" and not data:
            print("Skipped: it needs recordings, given by --data.")
            continue
        if name == "ablation" and scale != "quick":
            print("Skipped: it trains for hours. Run it by its name.")
            continue
        try:
            run(name, out, scale, seed, data=data)
        except Exception as error:  # whatever it is, the other studies do not depend on it
            failed.append(name)
            if not isinstance(error, InputError | OSError):
                traceback.print_exc()
            print(f"stiction: {name} failed: {error}", file=sys.stderr)
    if failed:
        raise CommandError(f"{len(failed)} of {len(STUDIES)} studies failed: {', '.join(failed)}.")
