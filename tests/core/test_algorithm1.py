"""Algorithm 1 and its guards: the laws of contact hold for any law that is plugged in."""

import numpy as np
import pytest

from conftest import convex_stone
from contact_states import contacts_from, handled, random_contacts, twist_after
from stiction import CoulombLaw, Law, Mode, State, rollout
from stiction.simulation.motion import Motion, Setting, contacts_at

FLAT = [1.0, 0.0, 0.0, 0.0]


class FixedLaw(Law):
    """One mode and one friction impulse for all contacts."""

    def __init__(self, mode: Mode, p_f=(0.0, 0.0, 0.0)) -> None:
        self.mode, self.p_f = mode, np.asarray(p_f)

    def classify(self, contacts):
        return np.full(len(contacts), self.mode)

    def friction(self, contacts, dynamic):
        return np.tile(self.p_f, (len(dynamic), 1))


def test_static_stops_the_patch_exactly(box):
    contacts = contacts_from(box, [FLAT], [1e-4], [[0.1, -0.2, -0.5, 0.01, 0.02, 0.3]])
    p, mode = handled(FixedLaw(Mode.STATIC), contacts)
    assert mode[0] == Mode.STATIC
    assert np.abs(twist_after(contacts, 0, p[0])).max() < 1e-15


def test_static_that_would_pull_keeps_only_its_friction(box):
    """A box that tips over its edge cannot be held by a face that lifts off."""
    contacts = contacts_from(box, [FLAT], [1e-4], [[0.0, 0.0, 0.0, 3.0, 0.0, 0.0]])
    p, mode = handled(FixedLaw(Mode.STATIC), contacts)
    after = twist_after(contacts, 0, p[0])
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


@pytest.mark.parametrize("p_f", [(np.nan, 0, 0), (0, np.inf, 0), (0, 0, -np.inf)])
def test_friction_that_is_nan_counts_as_none(box, p_f):
    contacts = contacts_from(box, [FLAT], [1e-4], [[1.0, 0.0, -1.0, 0.0, 0.0, 0.0]])
    p, mode = handled(FixedLaw(Mode.DYNAMIC, p_f), contacts)
    none, _ = handled(FixedLaw(Mode.DYNAMIC), contacts)
    assert mode[0] == Mode.DYNAMIC and p[0, 2] > 0 and np.array_equal(p, none)


def test_friction_that_would_add_energy_is_scaled_down(box):
    """A push along the motion adds energy at any size: only what presses is left. One against it has a largest size."""
    contacts = contacts_from(box, [FLAT], [1e-4], [[1.0, 0.0, -1.0, 0.0, 0.0, 0.0]])
    for push in (1e6, -1e6):
        p, mode = handled(FixedLaw(Mode.DYNAMIC, (push, 0.0, 0.0)), contacts)
        after = twist_after(contacts, 0, p[0])
        assert mode[0] == Mode.DYNAMIC and p[0, 2] > 0
        assert 0.5 * p[0] @ (contacts.record[0].velocity + after) <= 1e-12
    assert p[0, 0] < -0.5, "a brake is kept as far as it may be"


def test_one_contact_equals_its_row_of_a_batch(stone):
    """Bit for bit; the contacts are made anew one by one, too."""
    rng = np.random.default_rng(3)
    motion = Motion(np.zeros((50, 3)), rng.normal(size=(50, 4)), rng.normal(size=(50, 6)))
    motion.quaternion[:] /= np.linalg.norm(motion.quaternion, axis=1, keepdims=True)
    motion.position[:, 2] = 0.1
    setting = Setting(0.002, np.array([0.0, 0.0, -9.81]))
    contacts = contacts_at(stone, motion, setting)
    assert 20 < len(contacts) < 50
    law = CoulombLaw(stone, 0.6)
    p, mode = handled(law, contacts)
    for i, body in enumerate(contacts.record["index"].tolist()):
        alone = contacts_at(stone, Motion(*(part[body : body + 1] for part in motion)), setting)
        p_alone, mode_alone = handled(law, alone)
        assert np.array_equal(p[i], p_alone[0]) and mode[i] == mode_alone[0]


def test_a_view_of_contacts_outlives_them(box):
    """A law may keep what it was shown: the numbers stay where they are."""
    contacts = random_contacts(box, 300, np.random.default_rng(4))
    handled(CoulombLaw(box, 0.5), contacts)
    record = contacts.record
    before = record.tobytes()
    del contacts
    others = [random_contacts(box, 300, np.random.default_rng(seed)) for seed in range(5, 15)]  # to take freed memory
    assert record.tobytes() == before and len(others) == 10


def test_contacts_keep_their_hull_alive():
    """The body may be gone while its contacts are asked for their points."""
    contacts = random_contacts(convex_stone(60), 200, np.random.default_rng(5))
    points = [contacts.points(i) for i in range(200)]
    wanted = random_contacts(convex_stone(60), 200, np.random.default_rng(5))
    others = [convex_stone(60, seed).hull for seed in range(6, 16)]
    assert len(others) == 10
    for i in range(200):
        assert np.array_equal(contacts.points(i), points[i]) and np.array_equal(points[i], wanted.points(i))
        assert np.array_equal(contacts.vertices(i), wanted.vertices(i))


def test_contacts_that_are_not_there_are_refused(box):
    contacts = random_contacts(box, 3, np.random.default_rng(6))
    for i in (-1, 3):
        with pytest.raises(IndexError, match="no contact of that number"):
            contacts.points(i)


def test_what_a_law_keeps_of_a_rollout_may_be_looked_at_later(box):
    seen = []

    class Curious(FixedLaw):
        body = box

        def classify(self, contacts):
            seen.append((contacts, contacts.record, contacts.record.velocity.copy()))
            return super().classify(contacts)

    rollout(Curious(Mode.STATIC), State([0, 0, 0.21]), 100, gravity=[1, 0, -9.81])
    assert len(seen) > 50
    last, record, velocity = seen[-1]
    assert np.array_equal(record.velocity, velocity) and len(last.points(0)) == 4
