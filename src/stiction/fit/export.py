"""Identified bodies for other simulators: MJCF, URDF, SDF, USD and JSON, with ranges for domain randomisation.

Other simulators have other contact models, in which an identified law loses accuracy. For MuJoCo, its own contact
parameters are fitted to motions of the law, and the loss is measured on fresh throws. The other formats have only
coefficients of friction and restitution, whose effect depends on the simulator that reads them: nothing is measured.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.basics.files import write_whole
from stiction.bodies.throws import ThrowRanges, drawn
from stiction.fit.forecast import toss_errors
from stiction.fit.gauss_newton import Parameter, named
from stiction.fit.point_material import body_motions, body_scene, body_states, model_errors
from stiction.fit.toss_objective import Motions, Stage, TossModel, Values, fit, horizon, roll_law, width_of
from stiction.laws.impact import IMPACT_SPEED, SLIP_SPEED, ImpactLaw
from stiction.recordings.tosses import Toss, Tosses
from stiction.simulation.rollout import rollout

Format = Literal["mujoco", "urdf", "sdf", "usd-physics", "json"]
NORMAL = 1.645  # standard errors from the middle to the 5 % and 95 % quantiles
LIMITS = {"friction": (0.0, np.inf), "restitution": (0.0, 1.0), "inertia": (0.1, np.inf)}
UNMEASURED = "not measured: the motion depends on the simulator that reads this file."
N_THROWS = 30  # of each set: to fit, and to measure the loss
CONTACT = (  # of MuJoCo's own contact
    Parameter("friction", "", 0.2, 0.1, 0.005, 0.01, 2.0),
    Parameter("torsion", "m", 0.005, 0.01, 0.001, 1e-5, 0.1),
    Parameter("time_constant", "s", 0.01, 0.005, 0.0005, 0.0036, 0.1),
    Parameter("damping_ratio", "", 0.6, 0.3, 0.03, 0.05, 2.0),
)
STAGES = (Stage((12, 25), 5.0, 6), Stage((25, None), 10.0, 4))
TIME_CONSTANTS = (0.005, 0.02)  # [s] further starts of the fit: one start alone may end in a poor minimum
MOVED = 1e-3  # [m/s] standard deviation of the start's velocity, for comparison


@dataclass(frozen=True)
class Exported:
    """What is written.

    friction: of sliding at 0.3 m/s under the body's weight; restitution: at 1 m/s
    ranges: 5 % and 95 % quantiles of what was fitted, in SI units; "inertia" is a factor of all moments
    contact: MuJoCo's own parameters, or empty; fidelity: what the export loses against the law, in words
    loss: mean errors against the law on fresh throws, position [% of the width] and rotation [degrees], or None
    """

    law: ImpactLaw
    friction: float
    restitution: float
    ranges: dict[str, tuple[float, float]]
    contact: dict[str, float]
    fidelity: str
    loss: dict[str, float] | None = None

    @property
    def notes(self) -> list[str]:
        """Origin, fidelity and ranges, one line each."""
        info = self.law.info
        lines = [f"Identified by stiction from {info.get('fitted_tosses', 'an unknown number of')} tosses."]
        if not info.get("verdict", {}).get("friction_sliding", {}).get("observed", True):
            lines.append("Sliding friction was not observed, but extrapolated from impacts.")
        lines.append(f"Fidelity: {self.fidelity}")
        if not self.ranges:
            return [*lines, "Ranges for domain randomisation: unknown, since the law has no standard errors."]
        lines.append("Ranges for domain randomisation (5 to 95 %; inertia: factor of all moments; otherwise SI units):")
        return lines + [f"  {name}: {low:.5g} to {high:.5g}" for name, (low, high) in self.ranges.items()]

    def figures(self) -> dict[str, Any]:
        """Return everything but the law, for JSON."""
        return {name: value for name, value in vars(self).items() if name != "law"}


def export(law: ImpactLaw, to: Format, out: str | Path, *, name: str = "part", seed: int = 0) -> Exported:
    """Write an identified law's body and contact for another simulator, and return what was written.

    law: from `stiction.load`, or the `law` of a result of `stiction.identify`
    name: of the body; seed: of the throws that MuJoCo's parameters are fitted to
    """
    checks.choice("to", to, get_args(Format))
    if not isinstance(law, ImpactLaw):
        raise checks.InputError(f"Only a law of stiction.identify can be exported, got {type(law).__name__}.")
    if law.body.planar:
        raise checks.InputError("Only a body that moves in space can be exported; the law is for one in a plane.")
    if not name.isidentifier():
        raise checks.InputError(f"The name of the body must be a word such as 'part', got {checks.shown(name)}.")
    path, found = Path(out), _described(law)
    found = _fitted_to_mujoco(found, seed) if to == "mujoco" else found
    if to in ("urdf", "sdf"):
        write_whole(path.with_suffix(".obj"), _obj(law).encode())
    write_whole(path, WRITERS[to](found, name, path).encode())
    return found


def _described(law: ImpactLaw) -> Exported:
    weight = law.body.mass * float(np.linalg.norm(law.gravity))
    friction, restitution = float(law.friction_at(SLIP_SPEED, weight)), float(law.restitution_at(IMPACT_SPEED))
    middles = {"friction": friction, "restitution": restitution, "inertia": 1.0}
    middles |= {f"com_{axis}": float(at) for axis, at in zip("xyz", law.body.com)}
    rows, ranges = law.info.get("parameters", {}), {}
    for name, middle in middles.items():
        if name in rows:  # it was fitted
            away = NORMAL * rows[name]["error"] / (rows[name]["value"] if name == "inertia" else 1.0)
            low, high = LIMITS.get(name, (-np.inf, np.inf))
            ranges[name] = (max(low, middle - away), min(high, middle + away))
    return Exported(law, friction, restitution, ranges, {}, UNMEASURED)


# MuJoCo's own contact.


def thrown(law: ImpactLaw, n: int, seed: int) -> Tosses:
    """Return tosses as the law has them, over about 0.7 s."""
    width = width_of(law.body)
    ranges = ThrowRanges((width, 3 * width), horizontal=(-1.0, 1.0), vertical=(0.0, 0.5), spin=(-8.0, 8.0))
    states = drawn(law.body, ranges, seed, range(n)).raised(law.ground)
    run = rollout(law, states, max(40, round(0.7 / law.timestep)))
    touches = (np.abs(run.impulse).max(axis=-1) > 0).argmax(axis=1)
    frames = np.arange(run.position.shape[1])
    rows = zip(run.position, run.quaternion, touches.tolist())
    return Tosses([Toss(frames, at, turn, max(3, touch)) for at, turn, touch in rows], law.timestep)


def native_model(law: ImpactLaw) -> TossModel[Tosses, Motions]:
    """Return the model of the law's body with MuJoCo's own contact; its parameters are those of CONTACT."""
    from stiction.fit.jointed_starts import frames_of, roll_plainly

    scene = body_scene(law)
    scene.opt.cone = 1  # elliptic
    scene.geom_condim[:] = 4

    def predict(values: Values, tosses: Tosses, steps: NDArray[np.int64]) -> Motions:
        scene.geom_friction[:, :2] = values["friction"], values["torsion"]
        scene.geom_solref[:] = values["time_constant"], values["damping_ratio"]
        states = body_states(law.body, tosses.states(law.body, law.gravity))
        return body_motions(law.body, frames_of(roll_plainly, scene, states, steps))

    return TossModel(predict, width_of(law.body), stages=STAGES)


def _fitted_to_mujoco(found: Exported, seed: int) -> Exported:
    """Fit MuJoCo's parameters from several starts, keep the best, and measure its loss on fresh throws.

    The start of the damping ratio is that of a spring and damper with the law's restitution.
    """
    law, model = found.law, native_model(found.law)
    throws, fresh = thrown(law, N_THROWS, seed), thrown(law, N_THROWS, seed + 1)
    bounce = -np.log(np.clip(found.restitution, 0.01, 0.95))
    usual = {"friction": found.friction, "damping_ratio": float(bounce / np.hypot(np.pi, bounce))}
    fits = []
    for start in ({}, *({**usual, "time_constant": constant} for constant in TIME_CONSTANTS)):
        parameters = [replace(p, start=float(np.clip(start.get(p.name, p.start), p.low, p.high))) for p in CONTACT]
        values = named(parameters, fit(model, parameters, throws, errors=False).values)
        errors = model_errors(model, values, throws).means()
        fits.append((errors["position"] + errors["rotation"], values))
    values = min(fits, key=lambda each: each[0])[1]
    errors, floor = model_errors(model, values, fresh), _moved_start(law, fresh)
    loss, median = errors.means(), errors.medians()
    fidelity = (
        f"with MuJoCo's own contact, forecasts of {N_THROWS} fresh throws differ from the law's by "
        f"{loss['position']:.1f} % of the width and {loss['rotation']:.1f} degrees on average (medians "
        f"{median['position']:.1f} % and {median['rotation']:.1f} degrees; best of {len(fits)} fits). For comparison, "
        f"a start that is {1e3 * MOVED:g} mm/s off makes {floor['position']:.1f} % and {floor['rotation']:.1f} "
        "degrees. The law's own contact is kept by its material, in stiction.mujoco."
    )
    return Exported(law, found.friction, found.restitution, found.ranges, values, fidelity, loss)


def _moved_start(law: ImpactLaw, tosses: Tosses) -> dict[str, float]:
    """Return the mean errors of the law's own forecasts from starts with slightly different velocities."""
    states, rng = tosses.states(law.body, law.gravity), np.random.default_rng(0)
    velocity = states.velocity + rng.normal(0.0, MOVED, states.velocity.shape)
    motions = roll_law(law, replace(states, velocity=velocity), horizon(tosses, (None,)))
    return toss_errors(tosses, motions, width_of(law.body)).means()


