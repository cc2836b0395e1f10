"""The frictionless normal impulse against a general solver, and the impulse that stops a patch."""

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.spatial.transform import Rotation
from stiction.lcp import lowest_separation, normal_impulse
from stiction.patch import contact_point
from stiction.stopping import write_static_impulse

from conftest import convex_stone
from contact_states import contacts_from, random_contacts
from stiction import Body, Kind


def by_nnls(contacts, i):
    """The same problem as non-negative least squares over the loads of all vertices."""
    c = contacts.record[i]
    points = np.array([contact_point(contacts, i, k) for k in range(c.count)])
    rows = np.stack([np.ones(c.count), points[:, 1], -points[:, 0]])
    factor = np.linalg.cholesky(c.inverse_inertia[2:5, 2:5])
    load, _ = nnls(factor.T @ rows, -np.linalg.solve(factor, c.velocity[2:5]), maxiter=100 * c.count)
    return rows @ load


def spinning_prisms(sides: int, count: int, rng):
    """Prisms with `sides` corners flat on the ground, some tilted so that only part of the face touches."""
    body = Body.prism(sides, 0.2, 0.1, 1.0)
    tilt = rng.choice([0.0, 1e-3, 1e-2], size=(count, 1)) * rng.normal(size=(count, 3))
    turn = Rotation.from_rotvec(tilt) * Rotation.from_rotvec(np.outer(rng.uniform(0, 6, count), [0, 0, 1]))
    twist = rng.normal(0, 1, (count, 6)) * [1, 1, 1, 4, 4, 4]
    return contacts_from(body, turn.as_quat(scalar_first=True), rng.uniform(1e-4, 3e-3, count), twist)


@pytest.mark.parametrize("sides", [3, 4, 5, 8, 20, 64, 200, 500])
def test_normal_impulse_agrees_with_nnls_for_any_vertex_count(sides):
    contacts = spinning_prisms(sides, 60, np.random.default_rng(sides))
    assert contacts.record.count.max() == sides
    for i in range(60):
        P = normal_impulse(contacts, i, contacts.record[i].velocity, 0.0, 0.0, 0.0)
        assert P == pytest.approx(by_nnls(contacts, i), rel=1e-8, abs=1e-9)


def test_normal_impulse_agrees_with_nnls_on_a_stone():
    contacts = random_contacts(convex_stone(500), 300, np.random.default_rng(4))
    assert contacts.record.count.max() > 10, "some patches must have many vertices"
    for i in range(300):
        P = normal_impulse(contacts, i, contacts.record[i].velocity, 0.0, 0.0, 0.0)
        assert P == pytest.approx(by_nnls(contacts, i), rel=1e-8, abs=1e-9)


def test_targets_are_reached_but_not_exceeded_where_loaded(box):
    """With a rate, the deepest vertices separate at rate x depth, at most at the cap."""
    rng = np.random.default_rng(5)
    contacts = random_contacts(box, 200, rng)
    for i in range(200):
        c = contacts.record[i]
        P = normal_impulse(contacts, i, np.zeros(6), 0.0, 5.0, 1e-3)
        u = c.inverse_inertia[2:5, 2:5] @ P
        points = np.array([contact_point(contacts, i, k) for k in range(c.count)])
        depth = np.maximum(0, -2 * (points[:, 2] + c.height))  # contact points lie at mid-depth
        excess = u[0] + points[:, 1] * u[1] - points[:, 0] * u[2] - np.minimum(5 * depth, 1e-3)
        assert excess.min() == pytest.approx(0, abs=1e-13)


def static_impulse(contacts, i):
    p = np.empty(6)
    write_static_impulse(contacts, i, p)
    return p


def test_static_impulse_stops_every_kind_of_patch(box, prism, stone):
    seen = set()
    for body in (box, prism, stone):
        contacts = random_contacts(body, 300, np.random.default_rng(6))
        for i in range(300):
            c = contacts.record[i]
            after = c.velocity + c.inverse_inertia @ static_impulse(contacts, i)
            points = np.array([contact_point(contacts, i, k) for k in range(c.count)])
            if c.kind == Kind.POINT:
                points = points.mean(axis=0, keepdims=True)
            speed = after[:3] + np.cross(after[3:], points)
            assert np.abs(speed).max() <= 1e-12 * (1 + np.abs(c.velocity).max())
            seen.add(int(c.kind))
    assert seen == {Kind.POINT, Kind.LINE, Kind.SURFACE}


def test_a_line_may_still_turn_about_itself(box):
    edge = Rotation.from_rotvec([np.pi / 4, 0, 0]).as_quat(scalar_first=True)
    contacts = contacts_from(box, [edge], [1e-4], [[0.3, 0.2, -1.0, 2.0, 1.0, 0.5]])
    c = contacts.record[0]
    assert c.kind == Kind.LINE
    after = c.velocity + c.inverse_inertia @ static_impulse(contacts, 0)
    assert abs(after[3]) > 0.1 and np.abs(after[4:]).max() < 1e-14


def test_lowest_separation_is_the_smallest_upward_speed(prism):
    contacts = random_contacts(prism, 100, np.random.default_rng(7))
    for i in range(100):
        c = contacts.record[i]
        points = [contact_point(contacts, i, k) for k in range(c.count)]
        speeds = [c.velocity[2] + y * c.velocity[3] - x * c.velocity[4] for x, y, _ in points]
        assert lowest_separation(contacts, i, c.velocity) == pytest.approx(min(speeds))
