"""The solver of friction cones."""

import numpy as np
import pytest
from stiction.laws.cones import cone_impulses

from contact_states import random_contacts
from stiction.laws.coulomb import vertex_problem, vertex_rows


def test_cone_impulses_stay_in_the_cone_and_oppose_the_slip(box):
    mu = np.array([0.5, 0.5])
    contacts = random_contacts(box, 300, np.random.default_rng(4))
    sliding = 0
    for i in range(300):
        A, b = vertex_problem(contacts, i, vertex_rows(contacts, i), 1e-5, True)
        m = contacts.record[i].count
        x = cone_impulses(A, b, mu)
        w, scale = A @ x + b, np.abs(b).max() + 1e-300
        f, slip = x[m:].reshape(m, 2), w[m:].reshape(m, 2)
        assert (np.linalg.norm(f, axis=1) <= 0.5 * x[:m] * (1 + 1e-6) + 1e-12).all()
        for k in np.flatnonzero(np.linalg.norm(slip, axis=1) > 1e-4 * scale):
            if x[k] > 1e-6:
                sliding += 1
                opposed = f[k] @ slip[k] / np.linalg.norm(f[k]) / np.linalg.norm(slip[k])
                assert opposed == pytest.approx(-1, abs=1e-5)
    assert sliding > 50
