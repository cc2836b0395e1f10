"""D(q): from a pose to the contact patch against the ground plane z = 0.

The patch is the convex hull of the touching vertices. It is never copied out: it is a run of one face's loop, or a list
where several faces touch, so that a face of a thousand corners costs no more than one of four.
"""

from typing import NamedTuple

import numpy as np

from stiction.bodies.state import Kind
from stiction.compiled import inlined, lean, lean_jitable
from stiction.few import MOST_VERTICES, ROOM
from stiction.hull import MANY, Hull, extreme_vertex, facing, lowest_place

# A vertex touches when it lies below this height [m], unless `new_contacts` says otherwise: far above rounding, so that
# a resting patch keeps its kind, and far below any motion that matters.
TOUCH = 5e-9
# A patch narrower than this share of the body's diameter is a line, and a shorter one a point.
_THIN = 1e-6
WORK = 9216  # numbers, of room for a law's own work, but for the last twelve

RECORD = np.dtype(
    [
        ("index", np.int64),  # which body of the batch
        ("rotation", np.float64, (3, 3)),  # body to world
        ("height", np.float64),  # of the centre of mass [m]
        ("velocity", np.float64, (6,)),  # v1: twist after the applied forces, before contact
        ("inverse_inertia", np.float64, (6, 6)),  # M^-1 at the centre of mass, world axes
        ("kind", np.int64),
        ("depth", np.float64),  # of the lowest vertex below the ground [m]
        ("face", np.int64),  # the vertices are a run of this face's loop; -1: they are listed in `touching[index]`
        ("first", np.int64),  # where the run begins in hull.loops
        ("count", np.int64),
        ("loop", np.int32),  # of a patch on a face: where the face's loop begins, and the number of its vertices
        ("size", np.int32),
        ("frame", np.float64, (2, 2)),  # ... world x and y of the face's axes
        ("corners", np.float64, (3 * MOST_VERTICES,)),  # of a patch of few vertices: its contact points, see below
        ("centre", np.float64, (3,)),  # mean contact point, relative to the centre of mass, world axes
        ("axis", np.float64, (3,)),  # direction of a line patch
        ("radius", np.float64),  # root mean square distance of the vertices from the centre [m]
        ("diameter", np.float64),  # of the body [m]
        ("rounding", np.float64),  # radius of the body's corners [m]
        ("touch", np.float64),  # a vertex touches when it lies below this height [m]
        ("timestep", np.float64),  # length of this step [s]
        ("fall", np.float64),  # speed towards the ground that a body at rest takes up in this step [m/s]
        ("rebound", np.float64, (3,)),  # how vertices bounce, set by a law: see lcp.rebound_speed; zeros: not at all
        ("mode", np.int64),  # what C says, then what came of it
        ("p_f", np.float64, (5,)),  # friction of a dynamic contact, see contact.Law
        ("impulse", np.float64, (6,)),  # of the contact, about the centre of mass
        ("answer", np.float64, (6,)),  # of a law's approximator
        ("friction", np.float64, (5,)),  # room for a friction, an impulse and a twist that are being tried
        ("trial", np.float64, (6,)),
        ("twist", np.float64, (6,)),
        ("vertices", np.float64, (ROOM,)),  # room for `few`
        ("push", np.float64, (3,)),
        ("place", np.int64),  # room for a list: that of record k holds its k-th number
        ("memo", np.float64, (88,)),  # what a law found on its way to the mode, for its own use
    ],
    align=True,
)


class Contacts(NamedTuple):
    """Contact instances of bodies of one shape: what Algorithm 1 and every law work on.

    record: array of RECORD, one row a contact; its columns are plain arrays, such as record.velocity (n, 6)
    """

    record: np.recarray
    touching: np.ndarray  # (bodies, V) vertex numbers, only filled for listed patches
    vertices: np.ndarray  # of the hull, (V, 3)
    loops: np.ndarray  # of the hull
    headings: np.ndarray  # of the hull
    room: np.ndarray  # (WORK,) where a law may work


