"""Algorithm 1 and its guards: the laws of contact hold for any law that is plugged in."""

import numba
import numpy as np
import pytest
from stiction.contact import add_tilt, write_friction_wrench
from stiction.patch import contact_point
from stiction.spatial import apply, dot

from contact_states import contacts_from, handled, random_contacts
from stiction import InputError, Mode

FLAT = [1.0, 0.0, 0.0, 0.0]


class RandomLaw:
    """The worst law: random modes, random friction of any size and direction, sometimes not even a number."""

    softness = 0.0

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def classify(self, contacts):
        return self.rng.choice([Mode.STATIC, Mode.DYNAMIC, Mode.DETACH], size=len(contacts.record))

    def friction(self, contacts, dynamic):
        size = 10 ** self.rng.uniform(-12, 12, (len(dynamic), 1))
        p_f = size * self.rng.normal(size=(len(dynamic), 3))
        odd = self.rng.uniform(size=len(dynamic)) < 0.01
        p_f[odd] = self.rng.choice([0.0, np.nan, np.inf, 1e300], size=(odd.sum(), 1))
        return p_f


class FixedLaw:
    """One mode and one friction impulse for all contacts."""

    softness = 0.0

    def __init__(self, mode: Mode, p_f=(0.0, 0.0, 0.0)) -> None:
        self.mode, self.p_f = mode, np.asarray(p_f)

    def classify(self, contacts):
        return np.full(len(contacts.record), self.mode)

    def friction(self, contacts, dynamic):
        return np.tile(self.p_f, (len(dynamic), 1))


@numba.njit
def violations(contacts, p, mode):
    """Greatest violations, relative to the speeds and the impulse of the contact.

    Penetration, pull, work on separation, friction without load, energy gained.
    """
    worst = np.zeros(5)
    for i in range(len(p)):
        c = contacts.record[i]
        change = apply(c.inverse_inertia, p[i])
        after = c.velocity + change
        # The normal part of p is what its friction leaves.
        p_f = np.zeros(5)
        p_f[0], p_f[1], p_f[2] = p[i, 0], p[i, 1], p[i, 5] - (c.centre[0] * p[i, 1] - c.centre[1] * p[i, 0])
        add_tilt(contacts, i, p_f)
        rub = np.empty(6)
        write_friction_wrench(c.centre, p_f, 1.0, rub)
        rest = p[i] - rub
        fastest = 1e-300
        lowest = np.inf
        for k in range(c.count):
            x, y, _z = contact_point(contacts, i, k)
            before = c.velocity[2] + y * c.velocity[3] - x * c.velocity[4]
            fastest = max(fastest, abs(before), abs(y * c.velocity[3]), abs(x * c.velocity[4]))
            lowest = min(lowest, after[2] + y * after[3] - x * after[4])
        worst[0] = max(worst[0], -lowest / fastest)
        if p[i, 2] == 0:
            worst[3] = max(worst[3], np.abs(p[i]).max())
            continue
        size = np.abs(p[i]).max()
        worst[1] = max(worst[1], -p[i, 2] / size)
        # Nowhere a pull: the centre of pressure lies within the patch, seen from all sides.
        cop_x, cop_y = -rest[4] / p[i, 2], rest[3] / p[i, 2]
        for d in range(32):
            dx, dy = np.cos(d * np.pi / 16), np.sin(d * np.pi / 16)
            reach = -np.inf
            for k in range(c.count):
                x, y, _z = contact_point(contacts, i, k)
                reach = max(reach, dx * x + dy * y)
            worst[1] = max(worst[1], (dx * cop_x + dy * cop_y - reach) / c.diameter * p[i, 2] / size)
        power = rest[2] * after[2] + rest[3] * after[3] + rest[4] * after[4]
        worst[2] = max(worst[2], abs(power) / (size * fastest))
        energy = 0.0
        for k in range(6):
            energy += abs(p[i, k] * c.velocity[k])
        worst[4] = max(worst[4], (dot(p[i], c.velocity) + 0.5 * dot(p[i], change)) / energy)
    return worst


