"""A jointed part as an MJCF file describes it, and with fitted parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.basics.files import path_of
from stiction.bodies.body import MAX_LENGTH, MAX_MASS
from stiction.laws.law import checked_gravity
from stiction.mujoco.mjcf import mujoco, read_by_mujoco

POSE = 7  # numbers of the pose of the base in qpos: position, quaternion w x y z
_FREE = int(mujoco.mjtJoint.mjJNT_FREE)
_SINGLE = tuple(int(kind) for kind in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE))
_GEOM = mujoco.mjtGeom


@dataclass(frozen=True)
class Link:
    """A moving body of the MJCF file: mass [kg], centre of mass [m] and inertia about it, in body axes."""

    name: str
    mass: float
    com: NDArray[np.float64]
    inertia: NDArray[np.float64]


class JointedPart:
    """A part with joints: one free base, hinges and slides, boxes and round geoms, and a plane to fall on.

    joints: names of the hinges and slides, in the order of qpos; links: the bodies that move, the base first
    length: [m] in percent of which position errors are stated, the longest edge of the base
    """

    def __init__(self, spec: Any, source: str = "the model") -> None:
        self._spec = spec
        with read_by_mujoco(source):
            model = spec.compile()
        free = [k for k in range(model.njnt) if model.jnt_type[k] == _FREE]
        if free != [0]:
            raise checks.InputError(
                f"{source} must have one free joint, of the base, before all others; it has {len(free)}: give the "
                "first link a <freejoint/>."
            )
        others = [k for k in range(1, model.njnt) if model.jnt_type[k] not in _SINGLE]
        if others:
            raise checks.InputError(
                f"{source} may have hinges and slides beside its free base, but {model.joint(others[0]).name!r} is a "
                "joint of another kind."
            )
        elsewhere = [k for k in range(1, model.njnt) if not _is_of_base(model, int(model.jnt_bodyid[k]))]
        if elsewhere:
            raise checks.InputError(
                f"{source} may have no joints but those of the part, but {model.joint(elsewhere[0]).name!r} belongs to "
                "another body: leave out what else moves."
            )
        if not any(kind == _GEOM.mjGEOM_PLANE for kind in model.geom_type):
            raise checks.InputError(f"{source} has no plane to fall on: give the world <geom type='plane'/>.")
        self.joints = tuple(_name(model.joint(k).name, "joint", k) for k in range(1, model.njnt))
        self.hinges = tuple(int(kind) == _SINGLE[0] for kind in model.jnt_type[1:])
        moving = [b for b in range(1, model.nbody) if _is_of_base(model, b)]
        _check_sizes(model, source)
        self.links = tuple(_link(model, b) for b in moving)
        self.gravity = float(np.linalg.norm(model.opt.gravity))
        self.length = self._longest_edge(source)

    @classmethod
    def read(cls, path: str | Path) -> "JointedPart":
        """Read an MJCF file."""
        path = path_of("An MJCF file", path)
        if not path.is_file():
            raise checks.InputError(f"There is no MJCF file {path}.")
        with read_by_mujoco(path):
            spec = mujoco.MjSpec.from_file(str(path))
        return cls(spec, str(path))

    def __repr__(self) -> str:
        return f"JointedPart({len(self.links)} links, joints {', '.join(self.joints) or 'none'})"

    def _moving_geoms(self, spec: Any) -> list[tuple[Any, Any]]:
        """Return the geoms that touch, each with its body."""
        bodies = [spec.body(link.name) for link in self.links]
        return [(body, geom) for body in bodies for geom in body.geoms if geom.contype or geom.conaffinity]

    def _longest_edge(self, source: str) -> float:
        longest = 0.0
        for body, geom in self._moving_geoms(self._spec):
            if geom.type not in (_GEOM.mjGEOM_BOX, _GEOM.mjGEOM_SPHERE, _GEOM.mjGEOM_CAPSULE):
                raise checks.InputError(
                    f"{source}: links touch with boxes, spheres and capsules, but {body.name!r} has another geom: "
                    "describe it by these, and give others contype='0' conaffinity='0'."
                )
            if body.name == self.links[0].name:
                is_capsule = geom.type == _GEOM.mjGEOM_CAPSULE
                half = geom.size[0] + geom.size[1] if is_capsule else np.max(geom.size)
                longest = max(longest, 2 * float(half))
        if longest == 0.0:
            raise checks.InputError(f"{source}: the base {self.links[0].name!r} has no geom that touches.")
        return longest

    def spec(self, values: Mapping[str, float], timestep: float) -> Any:
        """Return the part with these parameters, as an MjSpec; others stay as in the file.

        Boxes touch with a sphere at each corner, whose radius is the rounding: on a plane, that is a box with round
        edges. The box itself stays visible.
        """
        spec = self._spec.copy()
        spec.option.timestep = timestep
        spec.compiler.balanceinertia = True  # a fit may try inertias that violate the triangle inequality
        spec.option.gravity = [0.0, 0.0, -values.get("gravity", self.gravity)]
        for geom in spec.worldbody.geoms:
            if geom.type == _GEOM.mjGEOM_PLANE:
                geom.pos = [*geom.pos[:2], values.get("ground", 0.0)]  # where recordings have it
        for link in self.links:
            self._set_inertia(spec.body(link.name), link, values)
        for name in self.joints:
            joint = spec.joint(name)
            damping = np.array(joint.damping)  # MuJoCo has a polynomial of the speed
            damping[0] = max(0.0, values.get(f"{name}.damping", float(damping[0])))
            joint.damping = damping
            joint.frictionloss = max(0.0, values.get(f"{name}.friction", float(joint.frictionloss)))
        size, rounding = values.get("size", 1.0), max(values.get("rounding", 0.0), 1e-5)
        for body, geom in self._moving_geoms(spec):
            geom.size = np.array(geom.size) * size
            geom.pos = np.array(geom.pos) + [values.get(f"{body.name}.shift_{axis}", 0.0) for axis in "xyz"]
            if geom.type == _GEOM.mjGEOM_BOX:
                _round_corners(body, geom, rounding)
        return spec

    def model(self, values: Mapping[str, float], timestep: float, *, contact: bool = True) -> Any:
        """Return the same, compiled. contact: whether contacts are enabled"""
        model = self.spec(values, timestep).compile()
        if not contact:
            model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        return model

    @staticmethod
    def _set_inertia(body: Any, link: Link, values: Mapping[str, float]) -> None:
        def value(name: str, usual: float) -> float:
            return values.get(f"{link.name}.{name}", usual)

        ratio = np.array([1.0, value("inertia_y", 1.0), value("inertia_z", 1.0)])
        mass = value("mass", 1.0)
        ratio *= mass * value("inertia", 1.0) / np.cbrt(ratio.prod())
        inertia = np.outer(np.sqrt(ratio), np.sqrt(ratio)) * link.inertia
        body.explicitinertial = True
        body.mass = link.mass * mass
        body.ipos = link.com + [value(f"com_{axis}", 0.0) for axis in "xyz"]
        body.iquat = [1.0, 0.0, 0.0, 0.0]
        body.fullinertia = [inertia[k] for k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        for geom in body.geoms:
            geom.mass = 0.0


def _round_corners(body: Any, geom: Any, rounding: float) -> None:
    """Let a box touch with spheres at its corners instead of its own shape."""
    half = np.array(geom.size)
    radius = min(rounding, 0.99 * float(half.min()))
    turn = Rotation.from_quat(np.array(geom.quat), scalar_first=True)
    signs = np.array(list(product((-1.0, 1.0), repeat=3)))
    for k, place in enumerate(turn.apply(signs * (half - radius)) + np.array(geom.pos)):
        body.add_geom(
            name=f"{geom.name}_corner{k}" if geom.name else "",  # names may not repeat
            type=_GEOM.mjGEOM_SPHERE,
            size=[radius, 0.0, 0.0],
            pos=place,
            mass=0.0,
            contype=geom.contype,
            conaffinity=geom.conaffinity,
            friction=geom.friction,
            condim=geom.condim,
            solref=geom.solref,
            solimp=geom.solimp,
            group=3,  # which viewers hide by default
        )
    geom.contype = geom.conaffinity = 0


def _check_sizes(model: Any, source: str) -> None:
    """Refuse sizes beyond the limits of bodies, before anything is computed with them."""
    lengths = (model.geom_size, model.geom_pos, model.body_pos, model.body_ipos)
    checked_gravity(model.opt.gravity)
    for what, unit, most, parts in (
        ("lengths", "m", MAX_LENGTH, lengths),
        ("masses", "kg", MAX_MASS, (model.body_mass,)),
        ("moments of inertia", "kg m^2", MAX_MASS * MAX_LENGTH**2, (model.body_inertia,)),
    ):
        largest = float(np.max([np.abs(part).max(initial=0.0) for part in parts]))  # NaN if one is
        if not largest <= most:
            raise checks.InputError(f"{source}: {what} must be within {most:g} {unit}, got {largest:g} {unit}.")


def _is_of_base(model: Any, body: int) -> bool:
    """Return whether a body is the free base or is attached to it."""
    return bool(model.body_rootid[body] == model.jnt_bodyid[0])


def _link(model: Any, number: int) -> Link:
    turn = Rotation.from_quat(model.body_iquat[number], scalar_first=True).as_matrix()
    inertia = turn @ np.diag(model.body_inertia[number]) @ turn.T
    name = _name(model.body(number).name, "body", number)
    return Link(name, float(model.body_mass[number]), np.array(model.body_ipos[number]), inertia)


def _name(name: str, what: str, number: int) -> str:
    if not name:
        raise checks.InputError(f"Every {what} of the part needs a name in the MJCF file; number {number} has none.")
    return name