def new_contacts(hull: Hull, size: int, touch: float = TOUCH) -> Contacts:
    """Room for the contacts of `size` bodies; a vertex below the height `touch` [m] is in contact."""
    record = np.zeros(size, dtype=RECORD).view(np.recarray)
    record["diameter"], record["rounding"], record["touch"] = hull.diameter, hull.rounding, touch
    touching = np.zeros((size, len(hull.vertices)), dtype=np.int32)
    return Contacts(record, touching, hull.vertices, hull.loops, hull.headings, np.empty(WORK))


@lean_jitable
def first_contacts(contacts, n):
    """The first n contacts; in compiled code only for a function that is lean."""
    return Contacts(
        contacts.record[:n], contacts.touching, contacts.vertices, contacts.loops, contacts.headings, contacts.room
    )


@inlined
def detect(hull, contacts, i):
    """Fill the patch of record `i` from its rotation and height; False when nothing touches."""
    c = contacts.record[i]
    dx, dy, dz = -c.rotation[2, 0], -c.rotation[2, 1], -c.rotation[2, 2]
    lowest = extreme_vertex(hull, dx, dy, dz)
    height = vertex_height(hull.vertices, c, lowest)
    if height > c.touch:
        return False
    c.depth = -height
    face, place = facing(hull, lowest, dx, dy, dz)
    if face >= 0 and _only_face_touches(hull, height - c.touch, face, dx, dy, dz):
        c.face = face
        first, end = hull.loop_offsets[face], hull.loop_offsets[face + 1]
        c.first, c.count = _touching_run(hull.vertices, c, hull.loops[first:end], place)
        c.first += first
        c.loop, c.size = first, (end - first) // 2
        _note_corners(contacts, i)
        for k in range(2):
            e = hull.frames[face, k]
            for m in range(2):
                c.frame[k, m] = c.rotation[m, 0] * e[0] + c.rotation[m, 1] * e[1] + c.rotation[m, 2] * e[2]
        _measure(contacts, i, _run_means(hull.moments, c))
    else:
        c.face = -1
        c.first = 0
        c.count = _flood(hull, c, contacts.touching[c.index], lowest)
        _note_corners(contacts, i)
        _measure(contacts, i, _listed_means(contacts, i))
    return True


@inlined
def vertex_height(vertices, c, vertex):
    """Height of a vertex above the ground [m]; of a rounded corner, that of its lowest point."""
    x = vertices[vertex]
    return c.height + c.rotation[2, 0] * x[0] + c.rotation[2, 1] * x[1] + c.rotation[2, 2] * x[2] - c.rounding


@inlined
def patch_vertex(contacts, i, k):
    """Number of the k-th touching vertex."""
    c = contacts.record[i]
    if c.face < 0:
        return contacts.touching[c.index, k]
    return contacts.loops[c.first + k]


@inlined
def contact_point(contacts, i, k):
    """The k-th contact point (x, y, z) relative to the centre of mass: over its vertex, at half the depth."""
    c = contacts.record[i]
    if c.count <= MOST_VERTICES:
        return c.corners[3 * k], c.corners[3 * k + 1], c.corners[3 * k + 2]
    return _calculated_point(contacts, i, k)


@inlined
def contact_xy(contacts, i, k):
    """The first two numbers of `contact_point`."""
    x, y, _z = contact_point(contacts, i, k)
    return x, y


@inlined
def _calculated_point(contacts, i, k):
    c = contacts.record[i]
    v = contacts.vertices[patch_vertex(contacts, i, k)]
    x = c.rotation[0, 0] * v[0] + c.rotation[0, 1] * v[1] + c.rotation[0, 2] * v[2]
    y = c.rotation[1, 0] * v[0] + c.rotation[1, 1] * v[1] + c.rotation[1, 2] * v[2]
    z = c.rotation[2, 0] * v[0] + c.rotation[2, 1] * v[1] + c.rotation[2, 2] * v[2]
    return x, y, 0.5 * (z + c.height - c.rounding) - c.height


@inlined
def _note_corners(contacts, i):
    """Keep the contact points of few vertices: they are asked for again and again."""
    c = contacts.record[i]
    if c.count <= MOST_VERTICES:
        for k in range(c.count):
            c.corners[3 * k], c.corners[3 * k + 1], c.corners[3 * k + 2] = _calculated_point(contacts, i, k)


