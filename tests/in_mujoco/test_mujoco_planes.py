"""Laws on fixed planes at any angle and on faces of fixed boxes, inside MuJoCo models."""

import copy
import re
import warnings
from typing import Any

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from scipy.spatial.transform import Rotation

from standing_robot import FEET, MODEL, standing
from stiction import CoulombLaw, InputError, Mode
from stiction.mujoco import Simulation
from stiction.mujoco.ground import Plane, find_ground
from stiction_studies.robots.chain_model import LINK

BOX = 'type="box" size="0.25 0.05 0.04" mass="1"'
FREE = f'<body name="foot" pos="0 0 0.2"><freejoint/><geom {BOX}/></body>'
HINGED = (
    f'<body name="a" pos="0 0 0.3"><joint axis="0.1 1 0" damping="0.2"/><geom {BOX} pos="0.25 0 0" contype="0" '
    'conaffinity="0"/><body name="foot" pos="0.5 0 0"><joint axis="0 1 0"/>'
    f'<geom {BOX} pos="0.25 0 0"/></body></body>'
    '<body name="ball" pos="0.7 0.02 0.45"><freejoint/><geom type="sphere" size="0.06" mass="0.2"/></body>'
)
FLOOR = '<geom name="floor" type="plane" size="5 5 .1"/>'
DOWN = np.array([0.0, 0.0, -9.81])


def world(inside: str, option: str = "", gravity=DOWN, default: str = ""):
    """A model with `inside` the world."""
    pull = " ".join(f"{g:.17g}" for g in gravity)
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="0.002" gravity="{pull}" {option}/>{default}<worldbody>{inside}</worldbody></mujoco>'
    )


def law(friction: Any = 0.4, **options) -> CoulombLaw:
    return CoulombLaw(LINK, friction, softness=0.0, **options)


def text(numbers) -> str:
    return " ".join(f"{number:.17g}" for number in numbers)


def plane_axes(normal) -> np.ndarray:
    """Rows x, y and normal: x is the world's x projected on the plane."""
    n = np.asarray(normal) / np.linalg.norm(normal)
    x = np.eye(3)[0] - n[0] * n
    x /= np.linalg.norm(x)
    return np.array([x, np.cross(n, x), n])


@pytest.mark.parametrize("inside", [FREE, HINGED], ids=["free", "hinged"])
@pytest.mark.parametrize("option", ['tolerance="0"', 'tolerance="0" integrator="implicitfast"'])
def test_a_turned_scene_moves_as_the_level_one(inside, option):
    """Plane, robot and gravity turned together: the motion is turned, also for a law that knows directions."""
    axes, corner = plane_axes((0.3, -0.2, 0.8)), np.array([0.4, -0.7, 1.3])
    quaternion = Rotation.from_matrix(axes.T).as_quat(scalar_first=True)
    tilted = f'<geom type="plane" size="5 5 .1" pos="{text(corner)}" quat="{text(quaternion)}"/>'
    whole = f'<frame pos="{text(corner)}" quat="{text(quaternion)}">{inside}</frame>'
    gravity = np.array([1.0, 2.0, -9.0])
    rough = law((0.2, 0.7), cone="dart")
    smooth = '<default><geom condim="1"/></default>'  # MuJoCo's own friction would depend on the world's axes
    sims = [
        Simulation(world(FLOOR + inside, option, gravity, smooth), laws={"foot": rough}),
        Simulation(world(tilted + whole, option, axes.T @ gravity, smooth), laws={"foot": rough}),
    ]
    worst = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the ball falls on the link
        for _ in range(300):
            for sim in sims:
                sim.step()
            places = [sim.data.xipos[1:] for sim in sims]
            worst = max(worst, np.abs((places[1] - corner) @ axes.T - places[0]).max())
    level, turned = (sim.contacts["foot"] for sim in sims)
    assert level.steps > 50 and turned.steps == level.steps
    assert turned.impulse[:3] @ axes.T == pytest.approx(level.impulse[:3], abs=1e-7)
    assert worst < 1e-7
    points = [sim.contacts["foot"].points for sim in sims]
    assert (points[1] - corner) @ axes.T == pytest.approx(points[0], abs=1e-6)