@pytest.mark.parametrize("name", ["box", "prism", "stone"])
def test_no_law_can_break_physics(name, request):
    """Properties 1-3 of the paper, no friction without load and no energy from contact, for the worst law."""
    body = request.getfixturevalue(name)
    count = 34_000
    contacts = random_contacts(body, count, np.random.default_rng(1))
    p, mode = handled(RandomLaw(2), contacts)
    worst = violations(contacts, p, mode)
    kinds, modes = np.bincount(contacts.record.kind, minlength=4)[1:], np.bincount(mode, minlength=4)[1:]
    print(f"{name}: {count} contacts, point/line/surface {kinds}, static/dynamic/detach {modes}; greatest relative")
    print("  penetration {:.1e}, pull {:.1e}, work {:.1e}, lone friction {:.1e}, energy {:.1e}".format(*worst))
    assert np.isfinite(p).all()
    assert (kinds > 0).all() and (modes > 0).all()
    assert (worst <= 1e-9).all()


def test_static_stops_the_patch_exactly(box):
    contacts = contacts_from(box, [FLAT], [1e-4], [[0.1, -0.2, -0.5, 0.01, 0.02, 0.3]])
    p, mode = handled(FixedLaw(Mode.STATIC), contacts)
    c = contacts.record[0]
    assert mode[0] == Mode.STATIC
    assert np.abs(c.velocity + c.inverse_inertia @ p[0]).max() < 1e-15


def test_static_that_would_pull_keeps_only_its_friction(box):
    """A box that tips over its edge cannot be held by a face that lifts off."""
    contacts = contacts_from(box, [FLAT], [1e-4], [[0.0, 0.0, 0.0, 3.0, 0.0, 0.0]])
    p, mode = handled(FixedLaw(Mode.STATIC), contacts)
    c = contacts.record[0]
    after = c.velocity + c.inverse_inertia @ p[0]
    assert mode[0] == Mode.DYNAMIC
    assert after[3] > 0.1, "the box must go on tipping"


def test_detach_while_approaching_is_refused(box):
    contacts = contacts_from(box, [FLAT], [1e-4], [[0.0, 0.0, -1.0, 0.0, 0.0, 0.0]])
    p, mode = handled(FixedLaw(Mode.DETACH), contacts)
    assert mode[0] == Mode.DYNAMIC
    assert p[0, 2] == pytest.approx(1.0 + 9.81 * 0.002)


def test_detach_gives_no_impulse(box):
    contacts = contacts_from(box, [FLAT], [1e-4], [[0.3, 0.0, 1.0, 0.0, 0.0, 0.0]])
    p, mode = handled(FixedLaw(Mode.DETACH), contacts)
    assert mode[0] == Mode.DETACH and not p.any()


def test_friction_of_the_law_is_applied_as_it_is_when_harmless(box):
    contacts = contacts_from(box, [FLAT], [1e-4], [[1.0, 0.0, -1.0, 0.0, 0.0, 0.0]])
    p, mode = handled(FixedLaw(Mode.DYNAMIC, (-0.2, 0.05, 0.0)), contacts)
    assert mode[0] == Mode.DYNAMIC
    assert p[0, :2] == pytest.approx([-0.2, 0.05])


def test_one_contact_equals_its_row_of_a_batch(stone):
    from stiction import CoulombLaw

    contacts = random_contacts(stone, 50, np.random.default_rng(3))
    law = CoulombLaw(stone, 0.6)
    p, mode = handled(law, contacts)
    for i in range(50):
        alone = contacts._replace(record=contacts.record[i : i + 1])
        p_alone, mode_alone = handled(law, alone)
        assert np.array_equal(p[i], p_alone[0]) and mode[i] == mode_alone[0]


@pytest.mark.parametrize(
    ("classify", "friction", "sentence"),
    [
        (lambda n: np.zeros(n), lambda k: np.zeros((k, 3)), "each STATIC, DYNAMIC or DETACH"),
        (lambda n: np.full(n, Mode.DYNAMIC), lambda k: np.zeros((k, 2)), r"friction must return shape \(1, 3\)"),
    ],
)
def test_a_law_of_wrong_form_is_named(box, classify, friction, sentence):
    class Wrong:
        softness = 0.0

        def classify(self, contacts):
            return classify(len(contacts.record))

        def friction(self, contacts, dynamic):
            return friction(len(dynamic))

    contacts = contacts_from(box, [FLAT], [1e-4], [[0.0, 0.0, -1.0, 0.0, 0.0, 0.0]])
    with pytest.raises(InputError, match=sentence):
        handled(Wrong(), contacts)
