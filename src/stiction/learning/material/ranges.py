"""The slip speeds and loads that were seen: between them friction is learned, beyond them its last value is kept."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.learning.material.observed import Observed
from stiction.learning.material.structure import Range

_LEFT_OUT = 3  # observations at either end, ...
_SHARE = 1e-2  # ... but no more than this share of them
_BEYOND = 0.2  # by which the range is extended, in logarithms: the penalty on bends leaves power laws as they are
_SLOWEST = 1e-3  # [m/s]: what lies below is as good as rest
_NARROWEST = 0.5  # width of a range, in logarithms


def seen_ranges(parts: list[Observed]) -> tuple[Range, Range]:
    """Ranges of ln slip speed [m/s] and of ln load [N] of the sliding contacts; a patch's points share its load."""
    speeds, loads = zip(*(_speeds_and_loads(part.sliding()) for part in parts))
    return _range(np.maximum(np.concatenate(speeds), _SLOWEST)), _range(np.concatenate(loads))


def _speeds_and_loads(sliding: Observed) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    record: Any = sliding.contacts().record
    slip = record.before[:, :3] + np.cross(record.before[:, 3:], record.centre)
    load = sliding.impulse[:, 2] / sliding.setting.timestep
    return np.linalg.norm(slip[:, :2], axis=1), load / [_core.material_points(int(n)) for n in record.count]


def _range(values: NDArray[np.float64]) -> Range:
    logs = np.log(values[values > 0])
    share = min(_LEFT_OUT / max(len(logs), 1), _SHARE)
    low, high = np.quantile(logs, (share, 1 - share))
    wider = max(_BEYOND, 0.5 * (_NARROWEST - (high - low)))
    return float(low - wider), float(high + wider)