@pytest.mark.parametrize("slope", [0.2, 0.39, 0.41, 0.6])
def test_a_ramp_holds_what_friction_can_hold(slope):
    """On a fixed box that is tilted: no creep below the friction angle, the right acceleration above it."""
    angle = np.arctan(slope)
    middle = Rotation.from_rotvec([0, angle, 0]).apply([0, 0, 0.04 + 0.1])
    ramp = f'<geom type="box" size="5 1 0.1" euler="0 {np.degrees(angle):.17g} 0"/>'
    turn = f'euler="0 {np.degrees(angle):.17g} 0"'
    foot = f'<body name="foot" pos="{text(middle)}" {turn}><freejoint/><geom {BOX}/></body>'
    sim = Simulation(world(ramp + foot), laws={"foot": law(0.4, cone="round")})
    for _ in range(100):
        sim.step()
    start, speed = sim.data.qpos[:3].copy(), np.linalg.norm(sim.data.qvel[:3])
    for _ in range(400):
        sim.step()
    if slope < 0.4:
        assert np.abs(sim.data.qpos[:3] - start).max() < 1e-12
        assert sim.contacts["foot"].mode == Mode.STATIC
    else:
        gained = 0.8 * 9.81 * (np.sin(angle) - 0.4 * np.cos(angle))
        assert np.linalg.norm(sim.data.qvel[:3]) - speed == pytest.approx(gained, rel=1e-3)
    assert sim.uncovered == {"foot": 0}


def steps_of(sim, number: int) -> np.ndarray:
    """Positions of the joints after each of so many steps."""
    out = np.zeros((number, sim.model.nq))
    for k in range(number):
        sim.step()
        out[k] = sim.data.qpos
    return out


def test_a_table_is_a_floor_as_long_as_all_corners_are_on_it():
    """And beyond its edge the body tips over it and falls to the floor, by MuJoCo's contact with the edge."""
    table = '<body pos="0 0 0.3"><geom type="box" size="0.6 0.6 0.1"/></body>'
    high = FLOOR.replace('floor"', 'floor" pos="0 0 0.4"')
    foot = f'<body name="foot" pos="0 0 0.44"><freejoint/><geom {BOX}/></body>'
    on_floor = Simulation(world(high + foot), laws={"foot": law()})
    on_table = Simulation(world(FLOOR + table + foot), laws={"foot": law()})
    for sim in (on_floor, on_table):
        sim.data.qvel[0] = 2.0
    a, b = steps_of(on_floor, 400), steps_of(on_table, 400)
    off = int(np.argmax(a[:, 0] > 0.35))  # its front corners reach the edge
    assert off > 50 and np.abs(a[:off] - b[:off]).max() < 1e-12
    assert on_floor.uncovered == {"foot": 0} and on_table.uncovered["foot"] > 0
    on_table.data.qvel[0] = 2.0
    c = steps_of(on_table, 600)
    assert c[-1, 2] < 0.05 and (c[:, 2] > 0.0).all()
    assert on_table.contacts["foot"].mode == Mode.STATIC


def test_tiles_are_one_floor():
    """Faces in one plane carry together what stands on several of them."""
    tiles = "".join(
        f'<geom type="box" size="0.1 0.1 0.05" pos="{x:.17g} {y:.17g} -0.05"/>'
        for x in np.arange(-1, 1.01, 0.2)
        for y in np.arange(-1, 1.01, 0.2)
    )
    sims = [Simulation(world(ground + FREE), laws={"foot": law()}) for ground in (FLOOR, tiles)]
    for sim in sims:
        sim.data.qvel[:] = [1.0, 0.3, 0, 0, 0, 2.0]
    a, b = (steps_of(sim, 300) for sim in sims)
    assert np.abs(a - b).max() < 1e-12
    assert sims[1].uncovered == {"foot": 0} and sims[1].contacts["foot"].steps > 100


def test_in_a_corner_the_wall_stays_mujocos():
    """A body that slides into a wall: the floor by its law, the wall by MuJoCo; one warning, and counted."""
    wall = '<geom name="wall" type="box" size="0.1 1 1" pos="0.55 0 0"/>'
    foot = f'<body name="foot" pos="0 0 0.04"><freejoint/><geom {BOX}/></body>'
    sim = Simulation(world(FLOOR + wall + foot), laws={"foot": law(cone="dart")})
    sim.data.qvel[0] = 2.0
    with pytest.warns(
        UserWarning, match="'foot' has a law, but touches something that its law does not cover"
    ) as caught:
        steps_of(sim, 300)
    assert len(caught) == 1
    assert 0 < sim.uncovered["foot"] < 300 and sim.contacts["foot"].steps == 300
    assert sim.data.qpos[0] < 0.21  # the wall has stopped it
    assert sim.contacts["foot"].mode == Mode.STATIC
    sim.forget()
    assert sim.uncovered == {"foot": 0}


