"""Legged robots: a humanoid with 25 joints that stands, squats or has geared motors, and a quadruped that trots."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class _Joint:
    """A hinge of the humanoid with a position servo; a motor turns it by a gear if `geared`."""

    name: str
    axis: str
    stiffness: float = 200.0  # [N m/rad]

    def text(self, geared: bool) -> str:
        joint = f'<joint name="{self.name}" axis="{self.axis}" armature="0.02" damping="0.5"/>'
        if not geared:
            return joint
        return joint

    def motor(self) -> str:
        """A rotor in the parent's body."""
        inertial = '<inertial pos="0 0 0" mass="0.05" diaginertia="2e-5 2e-5 2e-5"/>'
        return (
            f'<body name="{self.name}_motor"><joint name="{self.name}_rotor" axis="{self.axis}" armature="2e-4"/>'
            f"{inertial}</body>"
        )


_RATIO = 5.0  # of the gears
_LEG = (("hip_yaw", "0 0 1"), ("hip_roll", "1 0 0"), ("hip", "0 1 0"), ("knee", "0 1 0"), ("ankle", "0 1 0"), ("ankle_roll", "1 0 0"))
_ARM = (("shoulder", "0 1 0"), ("shoulder_roll", "1 0 0"), ("shoulder_yaw", "0 0 1"), ("elbow", "0 1 0"))


def _humanoid(foot: str, n_geared: int = 0) -> tuple[str, str]:
    """Return bodies and sections of a humanoid of 1.3 m and 32 kg; the first `n_geared` joints have geared motors."""
    joints: list[_Joint] = []

    def joint(name: str, axis: str, stiffness: float) -> tuple[str, str]:
        one = _Joint(name, axis, stiffness)
        joints.append(one)
        return one.text(False), one.motor() if len(joints) <= n_geared else ""

    def link(name: str, place: str, axes: Sequence[tuple[str, str]], stiffness: float, geoms: str, inside: str) -> str:
        pairs = [joint(f"{name}_{label}", axis, stiffness) for label, axis in axes]
        hinges, motors = "".join(one for one, _ in pairs), "".join(one for _, one in pairs)
        return f'{motors}<body name="{name}" pos="{place}">{hinges}{geoms}{inside}</body>'

    def capsule(end: str, radius: float, mass: float) -> str:
        return f'<geom type="capsule" fromto="0 0 0 {end}" size="{radius}" mass="{mass}"/>'

    def leg(side: str, y: float) -> str:
        foot_body = link(f"{side}_foot", "0 0 -0.32", _LEG[4:], 300.0, foot, "")
        shank = link(f"{side}_shank", "0 0 -0.32", _LEG[3:4], 400.0, capsule("0 0 -0.25", 0.04, 2.0), foot_body)
        return link(f"{side}_thigh", f"0 {y} -0.05", _LEG[:3], 400.0, capsule("0 0 -0.25", 0.05, 3.5), shank)

    def arm(side: str, y: float) -> str:
        lower = link(f"{side}_forearm", "0 0 -0.22", _ARM[3:], 60.0, capsule("0 0 -0.2", 0.03, 0.8), "")
        return link(f"{side}_arm", f"0 {y} 0.3", _ARM[:3], 100.0, capsule("0 0 -0.18", 0.035, 1.2), lower)

    legs = leg("left", 0.09) + leg("right", -0.09)
    arms = arm("left", 0.2) + arm("right", -0.2)
    skull = '<geom type="sphere" size="0.09" pos="0 0 0.1" mass="2"/>'
    head = link("head", "0 0 0.36", (("yaw", "0 0 1"), ("pitch", "0 1 0")), 50.0, skull, "")
    chest = '<geom type="box" size="0.08 0.14 0.14" pos="0 0 0.18" mass="8"/>'
    waist = (("yaw", "0 0 1"), ("roll", "1 0 0"), ("pitch", "0 1 0"))
    torso = link("torso", "0 0 0.06", waist, 500.0, chest, arms + head)
    pelvis = '<geom type="box" size="0.07 0.1 0.05" mass="5"/>'
    body = f'<body name="pelvis" pos="0 0 0.76"><freejoint/>{pelvis}{legs}{torso}</body>'
    servos, gears = [], []
    for k, one in enumerate(joints):
        damping = 0.05 * one.stiffness
        if k < n_geared:
            ratio = _RATIO**2
            servos.append(
                f'<position joint="{one.name}_rotor" kp="{one.stiffness / ratio}" kv="{damping / ratio}" gear="1"/>'
            )
            gears.append(
                f'<joint joint1="{one.name}_rotor" joint2="{one.name}" polycoef="0 {_RATIO} 0 0 0" solref="0.005 1"/>'
            )
        else:
            servos.append(f'<position joint="{one.name}" kp="{one.stiffness}" kv="{damping}"/>')
    extra = f"<actuator>{''.join(servos)}</actuator>"
    extra += f"<equality>{''.join(gears)}</equality>" if gears else ""
    exclude = "".join(f'<exclude body1="pelvis" body2="{one}"/>' for one in ("left_thigh", "right_thigh", "torso"))
    return body, extra + f"<contact>{exclude}</contact>"


def humanoid(
    name: str, foot: str = BOX_FEET, *, depth: float = 0.0, n_geared: int = 0, duration: float = 3.0
) -> ContactScene:
    """Return a humanoid that stands, or squats every 2 s by bending its knees.

    foot: geoms of a foot; depth: of a squat, half the angle of the knees [rad]
    n_geared: number of joints that are driven by motors through gears, each an equality
    """
    body, extra = _humanoid(foot, n_geared)
    model = model_of(body, extra, option='integrator="implicitfast"')
    model.opt.enableflags = model.opt.enableflags
    feet = tuple((model.body(f"{side}_foot").id, 0) for side in ("left", "right"))
    return ContactScene(
        name, model, duration=duration, control=_squat(depth), held=feet, settled=1.0
    )


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
