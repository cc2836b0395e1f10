"""Where the numbers of a contact lie while it is being described: rows of a flat array, see `lanes`."""

# Of the body: twist, and what P leaves of it; inverse masses; inverse moment of inertia (xx, xy, xz, yy, yz, zz); the
# patch's centre; the frictionless normal impulse P = (p_z, m_x, m_y); the unit of length L.
TWIST, MASSES, INERTIA, CENTRE, NORMAL, LENGTH = 0, 6, 9, 15, 18, 21
# Of the description: u; C (xx, xy, yy, x yaw, y yaw, yaw yaw); S; rows (q, r), (s, t) of the turn; the guessed
# friction; the features.
SLIP, RESPONSE, SENSITIVITY, TURN, GUESSED, FEATURES = 22, 25, 31, 34, 38, 41
_MOST_FEATURES = 71
# Of each point: place; load; limits of its friction; its velocity along the ground before friction; impulse (x, y, z);
# what an impulse must be changed by for each unit of velocity.
POINTS = FEATURES + _MOST_FEATURES
X, Y, Z, LOAD, LIMIT_X, LIMIT_Y, BEFORE_X, BEFORE_Y, IMPULSE, RELAX = 0, 1, 2, 3, 4, 5, 6, 7, 8, 11
OF_A_POINT = 14
# Then the velocities (3 k), side by side, and their responses (3 k, 3 k) to a unit impulse on each point in each
# direction.


def rows_for(points: int) -> int:
    """Rows that a contact of so many points takes."""
    return POINTS + (OF_A_POINT + 3) * points + 9 * points * points
