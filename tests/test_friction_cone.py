"""The solver of friction cones."""

import numpy as np
import pytest

from contact_states import random_contacts
from stiction import _core


def test_cone_impulses_stay_in_the_cone_and_oppose_the_slip(box):
    contacts = random_contacts(box, 300, np.random.default_rng(4))
    sliding = 0
    for i in range(300):
        A, b = _core.vertex_problem(contacts, i, 1e-5, True)
        m = contacts.record[i]["count"]
        assert A.shape == (3 * m, 3 * m) and b.shape == (3 * m,)
        x = np.array(_core.cone_impulses(A, b, 0.5, 0.5))
        w, scale = A @ x + b, np.abs(b).max() + 1e-300
        f, slip = x[m:].reshape(m, 2), w[m:].reshape(m, 2)
        assert (np.linalg.norm(f, axis=1) <= 0.5 * x[:m] * (1 + 1e-6) + 1e-12).all()
        for k in np.flatnonzero(np.linalg.norm(slip, axis=1) > 1e-4 * scale):
            if x[k] > 1e-6:
                sliding += 1
                opposed = f[k] @ slip[k] / np.linalg.norm(f[k]) / np.linalg.norm(slip[k])
                assert opposed == pytest.approx(-1, abs=1e-5)
    assert sliding > 50
