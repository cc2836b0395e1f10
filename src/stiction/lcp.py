"""The frictionless normal impulse, which physics settles exactly.

The normal impulse is unique in three numbers P = (p_z, m_x, m_y), however many vertices touch: vertex k at (x, y)
moves up with a_k . u, where a_k = (1, y, -x) and u = (v_z, w_x, w_y), and pushes P by n_k a_k with n_k >= 0.
"""

import numpy as np

from stiction.bodies.state import Kind
from stiction.compiled import compiled, inlined, lean
from stiction.few import MOST_VERTICES, press_few
from stiction.hull import MANY
from stiction.loads import admit, new_loads
from stiction.patch import contact_point, contact_xy, lowest_of_patch, patch_vertex, vertex_height

MOST_ACTIVE = 8  # vertices that may carry load at once; three suffice for a rigid contact, more serve a soft one
REBOUND_SPEED = 0.5  # [m/s] approach speed at which a coefficient of restitution is stated
_TINY = 1e-12


@lean
def normal_impulse(contacts, i, twist, softness, rate, cap):
    """FrictionlessLCP: the P = (p_z, m_x, m_y) after which every touching vertex separates at its target or faster.

    twist: before the normal impulse, shape (6,)
    softness: share of a vertex's own response that it yields under load; 0 is a rigid contact
    rate, cap: target separation speed min(rate * depth, cap) of a vertex [1/s, m/s]; rate 0: its `rebound_speed`
    """
    c = contacts.record[i]
    if softness == 0.0:
        if c.count == 1:
            return _one_vertex(contacts, i, twist, rate, cap)
        found, P = False, (0.0, 0.0, 0.0)
        if c.count == 2:
            found, P = _two_vertices(contacts, i, twist, rate, cap)
        elif c.face >= 0 and c.kind == Kind.SURFACE:
            found, P = _whole_face(contacts, i, twist, rate, cap)
        if not found and 2 < c.count <= MOST_VERTICES:
            found, P = _few_vertices(contacts, i, twist, rate, cap)
        if found:
            return P
    return _by_active_set(contacts, i, twist, softness, rate, cap)


@inlined
def _target(contacts, i, k, x, y, rate, cap):
    """Speed [m/s] at which the k-th vertex, at (x, y), is to separate."""
    c = contacts.record[i]
    if rate > 0:
        return min(rate * max(0.0, -vertex_height(contacts.vertices, c, patch_vertex(contacts, i, k))), cap)
    return rebound_speed(c, x, y) if c.rebound[0] > 0 else 0.0


@inlined
def _response(W, x, y, z, w):
    """How fast a point at (x, y) rises for a unit push at (z, w); W is the inverse inertia (6, 6)."""
    return W[2, 2] + y * (W[3, 3] * w - W[3, 4] * z) - x * (W[4, 3] * w - W[4, 4] * z)


@inlined
def _one_vertex(contacts, i, twist, rate, cap):
    """The normal impulse at a single vertex."""
    x, y = contact_xy(contacts, i, np.int64(0))
    missing = _target(contacts, i, np.int64(0), x, y, rate, cap) - (twist[2] + y * twist[3] - x * twist[4])
    if not missing > 0.0:
        return 0.0, 0.0, 0.0
    n = missing / _response(contacts.record[i].inverse_inertia, x, y, x, y)
    return n, n * y, -n * x


@inlined
def _two_vertices(contacts, i, twist, rate, cap):
    """The normal impulse at two vertices, in closed form; (False, ...) where their responses are too alike."""
    W = contacts.record[i].inverse_inertia
    x, y = contact_xy(contacts, i, np.int64(0))
    z, w = contact_xy(contacts, i, np.int64(1))
    up, vp = twist[2] + y * twist[3] - x * twist[4], twist[2] + w * twist[3] - z * twist[4]
    target = _target(contacts, i, np.int64(0), x, y, rate, cap)
    other = _target(contacts, i, np.int64(1), z, w, rate, cap)
    a, b = target - up, other - vp  # what is missing in each
    slack = _TINY * max(max(abs(up), abs(vp)), max(target, other))
    if not max(a, b) > slack:
        return True, (0.0, 0.0, 0.0)
    own, its, both = _response(W, x, y, x, y), _response(W, z, w, z, w), _response(W, x, y, z, w)
    determinant = own * its - both * both
    if not determinant > 1e-9 * own * its:
        return False, (0.0, 0.0, 0.0)
    n, m = (a * its - b * both) / determinant, (b * own - a * both) / determinant
    if n < 0.0 or m < 0.0:  # then one vertex alone carries, and lifts the other
        if a > 0.0 and b * own <= both * a:
            n, m = a / own, 0.0
        else:
            n, m = 0.0, b / its
    return True, (n + m, n * y + m * w, -n * x - m * z)


