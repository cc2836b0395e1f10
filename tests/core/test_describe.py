"""Contact-space features: finite, folded by the law's symmetry, and with targets that give the impulse back."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from contact_states import SETTING, contacts_from, described_by, motion_from, random_contacts
from stiction import Body, Kind, _core
from stiction.laws.inputs import FOLDS, OUTPUTS, ROTATIONS, SIZE, Inputs
from stiction.simulation.motion import Motion, contacts_at

INPUTS = [Inputs(fold=fold, friction=(0.6, 0.6), cone="round" if fold == "heading" else "box") for fold in FOLDS]
OTHERS = [Inputs(guess=False), Inputs(scaled=False), Inputs("state"), Inputs("state", scaled=False)]


def features(contacts, inputs):
    """Features of all contacts that need a normal impulse, by row; None for the others."""
    described = described_by(contacts, inputs.recipe(1.0))
    return [c.features[: SIZE[Kind(c.kind)]].copy() if i in described else None for i, c in enumerate(contacts.record)]


@pytest.mark.parametrize("inputs", INPUTS, ids=FOLDS)
@pytest.mark.parametrize("name", ["box", "prism", "stone"])
def test_features_are_finite_and_of_order_one(name, inputs, request):
    contacts = random_contacts(request.getfixturevalue(name), 500, np.random.default_rng(1))
    seen = [row for row in features(contacts, inputs) if row is not None]
    assert len(seen) > 200
    for row in seen:
        assert np.isfinite(row).all() and np.abs(row).max() < 1e4


@pytest.mark.parametrize("inputs", INPUTS, ids=FOLDS)
@pytest.mark.parametrize("name", ["box", "prism"])
def test_company_changes_no_bit_of_a_description(name, inputs, request):
    body, rng = request.getfixturevalue(name), np.random.default_rng(4)
    quaternion = Rotation.random(100, rng).as_quat(scalar_first=True)
    depth, twist = 10 ** rng.uniform(-8, -2.3, 100), rng.normal(size=(100, 6))
    motion = motion_from(body, quaternion, depth, twist)
    together = features(contacts_at(body, motion, SETTING), inputs)
    assert 20 < sum(row is not None for row in together) < 100
    for i, row in enumerate(together):
        one = Motion(*(part[i : i + 1] for part in motion))
        (alone,) = features(contacts_at(body, one, SETTING), inputs)
        assert (row is None) == (alone is None)
        assert row is None or alone is None or np.array_equal(row, alone)


@pytest.mark.parametrize("inputs", [*INPUTS, *OTHERS])
def test_targets_give_friction_and_impulse_back(prism, inputs):
    rng = np.random.default_rng(2)
    contacts = random_contacts(prism, 300, rng)
    described = described_by(contacts, inputs.recipe(1.3))
    assert 100 < len(described) < 300
    impulse = rng.normal(size=(300, 6))
    targets, wholes = _core.targets(contacts, impulse)
    for i, (c, p) in enumerate(zip(contacts.record, impulse)):
        if i not in described:
            assert not targets[i].any() and not wholes[i].any()
            continue
        wanted = np.array([p[0], p[1], p[5] - (c.centre[0] * p[1] - c.centre[1] * p[0])])
        outputs = OUTPUTS[Kind(c.kind)]
        p_f = _core.friction_from(contacts, i, targets[i])
        assert p_f[:outputs] == pytest.approx(wanted[:outputs], rel=1e-9, abs=1e-12)
        assert _core.impulse_from(contacts, i, wholes[i]) == pytest.approx(p, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_the_state_is_described_by_as_many_numbers_as_it_has(box, rotation):
    """Orientation, height, twist and the paper's two redundant features; none is missing and none is left over."""
    for centre, slip in ((True, True), (False, True), (False, False)):
        inputs = Inputs("state", rotation=rotation, centre=centre, slip=slip)
        contacts = random_contacts(box, 200, np.random.default_rng(5))
        described = sorted(described_by(contacts, inputs.recipe(1.0)))
        rows = contacts.record["features"][described]
        size = inputs.size(Kind.POINT)
        assert np.isfinite(rows[:, :size]).all() and not rows[:, size:].any()
        assert (np.ptp(rows[:, :size], axis=0) > 0).all()


def mirrored(quaternion, twist, flip):
    """The same motion seen in a mirror x -> -x or in the swap x <-> y, of a body that is its own mirror image."""
    M = np.diag([-1.0, 1, 1]) if flip == "x" else np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]])
    R = Rotation.from_quat(quaternion, scalar_first=True).as_matrix()
    # A mirror image of the box is the box itself, mirrored in its own frame first.
    turned = Rotation.from_matrix(M @ R @ np.diag([-1.0, 1, 1])).as_quat(scalar_first=True)
    return turned, np.r_[M @ twist[:3], np.linalg.det(M) * (M @ twist[3:])]


@pytest.mark.parametrize(("fold", "flip"), [(1, "x"), (2, "x"), (2, "swap"), (3, "x"), (3, "swap")])
def test_mirror_images_look_the_same(box, fold, flip):
    rng = np.random.default_rng(3)
    compared = 0
    for _ in range(200):
        quaternion = Rotation.random(None, rng).as_quat(scalar_first=True)
        twist = rng.normal(size=6) * [1, 1, 1, 4, 4, 4]
        other_quaternion, other_twist = mirrored(quaternion, twist, flip)
        contacts = contacts_from(box, [quaternion, other_quaternion], [1e-3, 1e-3], [twist, other_twist])
        # Forces act before contact; gravity and the gyroscopic torque are mirrored as well.
        a, b = features(contacts, INPUTS[fold])
        if a is not None and b is not None:
            compared += 1
            assert a == pytest.approx(b, rel=1e-6, abs=1e-6)
    assert compared > 80


def test_size_does_not_depend_on_the_vertex_count():
    flat = [1.0, 0, 0, 0]
    for sides in (3, 4, 5, 7, 300):
        contacts = contacts_from(Body.prism(sides, 0.2, 0.1, 1.0), [flat], [1e-4], [[1, 0, -1.0, 0, 0, 2]])
        (row,) = features(contacts, INPUTS[0])
        assert row is not None and len(row) == SIZE[Kind.SURFACE]
