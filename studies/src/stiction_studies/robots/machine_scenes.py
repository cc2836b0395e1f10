"""Machines: a belt, a peg in a hole, a top, a hand and a gripper that hold things, and a chain of closed loops."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.viewer.quadruped import Drive
from stiction_studies.robots.contact_scenes import FRICTION, ContactScene, Outcome, height_of, model_of, mujoco

BELT_SPEED = 0.5  # [m/s]
TOP_SPIN = 200.0  # [rad/s]


def belt() -> ContactScene:
    """Return a box, a cylinder, a capsule and a ball on a belt, whose surface moves but which itself is fixed."""
    belt = f'<geom name="belt" type="box" size="4 0.4 0.05" pos="3 0 0.05" surfacevel="{BELT_SPEED} 0 0 0 0 0"/>'
    things = (
        ("box", "box", "0.06 0.05 0.04", -0.25, 0.14),
        ("cylinder", "cylinder", "0.05 0.04", -0.08, 0.14),
        ("capsule", "capsule", "0.03 0.05", 0.1, 0.13),
        ("ball", "sphere", "0.04", 0.28, 0.14),
    )
    bodies = "".join(
        f'<body name="{name}" pos="0 {y} {z}"{_LYING if kind == "capsule" else ""}><freejoint/>'
        f'<geom type="{kind}" size="{size}" density="500"/></body>'
        for name, kind, size, y, z in things
    )
    slides = Outcome("the box slides until the belt carries it [m]", BELT_SPEED**2 / (2 * FRICTION * 9.81), _slide)
    return ContactScene("belt", model_of(belt + bodies), duration=3.0, outcome=slides)


def _slide(model: Any, data: Any) -> float:
    """Return the distance of the box behind the belt [m]."""
    return BELT_SPEED * data.time - float(data.qpos[0])


_LYING = ' quat="0.7071067811865476 0 0.7071067811865476 0"'  # the axis along x


def peg(clearance: float = 5e-4) -> ContactScene:
    """Return a square peg that a compliant wrist pushes into a hole, at first tilted and off its centre."""
    half, depth = 0.02, 0.04  # [m] of the peg and the hole
    hole, thick = half + clearance, 0.05
    walls = "".join(
        f'<geom type="box" size="{sx} {sy} {depth / 2}" pos="{x} {y} {depth / 2}"/>'
        for x, y, sx, sy in (
            (hole + thick, 0, thick, hole + 2 * thick),
            (-hole - thick, 0, thick, hole + 2 * thick),
            (0, hole + thick, hole, thick),
            (0, -hole - thick, hole, thick),
        )
    )
    slides = "".join(f'<joint name="{name}" type="slide" axis="{axis}" damping="5"/>' for name, axis in _AXES)
    turns = "".join(f'<joint name="r{name}" axis="{axis}" damping="0.05" stiffness="2"/>' for name, axis in _AXES)
    body = (
        f'{walls}<body name="wrist" pos="0.0004 -0.0003 0.12" gravcomp="1">{slides}<geom type="sphere" size="0.01" '
        f'mass="0.5" contype="0" conaffinity="0"/><body name="peg">{turns}<geom type="box" size="{half} {half} 0.04" '
        'pos="0 0 -0.03" mass="0.2"/></body></body>'
    )
    gains = {"x": 1500, "y": 1500, "z": 800}
    extra = "".join(f'<position joint="{name}" kp="{gain}" kv="40"/>' for name, gain in gains.items())
    model = model_of(body, f"<actuator>{extra}</actuator>")
    qpos = np.array([0.0, 0.0, 0.0, 0.01, 0.015, 0.005])

    def drive(time: float, control: NDArray[np.float64]) -> None:
        control[:] = 0.001 * np.sin(6.0 * time), 0.001 * np.cos(6.0 * time), -0.06 * min(1.0, time)

    return ContactScene("peg", model, duration=2.0, control=_in_time(drive), qpos=qpos, outcome=height_of("peg", 0.07))


_AXES = (("x", "1 0 0"), ("y", "0 1 0"), ("z", "0 0 1"))


def tippe_top() -> ContactScene:
    """Return a top whose centre of mass is below that of its sphere, spun about its axis: it turns over on its stem."""
    body = (
        '<body name="top" pos="0 0 0.02"><freejoint/><geom type="sphere" size="0.02" density="1000"/>'
        '<geom type="cylinder" pos="0 0 0.02" size="0.004 0.008" density="1000"/>'
        '<geom type="box" size="0.023 0.023 0.005" pos="0 0 -0.015" contype="0" conaffinity="0" density="1000"/></body>'
    )
    over = Outcome("cosine of the tilt of its axis; -1: upside down", -1.0, lambda _, data: float(data.xmat[1, 8]))
    spin = np.array([0.0, 0.0, 0.0, 0.0, 1.0, TOP_SPIN])
    return ContactScene("tippe-top", model_of(body), duration=6.0, qvel=spin, outcome=over)


def hand(n_fingers: int = 4) -> ContactScene:
    """Return a hand of 20 joints above a table: it closes round a cylinder, lifts it and holds it."""
    links = (0.05, 0.035, 0.025)  # [m]
    servos: list[str] = []

    def finger(name: str, x: float, side: float, strength: float) -> str:
        text, end = "", ""
        for k, length in enumerate(links):
            place = f"{x} {side * 0.055} -0.01" if k == 0 else f"0 0 {-links[k - 1]}"
            spread = f'<joint name="{name}_spread" axis="0 1 0" damping="0.02" armature="2e-4"/>' if k == 0 else ""
            joint = f'<joint name="{name}_{k}" axis="{-side} 0 0" damping="0.02" armature="2e-4"/>'
            geom = f'<geom type="capsule" size="0.009" fromto="0 0 0 0 0 {-length}" mass="0.02"/>'
            text += f'<body name="{name}_{k}" pos="{place}">{spread}{joint}{geom}'
            end += "</body>"
            if k == 0:
                servos.append(f'<position joint="{name}_spread" kp="{3 * strength}" kv="{0.05 * strength}"/>')
            servos.append(f'<position joint="{name}_{k}" kp="{strength}" kv="{0.03 * strength}"/>')
        return text + end

    fingers = "".join(finger(f"finger{k}", 0.028 * (k - (n_fingers - 1) / 2), 1.0, 1.0) for k in range(n_fingers))
    fingers += finger("thumb", 0.0, -1.0, float(n_fingers))
    palm = (
        '<body name="palm" pos="0 0 0.135" gravcomp="1"><joint name="lift" type="slide" axis="0 0 1" damping="20"/>'
        f'<geom type="box" size="0.06 0.065 0.01" mass="0.4"/>{fingers}</body>'
    )
    cylinder = '<geom type="cylinder" size="0.03 0.06" mass="0.2"/>'
    held_body = f'<body name="cylinder" pos="0 0 0.03"{_LYING}><freejoint/>{cylinder}</body>'
    servos.append('<position joint="lift" kp="4000" kv="200"/>')
    names = [*(f"finger{k}" for k in range(n_fingers)), "thumb"]
    excluded = "".join(f'<exclude body1="palm" body2="{one}_0"/>' for one in names)
    extra = f"<actuator>{''.join(servos)}</actuator><contact>{excluded}</contact>"
    model = model_of(palm + held_body, extra, option='integrator="implicitfast"')
    bend = np.tile([0.0, 0.55, 0.35, 0.3], n_fingers + 1)  # [rad]

    def drive(time: float, control: NDArray[np.float64]) -> None:
        control[:-1] = bend * min(1.0, 2.0 * time)
        control[-1] = 0.1 * np.clip(time - 1.0, 0.0, 1.0)

    held = ((model.body("cylinder").id, model.body("palm").id),)
    control, lifted = _in_time(drive), height_of("cylinder", 0.13)
    return ContactScene("hand", model, duration=4.0, control=control, held=held, settled=3.0, outcome=lifted)


def gripper() -> ContactScene:
    """Return an arm of six joints whose parallel gripper lifts a cube: each pad is five boxes, one motor moves both."""
    pads = "".join(
        f'<geom type="box" size="0.008 0.004 0.004" pos="{x} 0 {z}" mass="0.005"/>'
        for x, z in ((0.0, 0.0), (0.0075, 0.009), (-0.0075, 0.009), (0.0075, -0.009), (-0.0075, -0.009))
    )
    fingers = "".join(
        f'<body name="{name}" pos="0 {side * 0.04} -0.06"><joint name="{name}" type="slide" axis="0 {-side} 0" '
        f'range="0 0.04" limited="true" damping="5" armature="0.05"/>'
        f'<geom type="box" size="0.01 0.005 0.025" pos="0 {side * 0.009} 0.02" mass="0.02"/>{pads}</body>'
        for name, side in (("left", 1.0), ("right", -1.0))
    )
    hand = f'<geom type="box" size="0.02 0.06 0.02" mass="0.5"/>{fingers}<site name="grip" pos="0 0 -0.06"/>'
    links = (("z", 0.12, 2.0), ("y", 0.25, 3.0), ("y", 0.22, 2.0), ("z", 0.06, 1.0), ("y", 0.06, 1.0), ("z", 0.04, 0.5))
    axes, arm, servos = dict(_AXES), "", ""
    for k, (axis, length, mass) in enumerate(links):
        place = f"0 0 {links[k - 1][1]}" if k else "-0.35 0 0.05"
        arm += (
            f'<body pos="{place}" gravcomp="1"><joint name="arm{k}" axis="{axes[axis]}" damping="2" armature="0.1"/>'
            f'<geom type="capsule" size="0.03" fromto="0 0 0 0 0 {length}" mass="{mass}" contype="0" conaffinity="0"/>'
        )
        servos += f'<position joint="arm{k}" kp="3000" kv="200"/>'
    arm += f'<body name="hand" pos="0 0 0.06" quat="0 1 0 0" gravcomp="1">{hand}</body>' + "</body>" * len(links)
    cube = '<body name="cube" pos="0 0 0.02"><freejoint/><geom type="box" size="0.02 0.02 0.02" mass="0.1"/></body>'
    extra = (
        f'<actuator>{servos}<position joint="left" kp="1000" kv="50" forcerange="-10 10"/></actuator>'
        '<equality><joint joint1="right" joint2="left" polycoef="0 1 0 0 0"/></equality>'
    )
    model = model_of(arm + cube, extra, option='integrator="implicitfast"')
    guess = np.array([0.0, 0.3, 1.8, 0.0, 1.0, 0.0])
    above, down = (joints_at(model, "grip", (0.0, 0.0, z), guess, (0.0, 0.0, 0.0, 1.0)) for z in (0.12, 0.02))
    qpos = model.qpos0.copy()
    qpos[: len(above)] = above

    def drive(time: float, control: NDArray[np.float64]) -> None:
        lowered = np.clip(min(time / 0.8, (2.5 - time) / 0.8), 0.0, 1.0)  # down from 0 to 0.8 s, up from 1.7 to 2.5 s
        control[:-1] = above + lowered * (down - above)
        control[-1] = 0.04 * np.clip((time - 0.9) / 0.3, 0.0, 1.0)

    held = ((model.body("cube").id, model.body("left").id),)
    return ContactScene(
        "gripper",
        model,
        duration=4.0,
        control=_in_time(drive),
        qpos=qpos,
        held=held,
        settled=3.0,
        outcome=height_of("cube", 0.12),
    )


def joints_at(
    model: Any,
    site: str,
    position: tuple[float, float, float],
    guess: NDArray[np.float64],
    quaternion: tuple[float, float, float, float],
) -> NDArray[np.float64]:
    """Return the angles of an arm, the model's first joints, that bring a site to a pose, by Gauss-Newton steps."""
    data, place, n = mujoco.MjData(model), model.site(site).id, len(guess)
    data.qpos[:n] = guess
    J, error, turned = np.zeros((6, model.nv)), np.zeros(6), np.zeros(4)
    for _ in range(100):
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_jacSite(model, data, J[:3], J[3:], place)
        error[:3] = position - data.site_xpos[place]
        mujoco.mju_mat2Quat(turned, data.site_xmat[place])
        mujoco.mju_subQuat(error[3:], np.array(quaternion), turned)
        error[3:] = data.site_xmat[place].reshape(3, 3) @ error[3:]
        arm = J[:, :n]
        data.qpos[:n] += arm.T @ np.linalg.solve(arm @ arm.T + 1e-6 * np.eye(6), error)
    if np.abs(error).max() > 1e-4:
        raise ValueError("The arm does not reach this pose.")
    return data.qpos[:n].copy()


