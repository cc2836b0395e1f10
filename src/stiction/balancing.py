"""From friction to impulses in the system itself, V1 from impulses, and the guards for the whole system."""

from stiction.compiled import lean
from stiction.contact import write_friction_wrench
from stiction.coupled import balance
from stiction.dense import write_applied

_SLACK = 1e-12  # relative rounding slack of the guards


@lean
def balanced(contacts, V_free, share, p_f, softness, s):
    """`balance` in the system itself, for the static links of the search s and the friction p_f (n, 5) of the others,
    into s.p: where L was stiffened, what that has added is taken back.

    Feet that press against each other through the robot may be held by many impulses. Of these the one nearest to the
    friction p_f is taken, so that what a law has agreed to stays.
    """
    static, p, V, back = s.static, s.p, s.held_links.twists[3], s.held_links.impulses[0]
    for i in range(len(static)):
        b = 6 * i
        if static[i] and share > 0.0:
            write_friction_wrench(contacts.record[i].centre, p_f[i], 1.0, p[b : b + 6])
        else:
            for k in range(b, b + 6):
                p[k] = 0.0
    for _ in range(2 if share > 0.0 else 1):
        for i in range(len(static)):
            b = 6 * i
            write_applied(contacts.record[i].inverse_inertia, p[b : b + 6], back[b : b + 6])
            for k in range(b, b + 6):
                V[k] = V_free[k] - share * back[k]
        balance(contacts, s.L_b, V, static, p_f, softness, s.held_links, p)


@lean
def ask_at(contacts, V_free, L, p):
    """Write V1 = V_free + (L - M_b^-1) p of every link into its record: the twist it would have without its p."""
    for i in range(len(contacts.record)):
        c = contacts.record[i]
        b = 6 * i
        for k in range(6):
            all_links = own = 0.0
            for m in range(len(p)):
                all_links += L[b + k, m] * p[m]
            for m in range(6):
                own += c.inverse_inertia[k, m] * p[b + m]
            c.velocity[k] = V_free[b + k] + all_links - own


@lean
def work_guard(contacts, V_free, L, share, softness, s):
    """The guards of Algorithm 1 for the whole system: no friction without normal impulse, no energy from contact.

    Friction is scaled down in s.p until both hold; whether nothing had to be scaled.
    """
    free = True
    for i in range(len(s.static)):
        for k in range(5):
            if not s.static[i] and not s.p[6 * i + 2] > 0.0 and s.p_f[i, k] != 0.0:
                s.p_f[i, k] = 0.0
                free = False
    if not free:
        balanced(contacts, V_free, share, s.p_f, softness, s)
    if _gains_nothing(L, V_free, s.p):
        return free
    scaled = s.want  # which is spent
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        _scale(s.p_f, middle, scaled)
        balanced(contacts, V_free, share, scaled, softness, s)
        if _gains_nothing(L, V_free, s.p):
            low = middle
        else:
            high = middle
    _scale(s.p_f, low, scaled)
    balanced(contacts, V_free, share, scaled, softness, s)
    return False


@lean
def _scale(rows, by, out):
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            out[i, k] = by * rows[i, k]


@lean
def _gains_nothing(L, V, p):
    """Whether p leaves the system's kinetic energy as it is or lowers it: p . (V + L p / 2) <= 0."""
    gain = scale = 0.0
    for k in range(len(p)):
        change = 0.0
        for m in range(len(p)):
            change += L[k, m] * p[m]
        gain += p[k] * (V[k] + 0.5 * change)
        scale += abs(p[k] * V[k])
    return gain <= _SLACK * scale
