"""The solver of friction boxes."""

import numpy as np
import pytest
from stiction.laws.dantzig import box_impulses

from contact_states import random_contacts
from stiction.laws.coulomb import vertex_problem, vertex_rows


@pytest.mark.parametrize("name", ["box", "stone"])
def test_box_impulses_solve_the_boxed_complementarityvertex_problem(name, request):
    body = request.getfixturevalue(name)
    mu = np.array([0.4, 0.7])
    contacts = random_contacts(body, 300, np.random.default_rng(3))
    for i in range(300):
        A, b = vertex_problem(contacts, i, vertex_rows(contacts, i), 1e-5, False)
        m = contacts.record[i].count
        x = box_impulses(A, b, mu)
        w = A @ x + b
        scale = np.abs(b).max() + 1e-300
        n, w_n = x[:m], w[:m]
        assert (
            (n >= 0).all() and w_n.min() >= -1e-9 * scale and np.abs(n * w_n).max() <= 1e-9 * scale * (n.max() + 1e-300)
        )
        f, w_f = x[m:].reshape(m, 2), w[m:].reshape(m, 2)
        # Where friction slips it is as strong as it can be and opposes the slip.
        slips = np.abs(w_f) > 1e-7 * scale
        assert (f[slips] * w_f[slips] <= 0).all()
