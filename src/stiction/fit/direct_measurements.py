"""What recordings show without a law of contact, and how far a fitted law may be from the truth.

Slides measure friction (slides.py), rebounds measure restitution (rebounds.py). A soft contact lets a corner that
arrives with speed v sink by v tau, with a time constant tau: impacts last about pi tau, where the law's take no time.
"""

from dataclasses import dataclass

import numpy as np

from stiction.bodies.body import Body
from stiction.fit.rebounds import MeasuredRestitution, measure_rebounds, rebound_restitution
from stiction.fit.slides import SlidingFriction, corner_heights, measure_slides, position_noise, sliding_friction
from stiction.recordings.tosses import Tosses


@dataclass(frozen=True)
class Direct:
    """Direct measurements.

    sliding: friction in slides; rebounds: restitution in rebounds; None: not observed
    impact_time: time constant of the impacts [s]
    corner_impacts: tosses that first touch with a single corner; others slap the ground with a face or an edge
    """

    sliding: SlidingFriction | None = None
    rebounds: MeasuredRestitution | None = None
    impact_time: float = 0.0
    corner_impacts: int = 0

    @property
    def is_soft(self) -> bool:
        """Whether impacts last so long that those of the law, which are instantaneous, differ from them."""
        return self.impact_time > MODEL_ERRORS.rigid

    @property
    def shows_impacts(self) -> bool:
        """Whether enough tosses land on a single corner: slaps show neither restitution nor inertia."""
        return self.corner_impacts >= MODEL_ERRORS.min_corner_impacts


@dataclass(frozen=True)
class ModelErrors:
    """Errors of a fitted law that more tosses do not average out.

    They were chosen so that intervals hold the truths of `stiction reproduce testbed --seed 0` as often as they should,
    those of restitution with seed 1 as well; other seeds, which have other truths, check them.

    rigid: time constant [s] below which impacts count as instantaneous
    min_corner_impacts: tosses that land on a single corner from which restitution and inertia count as observed
    Pairs are for rigid and for soft contact: friction measured in slides [relative], by uneven pressure and by the last
    impact; restitution measured in rebounds, by the slip and the turning of the corner; restitution that only the fit
    shows; inertia and size [relative].
    """

    rigid: float = 0.002
    min_corner_impacts: int = 3
    slides: tuple[float, float] = (0.012, 0.06)
    rebounds: tuple[float, float] = (0.03, 0.03)
    restitution: tuple[float, float] = (0.06, 0.25)
    inertia: tuple[float, float] = (0.012, 0.09)
    size: tuple[float, float] = (0.008, 0.008)

    def of_fit(self, direct: Direct, friction: float) -> dict[str, float]:
        """Return the least error of each fitted parameter. friction: in sliding"""
        soft = direct.is_soft
        found = {name: getattr(self, name)[soft] for name in ("restitution", "inertia", "size")}
        return found | ({} if direct.sliding is None else {"friction": self.slides[soft] * friction})


MODEL_ERRORS = ModelErrors()


def measure(tosses: Tosses, body: Body, gravity: float) -> Direct:
    """Return what tosses show directly; gravity: [m/s^2], downwards. Nothing for planar bodies."""
    if body.planar:
        return Direct()
    impact_time = impact_time_constant(tosses, body)
    return Direct(
        sliding_friction(measure_slides(tosses, body, gravity, impact_time)),
        rebound_restitution(measure_rebounds(tosses, body, gravity)),
        impact_time,
        corner_impacts(tosses, body),
    )


def corner_impacts(tosses: Tosses, body: Body) -> int:
    """Return how many tosses first touch with a single corner: the next one is a tenth of the least extent higher."""
    margin, found = 0.1 * float(np.ptp(body.vertices, axis=0).min()), 0
    for toss in tosses.tosses:
        lowest, second = np.partition(corner_heights(toss, body)[min(toss.flight, len(toss.frame) - 1)], 1)[:2]
        found += bool(second - lowest > margin)
    return found


def impact_time_constant(tosses: Tosses, body: Body) -> float:
    """Return by how much first impacts sink into the ground, over the speed of arrival: their time constant [s].

    The median over the tosses of the greatest depth in the frames that follow the first touch, beyond the depth at rest
    and the noise of the recorder, divided by the speed with which the touching point arrives.
    """
    found = []
    for toss in tosses.tosses:
        height, k = corner_heights(toss, body).min(axis=1), toss.flight
        if k < 2 or len(height) < k + 3:
            continue
        speed = (height[k - 2] - height[k - 1]) / (tosses.timestep * (toss.frame[k - 1] - toss.frame[k - 2]))
        after = height[k : k + max(3, round(0.04 / tosses.timestep))]
        if speed > 0.2:
            found.append((min(0.0, np.median(height[-5:])) - after.min()) / speed)  # a toss may end in the air
    floor = 2 * position_noise(tosses, body, 9.81)  # [m], at a usual speed of arrival of 1 m/s
    return max(0.0, float(np.median(found)) - floor) if found else 0.0
