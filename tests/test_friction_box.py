"""The solver of friction boxes."""

import numpy as np
import pytest

from contact_states import random_contacts
from stiction import _core

MU = np.array([0.4, 0.7])


@pytest.mark.parametrize("name", ["box", "stone"])
def test_box_impulses_solve_the_boxed_complementarity_problem(name, request):
    contacts = random_contacts(request.getfixturevalue(name), 300, np.random.default_rng(3))
    slipping = sticking = 0
    for i in range(300):
        A, b = _core.vertex_problem(contacts, i, 1e-5, False)
        m = contacts.record[i]["count"]
        x = np.array(_core.box_impulses(A, b, *MU))
        w = A @ x + b
        scale = np.abs(b).max() + 1e-300
        n, w_n = x[:m], w[:m]
        assert (n >= 0).all() and w_n.min() >= -1e-9 * scale
        assert np.abs(n * w_n).max() <= 1e-9 * scale * (n.max() + 1e-300)
        f, w_f = x[m:].reshape(m, 2), w[m:].reshape(m, 2)
        # Where friction slips it is as strong as it can be and opposes the slip.
        slips = np.abs(w_f) > 1e-7 * scale
        assert (f[slips] * w_f[slips] <= 0).all()
        slipping, sticking = slipping + (slips & (f != 0)).sum(), sticking + (~slips & (f != 0)).sum()
    assert slipping > 50 and sticking > 50