# Writers: from what is exported, the name of the body and the path of the file to its text.


def _numbers(values: Any) -> str:
    return " ".join(f"{value:.9g}" for value in np.ravel(values))


def _comment(found: Exported) -> str:
    return "<!--\n" + "\n".join(found.notes) + "\n-->\n"


def _inertia(law: ImpactLaw) -> dict[str, str]:
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    return dict(zip(names, _numbers(law.body.inertia[np.triu_indices(3)]).split()))


def _obj(law: ImpactLaw) -> str:
    """Return the hull, with sharp edges."""
    body = law.body.reshaped(rounding=0.0)
    lines = [f"v {_numbers(corner)}" for corner in body.vertices]
    return "\n".join([*lines, *("f " + " ".join(str(k + 1) for k in loop) for loop in body.faces)]) + "\n"


def _mjcf(found: Exported, name: str, path: Path) -> str:
    from stiction.mujoco.mjcf import to_mjcf

    c = found.contact
    # The part's parameters hold against anything that has no priority of its own.
    friction, solref = [c["friction"], c["torsion"], 0.0], [c["time_constant"], c["damping_ratio"]]
    contact = f'priority="1" condim="4" friction="{_numbers(friction)}" solref="{_numbers(solref)}"'
    text = to_mjcf(found.law, name).replace('type="mesh"', f'type="mesh" {contact}')
    step = body_scene(found.law).opt.timestep
    text = text.replace(f'timestep="{found.law.timestep:.17g}"', f'timestep="{step:.9g}" cone="elliptic"')
    return _comment(found) + text


