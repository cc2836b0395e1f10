"""The frictionless normal impulse against a general solver."""

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.spatial.transform import Rotation

from conftest import convex_stone
from contact_states import contacts_from, random_contacts
from stiction import Body


def by_nnls(contacts, i, softness=0.0):
    """The same problem as non-negative least squares over the loads of all vertices, which may yield by a share."""
    c, points = contacts.record[i], contacts.points(i)
    rows = np.stack([np.ones(c["count"]), points[:, 1], -points[:, 0]])
    factor = np.linalg.cholesky(contacts.inverse_inertia[i][2:5, 2:5])
    response, wanted = factor.T @ rows, -np.linalg.solve(factor, c.velocity[2:5])
    if softness > 0:
        yields = np.sqrt(softness) * np.linalg.norm(response, axis=0)  # the square root of a share of its own response
        response, wanted = np.concatenate([response, np.diag(yields)]), np.append(wanted, np.zeros(c["count"]))
    load, _ = nnls(response, wanted, maxiter=100 * c["count"])
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
    assert contacts.record["count"].max() == sides
    for i in range(60):
        P = contacts.normal_impulse(i, contacts.record[i].velocity)
        assert P == pytest.approx(by_nnls(contacts, i), rel=1e-8, abs=1e-9)


def test_normal_impulse_agrees_with_nnls_on_a_stone():
    contacts = random_contacts(convex_stone(500), 300, np.random.default_rng(4))
    assert contacts.record["count"].max() > 10, "some patches must have many vertices"
    for i in range(300):
        P = contacts.normal_impulse(i, contacts.record[i].velocity)
        assert P == pytest.approx(by_nnls(contacts, i), rel=1e-8, abs=1e-9)


def test_targets_are_reached_but_not_exceeded_where_loaded(box):
    """With a rate, the deepest vertices separate at rate x depth, at most at the cap."""
    contacts = random_contacts(box, 200, np.random.default_rng(5))
    mobility = contacts.inverse_inertia
    for i in range(200):
        P = contacts.normal_impulse(i, np.zeros(6), rate=5.0, cap=1e-3)
        u = mobility[i][2:5, 2:5] @ P
        points = contacts.points(i)
        depth = np.maximum(0, -2 * (points[:, 2] + contacts.record[i].height))  # contact points lie at mid-depth
        excess = u[0] + points[:, 1] * u[1] - points[:, 0] * u[2] - np.minimum(5 * depth, 1e-3)
        assert excess.min() == pytest.approx(0, abs=1e-13)


def test_a_soft_contact_yields_by_its_share(box):
    """A flat box falls on its face: each corner yields by the share of its own response that softness says."""
    contacts = contacts_from(box, [[1.0, 0, 0, 0]], [1e-4], [[0, 0, -1.0, 0, 0, 0]])
    speed, points = -contacts.record[0].velocity[2], contacts.points(0)
    inertia = np.diag(contacts.inverse_inertia[0])
    own = inertia[2] + points[0, 1] ** 2 * inertia[3] + points[0, 0] ** 2 * inertia[4]
    for softness in (0.0, 1e-5, 0.1):
        p_z, m_x, m_y = contacts.normal_impulse(0, contacts.record[0].velocity, softness)
        assert p_z == pytest.approx(speed / (inertia[2] + softness * own / 4), rel=1e-12)
        assert (m_x, m_y) == pytest.approx((0, 0), abs=1e-12)


@pytest.mark.parametrize("softness", [1e-5, 1e-2, 0.3])
@pytest.mark.parametrize("sides", [4, 8, 9, 20, 64, 200])
def test_a_soft_patch_of_any_vertex_count_agrees_with_nnls(sides, softness):
    contacts = spinning_prisms(sides, 40, np.random.default_rng(sides))
    for i in range(40):
        P = contacts.normal_impulse(i, contacts.record[i].velocity, softness)
        wanted = by_nnls(contacts, i, softness)
        assert P == pytest.approx(wanted, abs=1e-9 * np.abs(wanted).max() + 1e-15)


def test_a_soft_stone_agrees_with_nnls():
    """Patches that are no part of a face, in all sorts of poses."""
    contacts = random_contacts(convex_stone(500), 300, np.random.default_rng(4))
    assert (contacts.record["count"] > 8).sum() > 10
    for i in range(300):
        P = contacts.normal_impulse(i, contacts.record[i].velocity, 1e-3)
        wanted = by_nnls(contacts, i, 1e-3)
        assert P == pytest.approx(wanted, abs=1e-9 * np.abs(wanted).max() + 1e-15)
