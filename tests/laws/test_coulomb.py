"""The analytic Coulomb law: textbook motions, cones, symmetry."""

import time

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from conftest import random_states
from contact_states import contacts_from, handled, random_contacts
from stiction import Body, CoulombLaw, InputError, Mode, State, rollout


@pytest.mark.parametrize("cone", ["dart", "round"])
@pytest.mark.parametrize("softness", [0.0, 1e-5])
def test_a_sliding_block_stops_after_v2_over_2_mu_g(box, cone, softness):
    mu, speed = 0.4, 1.5
    law = CoulombLaw(box, mu, cone=cone, softness=softness)
    run = rollout(law, State([0, 0, 0.2], velocity=[speed, 0, 0]), 800)
    assert run.position[-1, 0] == pytest.approx(speed**2 / (2 * mu * 9.81), rel=0.01)
    assert np.abs(run.position[-1, 1]) < 1e-9


@pytest.mark.parametrize("cone", ["dart", "round"])
def test_anisotropic_friction_stops_each_axis_by_its_own_coefficient(box, cone):
    law = CoulombLaw(box, (0.3, 0.6), cone=cone)
    along_x = rollout(law, State([0, 0, 0.2], velocity=[1, 0, 0]), 800)
    along_y = rollout(law, State([0, 0, 0.2], velocity=[0, 2, 0]), 800)
    assert along_x.position[-1, 0] == pytest.approx(1 / (2 * 0.3 * 9.81), rel=0.01)
    assert along_y.position[-1, 1] == pytest.approx(4 / (2 * 0.6 * 9.81), rel=0.01)


def test_without_friction_nothing_slows_down(box):
    run = rollout(CoulombLaw(box, 0.0), State([0, 0, 0.2], velocity=[1, 0, 0]), 500)
    assert run.velocity[-1, 0] == pytest.approx(1.0)


def test_turning_a_round_cone_throw_about_the_vertical_turns_its_trajectory(prism):
    law = CoulombLaw(prism, 0.5, cone="round")
    start = random_states(np.random.default_rng(1), 6)
    yaw = Rotation.from_rotvec([0, 0, 0.83])
    turned = State(
        yaw.apply(start.position),
        (yaw * Rotation.from_quat(start.quaternion, scalar_first=True)).as_quat(scalar_first=True),
        yaw.apply(start.velocity),
        yaw.apply(start.angular_velocity),
    )
    a, b = rollout(law, start, 300), rollout(law, turned, 300)
    expected = yaw.apply(a.position.reshape(-1, 3)).reshape(a.position.shape)
    assert b.position == pytest.approx(expected, abs=1e-9)


def test_box_law_is_symmetric_under_quarter_turns_but_not_under_an_eighth(prism):
    law = CoulombLaw(prism, 0.5, cone="dart")
    start = random_states(np.random.default_rng(2), 8)
    error = {}
    for name, angle in (("quarter", np.pi / 2), ("eighth", np.pi / 4)):
        yaw = Rotation.from_rotvec([0, 0, angle])
        turned = State(
            yaw.apply(start.position),
            (yaw * Rotation.from_quat(start.quaternion, scalar_first=True)).as_quat(scalar_first=True),
            yaw.apply(start.velocity),
            yaw.apply(start.angular_velocity),
        )
        a, b = rollout(law, start, 250), rollout(law, turned, 250)
        error[name] = np.abs(b.position[:, -1] - yaw.apply(a.position[:, -1])).max()
    assert error["quarter"] < 1e-6 < 1e-2 < error["eighth"]


def test_rigid_law_names_all_three_modes(box):
    contacts = random_contacts(box, 500, np.random.default_rng(5))
    law = CoulombLaw(box, 0.5, softness=0.0)
    _, mode = handled(law, contacts)
    assert set(np.unique(mode)) == {Mode.STATIC, Mode.DYNAMIC, Mode.DETACH}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(friction=-0.1), "friction must not be negative"),
        (dict(friction=np.nan), "friction must be finite"),
        (dict(friction=(0.1, 0.2, 0.3)), "friction must be one number or two"),
        (dict(cone="square"), "cone must be one of 'round', 'dart', got 'square'"),
        (dict(softness=-1), "softness of a law must be 0 to 1"),
        (dict(timestep=0), "timestep .s. must be positive"),
    ],
)
def test_impossible_laws_are_refused(box, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        CoulombLaw(box, **arguments)


def test_a_patch_of_hundreds_of_vertices_is_solved_for_some_of_them():
    """The work grows with the cube of their number: friction that is all but infinite must not take minutes."""
    body = Body.prism(500, 0.2, 0.1, 1.0)
    contacts = contacts_from(body, [[1, 0, 0, 0]], [1e-4], [[1.0, 0.3, -1.0, 0, 0, 2.0]])
    assert contacts.record["count"][0] == 500
    assert CoulombLaw(body, 0.5, cone="round").impulses(contacts, 0)[0].shape == (24, 3)
    start = time.process_time()
    for friction in ((691.0, 1e-6), (1e19, 1e19), (7e14, 2.8)):
        for cone in ("dart", "round"):
            p, _ = handled(CoulombLaw(body, friction, cone=cone, softness=0.0), contacts)
            assert np.isfinite(p).all() and p[0, 2] > 0
    assert time.process_time() - start < 2