@lean
def lowest_of_patch(contacts, i, a, b):
    """Number k of the touching vertex where a x + b y is smallest: in few steps, however many vertices a face has."""
    c = contacts.record[i]
    if c.count > MANY and c.face >= 0:
        g, h = a * c.frame[0, 0] + b * c.frame[0, 1], a * c.frame[1, 0] + b * c.frame[1, 1]
        k = (lowest_place(contacts.headings, c.loop, c.size, g, h) + c.loop - c.first) % c.size
        if k < c.count:
            return k
        # The best vertex of the face does not touch: on a run beside it, one of the ends is the best.
        last = np.int64(c.count - 1)
        x, y = contact_xy(contacts, i, np.int64(0))
        z, w = contact_xy(contacts, i, last)
        return np.int64(0) if a * x + b * y <= a * z + b * w else last
    best, lowest = np.int64(0), np.inf
    for k in range(c.count):
        x, y = contact_xy(contacts, i, k)
        if a * x + b * y < lowest:
            best, lowest = k, a * x + b * y
    return best


@inlined
def _only_face_touches(hull, height, face, dx, dy, dz):
    """A bound that proves that no vertex off `face` touches: its clearance, less what the tilt can take away."""
    n = hull.normals[face]
    cosine = n[0] * dx + n[1] * dy + n[2] * dz
    sine = np.sqrt(max(0.0, 1.0 - cosine * cosine))
    return height + hull.clearance[face] * cosine - hull.diameter * sine > 0.0


@inlined
def _touching_run(vertices, c, loop, lowest):
    """Begin and length of the run of a doubled loop that touches around place `lowest`.

    By bisection, since heights along a convex loop rise to one peak and fall again; on a short loop, step by step.
    """
    size = len(loop) // 2
    if size <= MANY:
        ahead = behind = 0
        while ahead < size - 1 and vertex_height(vertices, c, loop[lowest + ahead + 1]) <= c.touch:
            ahead += 1
        while ahead + behind < size - 1 and vertex_height(vertices, c, loop[lowest + size - behind - 1]) <= c.touch:
            behind += 1
        count = ahead + behind + 1
        return 0 if count == size else (lowest - behind) % size, count
    peak = _last_that(vertices, c, loop, lowest, lowest + size, True)
    if vertex_height(vertices, c, loop[peak % size]) <= c.touch:
        return 0, size
    ahead = _last_that(vertices, c, loop, lowest, peak, False)
    behind = size + lowest - _last_that(vertices, c, loop, size + lowest, peak, False)
    count = min(size, ahead - lowest + behind + 1)
    return 0 if count == size else (lowest - behind) % size, count


