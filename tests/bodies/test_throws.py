"""What is thrown: within its ranges, evenly, and the same for a throw whatever happens around it."""

import json

import numpy as np
import pytest

from stiction import Body, InputError, State
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.throws import ThrowRanges, draw, draw_each, generator, stacked
from stiction.bodies.throws import drawn as drawn_together
from stiction.data.instances import noise_in_plane
from stiction.data.presets import PRESETS, parse_body, preset
from stiction.simulation.motion import check_start

RANGES = ThrowRanges(height=(0.1, 0.4), horizontal=(1, 2), vertical=(-2, -1), spin=(3, 5))


def drawn(body, ranges, count=2000) -> State:
    states = [draw(body, ranges, generator(7, k)) for k in range(count)]
    return stacked(states)


def within(values, limits):
    """All inside the limits, and reaching almost to both ends of them."""
    low, high = limits
    near = 0.02 * (high - low)
    return low <= values.min() < low + near and high - near < values.max() <= high


def test_throws_fill_their_ranges(box):
    body = Body.box((0.2, 0.3, 0.4), 1.0, com=(0.03, -0.05, 0.08))
    states = drawn(body, RANGES)
    R = rotation_matrices(states.quaternion)
    lowest = (R[:, 2] @ body.vertices.T).min(axis=1) + states.position[:, 2]
    of_mass = states.velocity + np.cross(states.angular_velocity, R @ body.com)
    assert within(lowest, RANGES.height)
    assert within(of_mass[:, 0], RANGES.horizontal) and within(of_mass[:, 1], RANGES.horizontal)
    assert within(of_mass[:, 2], RANGES.vertical)
    assert all(within(part, RANGES.spin) for part in states.angular_velocity.T)
    assert not states.position[:, :2].any()


def test_orientation_is_uniform(box):
    R = rotation_matrices(drawn(box, ThrowRanges()).quaternion)
    assert np.abs(R.mean(axis=0)).max() < 0.05
    assert (R**2).mean(axis=0) == pytest.approx(np.full((3, 3), 1 / 3), abs=0.03)


def test_planar_bodies_are_thrown_in_their_plane(rectangle):
    states = drawn(rectangle, RANGES)
    check_start(rectangle, states)
    assert within(states.velocity[:, 0], RANGES.horizontal) and within(states.angular_velocity[:, 1], RANGES.spin)
    angle = 2 * np.arctan2(states.quaternion[:, 2], states.quaternion[:, 0])
    assert np.abs(np.exp(1j * angle).mean()) < 0.05


def test_throws_in_a_plane_stay_in_it():
    """As on hinges along y: the y axis stays level, and nothing moves along it; and the plane has any heading."""
    link = Body.box((0.5, 0.1, 0.08), 1.0)
    states = [draw(link, RANGES, generator(7, k), in_plane=True) for k in range(200)]
    quaternion = np.array([state.quaternion for state in states])
    across = rotation_matrices(quaternion)[:, :, 1]
    spin = np.array([state.angular_velocity for state in states])
    assert np.abs(across[:, 2]).max() < 1e-12 and np.abs(across.mean(axis=0)).max() < 0.2
    assert np.abs((np.array([state.velocity for state in states]) * across).sum(axis=1)).max() < 1e-12
    assert np.abs(np.cross(spin, across)).max() < 1e-12 and np.linalg.norm(spin, axis=1).min() > 1
    noise = noise_in_plane(np.random.default_rng(0).standard_normal((200, 6)), quaternion)
    assert np.abs((noise[:, :3] * across).sum(axis=1)).max() < 1e-12
    assert np.abs(np.cross(noise[:, 3:], across)).max() < 1e-12


def test_a_throw_is_its_own(box):
    first, again, other = (draw(box, RANGES, generator(seed, 5)) for seed in (1, 1, 2))
    assert np.array_equal(first.quaternion, again.quaternion) and not np.array_equal(first.quaternion, other.quaternion)


def test_throws_are_the_same_drawn_one_by_one_or_together(box):
    """To the last bit, but for the length of a quaternion, which is made 1 once more where throws are put together."""
    one_by_one, together = drawn(box, RANGES, 1200), drawn_together(box, RANGES, 7, range(1200))
    for name in ("position", "velocity", "angular_velocity"):
        assert np.array_equal(getattr(one_by_one, name), getattr(together, name))
    assert np.array_equal(drawn_together(box, RANGES, 7, [1100]).quaternion[0], together.quaternion[1100])
    flat = np.arange(30) % 3 == 0
    some = draw_each(box, RANGES, [generator(7, k) for k in range(30)], flat)
    for k in (0, 1):
        assert np.array_equal(some[k].velocity, draw(box, RANGES, generator(7, k), in_plane=bool(flat[k])).velocity)


def test_ranges_survive_json():
    assert ThrowRanges.from_dict(json.loads(json.dumps(RANGES.to_dict()))) == RANGES


@pytest.mark.parametrize(
    ("ranges", "sentence"),
    [
        (dict(height=(-0.1, 1)), "height must not reach below the ground"),
        (dict(spin=(2, 1)), "The range of spin must have its lower limit first, got 2 to 1."),
        (dict(spin=3), "The range of spin must be two numbers, got 3."),
        (dict(vertical=(0, np.nan)), "The range of vertical must be finite, got nan."),
        (dict(horizontal=("fast", "slow")), "The range of horizontal must be a number, got 'fast'."),
    ],
)
def test_impossible_ranges_are_refused(ranges, sentence):
    with pytest.raises(InputError, match=sentence):
        ThrowRanges(**ranges)


@pytest.mark.parametrize("description", [None, [], {}, {"height": [0, 1]}, {**RANGES.to_dict(), "more": 1}])
def test_foreign_descriptions_are_refused(description):
    with pytest.raises(InputError, match="Throw ranges must have the fields height, horizontal, spin, vertical"):
        ThrowRanges.from_dict(description)


def test_presets_are_bodies_that_can_be_thrown():
    for name in PRESETS:
        body = parse_body(name, preset(name).mass)
        check_start(body, draw(body, preset(name).ranges, generator(0, 0)))
    assert parse_body("box", 1.0).size == (0.2, 0.3, 0.4) and preset("box").friction == 1.0
    assert parse_body("link", 1.0).size == (0.5, 0.1, 0.08) and preset("link").friction == 0.6


def test_bodies_are_read_from_text(tmp_path):
    import trimesh

    assert parse_body("box:0.1,0.2,0.3", 2.0).mass == 2.0
    assert len(parse_body("prism:6,0.1,0.2", 1.0).vertices) == 12
    assert parse_body("rectangle:0.1,0.2", 1.0).planar
    trimesh.creation.box((100, 200, 300)).export(tmp_path / "stone.stl")
    assert parse_body(str(tmp_path / "stone.stl"), 1.0, scale=0.001).diameter == pytest.approx(0.374, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("bax", "BODY must be one of box, prism, rectangle, link, or box:X,Y,Z"),
        ("ball:1", "BODY must be one of"),
        ("box:1,2", "needs 3 numbers with commas between, got '1,2'"),
        ("box:a,b,c", "needs 3 numbers"),
        ("prism:4.5,1,1", "prism sides must be a whole number, got 4.5"),
        ("prism:nan,1,1", "prism sides must be a whole number, got nan"),
        ("nowhere.stl", "There is no mesh file nowhere.stl"),
        ("", "BODY must be one of"),
    ],
)
def test_other_bodies_are_refused(text, sentence):
    with pytest.raises(InputError, match=sentence):
        parse_body(text, 1.0)
