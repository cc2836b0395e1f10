"""Coulomb friction at every touching vertex: the reference law of the studies and tests.

`cone="box"` is the law of DART's Dantzig solver: |f_x| <= mu_x n0 and |f_y| <= mu_y n0 with n0 the frictionless normal
impulse, world axes. `cone="round"` is the cone |(f_x / mu_x, f_y / mu_y)| <= n with the actual normal impulse n and
friction of greatest dissipation; an ellipse where mu_x and mu_y differ.
"""

import numpy as np
from numpy.typing import ArrayLike

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.laws.curves import frozen
from stiction.laws.material import Cone, Material, MaterialLaw

DART_SOFTNESS = 1e-5  # DART's constraint force mixing: the share of its own response by which a contact yields


class CoulombLaw(MaterialLaw):
    """Coulomb's law for one body on the ground: `Material.coulomb(...).on(body)`, solved at every vertex.

    A box is solved by Dantzig's pivoting rule, as in DART, a round cone by the solver of all materials. A patch with
    more than 24 vertices is solved at 24 of them, spread evenly.

    friction: coefficient, or (mu_x, mu_y) along the world axes
    cone: "box", as DART's Dantzig solver, or "round" (elliptic if mu_x and mu_y differ)
    softness: share of its own response by which a loaded vertex yields. The default is DART's, so that a throw follows
        DART step by step; only a body at rest on a surface is stopped exactly, where DART lets it creep. 0 is rigid.
    timestep: [s]

        law = CoulombLaw(body, friction=0.5)
        other = CoulombLaw(body, friction=(0.75, 1.5), cone="round", timestep=0.001)
    """

    _is_reference = True

    def __init__(
        self,
        body: Body,
        friction: ArrayLike = 0.5,
        *,
        cone: Cone = "box",
        softness: float = DART_SOFTNESS,
        timestep: float = 0.002,
    ) -> None:
        coefficients = np.atleast_1d(checks.array("friction", friction, ()))
        if coefficients.shape not in ((1,), (2,)):
            raise checks.InputError(f"friction must be one number or two (mu_x, mu_y), got shape {coefficients.shape}.")
        if np.any(coefficients < 0):
            raise checks.InputError(f"friction must not be negative, got {coefficients.tolist()}.")
        mu_x, mu_y = np.broadcast_to(coefficients, 2).tolist()
        same = mu_x == mu_y
        pair = max(mu_x, 1e-9), max(mu_y, 1e-9)  # coefficients along axes are positive
        material = Material.coulomb(mu_x, cone=cone) if same else Material.anisotropic(pair, cone=cone)
        super().__init__(material, body, timestep=timestep, softness=softness)
        self.cone = cone
        self.friction_coefficients = frozen([mu_x, mu_y])
        self.rough_friction = (mu_x, mu_y)

    def __repr__(self) -> str:
        mu_x, mu_y = self.friction_coefficients.tolist()
        mu = mu_x if mu_x == mu_y else (mu_x, mu_y)
        return f"CoulombLaw({self.body.shape}, friction={mu}, cone={self.cone!r}, softness={self.softness:g})"
