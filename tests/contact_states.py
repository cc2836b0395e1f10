"""Contact instances for tests: bodies pressed into the ground in all sorts of poses, as Algorithm 1 sees them."""

import numpy as np
from scipy.spatial.transform import Rotation

from stiction import Body
from stiction.contact import contact_impulse
from stiction.laws.features import describe_all
from stiction.laws.frame import SCALE
from stiction.patch import Contacts, new_contacts
from stiction.simulation.motion import Motion, Setting, begin_step

SETTING = Setting(0.002, np.array([0.0, 0.0, -9.81]))


def contacts_from(body: Body, quaternion, depth, twist) -> Contacts:
    """Contacts of `body` in the given orientations with its lowest vertex `depth` below the ground, at given twists."""
    R = Rotation.from_quat(quaternion, scalar_first=True).as_matrix()
    lowest = ((body.vertices - body.com) @ R[:, 2].T).min(axis=0)
    position = np.zeros((len(depth), 3))
    position[:, 2] = -lowest - depth
    contacts = new_contacts(body.hull, len(depth))
    found = begin_step(SETTING, body.hull, contacts, Motion(position, np.array(quaternion), np.array(twist)))
    assert found == len(depth)
    return contacts


def random_contacts(body: Body, count: int, rng: np.random.Generator) -> Contacts:
    """Random poses, a third of them turned so that a face lies almost flat, and some exactly flat."""
    turn = Rotation.random(count, rng)
    hull = body.hull
    flat = rng.uniform(size=count) < 0.35
    for i in np.flatnonzero(flat).tolist():
        normal = hull.normals[rng.integers(len(hull.normals))]
        onto_ground = Rotation.align_vectors([[0, 0, -1.0]], [normal])[0]
        tilt = Rotation.from_rotvec(rng.normal(0, 1, 3) * rng.choice([0.0, 1e-9, 1e-5, 1e-3, 1e-2]))
        turn[i] = tilt * Rotation.from_rotvec([0, 0, rng.uniform(0, 6.3)]) * onto_ground
    twist = rng.normal(0, 1, (count, 6)) * np.array([1.5, 1.5, 1.5, 4, 4, 4])
    twist *= rng.choice([0.0, 1e-3, 0.1, 1.0], size=(count, 1))
    depth = 10 ** rng.uniform(-8, -2.3, count)
    return contacts_from(body, turn.as_quat(scalar_first=True), depth, twist)


def handled(law, contacts):
    """Impulses (n, 6) and modes (n,) of Algorithm 1."""
    contact_impulse(law, contacts)
    return contacts.record["impulse"].copy(), contacts.record["mode"].copy()


def described_by(contacts, recipe, mass):
    """Numbers of the contacts that have a description."""
    describe_all(contacts, recipe, mass)
    return set(np.flatnonzero(contacts.record["memo"][:, SCALE] > 0).tolist())
