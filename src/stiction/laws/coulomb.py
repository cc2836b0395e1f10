"""Coulomb friction at every touching vertex.

`cone="round"` is the cone |(f_x / mu_x, f_y / mu_y)| <= n with the actual normal impulse n and friction of greatest
dissipation; an ellipse where mu_x and mu_y differ. `cone="dart"` is the law of DART's Dantzig solver, the ground truth
of the paper: |f_x| <= mu_x n0 and |f_y| <= mu_y n0 with n0 the frictionless normal impulse, world axes.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.laws.curves import frozen
from stiction.laws.material import Material
from stiction.laws.material_law import MaterialLaw

CoulombCone = Literal["round", "dart"]
DART_SOFTNESS = 1e-5  # DART's constraint force mixing: the share of its own response by which a contact yields


class CoulombLaw(MaterialLaw):
    """Coulomb's law for one body on the ground: `Material.coulomb(...).on(body)`, solved at every vertex.

    A patch with more than 24 vertices is solved at 24 of them, spread evenly.

    friction: coefficient, or (mu_x, mu_y) along the world axes
    cone: "round" (elliptic if mu_x and mu_y differ), or "dart": friction is limited along x and along y, as in DART's
        Dantzig solver, and steps are whole, so that a throw follows DART step by step; only a body at rest on a surface
        is stopped exactly, where DART lets it creep
    softness: share of its own response by which a loaded vertex yields; 0 is rigid and exact. By default 0, or DART's
        with its cone.
    timestep: [s]

        law = CoulombLaw(body, friction=0.5)
        other = CoulombLaw(body, friction=(0.75, 1.5), timestep=0.001)
    """

    _is_reference = True

    def __init__(
        self,
        body: Body,
        friction: ArrayLike = 0.5,
        *,
        cone: CoulombCone = "round",
        softness: float | None = None,
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
        as_dart = checks.choice("cone", cone, get_args(CoulombCone)) == "dart"
        shape = "box" if as_dart else "round"
        material = Material.coulomb(mu_x, cone=shape) if same else Material.anisotropic(pair, cone=shape)
        if softness is None:
            softness = DART_SOFTNESS if as_dart else 0.0
        super().__init__(material, body, timestep=timestep, softness=softness)
        self.cone = cone
        self.substeps = 0 if as_dart else self.substeps
        self.friction_coefficients = frozen([mu_x, mu_y])
        self.rough_friction = (mu_x, mu_y)

    def __repr__(self) -> str:
        mu_x, mu_y = self.friction_coefficients.tolist()
        mu = mu_x if mu_x == mu_y else (mu_x, mu_y)
        return f"CoulombLaw({self.body.shape}, friction={mu}, cone={self.cone!r}, softness={self.softness:g})"
