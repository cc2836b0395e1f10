"""By how much impulses break the physics. Each violation is relative to the contact's own size:

penetration: speed at which a contact point still approaches, of the greatest such speed before
pull: part of the impulse that would have to pull, as if its centre of pressure lay so far outside the patch
work: power of the normal impulse on points that separate, of the impulse times the greatest speed
lone friction: impulse where nothing presses [N s]
energy: kinetic energy gained, of the sum of what the parts of the impulse do
"""

import numpy as np

from contact_states import points_of
from stiction import _core

NAMES = ("penetration", "pull", "work", "lone friction", "energy")
BOUND = 1e-9  # of all of them
_ALL_ROUND = np.arange(32) * np.pi / 16


def violations(
    contacts: _core.Contacts, p: np.ndarray, *, centre_known: bool = True, work_known: bool = True
) -> np.ndarray:
    """The greatest violations of impulses (n, 6), in the order of NAMES.

    Torques (m_x, m_y) of friction follow from its spin where it has three numbers. Where it has five, what presses
    cannot be told from friction at unequal depths. What is not known then is NaN:
    centre_known: whether the centre of pressure is known; a law in Python may not move it out of the patch
    work_known: whether the work of what presses is known, too
    """
    record = contacts.record
    inverse_inertia = contacts.inverse_inertia
    p = np.where(np.einsum("nii->ni", inverse_inertia) > 0, p, 0.0)  # what cannot move a planar body is no matter
    velocity = record["velocity"]
    after = velocity + np.einsum("nij,nj->ni", inverse_inertia, p)
    points, first = points_of(contacts)
    x, y = points[:, 0], points[:, 1]
    counts = record["count"]

    def rise(twist):
        v = np.repeat(twist, counts, axis=0)
        return v[:, 2], y * v[:, 3], -x * v[:, 4]

    parts = rise(velocity)
    fastest = np.maximum.reduceat(np.abs(np.stack([sum(parts), parts[1], parts[2]])).max(axis=0), first)
    fastest = np.maximum(fastest, 1e-300)
    worst = np.zeros(5)
    worst[0] = (-np.minimum.reduceat(sum(rise(after)), first) / fastest).max(initial=0.0)
    size = np.abs(p).max(axis=1)
    loaded = p[:, 2] != 0
    worst[3] = size[~loaded].max(initial=0.0)
    if not loaded.any():
        return worst
    size = np.where(loaded, size, 1.0)
    worst[1] = (-p[loaded, 2] / size[loaded]).max(initial=0.0)
    gained = (p * (velocity + 0.5 * (after - velocity))).sum(axis=1)
    worst[4] = (gained[loaded] / np.abs(p * velocity).sum(axis=1)[loaded]).max(initial=0.0)
    if not centre_known:
        worst[1:3] = np.nan
        return worst
    # The normal part of p is what its friction leaves.
    centre, axis = record["centre"], record["axis"]
    m_z = p[:, 5] - (centre[:, 0] * p[:, 1] - centre[:, 1] * p[:, 0])
    across = np.hypot(axis[:, 0], axis[:, 1])
    lean = np.where(across > 0, m_z * axis[:, 2] / np.where(across > 0, across, 1.0) ** 2, 0.0)
    m_x = p[:, 3] + lean * axis[:, 0] + centre[:, 2] * p[:, 1]
    m_y = p[:, 4] + lean * axis[:, 1] - centre[:, 2] * p[:, 0]
    # Nowhere a pull: the centre of pressure lies within the patch, seen from all sides.
    p_z = np.where(loaded, p[:, 2], 1.0)
    for angle in _ALL_ROUND:
        dx, dy = np.cos(angle), np.sin(angle)
        beyond = (dy * m_x - dx * m_y) / p_z - np.maximum.reduceat(dx * x + dy * y, first)
        worst[1] = max(worst[1], (beyond / record["diameter"] * p_z / size)[loaded].max())
    power = p[:, 2] * after[:, 2] + m_x * after[:, 3] + m_y * after[:, 4]
    worst[2] = (np.abs(power) / (size * fastest))[loaded].max() if work_known else np.nan
    return worst
