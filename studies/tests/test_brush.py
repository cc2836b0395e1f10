"""The ground of bristles, a ground truth that is not made of points: it obeys mechanics, creeps, and resists spin."""

import numpy as np
import pytest

from conftest import random_states
from contact_states import SETTING
from stiction import InputError, Mode, State, rollout
from stiction_studies.materials.brush import Brush
from stiction_studies.materials.grounds import ground
from stiction_studies.paper import metrics

CREEPING, PADS = ground("creeping").truth, ground("pads").truth
SLOPE = 9.81 * np.array([np.sin(0.2), 0.0, -np.cos(0.2)])  # tan 0.2 = 0.203, below the friction of 0.5


@pytest.mark.parametrize("brush", [CREEPING, PADS], ids=["creeping", "pads"])
def test_throws_obey_mechanics(box, brush):
    law = brush.on(box)
    run = rollout(law, random_states(np.random.default_rng(3), 12), 400)
    assert law.unsolved <= 0.001 * (run.kind > 0).sum() and (run.kind > 0).sum() > 1000
    assert metrics.energy_gains(box, run, SETTING).max() < 1e-9
    assert (run.impulse[..., 2] >= 0).all()
    sinking = metrics.vertex_heights(box, run).min(axis=2)
    assert sinking.min() > -0.02  # what a fast corner sinks in within one step


def test_friction_is_that_of_the_bristles_where_one_point_slides(box):
    run = rollout(Brush(0.4, speed=1e-3).on(box), random_states(np.random.default_rng(4), 20), 300)
    point = (run.kind == 1) & (run.mode == Mode.DYNAMIC) & (run.impulse[..., 2] > 1e-4)
    share = np.linalg.norm(run.impulse[point, :2], axis=1) / run.impulse[point, 2]
    assert point.sum() > 50 and np.median(share) == pytest.approx(0.4, rel=1e-3) and share.max() <= 0.4 + 1e-9


def test_a_box_creeps_down_a_slope_that_friction_could_hold(box):
    rest = State((0.0, 0.0, 0.2))
    run = rollout(CREEPING.on(box), rest, 500, gravity=SLOPE)
    # u / sqrt(u^2 + v0^2) = tan(0.2) / 0.5
    share = np.tan(0.2) / 0.5
    assert run.velocity[-1, 0] == pytest.approx(0.02 * share / np.sqrt(1 - share**2), rel=1e-3)
    held = rollout(PADS.on(box), rest, 500, gravity=SLOPE)
    assert np.abs(held.position[-1] - held.position[0]).max() < 1e-9 and (held.mode[1:] == Mode.STATIC).all()


def test_pads_resist_the_spin_of_a_single_corner(box):
    """A box that stands on one corner, straight below its centre, and spins about the vertical."""
    height = float(np.linalg.norm(box.vertices[0]))
    axis = np.cross(box.vertices[0] / height, (0.0, 0.0, -1.0))
    angle = np.arccos(-box.vertices[0, 2] / height)
    quaternion = np.append(np.cos(angle / 2), np.sin(angle / 2) * axis / np.linalg.norm(axis))
    state = State((0.0, 0.0, height), quaternion, angular_velocity=(0.0, 0.0, 5.0))
    spin = {}
    for name, brush in (("pads", PADS), ("one bristle", Brush(0.5, speed=1e-4))):
        run = rollout(brush.on(box), state, 5)
        assert (run.kind[1:] == 1).any()
        spin[name] = run.impulse[:, 5].sum()
    assert spin["pads"] < 3 * spin["one bristle"] and spin["pads"] < -1e-4


def test_a_batch_has_the_motions_of_its_bodies(box):
    start = random_states(np.random.default_rng(7), 6)
    both, alone = (rollout(PADS.on(box), part, 300) for part in (start, start[2:3]))
    assert np.abs(both.position[2] - alone.position[0]).max() < 1e-9


def test_wrong_brushes_are_refused():
    with pytest.raises(InputError, match="speed"):
        Brush(speed=0.0)
    with pytest.raises(InputError, match="bristles"):
        Brush(bristles=0)
