"""Real tosses of two boxes on a hinge: our material, three simulators and `mujoco.sysid`, on held-out tosses.

The data (`elbow_tosses.npz`, from DAIRLab/dair_pll, BSD 3-Clause) is not part of the project. Ours, MuJoCo, Bullet and
DART are fitted by one fitter, with the same parameters of the part, tosses, starts, windows and loss; `mujoco.sysid` in
its own way, with at least our processor time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from stiction.basics.progress import parts
from stiction.fit.jointed_fit import AFTER_TOUCH, Sampling
from stiction.fit.jointed_flight import Prepared, prepare
from stiction.fit.jointed_part import JointedPart
from stiction.mujoco.mjcf import mujoco
from stiction_studies.engines.worlds import installed
from stiction_studies.page.section import Section, Table
from stiction_studies.recordings import forecast_comparison, jointed_chance, jointed_models
from stiction_studies.recordings.fitted_simulators import SYSID, has_sysid
from stiction_studies.recordings.forecast_comparison import Compared
from stiction_studies.recordings.jointed_models import HORIZONS, UNITS, Fitted, replays
from stiction_studies.study import Study

MEASURED = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="link1" pos="0 0 0.3">
      <freejoint name="base"/>
      <geom name="link1" type="box" size="0.05 0.025 0.025" mass="0.37"/>
      <body name="link2" pos="-0.035 0.06 0">
        <joint name="hinge" type="hinge" axis="0 1 0"/>
        <geom name="link2" type="box" pos="0.035 0 0" size="0.05 0.025 0.025" mass="0.37"/>
      </body>
    </body>
  </worldbody>
  <contact><exclude body1="link1" body2="link2"/></contact>
</mujoco>"""  # as its makers describe it; the masses are not known, and only their ratio is observable
_TEXT = [
    "Two boxes of 0.1 m on a hinge were tossed by hand and tracked by cameras. They bounce and tumble, which soon "
    f"becomes unpredictable: errors are shown over the first {AFTER_TOUCH} frames after the first touch, and over "
    "whole tosses. Means over the time of each toss: position of the first box in % of its length, its rotation and "
    "the angle of the hinge in degrees.",
]


@dataclass(frozen=True)
class Scale:
    """Tosses that all models are fitted to, and evaluated on (None: all); and smaller numbers of fitted tosses."""

    fitted: int | None
    evaluated: int | None
    fewer: tuple[int, ...] = ()


SCALES = {"quick": Scale(8, 6), "usual": Scale(None, None, (16, 64)), "full": Scale(None, None, (16, 32, 64, 128))}


def run(out: Path, *, scale: str, seed: int, path: Path, data: Path) -> None:
    """Fit, compare, print the tables, write the results, `elbow.xml` and its material, and publish the section."""
    study = Study(out, "elbow", scale, seed, data=data, by="tosses")
    size = SCALES[study.scale]
    part = JointedPart(mujoco.MjSpec.from_string(MEASURED), "the elbow")
    ready = prepare(path, part, tosses=size.fitted, seed=seed)
    ready = replace(ready, held_out=ready.held_out[np.arange(len(ready.held_out))[: size.evaluated]])
    ours, found = jointed_models.ours(ready, seed, study.command)
    others = _others(ready, ours.compared.seconds)
    found.save(study.folder / "elbow")
    models = [model.compared for model in (ours, *others)]
    few = [jointed_models.fewer(ready, number, seed) for number in size.fewer]
    chance = jointed_chance.measure(ready, ours, seed)
    middle = _middle(ready, [ours, *others], float(found.figures["spread"]), seed)
    content = {
        "models": [model.figures() for model in models],
        "margins": {m.model: forecast_comparison.margins(models[0], m, seed) for m in models[1:]},
        "fewer": [model.figures() for model in few],
        "middle": [model.figures() for model in middle],
        "chance": vars(chance),
        **{name: found.figures[name] for name in ("coverage", "spread", "report", "parameters")},
    }
    tables = [*forecast_comparison.tables(models, UNITS, seed), _costs(models)]
    tables += [Table("How many tosses it takes", *_rows([*few, models[0]]))] if few else []
    regions = {f"tosses inside: {what}": shares for what, shares in found.figures["coverage"].items()}
    tables += [_middle_table(middle), chance.table(), forecast_comparison.regions(regions)]
    text = [*_TEXT, " ".join(found.figures["report"])]
    shown = replays(ready, ours, next((m for m in others if m.compared.model.startswith("MuJoCo")), None))
    section = Section(study.name, "Real tosses of two boxes on a hinge", text, study.command, tables, [], shown)
    study.finish(section, content, forecast_comparison.rows([*models, *few, *middle]))


def _others(ready: Prepared, seconds: float) -> list[Fitted]:
    """Return the simulators that are installed, and sysid with `seconds` of processor time."""
    found = []
    with parts() as progress:
        for one in installed().values():
            found.append(jointed_models.rival(one, ready, partial(progress, one.name)))
        if has_sysid():
            found.append(jointed_models.sysid(ready, seconds, partial(progress, SYSID)))
    return found


def _middle(ready: Prepared, models: Sequence[Fitted], scale: float, seed: int) -> list[Compared]:
    """Return forecasts by the mean of samples: ours, and MuJoCo's with the same spread in friction and restitution."""
    found = []
    mujoco_spreads = {"friction": 0.3, "damping_ratio": 0.2}
    for model, spreads in zip(models[:2], (jointed_chance.USUAL, mujoco_spreads)):
        if set(spreads) <= set(model.values):
            errors = jointed_chance.middle_errors(ready.held_out, model, scale, seed, spreads)
            c = model.compared
            found.append(Compared(f"{c.model}, middle", c.fitted, c.seconds, jointed_models.by_horizon(errors)))
    return found


def _middle_table(models: Sequence[Compared]) -> Table:
    note = (
        f"The mean of {Sampling.samples} samples of each toss in each frame: where motions diverge, the best forecast "
        "need not be a motion. MuJoCo's samples differ as ours do, in friction, restitution, ground and start."
    )
    return Table("The mean of samples as a forecast", *_rows(models), note)


def _rows(models: Sequence[Compared]) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of mean errors over both horizons."""
    columns = ["", "fitted", *(f"{horizon}: {what}" for horizon in HORIZONS.values() for what in UNITS)]
    rows = []
    for m in models:
        cells = [f"{m.horizons[h][what].mean():.1f}{unit}" for h in HORIZONS.values() for what, unit in UNITS.items()]
        rows.append([m.model, str(m.fitted), *cells])
    return columns, rows


def _costs(models: Sequence[Compared]) -> Table:
    rows = [[m.model, str(m.fitted), f"{m.seconds:.0f} s"] for m in models]
    note = "Ours with standard errors and confidence regions; sysid ends early once it has converged."
    return Table("Processor time of each fit", ["", "fitted", "time"], rows, note)