@inlined
def gather(contacts, i, rate, cap, points):
    """Note (x, y, target speed) of the few vertices of contact i in `points` (ROOM,), for `few.press_few`."""
    for k in range(contacts.record[i].count):
        x, y = contact_xy(contacts, i, k)
        points[3 * k], points[3 * k + 1] = x, y
        points[3 * k + 2] = _target(contacts, i, k, x, y, rate, cap)


@inlined
def _few_vertices(contacts, i, twist, rate, cap):
    """The normal impulse at three or four vertices, by trial."""
    c = contacts.record[i]
    gather(contacts, i, rate, cap, c.vertices)
    found = press_few(c.inverse_inertia, c.vertices, c.count, twist, np.int64(0), c.push)
    return found >= 0, (c.push[0], c.push[1], c.push[2])


@inlined
def _whole_face(contacts, i, twist, rate, cap):
    """The normal impulse that brings the whole patch on a face to its targets; (False, ...) where part of it would have
    to pull, that is, where the centre of pressure lies outside of it, or nothing linear describes the targets."""
    c = contacts.record[i]
    W = c.inverse_inertia
    u, v, w = twist[2], twist[3], twist[4]
    if rate > 0:
        # The vertices lie in one plane: depth = d + e y - f x.
        d, e, f = _plane_of_depth(contacts, i)
        x, y = contact_xy(contacts, i, lowest_of_patch(contacts, i, -f, e))  # where it is shallowest
        if rate * (d + e * y - f * x) >= cap:
            u -= cap
        elif rate * c.depth <= cap:
            u, v, w = u - rate * d, v - rate * e, w - rate * f
        else:
            return False, (0.0, 0.0, 0.0)
    elif c.rebound[0] > 0:
        return False, (0.0, 0.0, 0.0)
    determinant = W[3, 3] * W[4, 4] - W[3, 4] * W[4, 3]
    p = -u / W[2, 2]
    m_x, m_y = (W[3, 4] * w - W[4, 4] * v) / determinant, (W[4, 3] * v - W[3, 3] * w) / determinant
    if p > 0.0 and _is_inside(contacts, i, -m_y / p, m_x / p):
        return True, (p, m_x, m_y)
    return False, (0.0, 0.0, 0.0)


