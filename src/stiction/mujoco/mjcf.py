"""MuJoCo models: reading and checking them, their bodies as stiction bodies, and a law's body as MJCF."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.basics.files import path_of
from stiction.bodies.body import Body
from stiction.simulation.rollout import law_of

try:
    import mujoco as compiled_module
except ImportError as error:
    raise ImportError(needs("stiction.mujoco", "mujoco")) from error

mujoco = cast(Any, compiled_module)  # its names are known at run time only
_GEOM = mujoco.mjtGeom
_INTEGRATOR = mujoco.mjtIntegrator
_INTEGRATORS = tuple(map(int, (_INTEGRATOR.mjINT_EULER, _INTEGRATOR.mjINT_IMPLICIT, _INTEGRATOR.mjINT_IMPLICITFAST)))
_ROUND = tuple(int(kind) for kind in (_GEOM.mjGEOM_CAPSULE, _GEOM.mjGEOM_SPHERE, _GEOM.mjGEOM_ELLIPSOID))


def compiled(model: Any) -> tuple[Any, dict[str, set[int]]]:
    """A model, and the geoms of each default class where these are known: of an MjSpec, which is compiled."""
    if isinstance(model, mujoco.MjModel):
        return model, {}
    if isinstance(model, str) and model.lstrip().startswith("<"):
        raise checks.InputError(
            "model must be an MjModel or an MjSpec, got the text of one: read it by mujoco.MjModel.from_xml_string."
        )
    if isinstance(model, str | Path):
        raise checks.InputError(
            f"model must be an MjModel or an MjSpec, got the path {str(model)!r:.80}: load it by "
            "mujoco.MjModel.from_xml_path."
        )
    if not isinstance(model, mujoco.MjSpec):
        raise checks.InputError(f"model must be an MjModel or an MjSpec, got {type(model).__name__}.")
    with read_by_mujoco("the model"):
        made, classes = model.compile(), {}
    for geom in model.geoms:
        default = geom.classname
        if default is not None and default.name:
            classes.setdefault(default.name, set()).add(int(geom.id))
    return made, classes


def check_compiled(model: Any) -> None:
    """Refuse anything but a compiled model."""
    if not isinstance(model, mujoco.MjModel):
        raise checks.InputError(f"model must be an MjModel, got {type(model).__name__}.")


def check_data(model: Any, data: Any) -> None:
    """Refuse data of another model."""
    if not isinstance(data, mujoco.MjData):
        raise checks.InputError(f"data must be an MjData, got {type(data).__name__}.")
    if data.model is model:
        return
    # One that was copied or read again will do; all sizes of its arrays must be those of the model.
    sizes = [name for name in dir(model) if name.startswith("n") and isinstance(getattr(model, name), int)]
    own, its = ({name: getattr(m, name) for name in (*sizes, "signature")} for m in (model, data.model))
    if own != its:
        other = ", ".join(name for name in own if own[name] != its[name])
        raise checks.InputError(
            f"data belongs to another model: one with {its['nq']} positions, {its['nbody']} bodies and {its['ngeom']} "
            f"geoms, this one has {own['nq']}, {own['nbody']} and {own['ngeom']}; they differ in {other:.200}."
        )


def raise_not_finite(model: Any, data: Any, steps: int) -> None:
    """Report where a state is not finite, before MuJoCo would silently reset it."""
    bad = ~(np.abs(data.qvel) < 1e10)
    dof = int(bad.argmax()) if bad.any() else 0
    body = model.body(int(model.dof_bodyid[dof])).name if model.nv else ""
    raise checks.InputError(
        f"The state is not finite before step {steps} (t = {data.time:g} s), at body {body!r:.80}: "
        f"qpos = {data.qpos.tolist()!s:.150}, qvel = {data.qvel.tolist()!s:.150}."
    )


def prepare(model: Any) -> None:
    """Take Euler's method where the model asks for RK4, and refuse settings with which a step cannot be split."""
    if model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
        warnings.warn(
            "The integrator RK4 evaluates contact four times a step; Euler's method is used instead.", stacklevel=3
        )
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    check_model(model)


def check_model(model: Any) -> None:
    """Refuse settings with which a step cannot be split."""
    if model.opt.integrator not in _INTEGRATORS:
        raise checks.InputError(
            f"A step of the integrator {mujoco.mjtIntegrator(model.opt.integrator).name} cannot be split: use Euler, "
            "implicit or implicitfast."
        )
    if model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_SLEEP:
        raise checks.InputError("Sleeping bodies do not evaluate their law: switch the flag sleep off.")


def spins(model: Any) -> list[tuple[int, int]]:
    """Addresses of the quaternions of free and ball joints in qpos, and of their angular velocities in qvel."""
    shift = {int(mujoco.mjtJoint.mjJNT_FREE): 3, int(mujoco.mjtJoint.mjJNT_BALL): 0}
    joints = [(int(kind), k) for k, kind in enumerate(model.jnt_type) if int(kind) in shift]
    return [(int(model.jnt_qposadr[k]) + shift[kind], int(model.jnt_dofadr[k]) + shift[kind]) for kind, k in joints]


