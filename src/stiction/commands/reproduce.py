"""`stiction reproduce`."""

from pathlib import Path
from typing import Annotated, Any, cast

import tyro

import stiction
from stiction.basics.names import known
from stiction.commands.arguments import explains, lines, scale_of
from stiction.learning.collect.options import OptionalFile
from stiction.studies import listed


@explains(listed.ABOUT)
def reproduce(
    name: Annotated[
        str, tyro.conf.Positional, tyro.conf.arg(metavar="[STUDY]", help_behavior_hint="(default: list them)")
    ] = "",
    /,
    *,
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="(required with a study)")] = None,
    quick: bool = False,
    full: bool = False,
    seed: int = 0,
    law: OptionalFile = None,
    data: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="PATH [PATH ...]")] = (),
    animate: bool = False,
    json: OptionalFile = None,
) -> None:
    """Run a study: measure, print its tables, write its results and its part of the page OUT/index.html.

    Studies:

    Args:
        name: Study to run.
        out: Folder for the results; made if missing. What materials and ablation find there is not measured again.
        quick: A small run, to see it work.
        full: A large run, for figures to rely on.
        seed: Seed of all that is drawn.
        law: For trajectories: a model file to be judged instead of the shipped laws.
        data: For tosses: folders or files of recordings.
        animate: Write each replay of the study as an animation too, OUT/NAME/<its title>.webp.
        json: Write the figures of the study to this file too; they are in OUT/NAME/results.json in any case.
    """
    if not name and out is None:
        print(f"{lines(listed.ABOUT)}\n\nRun one with `stiction reproduce STUDY --out FOLDER`; --help says more.")
        return
    known("study", name, listed.ABOUT)
    if out is None:
        raise stiction.InputError(f"`reproduce {name}` needs a folder for its results: give --out FOLDER.")
    scale = scale_of(quick, full)
    if law is not None and name != "trajectories":
        raise stiction.InputError(f"--law belongs to the study trajectories, not to {name}.")
    if data and name not in ("tosses", listed.ALL):
        raise stiction.InputError(f"The study {name} works on no recordings; --data is for tosses.")
    if name == listed.ALL:
        if json is not None:
            raise stiction.InputError("--json takes the figures of one study; `all` leaves those of each in OUT.")
        if animate:
            raise stiction.InputError("--animate draws the replays of one study; name one instead of `all`.")
        listed.run_all(out, scale, seed, data)
        return
    from stiction.basics.files import check_writable, write_whole

    check_writable(json)
    options: dict[str, Any] = {"law": law, "data": data or None, "animate": animate or None}
    study = cast(listed.StudyName, name)
    listed.run(study, out, scale, seed, **{key: value for key, value in options.items() if value is not None})
    if json is not None:
        write_whole(json, (out / name / "results.json").read_bytes())
        print(f"Wrote {json}")