@inlined
def _plane_of_depth(contacts, i):
    """(d, e, f) with depth = d + e y - f x at the vertices of a patch on a face."""
    c = contacts.record[i]
    first, second, third = np.int64(0), np.int64(c.count // 3), np.int64(2 * c.count // 3)
    x0, y0, z0 = contact_point(contacts, i, first)
    x1, y1, z1 = contact_point(contacts, i, second)
    x2, y2, z2 = contact_point(contacts, i, third)
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    slope_x = ((z1 - z0) * (y2 - y0) - (z2 - z0) * (y1 - y0)) / area
    slope_y = ((z2 - z0) * (x1 - x0) - (z1 - z0) * (x2 - x0)) / area
    depth = -2.0 * (z0 + c.height)  # contact points lie at mid-depth
    return depth + 2.0 * (slope_x * x0 + slope_y * y0), -2.0 * slope_y, 2.0 * slope_x


@inlined
def _is_inside(contacts, i, x, y):
    """Whether (x, y) lies within the polygon of the patch's vertices; of many, within that of some of them."""
    c = contacts.record[i]
    if c.count > MANY:  # well within, four tell
        if _is_left(contacts, i, x, y, np.int64(4), 0.25 * c.count):
            return True
        return _is_left(contacts, i, x, y, np.int64(MANY), 1.0 * c.count / MANY)
    return _is_left(contacts, i, x, y, np.int64(c.count), 1.0)


@lean
def _is_left(contacts, i, x, y, number, stride):
    """Whether (x, y) lies on the inner side of the polygon of `number` vertices of the patch, `stride` apart."""
    before_x, before_y = contact_xy(contacts, i, np.int64((number - 1) * stride))
    for k in range(number):
        now_x, now_y = contact_xy(contacts, i, np.int64(k * stride))
        # Seen from above, the vertices of a face that looks down run clockwise.
        if not (now_x - before_x) * (y - before_y) - (now_y - before_y) * (x - before_x) <= 0.0:
            return False
        before_x, before_y = now_x, now_y
    return True


@compiled
def _by_active_set(contacts, i, twist, softness, rate, cap):
    """The normal impulse in general, by a dual active-set method (Goldfarb and Idnani 1983): add the vertex that
    violates most, drop those that would pull."""
    W, loads, active = contacts.record[i].inverse_inertia, new_loads(MOST_ACTIVE), np.int64(0)
    p = m_x = m_y = scale = 0.0
    for _ in range(4 * contacts.record[i].count + 40):
        u = W[2, 2] * p + W[2, 3] * m_x + W[2, 4] * m_y + twist[2]
        v = W[3, 2] * p + W[3, 3] * m_x + W[3, 4] * m_y + twist[3]
        w = W[4, 2] * p + W[4, 3] * m_x + W[4, 4] * m_y + twist[4]
        worst, gap, largest = _most_violated(contacts, i, u, v, w, rate, cap, loads.number, active)
        scale = max(scale, largest)
        if not gap < -_TINY * scale:
            break
        x, y = contact_xy(contacts, i, worst)
        loads.number[active], loads.place[active, 0], loads.place[active, 1] = worst, x, y
        for k in range(active + 1):
            response = _response(W, x, y, loads.place[k, 0], loads.place[k, 1])
            loads.gram[k, active] = loads.gram[active, k] = response
        active = admit(loads, active, gap, softness)
        p = m_x = m_y = 0.0
        for k in range(active):
            p += loads.load[k]
            m_x += loads.load[k] * loads.place[k, 1]
            m_y -= loads.load[k] * loads.place[k, 0]
    return p, m_x, m_y


@lean
def _most_violated(contacts, i, u, v, w, rate, cap, number, active):
    """The touching vertex farthest below its target speed, the active ones aside; by how much; the largest speed.

    (u, v, w): v_z, w_x and w_y
    """
    c = contacts.record[i]
    if c.count > MANY and c.face >= 0 and c.rebound[0] == 0.0:
        return _most_violated_of_many(contacts, i, u, v, w, rate, cap)
    worst, lowest, largest = np.int64(0), np.inf, 0.0
    for k in range(c.count):
        x, y = contact_xy(contacts, i, k)
        speed = u + y * v - x * w
        target = _target(contacts, i, k, x, y, rate, cap)
        largest = max(largest, abs(speed), target)
        if speed - target < lowest:
            known = False
            for m in range(active):
                known = known or number[m] == k
            if not known:
                worst, lowest = k, speed - target
    return worst, lowest, largest


@lean
def _most_violated_of_many(contacts, i, u, v, w, rate, cap):
    """As `_most_violated`, without a look at every vertex: the speed is linear, and so is what is missing, but for the
    cap. An active vertex has reached its target, and counts as no violation by itself."""
    slowest = lowest_of_patch(contacts, i, -w, v)
    fastest = lowest_of_patch(contacts, i, w, -v)
    worst, lowest, largest = np.int64(0), np.inf, 0.0
    deepest = slowest
    if rate > 0:
        _d, e, f = _plane_of_depth(contacts, i)
        deepest = lowest_of_patch(contacts, i, rate * f - w, v - rate * e)
    for k in (slowest, fastest, deepest):
        x, y = contact_xy(contacts, i, k)
        speed = u + y * v - x * w
        target = _target(contacts, i, k, x, y, rate, cap)
        largest = max(largest, abs(speed), target)
        if speed - target < lowest:
            worst, lowest = k, speed - target
    return worst, lowest, largest


@lean
def rebound_speed(c, x, y):
    """Speed [m/s] at which a vertex at (x, y) is to leave the ground: e(v) v for its approach speed v before the step.

    What gravity adds in the step counts neither before nor after, or bounces would gain energy.

    e(v) = e0 (v / REBOUND_SPEED)^-exponent (1 - threshold / v), at most 1, with (e0, exponent, threshold) = c.rebound;
    slower approaches than the threshold [m/s] do not bounce.
    """
    v = x * c.velocity[4] - y * c.velocity[3] - c.velocity[2] - c.fall
    if v <= c.rebound[2]:
        return 0.0
    e = c.rebound[0]
    if c.rebound[1] != 0.0:
        e *= (v / REBOUND_SPEED) ** -c.rebound[1]
    return max(0.0, min(1.0, e * (1 - c.rebound[2] / v)) * v - c.fall)


@lean
def lowest_separation(contacts, i, twist):
    """The smallest upward speed of the touching vertices [m/s]."""
    x, y = contact_xy(contacts, i, lowest_of_patch(contacts, i, -twist[4], twist[3]))
    return twist[2] + y * twist[3] - x * twist[4]


@compiled
def twist_after(contacts, i, p):
    """v1 + M^-1 p: the twist (6,) after an impulse p (6,)."""
    out = np.empty(6)
    write_twist_after(contacts, i, p, out)
    return out


@inlined
def write_twist_after(contacts, i, p, out):
    """Write v1 + M^-1 p into `out` (6,); M^-1 of a free body couples no force to turning."""
    c = contacts.record[i]
    W, v = c.inverse_inertia, c.velocity
    for k in range(3):
        out[k] = v[k] + W[k, k] * p[k]
        out[3 + k] = v[3 + k] + (W[3 + k, 3] * p[3] + W[3 + k, 4] * p[4] + W[3 + k, 5] * p[5])
