"""The impulse that stops a patch."""

import numpy as np
from scipy.spatial.transform import Rotation

from contact_states import contacts_from, random_contacts, twist_after
from stiction import Kind


def test_static_impulse_stops_every_kind_of_patch(box, prism, stone):
    seen = set()
    for body in (box, prism, stone):
        contacts = random_contacts(body, 300, np.random.default_rng(6))
        for i in range(300):
            c = contacts.record[i]
            after = twist_after(contacts, i, contacts.static_impulse(i))
            points = contacts.points(i)
            if c.kind == Kind.POINT:
                points = points.mean(axis=0, keepdims=True)
            speed = after[:3] + np.cross(after[3:], points)
            assert np.abs(speed).max() <= 1e-12 * (1 + np.abs(c.velocity).max())
            seen.add(int(c.kind))
    assert seen == {Kind.POINT, Kind.LINE, Kind.SURFACE}


def test_a_line_may_still_turn_about_itself(box):
    edge = Rotation.from_rotvec([np.pi / 4, 0, 0]).as_quat(scalar_first=True)
    contacts = contacts_from(box, [edge], [1e-4], [[0.3, 0.2, -1.0, 2.0, 1.0, 0.5]])
    assert contacts.record[0].kind == Kind.LINE
    after = twist_after(contacts, 0, contacts.static_impulse(0))
    assert abs(after[3]) > 0.1 and np.abs(after[4:]).max() < 1e-14