def body_number(model: Any, name: str | int) -> int:
    """The number of a body by its name, or as it is."""
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        if not 0 <= name < model.nbody:
            raise checks.InputError(
                f"There is no body {checks.shown(name)}: the model has bodies 0 to {model.nbody - 1}."
            )
        return int(name)
    if not isinstance(name, str):
        raise checks.InputError(f"A body is named by its name or number, got {checks.shown(name)}.")
    number = -1
    if name.isprintable():  # MuJoCo takes no text that cannot be written
        number = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name.removeprefix("body:"))
    if number < 0:
        names = [model.body(k).name for k in range(1, model.nbody)]
        there = ", ".join(filter(None, names)) or "none"
        raise checks.InputError(f"The model has no body {checks.shown(name)}; it has {there}.")
    return number


def body_of(model: Any, name: str | int, points: int = 32) -> Body:
    """The body of that name as a stiction Body: the convex hull of its geoms with its mass properties, body frame.

    points: of each circle by which a round geom is described
    """
    check_compiled(model)
    number = body_number(model, name)
    count = checks.count("points", points, 3, 1000)
    found = [corners(model, g, count) for g in contact_geoms(model, number)]
    if not found:
        raise checks.InputError(f"The body {name!r} has no geom that can touch anything.")
    axes = matrix_of(model.body_iquat[number])
    inertia = axes @ np.diag(model.body_inertia[number]) @ axes.T
    mass, com = float(model.body_mass[number]), model.body_ipos[number].copy()
    return Body.hull_of(np.concatenate(found), mass, com=com, inertia=inertia)


def body_in_file(path: str | Path, name: str, points: int = 32) -> Body:
    """The body of that name in an MJCF or URDF file, see `body_of`."""
    return body_of(model_in_file(path), name, points)


def model_in_file(path: str | Path) -> Any:
    """The MjModel of an MJCF or URDF file."""
    path = path_of("A model file", path)
    if not path.is_file():
        raise checks.InputError(f"There is no model file {path}.")
    with read_by_mujoco(path):
        return mujoco.MjModel.from_xml_path(str(path))