@lean
def _last_that(vertices, c, loop, inside, outside, climbing):
    """The last place from `inside` towards `outside` that touches, or, if `climbing`, that still rises."""
    size = len(loop) // 2
    step = 1 if outside > inside else -1
    while inside != outside:
        middle = inside + step * ((abs(outside - inside) + 1) // 2)
        height = vertex_height(vertices, c, loop[middle % size])
        if climbing:
            holds = height >= vertex_height(vertices, c, loop[(middle - 1) % size])
        else:
            holds = height <= c.touch
        if holds:
            inside = middle
        else:
            outside = middle - step
    return inside


@lean
def _flood(hull, c, found, lowest):
    """List all touching vertices: below a plane, the edges of a convex body connect them."""
    found[0] = lowest
    count, done = 1, 0
    while done < count:
        vertex = found[done]
        done += 1
        for k in range(hull.neighbour_offsets[vertex], hull.neighbour_offsets[vertex + 1]):
            other = hull.neighbours[k]
            if vertex_height(hull.vertices, c, other) > c.touch:
                continue
            known = False
            for m in range(count):
                if found[m] == other:
                    known = True
                    break
            if not known:
                found[count] = other
                count += 1
    for k in range(1, count):  # sort: the order must not depend on where the walk began
        m = k
        while m > 0 and found[m - 1] > found[m]:
            found[m - 1], found[m] = found[m], found[m - 1]
            m -= 1
    return count


@inlined
def _measure(contacts, i, sums):
    """Centre, radius, kind and axis of the patch from the means of x, y, z, xx, yy, zz, xy, xz, yz of its vertices."""
    c = contacts.record[i]
    R = c.rotation
    x, y, z = sums[0], sums[1], sums[2]
    c.centre[0] = R[0, 0] * x + R[0, 1] * y + R[0, 2] * z
    c.centre[1] = R[1, 0] * x + R[1, 1] * y + R[1, 2] * z
    mean = R[2, 0] * x + R[2, 1] * y + R[2, 2] * z
    c.centre[2] = 0.5 * (mean + c.height - c.rounding) - c.height
    # The spread of the vertices, body axes, then along the world's x and y.
    s00, s11, s22 = sums[3] - x * x, sums[4] - y * y, sums[5] - z * z
    s01, s02, s12 = sums[6] - x * y, sums[7] - x * z, sums[8] - y * z
    a0 = s00 * R[0, 0] + s01 * R[0, 1] + s02 * R[0, 2]
    a1 = s01 * R[0, 0] + s11 * R[0, 1] + s12 * R[0, 2]
    a2 = s02 * R[0, 0] + s12 * R[0, 1] + s22 * R[0, 2]
    xx = R[0, 0] * a0 + R[0, 1] * a1 + R[0, 2] * a2
    xy = R[1, 0] * a0 + R[1, 1] * a1 + R[1, 2] * a2
    b0 = s00 * R[1, 0] + s01 * R[1, 1] + s02 * R[1, 2]
    b1 = s01 * R[1, 0] + s11 * R[1, 1] + s12 * R[1, 2]
    b2 = s02 * R[1, 0] + s12 * R[1, 1] + s22 * R[1, 2]
    yy = R[1, 0] * b0 + R[1, 1] * b1 + R[1, 2] * b2
    c.radius = np.sqrt(max(0.0, xx + yy))
    half, split = 0.5 * (xx + yy), np.sqrt(0.25 * (xx - yy) ** 2 + xy * xy)
    thin = (_THIN * c.diameter) ** 2
    for k in range(3):
        c.axis[k] = 0.0
    if c.count == 1 or half + split <= thin:
        c.kind = Kind.POINT
    elif c.count > 2 and half - split > thin:
        c.kind = Kind.SURFACE
    else:
        c.kind = Kind.LINE
        _line_axis(contacts, i, xx, xy, yy)


@inlined
def _run_means(moments, c):
    """The means that `_measure` needs, of a run of a face's loop, from the running sums."""
    row = c.first + c.face  # each earlier face has one more row of running sums than places in its doubled loop
    low, high, n = moments[row], moments[row + c.count], 1.0 / c.count
    return (
        (high[0] - low[0]) * n,
        (high[1] - low[1]) * n,
        (high[2] - low[2]) * n,
        (high[3] - low[3]) * n,
        (high[4] - low[4]) * n,
        (high[5] - low[5]) * n,
        (high[6] - low[6]) * n,
        (high[7] - low[7]) * n,
        (high[8] - low[8]) * n,
    )


@inlined
def _listed_means(contacts, i):
    """The means that `_measure` needs, of listed vertices."""
    c = contacts.record[i]
    mx = my = mz = xx = yy = zz = xy = xz = yz = 0.0
    share = 1.0 / c.count
    for k in range(c.count):
        x, y, z = contacts.vertices[contacts.touching[c.index, k]]
        mx += share * x
        my += share * y
        mz += share * z
        xx += share * x * x
        yy += share * y * y
        zz += share * z * z
        xy += share * x * y
        xz += share * x * z
        yz += share * y * z
    return mx, my, mz, xx, yy, zz, xy, xz, yz


@lean
def _line_axis(contacts, i, xx, xy, yy):
    """Axis of a line patch: through both points of a pair, whatever their depths, else along the spread."""
    c = contacts.record[i]
    if c.count > 2:
        angle = 0.5 * np.arctan2(2 * xy, xx - yy)
        c.axis[0], c.axis[1] = np.cos(angle), np.sin(angle)
    else:
        last = c.count - 1  # the centre lies in the middle of the pair
        x, y, z = contact_point(contacts, i, last)
        x, y, z = x - c.centre[0], y - c.centre[1], z - c.centre[2]
        length = np.sqrt(x * x + y * y + z * z)
        c.axis[0], c.axis[1], c.axis[2] = x / length, y / length, z / length
