"""Legged robots: a humanoid with 25 joints that stands, squats or has geared motors, and a quadruped that trots."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stiction.viewer import quadruped
from stiction.viewer.quadruped import Drive
from stiction_studies.robots.contact_scenes import ContactScene, model_of, mujoco

BOX_FEET = (
    '<geom type="box" size="0.05 0.045 0.015" pos="-0.04 0 -0.055" mass="0.3"/>'
    '<geom type="box" size="0.05 0.045 0.015" pos="0.09 0 -0.055" mass="0.3"/>'
)
BALL_FEET = "".join(
    f'<geom type="sphere" size="0.008" pos="{x} {y} -0.062" mass="0.1"/>'
    for x in (-0.08, 0.13) for y in (-0.04, 0.04)
)  # fmt: skip
CAPSULE_FEET = "".join(
    f'<geom type="capsule" size="0.02" fromto="-0.08 {y} -0.05 0.13 {y} -0.05" mass="0.3"/>' for y in (-0.03, 0.03)
)


_RATIO = 5.0  # of the gears
_HIP = (("hip_yaw", "0 0 1"), ("hip_roll", "1 0 0"), ("hip", "0 1 0"))
_KNEE = (("knee", "0 1 0"),)
_ANKLE = (("ankle", "0 1 0"), ("ankle_roll", "1 0 0"))
_SHOULDER = (("shoulder", "0 1 0"), ("shoulder_roll", "1 0 0"), ("shoulder_yaw", "0 0 1"))
_ELBOW = (("elbow", "0 1 0"),)
_WAIST = (("yaw", "0 0 1"), ("roll", "1 0 0"), ("pitch", "0 1 0"))
_NECK = (("yaw", "0 0 1"), ("pitch", "0 1 0"))
_Axes = Sequence[tuple[str, str]]


class _Humanoid:
    """The MJCF of a humanoid of 1.3 m and 32 kg with a position servo at each of its 25 joints.

    The first `n_geared` joints are turned by rotors in the parent's body, each coupled to its joint by an equality.
    """

    def __init__(self, foot: str, n_geared: int) -> None:
        self._n_geared, self._foot = n_geared, foot
        self._servos, self._gears = [], []
        pelvis = '<geom type="box" size="0.07 0.1 0.05" mass="5"/>'
        legs = self._leg("left", 0.09) + self._leg("right", -0.09)
        self.body = f'<body name="pelvis" pos="0 0 0.76"><freejoint/>{pelvis}{legs}{self._torso()}</body>'
        near = "".join(f'<exclude body1="pelvis" body2="{one}"/>' for one in ("left_thigh", "right_thigh", "torso"))
        self.extra = f"<actuator>{''.join(self._servos)}</actuator><contact>{near}</contact>"
        if self._gears:
            self.extra += f"<equality>{''.join(self._gears)}</equality>"

    def _leg(self, side: str, y: float) -> str:
        foot = self._link(f"{side}_foot", "0 0 -0.32", _ANKLE, 300.0, self._foot)
        shank = self._link(f"{side}_shank", "0 0 -0.32", _KNEE, 400.0, _limb(0.25, 0.04, 2.0) + foot)
        return self._link(f"{side}_thigh", f"0 {y} -0.05", _HIP, 400.0, _limb(0.25, 0.05, 3.5) + shank)

    def _torso(self) -> str:
        skull = '<geom type="sphere" size="0.09" pos="0 0 0.1" mass="2"/>'
        inside = '<geom type="box" size="0.08 0.14 0.14" pos="0 0 0.18" mass="8"/>'
        inside += self._link("head", "0 0 0.36", _NECK, 50.0, skull)
        for side, y in (("left", 0.2), ("right", -0.2)):
            lower = self._link(f"{side}_forearm", "0 0 -0.22", _ELBOW, 60.0, _limb(0.2, 0.03, 0.8))
            inside += self._link(f"{side}_arm", f"0 {y} 0.3", _SHOULDER, 100.0, _limb(0.18, 0.035, 1.2) + lower)
        return self._link("torso", "0 0 0.06", _WAIST, 500.0, inside)

    def _link(self, name: str, place: str, axes: _Axes, stiffness: float, inside: str) -> str:
        """Return a body with hinges and servos of this stiffness [N m/rad], behind its rotors."""
        joints = [(f"{name}_{label}", axis) for label, axis in axes]
        rotors = "".join(self._drive(joint, axis, stiffness) for joint, axis in joints)
        hinges = "".join(
            f'<joint name="{joint}" axis="{axis}" armature="0.02" damping="0.5"/>' for joint, axis in joints
        )
        return f'{rotors}<body name="{name}" pos="{place}">{hinges}{inside}</body>'

    def _drive(self, joint: str, axis: str, stiffness: float) -> str:
        """Add the servo of a joint; return its rotor, if it has one."""
        if len(self._gears) >= self._n_geared:
            self._servos.append(f'<position joint="{joint}" kp="{stiffness}" kv="{0.05 * stiffness}"/>')
            return ""
        kp = stiffness / _RATIO**2
        self._servos.append(f'<position joint="{joint}_rotor" kp="{kp}" kv="{0.05 * kp}"/>')
        self._gears.append(f'<joint joint1="{joint}_rotor" joint2="{joint}" polycoef="0 {_RATIO} 0 0 0"/>')
        inertia = '<inertial pos="0 0 0" mass="0.05" diaginertia="2e-5 2e-5 2e-5"/>'
        return f'<body>{inertia}<joint name="{joint}_rotor" axis="{axis}" armature="2e-4"/></body>'


def _limb(length: float, radius: float, mass: float) -> str:
    return f'<geom type="capsule" fromto="0 0 0 0 0 {-length}" size="{radius}" mass="{mass}"/>'


def humanoid(
    name: str, foot: str = BOX_FEET, *, depth: float = 0.0, n_geared: int = 0, duration: float = 3.0
) -> ContactScene:
    """Return a humanoid that stands, or squats every 2 s by bending its knees.

    foot: geoms of a foot; depth: of a squat, half the angle of the knees [rad]
    n_geared: number of joints that are driven by motors through gears, each an equality
    """
    text = _Humanoid(foot, n_geared)
    model = model_of(text.body, text.extra, option='integrator="implicitfast"')
    feet = tuple((model.body(f"{side}_foot").id, 0) for side in ("left", "right"))
    return ContactScene(name, model, duration, control=_squat(depth), held=feet, settled=1.0, rests=depth == 0.0)


def _squat(depth: float) -> Callable[[Any, Any], Drive]:
    """Return the control of a squat with this amplitude; the ankles stay below the hips, the feet level."""
    shares = {"hip": -1.0, "knee": 2.0, "ankle": -1.0}

    def control(model: Any, data: Any) -> Drive:
        gains = np.zeros(model.nu)
        for k in range(model.nu):
            name = model.joint(int(model.actuator_trnid[k, 0])).name
            geared, joint = name.endswith("_rotor"), name.removesuffix("_rotor")
            share = next((share for label, share in shares.items() if joint.endswith(f"_{label}")), 0.0)
            gains[k] = share * (_RATIO if geared else 1.0)

        def drive(step: int) -> None:
            data.ctrl[:] = depth * 0.5 * (1 - np.cos(np.pi * model.opt.timestep * step)) * gains

        return drive

    return control


def trot(name: str, *, strength: float, ball_feet: bool = False, duration: float = 4.0) -> ContactScene:
    """Return the quadruped of the examples that stands (strength 0) or trots (1), with flat or with ball feet."""
    spec = mujoco.MjSpec.from_string(quadruped.model_text())
    if ball_feet:
        for geom in spec.geoms:
            if geom.classname.name == "foot":
                geom.type, geom.size = mujoco.mjtGeom.mjGEOM_SPHERE, [0.025, 0.0, 0.0]
                geom.pos = [0.0, 0.0, -0.025]
    model = spec.compile()

    def control(model: Any, data: Any) -> Drive:
        def drive(step: int) -> None:
            time = step * model.opt.timestep
            data.ctrl[:] = quadruped.targets(time, quadruped.Gait(), strength * min(1.0, time))

        return drive

    qpos = model.qpos0.copy()
    qpos[7:] = quadruped.targets(0.0, quadruped.Gait(), 0.0)
    qpos[2] = quadruped.STANCE + 0.05
    held = () if strength else tuple((model.body(foot).id, 0) for foot in quadruped.FEET)
    return ContactScene(name, model, duration=duration, control=control, qpos=qpos, held=held, settled=duration / 2)
