"""Contact instances for tests: bodies pressed into the ground in all sorts of poses, as Algorithm 1 sees them."""

import numpy as np
from scipy.spatial.transform import Rotation

from stiction import Body, _core
from stiction.bodies.rotations import rotation_matrices
from stiction.simulation.motion import Motion, Setting, contacts_at

SETTING = Setting(0.002, np.array([0.0, 0.0, -9.81]))


def motion_from(body: Body, quaternion, depth, twist) -> Motion:
    """The body in the given orientations with its lowest vertex `depth` below the ground, at given twists."""
    R = rotation_matrices(np.asarray(quaternion))
    position = np.zeros((len(depth), 3))
    position[:, 2] = -((body.vertices - body.com) @ R[:, 2].T).min(axis=0) + body.rounding - depth
    return Motion(position, np.array(quaternion, dtype=np.float64), np.array(twist, dtype=np.float64))


def contacts_of(body: Body, position, quaternion, twist) -> _core.Contacts:
    """Contacts at these positions of the centre of mass (n, 3), orientations (n, 4) and twists (n, 6)."""
    return contacts_at(body, Motion(position, quaternion, twist), SETTING)


def contacts_from(body: Body, quaternion, depth, twist) -> _core.Contacts:
    """Contacts of `body` in the given orientations with its lowest vertex `depth` below the ground, at given twists."""
    contacts = contacts_at(body, motion_from(body, quaternion, depth, twist), SETTING)
    assert len(contacts) == len(depth)
    return contacts


def random_contacts(body: Body, count: int, rng: np.random.Generator) -> _core.Contacts:
    """Random poses, a third of them turned so that a face lies almost flat, and some exactly flat."""
    flat = rng.uniform(size=count) < 0.35
    tilt = rng.normal(0, 1, (count, 3)) * rng.choice([0.0, 1e-9, 1e-5, 1e-3, 1e-2], size=(count, 1))
    down = Rotation.concatenate([_onto_ground(normal) for normal in face_normals(body)]).as_matrix()
    down = Rotation.from_matrix(down[rng.integers(len(down), size=count)])
    twist = rng.normal(0, 1, (count, 6)) * np.array([1.5, 1.5, 1.5, 4, 4, 4])
    if body.planar:
        tilt[:, [0, 2]] = twist[:, [1, 3, 5]] = 0.0
        anyhow = Rotation.from_rotvec(np.outer(rng.uniform(0, 6.3, count), [0, 1, 0]))
    else:
        down = Rotation.from_rotvec(np.outer(rng.uniform(0, 6.3, count), [0, 0, 1])) * down
        anyhow = Rotation.random(count, rng)
    lying = (Rotation.from_rotvec(tilt) * down).as_quat(scalar_first=True)
    quaternion = np.where(flat[:, None], lying, anyhow.as_quat(scalar_first=True))
    twist *= rng.choice([0.0, 1e-3, 0.1, 1.0], size=(count, 1))
    depth = 10 ** rng.uniform(-8, -2.3, count)
    return contacts_from(body, quaternion, depth, twist)


def face_normals(body: Body) -> list[np.ndarray]:
    """Outward unit normals of the faces, body axes; of a planar body, of its edges."""
    loops = [body.vertices[face] for face in body.faces]
    if body.planar:
        edges = np.roll(loops[0], -1, axis=0) - loops[0]
        normals = list(np.cross([0.0, 1.0, 0.0], edges))
    else:
        normals = [np.cross(corners, np.roll(corners, -1, axis=0)).sum(axis=0) for corners in loops]
    return [normal / np.linalg.norm(normal) for normal in normals]


def _onto_ground(normal: np.ndarray) -> Rotation:
    """A turn after which a face with this normal looks down; of one in the x-z plane, about y."""
    if normal[1] == 0.0:
        return Rotation.from_rotvec([0.0, np.arctan2(normal[2], normal[0]) + np.pi / 2, 0.0])
    return Rotation.align_vectors([[0, 0, -1.0]], [normal])[0]


def points_of(contacts: _core.Contacts) -> tuple[np.ndarray, np.ndarray]:
    """The contact points of all contacts (m, 3) one after another, and the index of the first one of each (n,)."""
    points = np.concatenate([contacts.points(i) for i in range(len(contacts))])
    return points, np.r_[0, np.cumsum(contacts.record["count"])[:-1]]


def lowest_separation(contacts: _core.Contacts, i: int, twist) -> float:
    """Smallest upward speed [m/s] of the contact points of contact i for a twist (6,)."""
    return min(twist[2] + y * twist[3] - x * twist[4] for x, y, _ in contacts.points(i))


def handled(law, contacts: _core.Contacts) -> tuple[np.ndarray, np.ndarray]:
    """Impulses (n, 6) and modes (n,) of Algorithm 1."""
    law.native.respond(contacts)
    return contacts.record["impulse"].copy(), contacts.record["mode"].copy()


def twist_after(contacts: _core.Contacts, i: int, p) -> np.ndarray:
    """v1 + M^-1 p: the twist (6,) of contact i after an impulse (6,)."""
    return contacts.record[i].velocity + contacts.inverse_inertia[i] @ p


def described_by(contacts: _core.Contacts, recipe: _core.Recipe) -> set[int]:
    """Numbers of the contacts that have a description."""
    _core.describe(contacts, recipe)
    return set(np.flatnonzero(contacts.record["unit_impulse"] > 0).tolist())
