"""The frame in which a contact is described: units of impulse and length, and a turn or mirror about the vertical.

A description leaves it in the contact's memo; from there, outputs of a regressor become impulses and back.
"""

from stiction.compiled import lean

GUESS, SCALE, TURN = 72, 75, 77  # places in the memo: guess (3); units of impulse and length (2); rows of the turn (4)


@lean
def is_described(c):
    """Whether a contact has a description: it needs a normal impulse."""
    return c.memo[SCALE] > 0.0


@lean
def set_frame(memo, impulse, length, q, r, s, t):
    """Write the units [N s] and [m] and the turn with rows (q, r), (s, t)."""
    memo[SCALE], memo[SCALE + 1] = impulse, length
    memo[TURN], memo[TURN + 1], memo[TURN + 2], memo[TURN + 3] = q, r, s, t


@lean
def _frame(memo):
    """Unit of impulse, of torque impulse (its sign: a mirror turns torques around), and the rows of the turn."""
    a, b, c, d = memo[TURN], memo[TURN + 1], memo[TURN + 2], memo[TURN + 3]
    unit = memo[SCALE]
    return unit, (a * d - b * c) * memo[SCALE + 1] * unit, a, b, c, d


@lean
def friction_from(contacts, i, output, p_f):
    """Write the friction p_f (3,) at the patch's centre from what a regressor adds to the guess, (2,) or (3,)."""
    memo = contacts.record[i].memo
    unit, spin_unit, a, b, c, d = _frame(memo)
    x, y = unit * (memo[GUESS] + output[0]), unit * (memo[GUESS + 1] + output[1])
    p_f[0], p_f[1] = a * x + c * y, b * x + d * y
    p_f[2] = spin_unit * (memo[GUESS + 2] + output[2]) if len(output) == 3 else 0.0


@lean
def target_of(contacts, i, p, out):
    """Write what a regressor should add to the guess (2,) or (3,) for the observed contact impulse p (6,)."""
    centre, memo = contacts.record[i].centre, contacts.record[i].memo
    unit, spin_unit, a, b, c, d = _frame(memo)
    out[0] = (a * p[0] + b * p[1]) / unit - memo[GUESS]
    out[1] = (c * p[0] + d * p[1]) / unit - memo[GUESS + 1]
    if len(out) == 3:
        out[2] = (p[5] - (centre[0] * p[1] - centre[1] * p[0])) / spin_unit - memo[GUESS + 2]


@lean
def impulse_from(contacts, i, output, p):
    """Write the whole impulse p (6,) about the centre of mass from its standard form at the patch, `output` (6,)."""
    unit, spin_unit, a, b, c, d = _frame(contacts.record[i].memo)
    x, y, z = contacts.record[i].centre
    p[0] = unit * (a * output[0] + c * output[1])
    p[1] = unit * (b * output[0] + d * output[1])
    p[2] = unit * output[2]
    p[3] = spin_unit * (a * output[3] + c * output[4]) + y * p[2] - z * p[1]
    p[4] = spin_unit * (b * output[3] + d * output[4]) + z * p[0] - x * p[2]
    p[5] = spin_unit * output[5] + x * p[1] - y * p[0]


@lean
def whole_target(contacts, i, p, out):
    """Write the standard form (6,) of an observed impulse p (6,): the inverse of `impulse_from`."""
    unit, spin_unit, a, b, c, d = _frame(contacts.record[i].memo)
    x, y, z = contacts.record[i].centre
    m_x, m_y, m_z = p[3] - (y * p[2] - z * p[1]), p[4] - (z * p[0] - x * p[2]), p[5] - (x * p[1] - y * p[0])
    out[0], out[1], out[2] = (a * p[0] + b * p[1]) / unit, (c * p[0] + d * p[1]) / unit, p[2] / unit
    out[3], out[4], out[5] = (a * m_x + b * m_y) / spin_unit, (c * m_x + d * m_y) / spin_unit, m_z / spin_unit
