"""Models of a jointed part, each fitted to the same tosses and judged by the same others."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from stiction.basics.splits import drawn
from stiction.fit.identified_part import IdentifiedPart, identify_part
from stiction.fit.identify import IdentifySettings
from stiction.fit.jointed_fit import AFTER_TOUCH, Build, Judged, jointed_model, judge, part_parameters, with_material
from stiction.fit.jointed_flight import Prepared
from stiction.fit.toss_objective import fit
from stiction_studies.recordings import sysid_rival
from stiction_studies.recordings.compared import Compared
from stiction_studies.recordings.jointed_rival import JointedRival

UNITS = {"position": " %", "rotation": "°", "joints": "°"}
HORIZONS = {"touch": f"{AFTER_TOUCH} frames from the first touch on", "whole": "whole"}
OURS = "stiction"


@dataclass(frozen=True)
class Fitted:
    """A model: how it moves the part, with which numbers, and how far it is off."""

    build: Build
    values: Mapping[str, float]
    compared: Compared


def ours(ready: Prepared, seed: int, command: str) -> tuple[Fitted, IdentifiedPart]:
    """Our material, as `stiction identify --mjcf` finds it, with its regions."""
    began = time.process_time()
    found = identify_part(IdentifySettings(seed=seed, command=command), ready)
    return _judged(OURS, ready, began, with_material(ready.part), found.values), found


def rival(one: JointedRival, ready: Prepared, progress: Callable[[int, int], None]) -> Fitted:
    """A simulator's own contact, and the same numbers of the part, fitted by our fitter."""
    began = time.process_time()
    build = one.on(ready.part)
    parameters = [*part_parameters(ready.part, ready.gravity), *one.contact]
    found = fit(jointed_model(ready.part, build), parameters, ready.fitted, errors=False, progress=progress)
    values = {p.name: float(v) for p, v in zip(parameters, found.values)}
    return _judged(f"{one.name}, body too", ready, began, build, values)


def sysid(ready: Prepared, seconds: float, progress: Callable[[int, int], None]) -> Fitted:
    """MuJoCo, fitted by its own toolbox in `seconds` of processor time at least, unless nothing changes any more."""
    from stiction_studies.recordings.sysid_jointed import SysidJointed

    began = time.process_time()
    found = SysidJointed(ready)
    found.fit(seconds, progress)
    return _judged(sysid_rival.NAME, ready, began, found.build, found.values)


def fewer(ready: Prepared, number: int, seed: int) -> Compared:
    """Our material fitted to so many tosses, drawn with the seed."""
    began = time.process_time()
    some = drawn(len(ready.fitted), number, seed)
    few = replace(ready, fitted=ready.fitted[some])
    found = identify_part(IdentifySettings(seed=seed, regions=False), few)
    return _judged(f"{OURS}, {len(some)} tosses", few, began, with_material(ready.part), found.values).compared


def _judged(name: str, ready: Prepared, began: float, build: Build, values: Mapping[str, float]) -> Fitted:
    seconds = time.process_time() - began
    errors = by_horizon(judge(ready.held_out, build, values))
    return Fitted(build, values, Compared(name, len(ready.fitted), seconds, errors))


def by_horizon(found: Mapping[str, Judged]) -> dict[str, dict[str, np.ndarray]]:
    """Errors as the tables name them."""
    return {shown: {what: getattr(found[key], what) for what in UNITS} for key, shown in HORIZONS.items()}
