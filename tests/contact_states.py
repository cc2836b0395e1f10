"""Contact instances for tests: bodies pressed into the ground in all sorts of poses, as Algorithm 1 sees them."""

import numpy as np
from scipy.spatial.transform import Rotation

from stiction import Body, _core

TIMESTEP = 0.002  # [s]
GRAVITY = np.array([0.0, 0.0, -9.81])  # [m/s^2]


def contacts_from(body: Body, quaternion, depth, twist) -> _core.Contacts:
    """Contacts of `body` in the given orientations with its lowest vertex `depth` below the ground, at given twists."""
    R = Rotation.from_quat(quaternion, scalar_first=True).as_matrix()
    lowest = ((body.vertices - body.com) @ R[:, 2].T).min(axis=0)
    position = np.zeros((len(depth), 3))
    position[:, 2] = -lowest - depth
    contacts = _core.touching(body.hull, position, np.array(quaternion), np.array(twist), TIMESTEP, GRAVITY)
    assert len(contacts) == len(depth)
    return contacts


def random_contacts(body: Body, count: int, rng: np.random.Generator) -> _core.Contacts:
    """Random poses, a third of them turned so that a face lies almost flat, and some exactly flat."""
    turn = Rotation.random(count, rng)
    normals = face_normals(body)
    flat = rng.uniform(size=count) < 0.35
    for i in np.flatnonzero(flat).tolist():
        normal = normals[rng.integers(len(normals))]
        onto_ground = Rotation.align_vectors([[0, 0, -1.0]], [normal])[0]
        tilt = Rotation.from_rotvec(rng.normal(0, 1, 3) * rng.choice([0.0, 1e-9, 1e-5, 1e-3, 1e-2]))
        turn[i] = tilt * Rotation.from_rotvec([0, 0, rng.uniform(0, 6.3)]) * onto_ground
    twist = rng.normal(0, 1, (count, 6)) * np.array([1.5, 1.5, 1.5, 4, 4, 4])
    twist *= rng.choice([0.0, 1e-3, 0.1, 1.0], size=(count, 1))
    depth = 10 ** rng.uniform(-8, -2.3, count)
    return contacts_from(body, turn.as_quat(scalar_first=True), depth, twist)


def face_normals(body: Body) -> list[np.ndarray]:
    """Outward unit normals of the faces, body axes."""
    loops = [body.vertices[face] for face in body.faces]
    sums = [np.cross(corners, np.roll(corners, -1, axis=0)).sum(axis=0) for corners in loops]
    return [normal / np.linalg.norm(normal) for normal in sums]


def handled(law, contacts):
    """Impulses (n, 6) and modes (n,) of Algorithm 1."""
    law.native.respond(contacts)
    return contacts.record["impulse"].copy(), contacts.record["mode"].copy()


def twist_after(contacts, i, p):
    """v1 + M^-1 p: the twist (6,) of contact i after an impulse (6,)."""
    return contacts.record[i].velocity + contacts.inverse_inertia[i] @ p


def described_by(contacts, recipe):
    """Numbers of the contacts that have a description."""
    _core.describe(contacts, recipe)
    return set(np.flatnonzero(contacts.record["unit_impulse"] > 0).tolist())
