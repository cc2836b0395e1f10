"""Contact-space features: finite, folded by the law's symmetry, and with targets that give the impulse back."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from stiction.laws.features import FOLDS, OUTPUTS, SIZE
from stiction.laws.frame import friction_from, impulse_from, target_of, whole_target

from contact_states import contacts_from, described_by, random_contacts
from stiction import Kind
from stiction.laws.inputs import Inputs

RECIPES = [
    Inputs(fold=fold, friction=(0.6, 0.6), cone="round" if fold == "heading" else "box").recipe for fold in FOLDS
]
OTHERS = [Inputs(guess=False), Inputs(scaled=False), Inputs("state"), Inputs("state", scaled=False)]


def features(contacts, recipe, mass=1.0):
    """Features of all contacts that need a normal impulse, by row; None for the others."""
    described = described_by(contacts, recipe, mass)
    return [c.memo[: SIZE[Kind(c.kind)]].copy() if i in described else None for i, c in enumerate(contacts.record)]


@pytest.mark.parametrize("recipe", RECIPES, ids=FOLDS)
@pytest.mark.parametrize("name", ["box", "prism", "stone"])
def test_features_are_finite_and_of_order_one(name, recipe, request):
    contacts = random_contacts(request.getfixturevalue(name), 500, np.random.default_rng(1))
    seen = [row for row in features(contacts, recipe) if row is not None]
    assert len(seen) > 200
    for row in seen:
        assert np.isfinite(row).all() and np.abs(row).max() < 1e4


@pytest.mark.parametrize("recipe", RECIPES, ids=FOLDS)
@pytest.mark.parametrize("name", ["box", "prism"])
def test_company_changes_no_bit_of_a_description(name, recipe, request):
    contacts = random_contacts(request.getfixturevalue(name), 100, np.random.default_rng(4))
    together = features(contacts, recipe)
    for i, row in enumerate(together):
        (alone,) = features(contacts._replace(record=contacts.record[i : i + 1].copy()), recipe)
        assert (row is None) == (alone is None)
        assert row is None or alone is None or np.array_equal(row, alone)


@pytest.mark.parametrize("recipe", [*RECIPES, *(other.recipe for other in OTHERS)])
def test_targets_give_friction_and_impulse_back(prism, recipe):
    rng = np.random.default_rng(2)
    contacts = random_contacts(prism, 300, rng)
    described = described_by(contacts, recipe, 1.0)
    for i, c in enumerate(contacts.record):
        if i not in described:
            continue
        p = rng.normal(size=6)
        wanted = np.array([p[0], p[1], p[5] - (c.centre[0] * p[1] - c.centre[1] * p[0])])
        y, p_f = np.zeros(OUTPUTS[Kind(c.kind)]), np.zeros(5)
        target_of(contacts, i, p, y)
        friction_from(contacts, i, y, p_f)
        assert p_f[: len(y)] == pytest.approx(wanted[: len(y)], rel=1e-9, abs=1e-12)
        whole, again = np.zeros(6), np.zeros(6)
        whole_target(contacts, i, p, whole)
        impulse_from(contacts, i, whole, again)
        assert again == pytest.approx(p, rel=1e-9, abs=1e-12)


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
        a, b = features(contacts, RECIPES[fold])
        if a is not None and b is not None:
            compared += 1
            assert a == pytest.approx(b, rel=1e-6, abs=1e-6)
    assert compared > 80


def test_size_does_not_depend_on_the_vertex_count():
    from stiction import Body

    flat = [1.0, 0, 0, 0]
    for sides in (3, 4, 5, 7, 300):
        contacts = contacts_from(Body.prism(sides, 0.2, 0.1, 1.0), [flat], [1e-4], [[1, 0, -1.0, 0, 0, 2]])
        (row,) = features(contacts, RECIPES[0])
        assert row is not None and len(row) == SIZE[Kind.SURFACE]
