"""What is thrown: within its ranges, evenly, and the same for a throw whatever happens around it."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import stiction
from stiction import Body, InputError, State
from stiction.data.presets import PRESETS, parse_body, preset

RANGES = {"height": (0.1, 0.4), "horizontal": (1, 2), "vertical": (-2, -1), "spin": (3, 5)}


def turns(quaternion) -> np.ndarray:
    """Rotation matrices (n, 3, 3)."""
    return Rotation.from_quat(quaternion, scalar_first=True).as_matrix()


def within(values, limits):
    """All inside the limits, and reaching almost to both ends of them."""
    low, high = limits
    near = 0.02 * (high - low)
    return low <= values.min() < low + near and high - near < values.max() <= high


def test_throws_fill_their_ranges():
    body = Body.box((0.2, 0.3, 0.4), 1.0, com=(0.03, -0.05, 0.08))
    states = State.random(body, 2000, seed=7, ranges=RANGES)
    R = turns(states.quaternion)
    lowest = (R[:, 2] @ body.vertices.T).min(axis=1) + states.position[:, 2]
    of_mass = states.velocity + np.cross(states.angular_velocity, R @ body.com)
    assert within(lowest, RANGES["height"])
    assert within(of_mass[:, 0], RANGES["horizontal"]) and within(of_mass[:, 1], RANGES["horizontal"])
    assert within(of_mass[:, 2], RANGES["vertical"])
    assert all(within(part, RANGES["spin"]) for part in states.angular_velocity.T)
    assert not states.position[:, :2].any()


def test_orientation_is_uniform(box):
    R = turns(State.random(box, 2000, seed=7).quaternion)
    assert np.abs(R.mean(axis=0)).max() < 0.05
    assert (R**2).mean(axis=0) == pytest.approx(np.full((3, 3), 1 / 3), abs=0.03)


def test_planar_bodies_are_thrown_in_their_plane(rectangle):
    states = State.random(rectangle, 2000, seed=7, ranges=RANGES)
    assert stiction.rollout(stiction.CoulombLaw(rectangle), states, 1).steps == 1  # which refuses other states
    assert within(states.velocity[:, 0], RANGES["horizontal"]) and within(states.angular_velocity[:, 1], RANGES["spin"])
    angle = 2 * np.arctan2(states.quaternion[:, 2], states.quaternion[:, 0])
    assert np.abs(np.exp(1j * angle).mean()) < 0.05


def test_throws_in_a_plane_stay_in_it():
    """As on hinges along y: the y axis stays level, and nothing moves along it; and the plane has any heading."""
    pytest.importorskip("pyarrow")
    link = Body.box((0.5, 0.1, 0.08), 1.0)
    truth = stiction.CoulombLaw(link, 0.5, cone="round")
    low = {"height": (0.01, 0.1), "vertical": (-2, -1)}
    data = stiction.collect(link, truth, throws=60, steps=40, in_plane=1.0, ranges=low, workers=1, progress=False)
    rows = data.read()
    across = turns(rows["quaternion"])[:, :, 1]
    along = np.abs((rows["twist"][:, :3] * across).sum(axis=1))
    leaves = np.maximum(
        np.abs(across[:, 2]), np.maximum(along, np.abs(np.cross(rows["twist"][:, 3:], across)).max(axis=1))
    )
    first = np.r_[True, np.diff(rows["throw"]) > 0]
    assert first.sum() > 50 and leaves[first].max() < 1e-9 and np.abs(across[first].mean(axis=0)).max() < 0.3
    # A contact of one end of an edge turns some throws out of their plane; the others stay, also when requeried.
    stay = ~np.isin(rows["throw"], rows["throw"][(leaves > 1e-9) & (rows["step"] >= 0)])
    assert stay[rows["step"] == -1].sum() > 500 and leaves[stay].max() < 1e-9


def test_a_throw_does_not_depend_on_the_number_of_throws(box):
    many, few, other = (State.random(box, *how, ranges=RANGES) for how in ((1200,), (3,), ()))
    for name in ("position", "quaternion", "velocity", "angular_velocity"):
        assert np.array_equal(getattr(many, name)[:3], getattr(few, name))
        assert getattr(other, name) == pytest.approx(getattr(few, name)[0], abs=1e-15)
    assert not np.array_equal(State.random(box, 3, seed=1, ranges=RANGES).quaternion, few.quaternion)


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
def test_impossible_ranges_are_refused(box, ranges, sentence):
    with pytest.raises(InputError, match=sentence):
        State.random(box, ranges=ranges)


def test_presets_are_bodies_that_can_be_thrown():
    for name in PRESETS:
        body = parse_body(name, preset(name).mass)
        start = State.random(body, ranges=preset(name).ranges)
        assert stiction.rollout(stiction.CoulombLaw(body), start, 1).steps == 1
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