def test_a_face_may_look_any_way():
    """A body that is pressed against a wall is held there by its law's friction."""
    wall = '<geom type="box" size="0.1 1 1" pos="0.14 0 1"/>'
    foot = f'<body name="foot" pos="0 0 1" euler="0 90 0"><freejoint/><geom {BOX}/></body>'
    model = world(FLOOR + wall + foot)
    sim = Simulation(model, laws={"foot": law(0.6, cone="round")})
    sim.data.xfrc_applied[model.body("foot").id, 0] = 2.0 * 9.81
    steps_of(sim, 100)
    start = sim.data.qpos.copy()
    steps_of(sim, 400)
    assert np.abs(sim.data.qpos - start)[1:].max() < 1e-12
    impulse = sim.contacts["foot"].impulse / 0.002
    assert impulse[:3] == pytest.approx([-2 * 9.81, 0.0, 9.81], rel=1e-6, abs=1e-9)


def test_what_does_not_touch_is_mujocos_own_step():
    """Above stairs, before anything is touched, the step is mj_step, to the same bytes."""
    stairs = "".join(f'<geom type="box" size="0.2 1 {0.1 * k}" pos="{0.4 * k} 0 {0.1 * k}"/>' for k in (1, 2, 3))
    crate = '<body pos="0.4 0.5 0.4" euler="5 10 0"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/></body>'
    foot = f'<body name="foot" pos="0 0 3"><freejoint/><geom {BOX}/></body>'
    model = world(FLOOR + stairs + crate + foot)
    plain = mujoco.MjData(model)
    sim = Simulation(model, laws={"foot": law()})
    for _ in range(250):
        sim.step()
        mujoco.mj_step(model, plain)
        assert sim.data.qpos.tobytes() == plain.qpos.tobytes()
    assert plain.ncon > 2


@pytest.mark.parametrize(
    "ground",
    ['type="plane" size="9 9 1" euler="0 6 0"', 'type="box" size="3 3 0.1" pos="0 0 -0.1" euler="0 6 0"'],
    ids=["slope", "ramp"],
)
def test_a_robot_stands_on_a_slope_by_its_learned_feet(ground):
    """Its law was learned from throws of a foot on level ground; it does not creep."""
    tilted = re.sub(r'<geom name="ground"[^>]*>', f'<geom {ground} contype="1" conaffinity="1"/>', MODEL)
    assert tilted != MODEL
    sim = standing(dict.fromkeys(FEET, "foot"), 0.09, tilted)
    feet = [sim.model.body(foot).id for foot in FEET]
    steps_of(sim, 3200)  # until the correction of what has sunk in has done its work
    before = sim.data.xpos[feet].copy()
    steps_of(sim, 300)
    assert np.abs(sim.data.xpos[feet] - before).max() < 1e-9
    assert all(contact.mode == Mode.STATIC for contact in sim.contacts.values())
    assert not any(sim.uncovered.values())


def test_copies_know_their_planes():
    ramp = '<geom type="box" size="1 1 0.1" euler="0 15 0" pos="0 0 -0.1"/>'
    sim = Simulation(world(FLOOR + ramp + FREE), laws={"foot": law()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it touches ramp and floor at once
        steps_of(sim, 120)
        twin = copy.deepcopy(sim)
        assert (steps_of(sim, 100) == steps_of(twin, 100)).all()
    assert sim.contacts["foot"].steps > 100 and twin.uncovered == sim.uncovered


def test_only_what_a_body_may_touch_is_ground():
    """Boxes that the model's contact filter hides from a body, or that can move, carry it no more than in MuJoCo."""
    hidden = '<geom type="box" size="1 1 0.1" contype="0" conaffinity="0"/>'
    moving = '<body mocap="true"><geom type="box" size="1 1 0.1"/></body>'
    for box in (hidden, moving):
        with pytest.raises(InputError, match="needs something to stand on"):
            Simulation(world(box + FREE), laws={"foot": law()})
        model = world(FLOOR + box + FREE)
        assert find_ground(model, [model.body("foot").id]).is_one_plane
    seen = world(FLOOR + hidden.replace('contype="0"', 'contype="1"') + FREE)
    assert not find_ground(seen, [seen.body("foot").id]).is_one_plane


@pytest.mark.parametrize("normal", [(0, 0, 1), (0.3, -0.2, 0.8), (1, 0, 0), (-1, 0.1, 0), (0, 0, -1)])
def test_axes_of_a_plane(normal):
    """Right-handed, z along the normal, and x the world's x projected on the plane, where that can be."""
    n = np.array(normal) / np.linalg.norm(normal)
    axes = Plane(n, 0.0, 1.0, set(), set()).axes
    assert axes @ axes.T == pytest.approx(np.eye(3), abs=1e-12) and np.linalg.det(axes) == pytest.approx(1.0)
    assert axes[2] == pytest.approx(n)
    if abs(n[0]) < 0.9:
        assert axes[0, 0] > 0 and abs(axes[1, 0]) < 1e-12
