"""The loads that recorded tosses press with while they slip: only there do they tell friction."""

import numpy as np

from stiction.bodies.state import Mode
from stiction.laws.impact import ImpactLaw
from stiction.learning.recordings.tosses import Tosses
from stiction.simulation.rollout import rollout

Loads = tuple[float, float]
OF_MOST = (0.05, 0.95)  # shares of all normal impulse while it slips
MOST_TOSSES = 100


def loads_seen(law: ImpactLaw, tosses: Tosses) -> Loads | None:
    """Normal forces [N], from and to, by which nearly all impulse comes while the body slips; None if it never does.

    They are those of the law's own forecasts of the tosses; of an impact, over a part of a frame, as the law counts it.
    """
    some = tosses[range(min(len(tosses), MOST_TOSSES))]
    timestep = law.timestep / law.substeps
    starts, steps = some.states(law.body, law.gravity, law.drag), law.substeps * max(toss.steps for toss in some.tosses)
    run = rollout(law, starts, steps, timestep=timestep, finite=False)
    force = run.impulse[..., 2][run.mode == Mode.DYNAMIC] / timestep
    force = np.sort(force[force > 0])
    if not len(force):
        return None
    share = np.cumsum(force) / force.sum()  # of the impulse that acts under at most this force
    low, high = (force[np.searchsorted(share, part)] for part in OF_MOST)
    return float(low), float(high)