def _urdf(found: Exported, name: str, path: Path) -> str:
    body, moments = found.law.body, " ".join(f'{k}="{v}"' for k, v in _inertia(found.law).items())
    mesh, mu = f'<geometry><mesh filename="{path.with_suffix(".obj").name}"/></geometry>', f"{found.friction:.6g}"
    return f"""<?xml version="1.0"?>
{_comment(found)}<robot name="{name}">
  <link name="{name}">
    <inertial><origin xyz="{_numbers(body.com)}"/><mass value="{body.mass:.9g}"/><inertia {moments}/></inertial>
    <visual>{mesh}</visual>
    <collision>{mesh}</collision>
    <contact><lateral_friction value="{mu}"/><restitution value="{found.restitution:.6g}"/></contact>
  </link>
</robot>
"""


def _sdf(found: Exported, name: str, path: Path) -> str:
    body = found.law.body
    moments = "".join(f"<{k}>{v}</{k}>" for k, v in _inertia(found.law).items())
    mesh = f"<geometry><mesh><uri>{path.with_suffix('.obj').name}</uri></mesh></geometry>"
    mu = f"{found.friction:.6g}"
    return f"""<?xml version="1.0"?>
{_comment(found)}<sdf version="1.9">
  <model name="{name}">
    <link name="{name}">
      <inertial>
        <pose>{_numbers(body.com)} 0 0 0</pose><mass>{body.mass:.9g}</mass><inertia>{moments}</inertia>
      </inertial>
      <visual name="{name}_visual">{mesh}</visual>
      <collision name="{name}_collision">
        {mesh}
        <surface>
          <friction><ode><mu>{mu}</mu><mu2>{mu}</mu2></ode></friction>
          <bounce><restitution_coefficient>{found.restitution:.6g}</restitution_coefficient></bounce>
        </surface>
      </collision>
    </link>
  </model>
</sdf>
"""