def loops(count: int = 4, sides: int = 6) -> ContactScene:
    """Return a chain of loops of capsules on ball joints, closed and linked by equalities, that falls over a bar."""
    length, radius = 0.08, 0.012  # [m]
    across = 2 * length  # diameter of a hexagon
    angle = 2 * np.pi / sides
    bodies, equalities = [], []
    for loop in range(count):
        turn = f"{np.cos(angle / 2)} 0 {np.sin(angle / 2)} 0"
        text, end = "", ""
        for k in range(sides):
            name = f"loop{loop}_{k}"
            pose = (
                f'pos="{across * loop - across * count / 2} 0 0.45"' if k == 0 else f'pos="{length} 0 0" quat="{turn}"'
            )
            joint = "<freejoint/>" if k == 0 else '<joint type="ball" damping="1e-3"/>'
            geom = f'<geom type="capsule" size="{radius}" fromto="0.03 0 0 {length - 0.03} 0 0" density="800"/>'
            text += f'<body name="{name}" {pose}>{joint}{geom}'
            end += "</body>"
        bodies.append(text + end)
        equalities.append(f'<connect body1="loop{loop}_{sides - 1}" body2="loop{loop}_0" anchor="{length} 0 0"/>')
        if loop:  # the corner opposite the start of one loop is the start of the next
            last = f"loop{loop - 1}_{sides // 2}"
            equalities.append(f'<connect body1="loop{loop}_0" body2="{last}" anchor="0 0 0"/>')
    bar = '<geom type="capsule" size="0.03" fromto="0 -0.3 0.2 0 0.3 0.2"/>'
    model = model_of(bar + "".join(bodies), f"<equality>{''.join(equalities)}</equality>", timestep=0.001)
    return ContactScene("loops", model, duration=1.5)


def _in_time(drive: Callable[[float, NDArray[np.float64]], None]) -> Callable[[Any, Any], Drive]:
    """Return the control that calls `drive` with the time [s] and the controls to set."""
    return lambda model, data: lambda step: drive(step * model.opt.timestep, data.ctrl)
