"""When the next corner reaches the ground: the time of impact that cuts a step in two."""

import numpy as np

from stiction.compiled import lean

# Height [m] below which a corner touches where steps are cut at impacts. Far above that of whole steps: corners that
# chatter within it count as one contact, or there would be no end of cuts.
TOUCH = 1e-4


@lean
def time_to_impact(hull, rotation, height, twist, longest):
    """Time [s] until a corner above the ground reaches it with the given twist (6,), at most `longest`.

    Linear in time: the curvature of the corner's path is left to the next, much shorter, cut.
    height: of the centre of mass [m]
    """
    first = longest
    for k in range(len(hull.vertices)):
        v = hull.vertices[k]
        z = rotation[2, 0] * v[0] + rotation[2, 1] * v[1] + rotation[2, 2] * v[2]
        gap = height + z - hull.rounding
        if gap <= TOUCH:
            continue
        x = rotation[0, 0] * v[0] + rotation[0, 1] * v[1] + rotation[0, 2] * v[2]
        y = rotation[1, 0] * v[0] + rotation[1, 1] * v[1] + rotation[1, 2] * v[2]
        speed = twist[2] + y * twist[3] - x * twist[4]
        if speed < 0.0 and gap - 0.5 * TOUCH < -speed * first:
            first = (gap - 0.5 * TOUCH) / -speed
    return first


@lean
def out_of_reach(hull, height, twist, gravity, longest):
    """Whether no corner can reach the ground within `longest` [s]: a bound that looks at no corner at all."""
    spin = np.sqrt(twist[3] ** 2 + twist[4] ** 2 + twist[5] ** 2)
    fastest = abs(twist[2]) + abs(gravity[2]) * longest + spin * hull.reach
    return height - hull.rounding - hull.reach - TOUCH > longest * fastest