@contextmanager
def read_by_mujoco(source: str | Path) -> Iterator[None]:
    """A block in which MuJoCo reads or compiles a model: its error of several lines becomes one sentence."""
    try:
        yield
    except (ValueError, mujoco.FatalError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise checks.InputError(f"MuJoCo cannot read {source}: {reason:.200}.") from error


def corners(model, g: int, points: int) -> NDArray[np.float64]:
    """Points on a geom, body frame, (n, 3), whose hull is the geom or nearly so."""
    kind, size = model.geom_type[g], model.geom_size[g]
    if kind == _GEOM.mjGEOM_BOX:
        local = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * size
    elif kind == _GEOM.mjGEOM_MESH:
        mesh = model.geom_dataid[g]
        first = model.mesh_vertadr[mesh]
        local = model.mesh_vert[first : first + model.mesh_vertnum[mesh]]
    else:
        turn = 2 * np.pi * np.arange(points) / points
        ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        if kind == _GEOM.mjGEOM_CYLINDER:
            levels = [(1.0, size[1]), (1.0, -size[1])]
            radius = np.array([size[0], size[0], 1.0])
        elif int(kind) in _ROUND:
            rise = np.linspace(0, np.pi / 2, points // 4 + 2)
            half = size[1] / size[0] if kind == _GEOM.mjGEOM_CAPSULE else 0.0
            levels = [(np.cos(a), sign * (half + np.sin(a))) for a in rise for sign in (1, -1)]
            radius = size if kind == _GEOM.mjGEOM_ELLIPSOID else np.full(3, size[0])
        else:
            raise checks.InputError(f"Geom {g} is of type {_GEOM(kind).name}, which is no convex body.")
        local = np.concatenate([np.column_stack([wide * ring, np.full(points, z)]) for wide, z in levels]) * radius
        local = np.unique(np.round(local, 12), axis=0)
    return local @ matrix_of(model.geom_quat[g]).T + model.geom_pos[g]


def contact_geoms(model: Any, body: int) -> list[int]:
    """The geoms of a body that can touch anything."""
    first = int(model.body_geomadr[body])
    geoms = range(first, first + int(model.body_geomnum[body])) if first >= 0 else ()
    return [g for g in geoms if model.geom_contype[g] or model.geom_conaffinity[g]]


def exclude_contacts(model: Any, geoms: set[int], ground: set[int]) -> None:
    """Change the model so that MuJoCo finds no contact between `geoms` and `ground`, and all others as before.

    Contact is filtered by bits: a pair is looked at if the type of one and the affinity of the other share a bit.
    Geoms that were treated alike get one bit as their type, and the bits of those that they may touch as affinity.
    """
    size = model.ngeom + model.nflex
    kind = np.concatenate([model.geom_contype, model.flex_contype]).astype(np.int64)
    affinity = np.concatenate([model.geom_conaffinity, model.flex_conaffinity]).astype(np.int64)
    special = np.array([1 if g in geoms else 2 if g in ground else 0 for g in range(size)])
    classes, member = np.unique(np.stack([kind, affinity, special], axis=1), axis=0, return_inverse=True)
    if len(classes) > 31:
        raise checks.InputError(
            f"The model's geoms have {len(classes)} ways to filter contact; at most 31 can be kept."
        )
    meets = ((classes[:, None, 0] & classes[None, :, 1]) | (classes[None, :, 0] & classes[:, None, 1])) != 0
    apart = (classes[:, None, 2] == 1) & (classes[None, :, 2] == 2)
    meets &= ~(apart | apart.T)
    bit = 1 << np.arange(len(classes))
    kind, affinity = bit[member.reshape(-1)], (meets @ bit)[member.reshape(-1)]
    model.geom_contype[:], model.flex_contype[:] = kind[: model.ngeom], kind[model.ngeom :]
    model.geom_conaffinity[:], model.flex_conaffinity[:] = affinity[: model.ngeom], affinity[model.ngeom :]
    for body in range(model.nbody):
        own = model.geom_bodyid == body
        model.body_contype[body] = np.bitwise_or.reduce(model.geom_contype[own], initial=0)
        model.body_conaffinity[body] = np.bitwise_or.reduce(model.geom_conaffinity[own], initial=0)
    for pair in range(model.npair):  # pairs that the model names bypass the filter
        if {int(model.pair_geom1[pair]) in geoms, int(model.pair_geom2[pair]) in geoms} == {True, False} and (
            int(model.pair_geom1[pair]) in ground or int(model.pair_geom2[pair]) in ground
        ):
            model.pair_margin[pair] = -1e10


def matrix_of(quaternion) -> NDArray[np.float64]:
    """Rotation matrix (3, 3) of a quaternion (w, x, y, z)."""
    return Rotation.from_quat(quaternion, scalar_first=True).as_matrix()


def to_mjcf(law: Any, name: str = "body") -> str:
    """MJCF of a law's body above its ground, with its time step and gravity: a model to start with, or to copy from.

    Edges that are rounded become a smaller mesh with a margin: MuJoCo lets it touch at that distance. A body in a plane
    gets two slides, along x and z, and a hinge about y, with the law's drag.

    law: or its name or path; name: of the body

        model = mujoco.MjModel.from_xml_string(stiction.mujoco.to_mjcf("cube"))
        sim = stiction.mujoco.Simulation(model, laws={"body": "cube"})
    """
    law = law_of(law)
    if not isinstance(name, str) or not name.isidentifier():
        raise checks.InputError(f"The name of the body must be a word such as 'part', got {checks.shown(name)}.")
    corners, margin = _corners_and_margin(law.body)
    place = 'pos="0 0 0"' if law.body.planar else f'pos="0 0 {law.body.diameter:.6g}"'
    return f"""<mujoco>
  <option timestep="{law.timestep:.17g}" gravity="{text_of(law.gravity)}"/>
  <asset>
    <mesh name="{name}" vertex="{text_of(corners)}"/>
  </asset>
  <worldbody>
    <geom name="ground" type="plane" size="0 0 1" pos="0 0 {getattr(law, "ground", 0.0):.17g}"/>
    <body name="{name}" {place}>
      {_joints(law)}
      <inertial pos="{text_of(law.body.com)}" mass="{law.body.mass:.17g}" fullinertia="{full_inertia(law.body)}"/>
      <geom name="{name}" type="mesh" mesh="{name}" margin="{margin:.17g}"/>
    </body>
  </worldbody>
</mujoco>
"""


def _joints(law: Any) -> str:
    if not law.body.planar:
        return "<freejoint/>"
    slow, turn = law.drag * law.body.mass, law.drag * float(law.body.inertia[1, 1])
    along = "".join(f'<joint type="slide" axis="{axis}" damping="{slow:.17g}"/>' for axis in ("1 0 0", "0 0 1"))
    return f'{along}<joint type="hinge" axis="0 1 0" damping="{turn:.17g}"/>'


def _corners_and_margin(body: Body) -> tuple[NDArray[np.float64], float]:
    """Corners (n, 3) of the mesh of a body, and the distance [m] at which it touches."""
    corners, margin = body.vertices, body.rounding
    if body.planar:
        depth = np.array([0.0, 0.25 * body.diameter, 0.0])
        corners = np.concatenate([corners - depth, corners + depth])
    if np.linalg.svd(corners - corners.mean(axis=0), compute_uv=False)[-1] < 1e-3 * body.diameter:
        return sharp(body).vertices, 0.0  # rounded until nothing is left of it that has a volume
    return corners, margin


def sharp(body: Body) -> Body:
    """The body with sharp edges instead of rounded ones, of the same extents."""
    return body.reshaped(scale=1.0, rounding=0.0, com=body.com, inertia=body.inertia) if body.rounding else body


def full_inertia(body: Body) -> str:
    """The body's inertia for MJCF."""
    I = body.inertia
    return text_of([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])


def text_of(values: Any) -> str:
    """Numbers for MJCF, exact to the bit."""
    return " ".join(f"{value:.17g}" for value in np.ravel(values))
