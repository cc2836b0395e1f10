"""The core called wrongly: in a wrong order, with a wrong number. It raises, whatever it is asked."""

import numpy as np
import pytest

from contact_states import random_contacts
from stiction import CoulombLaw, _core


@pytest.mark.parametrize("number", [-1, 5, 2**31 - 1, -(2**31)])
def test_a_contact_that_is_not_there(box, number):
    contacts = random_contacts(box, 5, np.random.default_rng(1))
    calls = [
        lambda: _core.friction_from(contacts, number, np.zeros(3)),
        lambda: _core.impulse_from(contacts, number, np.zeros(6)),
        lambda: contacts.points(number),
        lambda: contacts.normal_impulse(number, np.zeros(6)),
    ]
    for call in calls:
        with pytest.raises(IndexError, match="There is no contact of that number"):
            call()


def test_links_that_do_not_fit_their_model(box):
    """Links, ground and model with different numbers of bodies and planes."""
    links = _core.Links([CoulombLaw(box).native], [box.hull])
    frames, up = np.eye(3)[None], np.array([1.0])

    def setup(ground, bodies=(0,), planes=((0,),)):
        given = {"frames": frames, "ground": ground, "plane_geoms": [list(p) for p in planes], "spins": []}
        return _core.LinkSetup(links=links, bodies=list(bodies), solver=None, **given)

    ground = _core.Ground(axes=frames, height=np.zeros(1), support=up.tolist(), endless=[[True]])
    setup(ground)
    with pytest.raises(ValueError, match="a row for each link"):
        setup(ground, bodies=(0, 1))
    with pytest.raises(ValueError, match="a row for each plane"):
        setup(ground, planes=())
    with pytest.raises(ValueError, match="a value for each link and plane"):
        _core.Ground(axes=frames, height=np.zeros(1), support=up.tolist(), endless=[[True, False]])
    with pytest.raises(ValueError, match="in one of the planes"):
        ground.add_box(centre=np.zeros(3), axes=np.eye(3), half=np.ones(3), faces=[0, 0, 0, 0, 0, 1], meets=[True])
