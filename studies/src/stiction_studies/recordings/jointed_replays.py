"""Recorded tosses of a jointed part beside forecasts of them, for the page."""

import numpy as np
from numpy.typing import NDArray

from stiction.fit.jointed_fit import predicted
from stiction.fit.jointed_flight import Prepared
from stiction.fit.jointed_recording import JointedToss, rest_heights
from stiction.fit.jointed_starts import SUBSTEPS
from stiction_studies.page.motions_shown import Scene, poses_of, scene_of
from stiction_studies.recordings.jointed_models import HORIZONS, Fitted

SHARES = (0.1, 0.5, 0.9)  # of the tosses that are forecast better than those shown


def replays(ready: Prepared, ours: Fitted, rival: Fitted | None) -> list[Scene]:
    """Held-out tosses as recorded and as forecast: from a good forecast over the middle one to a poor one."""
    soon = ours.compared.horizons[HORIZONS["touch"]]["position"]
    order = np.argsort(soon, kind="stable")
    models = {model.compared.model: model for model in (ours, rival) if model is not None}
    return [_replay(ready, models, int(order[round(share * (len(order) - 1))]), share, soon) for share in SHARES]


def _replay(ready: Prepared, models: dict[str, Fitted], number: int, share: float, soon: NDArray) -> Scene:
    one, part = ready.held_out[[number]], ready.part
    toss = one.tosses[0]
    ours = next(iter(models.values()))
    drawn = part.model(ours.values, one.timestep / SUBSTEPS)
    ground = float(rest_heights(drawn, [toss])[0]) + ours.values["ground"]
    motions = {"recorded": _each_frame(toss)}
    for name, model in models.items():
        motions[name] = predicted(one, model.build, model.values)[0][: toss.steps + 1]
    runs = {name: poses_of(drawn, np.nan_to_num(qpos - _up(ground, drawn.nq))) for name, qpos in motions.items()}
    caption = (
        f"As tracked, and as forecast from its flight. Mean position error of ours soon after the touch "
        f"{soon[number]:.0f} % of the length: {100 * share:.0f} % of the tosses are forecast better."
    )
    return scene_of(f"Toss {number + 1}", drawn, runs, one.timestep, truth="recorded", caption=caption)


def _each_frame(toss: JointedToss) -> NDArray[np.float64]:
    """Recorded qpos of all frames; one that is missing repeats the one before."""
    return toss.qpos[np.searchsorted(toss.frame, np.arange(toss.steps + 1), side="right") - 1]


def _up(height: float, nq: int) -> NDArray[np.float64]:
    return np.r_[0.0, 0.0, height, np.zeros(nq - 3)]
