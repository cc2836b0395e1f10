"""Contacts as a law sees them: slip, normal impulse and mobility are those of the rollout."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from stiction import InputError, Law, Mode, State, rollout


class Looking(Law):
    """A law without friction that keeps what `look` returns for its contacts."""

    def __init__(self, body, look) -> None:
        self.body, self.look, self.seen = body, look, []

    def classify(self, contacts):
        return np.full(len(contacts), Mode.DYNAMIC)

    def friction(self, contacts, dynamic):
        self.seen.append(self.look(contacts))
        return np.zeros((len(dynamic), 3))


def tumbling(box) -> State:
    """The box on a corner, on an edge and on a face, moving, and once in flight."""
    angles = [[20, 30, 0], [0, 20, 10], [0, 0, 45], [0, 0, 0]]
    turned = State.from_euler([0, 0, 0], angles)
    turns = Rotation.from_quat(turned.quaternion, scalar_first=True).as_matrix()
    corners = box.vertices @ np.swapaxes(turns, 1, 2)
    height = -corners[..., 2].min(axis=1) + [-1e-6, -1e-6, -1e-6, 1.0]
    velocity = [[1, 2, -1], [-1, 0.5, -2], [0.3, 0, -0.1], [0, 0, 0]]
    spin = [[1, -2, 3], [0, 1, -1], [0, 0, 5], [0, 0, 0]]
    position = np.stack([0 * height, 0 * height, height], axis=1)
    return State.from_euler(position, angles, velocity=velocity, angular_velocity=spin)


def test_a_law_sees_how_its_contacts_move(box):
    """Slip of the centre and of each point, from the motion as a rollout has it."""

    def look(c):
        slips = [c.slip_at_points(i) for i in range(len(c))]
        places = [c.points(i) for i in range(len(c))]
        return c.index.tolist(), c.kind.tolist(), c.mode.tolist(), c.slip, c.spin.copy(), slips, places, c.centre.copy()

    law = Looking(box, look)
    start = tumbling(box)
    run = rollout(law, start, 1)
    index, kind, mode, slip, spin, slips, places, centre = law.seen[0]
    assert index == [0, 1, 2] and kind == [1, 2, 3] and mode == [Mode.DYNAMIC] * 3
    fallen = start.velocity[:3] - np.array([0, 0, 0.002 * 9.81])
    for i in range(3):
        assert slips[i].shape == (2**i, 3)
        # v1 differs from the velocity at the start by gravity, and by the little that a tumbling body turns in a step.
        wanted = fallen[i] + np.cross(start.angular_velocity[i], places[i])
        assert slips[i] == pytest.approx(wanted, abs=0.02)
        assert slips[i].mean(axis=0) == pytest.approx(slip[i], abs=1e-12)
        assert places[i].mean(axis=0) == pytest.approx(centre[i], abs=1e-12)
        assert places[i][:, 2] == pytest.approx(-start.position[i, 2], abs=1e-5)  # on the ground
    assert spin[2] == pytest.approx(5) and slip[2, :2] == pytest.approx([0.3, 0], abs=1e-12)
    assert (run.kind[:, 0] == [*kind, 0]).all()


def test_a_law_sees_what_the_ground_would_push_with(box):
    """The frictionless normal impulse is that of a step without friction, and mobility is what an impulse does."""

    def look(c):
        stops = np.array([c.static_impulse(i) for i in range(len(c))])
        return (
            c.normal_impulse,
            c.mobility,
            c.normal,
            c.centre.copy(),
            c.inverse_inertia,
            c.timestep.copy(),
            stops,
            c.slip,
        )

    law = Looking(box, look)
    run = rollout(law, tumbling(box), 1)
    impulse, mobility, normal, centre, inverse, timestep, stops, slip = law.seen[0]
    assert impulse == pytest.approx(run.impulse[:3, 0, 2], rel=1e-12) and (impulse > 0.01).all()
    assert normal.tolist() == [[0, 0, 1]] * 3 and timestep.tolist() == [0.002] * 3
    p = np.array([0.3, -0.2, 0.5])
    for i in range(3):
        change = inverse[i] @ np.concatenate([p, np.cross(centre[i], p)])
        assert mobility[i] @ p == pytest.approx(change[:3] + np.cross(change[3:], centre[i]), abs=1e-12)
        stopped = inverse[i] @ stops[i]
        assert stopped[:3] + np.cross(stopped[3:], centre[i]) == pytest.approx(-slip[i], abs=1e-9)
    rising = Looking(box, lambda c: c.normal_impulse)
    rollout(rising, State([0, 0, 0.2], velocity=[0, 0, 0.5]), 1)
    assert rising.seen[0].tolist() == [0.0]


def test_friction_at_points_is_put_together_at_the_centre(box):
    given = np.random.default_rng(2).normal(size=(4, 2))

    def look(c):
        return c.friction_at_centre(2, given), c.points(2) - c.centre[2]

    law = Looking(box, look)
    rollout(law, tumbling(box), 1)
    together, arm = law.seen[0]
    assert together[:2] == pytest.approx(given.sum(axis=0))
    assert together[2] == pytest.approx(np.cross(arm, np.pad(given, ((0, 0), (0, 1))))[:, 2].sum())


@pytest.mark.parametrize(
    ("look", "sentence"),
    [
        (lambda c: c.points(3), "There are 3 contacts, numbered from 0, got number 3"),
        (lambda c: c.slip_at_points(-1), "The number of a contact must be a whole number of at least 0, got -1"),
        (
            lambda c: c.friction_at_centre(2, np.zeros((3, 2))),
            r"impulses must have shape \(..., 4, 2\), got shape \(3, 2\)",
        ),
    ],
)
def test_wrong_looks_at_contacts_are_refused(box, look, sentence):
    with pytest.raises(InputError, match=sentence):
        rollout(Looking(box, look), tumbling(box), 1)
