"""How far forecasts of a jointed part are from recorded motions, over two horizons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiction.learning.identify.identify import horizon
from stiction.learning.jointed.distances import differences
from stiction.learning.jointed.fit import Build, predictor
from stiction.learning.jointed.part import JointedPart
from stiction.learning.jointed.recording import JointedToss
from stiction.learning.jointed.starts import Starts

AFTER_TOUCH = 16  # frames of the short horizon


@dataclass(frozen=True)
class Judged:
    """Errors of each toss (n,), means over its time.

    position: of the base [% of the part's length]; rotation: of the base [degrees]; joints: mean over the joints
    [degrees, or % of the length for slides]
    """

    position: NDArray[np.float64]
    rotation: NDArray[np.float64]
    joints: NDArray[np.float64]

    def figures(self) -> dict[str, dict[str, float]]:
        """Mean and median over the tosses."""
        return {
            name: {"mean": float(np.mean(rows)), "median": float(np.median(rows))} for name, rows in vars(self).items()
        }


def judge(starts: Starts, build: Build, values: Mapping[str, float]) -> dict[str, Judged]:
    """Errors of forecasts; see `motion_errors`."""
    motions = predictor(starts.part, build)(values, starts, horizon(starts, (None,)))
    return motion_errors(starts.part, starts.tosses, motions)


def motion_errors(
    part: JointedPart, tosses: Sequence[JointedToss], motions: Sequence[NDArray[np.float64]]
) -> dict[str, Judged]:
    """Errors over the first 16 frames from the touch on ("touch"), and from the start to the end ("whole").

    motions: qpos of each toss by frame, (frames, nq)
    """
    rows = {"touch": [], "whole": []}
    for toss, motion in zip(tosses, motions, strict=True):
        d = np.nan_to_num(differences(part, motion[toss.frame], toss.qpos), nan=1e3)
        errors = np.stack([
            np.linalg.norm(d[:, :3], axis=1), np.linalg.norm(d[:, 3:6], axis=1), _joints(part, d[:, 6:])
        ], axis=1)  # fmt: skip
        after = (toss.frame >= toss.touch) & (toss.frame < toss.touch + AFTER_TOUCH)
        rows["touch"].append(errors[after].mean(axis=0))
        rows["whole"].append(errors.mean(axis=0))
    return {name: Judged(*np.array(found).T) for name, found in rows.items()}


def _joints(part: JointedPart, off: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over the joints; a hinge that is off by a whole turn is right."""
    if not part.joints:
        return np.zeros(len(off))
    return np.abs(np.where(part.hinges, (off + 180) % 360 - 180, off)).mean(axis=1)