def _usda(found: Exported, name: str, path: Path) -> str:
    law, body = found.law, found.law.body.reshaped(rounding=0.0)
    moments, axes = np.linalg.eigh(law.body.inertia)
    axes[:, 2] *= np.linalg.det(axes)  # right-handed

    def tuples(rows: Any) -> str:
        return ", ".join("(" + ", ".join(f"{x:.9g}" for x in row) + ")" for row in rows)

    turn = Rotation.from_matrix(axes).as_quat(scalar_first=True)
    notes = "\n".join(f"# {line}" for line in found.notes)
    loops = body.faces
    return f"""#usda 1.0
{notes}
(
    defaultPrim = "{name}"
    metersPerUnit = 1
    kilogramsPerUnit = 1
    upAxis = "Z"
)

def Xform "{name}" (
    prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
)
{{
    float physics:mass = {law.body.mass:.9g}
    point3f physics:centerOfMass = {tuples([law.body.com])}
    float3 physics:diagonalInertia = {tuples([moments])}
    quatf physics:principalAxes = {tuples([turn])}

    def Mesh "hull" (
        prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI", "MaterialBindingAPI"]
    )
    {{
        uniform token physics:approximation = "convexHull"
        point3f[] points = [{tuples(body.vertices)}]
        int[] faceVertexCounts = [{", ".join(str(len(loop)) for loop in loops)}]
        int[] faceVertexIndices = [{", ".join(str(k) for loop in loops for k in loop)}]
        rel material:binding:physics = </{name}/surface>
    }}

    def Material "surface" (
        prepend apiSchemas = ["PhysicsMaterialAPI"]
    )
    {{
        float physics:staticFriction = {found.friction:.6g}
        float physics:dynamicFriction = {found.friction:.6g}
        float physics:restitution = {found.restitution:.6g}
    }}
}}
"""


def _json(found: Exported, name: str, path: Path) -> str:
    law = found.law
    body = {"mass": law.body.mass, "com": law.body.com.tolist(), "inertia": law.body.inertia.tolist()}
    shape = {"vertices": law.body.vertices.tolist(), "rounding": law.body.rounding}
    content = {"name": name, **body, **shape, "law": vars(law.material), **found.figures()}
    return json.dumps(content, indent=1) + "\n"


WRITERS: Mapping[Format, Callable[[Exported, str, Path], str]] = {
    "mujoco": _mjcf,
    "urdf": _urdf,
    "sdf": _sdf,
    "usd-physics": _usda,
    "json": _json,
}
