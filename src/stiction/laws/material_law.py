"""The contact law of a body with a material: friction at the points of its patches, solved exactly (core/friction)."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.laws.law import NativeLaw, checked_softness, checked_timestep
from stiction.laws.material import Material


class MaterialLaw(NativeLaw):
    """A material's friction at the points of one body's contact patches, solved exactly.

    A patch of up to 8 vertices is solved at all of them, one of more vertices at 4 representative points, so that its
    cost does not grow with their number. See `Material.on`.
    """

    _is_reference = False  # solved at every vertex, DART's cone by Dantzig's rule: CoulombLaw

    def __init__(self, material: Material, body: Body, *, timestep: float = 0.002, softness: float = 0.0) -> None:
        if not isinstance(body, Body):
            raise checks.InputError(f"A material is put on a stiction.Body, got {type(body).__name__}.")
        self.material = material
        self.body = body
        self.timestep = checked_timestep(timestep, body)
        self.softness = checked_softness(softness)
        self.substeps = 0 if self.softness > 0 else 1  # soft bodies would sink between the cuts of a step
        self.bounces = material.restitution.e0 > 0
        self.rough_friction = _typical(material, body)
        self.rough_cone = material.cone

    @cached_property
    def native(self) -> _core.MaterialLaw:
        """The law in the native core."""
        bounce = self.material.restitution
        mu_x, mu_y = self.rough_friction or (0.0, 0.0)
        return _core.MaterialLaw(
            map=self.material.native,
            e0=bounce.e0,
            fall=bounce.fall,
            threshold=bounce.threshold,
            body_axes=self.material.axes == "body",
            softness=self.softness,
            mu_x=mu_x,
            mu_y=mu_y,
            reference=self._is_reference,
        )

    def impulses(self, contacts: _core.Contacts, i: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The points of contact i relative to the centre of mass (m, 3) [m], and their impulses (m, 3) [N s]."""
        return self.native.impulses(contacts, i)

    @property
    def unsolved(self) -> int:
        """Contacts so far for which the solver did not converge; its best iterate was used, under the guards."""
        return self.native.unsolved

    @property
    def info(self) -> dict[str, Any]:
        """What is known about the material's origin."""
        return self.material.info

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "native"}  # rebuilt on demand

    def __repr__(self) -> str:
        return f"MaterialLaw({self.body.shape}, {self.material!r})"


def _typical(material: Material, body: Body) -> tuple[float, float]:
    """Coefficients along x and y at a slip of 0.3 m/s, under a quarter of the body's weight."""
    mu_x, mu_y = material.friction([0.0, np.pi / 2], 0.3, 0.25 * 9.81 * body.mass).tolist()
    return mu_x, mu_y
