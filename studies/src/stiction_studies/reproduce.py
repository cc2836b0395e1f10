"""Run one study, or all of them. Each study is imported only when it is run, so that help stays fast."""

import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from stiction.basics.environment import require
from stiction.commands.arguments import CommandError
from stiction_studies.catalogue import STUDIES


def study_function(name: str) -> Callable[..., None]:
    """Import a study and return its `run(out, *, scale, seed)`; trajectories also takes `law`, tosses `data`."""
    match name:
        case "take":
            from stiction_studies.recordings.take_study import run
        case "grasp":
            from stiction_studies.robots.grasp import run
        case "agreement":
            from stiction_studies.paper.dart_agreement import run
        case "laws":
            from stiction_studies.paper.laws import run
        case "trajectories":
            from stiction_studies.paper.trajectories import run
        case "events":
            from stiction_studies.paper.events import run
        case "anisotropy":
            from stiction_studies.paper.anisotropy import run
        case "nsgs":
            from stiction_studies.paper.trajectories import run_nsgs as run
        case "slope":
            from stiction_studies.paper.slope import run
        case "efficiency":
            from stiction_studies.paper.efficiency import run
        case "ablation":
            from stiction_studies.paper.ablation import run
        case "materials":
            from stiction_studies.materials.materials_study import run
        case "frictions":
            from stiction_studies.materials.frictions_study import run
        case "chain":
            from stiction_studies.robots.chain import run
        case "robot":
            from stiction_studies.robots.robot import run
        case "robots":
            from stiction_studies.robots.robots import run
        case "testbed":
            from stiction_studies.recordings.testbed import run
        case "tosses":
            from stiction_studies.recordings.toss_sets import run
        case _:
            raise KeyError(name)
    return run


def run(
    name: str,
    out: Path,
    scale: str,
    seed: int,
    *,
    law: Path | None = None,
    data: Sequence[Path] = (),
    animate: bool = False,
) -> None:
    """Run one study.

    law: for trajectories, a model file to evaluate instead of the shipped laws
    data: for tosses, folders or files of recordings
    animate: also write each replay of the study as an animation
    """
    require(f"`stiction reproduce {name}`", *STUDIES[name].needs, *(("matplotlib",) if animate else ()))
    from stiction.basics.progress import status

    with status("Loading"):
        study = study_function(name)
    if law is not None:
        study(out, scale=scale, seed=seed, law=law)
    elif data:
        study(out, scale=scale, seed=seed, data=data)
    else:
        study(out, scale=scale, seed=seed)
    if animate:
        from stiction_studies.page.animation import animate_kept

        wrote = animate_kept(out / name)
        print(f"Wrote {', '.join(map(str, wrote))}" if wrote else f"The study {name} has no replays to animate.")


def run_all(out: Path, scale: str, seed: int, data: Sequence[Path] = ()) -> None:
    """Run every study in order; failures are reported at the end and do not stop the other studies."""
    from stiction.basics.checks import InputError

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
            run(name, out, scale, seed, data=data if name == "tosses" else ())
        except Exception as error:  # the other studies do not depend on it
            failed.append(name)
            if not isinstance(error, InputError | OSError):
                traceback.print_exc()
            print(f"stiction: {name} failed: {error}", file=sys.stderr)
    if failed:
        raise CommandError(f"{len(failed)} of {len(STUDIES)} studies failed: {', '.join(failed)}.")
