"""Real tosses of two boxes on a hinge: our material and MuJoCo's own contact, on tosses that neither has seen.

The data (`elbow_tosses.npz`, from DAIRLab/dair_pll, BSD 3-Clause) is not part of the project. Ours and MuJoCo's contact
are fitted by one fitter, with the same numbers of the part; `mujoco.sysid` in its own way. Bullet and DART are missing:
neither reads the part as it is fitted here, with rounded corners and a hinge that rubs.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from stiction.basics.progress import parts
from stiction.learning.jointed.command import identify_jointed
from stiction.learning.jointed.fit import Build, fit_jointed, with_material
from stiction.learning.jointed.judging import AFTER_TOUCH, judge
from stiction.learning.jointed.parameters import part_parameters
from stiction.learning.jointed.part import JointedPart
from stiction.learning.jointed.prepared import Prepared, prepare
from stiction.robots.mjcf import mujoco
from stiction.studies.outputs import Study, joined
from stiction.studies.page.section import Section
from stiction.studies.recordings import compared, sysid_rival
from stiction.studies.recordings.compared import Compared
from stiction.studies.recordings.jointed_rival import rival_parameters, with_own_contact

UNITS = {"position": " %", "rotation": "°", "joints": "°"}
HORIZONS = {"touch": f"{AFTER_TOUCH} frames from the first touch on", "whole": "whole"}
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
</mujoco>"""  # the part as its makers describe it, with masses that nobody knows: only their ratio shows
_TEXT = [
    "Two boxes of 0.1 m on a hinge were tossed by hand and tracked by cameras. They bounce and tumble until chance "
    f"decides: errors are shown over the first {AFTER_TOUCH} frames after the first touch, and over whole tosses. "
    "Means over the time of each toss: position of the first box in % of its length, its rotation and the angle of the "
    "hinge in degrees.",
]


FITTED: dict[str, int | None] = {"quick": 8, "usual": None, "full": None}  # tosses; None: all that are not held out


def run(out: Path, *, scale: str, seed: int, path: Path, data: Path) -> None:
    """Fit, compare, print the tables, write the results, `elbow.xml` and its material, and publish the section."""
    study = Study(out, "elbow", scale, seed, data=data, by="tosses")
    part = JointedPart(mujoco.MjSpec.from_string(MEASURED), "the elbow")
    number = FITTED[study.scale]
    ready = prepare(path, part, tosses=number, seed=seed)
    models, times = [], time.process_time()
    found = identify_jointed(path, part, tosses=number, seed=seed, command=study.command)
    models.append(_compared("stiction", ready, time.process_time() - times, with_material(part), found.values))
    with parts() as progress:
        models.append(_mujoco(ready, lambda stage, done, most: progress(f"MuJoCo: {stage}", done, most)))
        if sysid_rival.is_there():
            models.append(_sysid(ready, lambda done, most: progress(sysid_rival.NAME, done, most)))
    found.save(study.folder / "elbow")
    content = {
        "models": [model.figures() for model in models],
        "margins": {m.model: compared.margins(models[0], m, seed) for m in models[1:]},
        "coverage": found.figures["coverage"],
        "report": found.figures["report"],
        "parameters": found.figures["parameters"],
    }
    shares = [
        compared.regions({float(level): share for level, share in rows.items()}, f"tosses inside: {what}")
        for what, rows in found.figures["coverage"].items()
    ]
    section = Section(
        study.name,
        "Real tosses of two boxes on a hinge",
        [*_TEXT, " ".join(found.figures["report"])],
        study.command,
        [*compared.tables(models, UNITS, seed), *shares],
    )
    study.finish(section, content, joined(compared.rows(models)), "scipy", "mujoco-core")


def _compared(name: str, ready: Prepared, seconds: float, build: Build, values: Mapping[str, float]) -> Compared:
    found = judge(ready.held_out, build, values)
    horizons = {shown: {what: getattr(found[key], what) for what in UNITS} for key, shown in HORIZONS.items()}
    return Compared(name, len(ready.fitted), seconds, horizons)


def _mujoco(ready: Prepared, progress: Callable[[str, int, int], None]) -> Compared:
    """MuJoCo's own contact, and the same numbers of the part, fitted by our fitter."""
    began = time.process_time()
    build = with_own_contact(ready.part)
    parameters = [*part_parameters(ready.part, ready.gravity), *rival_parameters()]
    found = fit_jointed(ready.fitted, build, parameters, errors=False, progress=progress)
    values = {p.name: float(v) for p, v in zip(parameters, found.values)}
    return _compared("MuJoCo, body too", ready, time.process_time() - began, build, values)


def _sysid(ready: Prepared, progress: Callable[[int, int], None]) -> Compared:
    """MuJoCo, fitted by its own toolbox."""
    from stiction.studies.recordings.sysid_jointed import SysidJointed

    began = time.process_time()
    rival = SysidJointed(ready)
    rival.fit(progress)
    return _compared(sysid_rival.NAME, ready, time.process_time() - began, rival.build, rival.values)
