"""By how much impulses break the physics. Each violation is relative to the contact's own size:

penetration: speed at which a contact point still approaches, of the greatest such speed before
pull: part of the impulse that would have to pull, as if its centre of pressure lay so far outside the patch
work: power of the normal impulse on points that separate, of the impulse times the greatest speed
lone friction: impulse where nothing presses [N s]
energy: kinetic or mechanical energy gained in the step, of the sum of what the parts of the impulse do
"""

import numpy as np

from contact_states import points_of
from stiction import _core

NAMES = ("penetration", "pull", "work", "lone friction", "energy")
BOUND = 1e-9  # of all of them
_DIRECTIONS = np.arange(32) * np.pi / 16


def violations(contacts: _core.Contacts, p: np.ndarray, friction: np.ndarray | None = None) -> np.ndarray:
    """The greatest violations of impulses (n, 6), in the order of NAMES.

    friction: (p_x, p_y, m_z, m_x, m_y) by the law (n, 5), of which each impulse is a share. What presses is
        what friction leaves; by default, the torques (m_x, m_y) of friction are those that its spin has.
    """
    record = contacts.record
    inverse_inertia = contacts.inverse_inertia
    moves = np.einsum("nii->ni", inverse_inertia) > 0
    p = np.where(moves, p, 0.0)  # components that cannot move a planar body do not count
    if friction is not None:
        friction = np.where(moves[:, [0, 1, 5, 3, 4]], friction, 0.0)
    velocity = record["velocity"]
    after = velocity + np.einsum("nij,nj->ni", inverse_inertia, p)
    points, first = points_of(contacts)
    x, y = points[:, 0], points[:, 1]
    counts = record["count"]

    def normal_velocity(twist):
        v = np.repeat(twist, counts, axis=0)
        return v[:, 2], y * v[:, 3], -x * v[:, 4]

    parts = normal_velocity(velocity)
    fastest = np.maximum.reduceat(np.abs(np.stack([sum(parts), parts[1], parts[2]])).max(axis=0), first)
    fastest = np.maximum(fastest, 1e-300)
    worst = np.zeros(5)
    worst[0] = (-np.minimum.reduceat(sum(normal_velocity(after)), first) / fastest).max(initial=0.0)
    size = np.abs(p).max(axis=1)
    loaded = p[:, 2] != 0
    worst[3] = size[~loaded].max(initial=0.0)
    if not loaded.any():
        return worst
    size = np.where(loaded, size, 1.0)
    worst[1] = (-p[loaded, 2] / size[loaded]).max(initial=0.0)
    gained = (p * (velocity + 0.5 * (after - velocity))).sum(axis=1)
    fall = velocity[:, :3] - record["before"][:, :3]
    gained += np.maximum(0.0, -(p[:, :3] * fall).sum(axis=1) - 0.5 * (fall**2).sum(axis=1) / inverse_inertia[:, 0, 0])
    worst[4] = (gained[loaded] / np.abs(p * velocity).sum(axis=1)[loaded]).max(initial=0.0)
    m_x, m_y = _normal_torques(record, p, friction)
    # No pull: the centre of pressure lies inside the patch in all directions.
    p_z = np.where(loaded, p[:, 2], 1.0)
    for angle in _DIRECTIONS:
        dx, dy = np.cos(angle), np.sin(angle)
        beyond = (dy * m_x - dx * m_y) / p_z - np.maximum.reduceat(dx * x + dy * y, first)
        worst[1] = max(worst[1], (beyond / record["diameter"] * p_z / size)[loaded].max())
    power = p[:, 2] * after[:, 2] + m_x * after[:, 3] + m_y * after[:, 4]
    stays = loaded & (record["restitution"][:, 0] == 0)  # a contact with restitution separates under load
    worst[2] = (np.abs(power) / (size * fastest))[stays].max(initial=0.0)
    return worst


def _normal_torques(record, p: np.ndarray, friction: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Torques (m_x, m_y) of the normal impulse about the centre of mass, each (n,): those of p without friction."""
    centre, axis = record["centre"], record["axis"]
    spin = p[:, 5] - (centre[:, 0] * p[:, 1] - centre[:, 1] * p[:, 0])
    if friction is None:
        across = np.hypot(axis[:, 0], axis[:, 1])
        lean = np.where(across > 0, spin * axis[:, 2] / np.where(across > 0, across, 1.0) ** 2, 0.0)
        own = -lean * axis[:, 0], -lean * axis[:, 1]
    else:
        scaled = np.where(np.isfinite(friction).all(axis=1, keepdims=True), friction, 0.0)
        scaled = scaled / np.maximum(np.abs(scaled).max(axis=1, keepdims=True), 1e-300)
        acted = np.stack([p[:, 0], p[:, 1], spin], axis=1)
        most = np.abs(scaled[:, :3]).argmax(axis=1)[:, np.newaxis]  # with the smallest rounding error
        largest = np.take_along_axis(scaled, most, axis=1)
        share = np.take_along_axis(acted, most, axis=1) / np.where(largest != 0, largest, np.inf)
        own = (share * scaled[:, 3:]).T
    return p[:, 3] - own[0] + centre[:, 2] * p[:, 1], p[:, 4] - own[1] - centre[:, 2] * p[:, 0]
