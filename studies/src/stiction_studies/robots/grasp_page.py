"""What the page shows of the study of grasps: its text, creep over time, and replays."""

from dataclasses import replace

import numpy as np
import trimesh
from numpy.typing import NDArray

from stiction.mujoco import simulation as engine
from stiction.viewer.pieces import Piece, pieces_of
from stiction_studies import figures
from stiction_studies.engines.mujoco_scene import mjcf
from stiction_studies.engines.scene import Scene
from stiction_studies.page.motions_shown import Motion
from stiction_studies.page.section import Plot
from stiction_studies.page.section import Scene as Shown
from stiction_studies.robots.held import Hold, creep, grasp, stack, two_on_a_slope
from stiction_studies.robots.holders import BULLET, DART, EVERY, MUJOCO, OURS, Held

TEXT = [
    "Two fingers pinch a capsule or a cube, with up to 95 times the force that is needed, and nothing else happens: it "
    "must stay where it is. So must a stack of ten boxes, a box on a slope that is hardly less steep than friction "
    "can hold, and a box on a box on a slope. Simulators that soften friction, or solve it only nearly, let what is "
    "held creep, and in the end drop it.",
    "Here MuJoCo finds the contact points, and one exact solver finds the impulses at all of them at once, with "
    "Coulomb friction as a material. Bodies, forces, friction and time step are the same for all. MuJoCo runs with its "
    "defaults and with what its documents offer against slip, Bullet without damping, DART with Dantzig's solver. "
    "DART's detector FCL knows no capsules and lets cylinders sink in: for these it uses those of Bullet and ODE.",
]
_SHOWN = (MUJOCO, OURS, BULLET, DART)  # in replays
_FRAMES, _INTERVAL = 300, 0.02  # of a replay; how long each is shown [s]
_SLAB = (0.6, 0.3, 0.02)  # edges of what is drawn of a slope [m]
_SMALLEST = 1e-14  # [m] creep below it is drawn at it


def creep_plot(held: Held) -> Plot:
    """Creep of the cube over time, for all contestants."""
    hold = grasp("cube", 20)
    plot = figures.figure("A cube, pinched with 20 times the needed force", "time [s]", "creep [m]")
    runs = {name: run for (name, scene), run in held.items() if scene == hold.name}
    shades = figures.run_colours(runs)
    for name, run in runs.items():
        thin = max(1, len(run.poses) // 400)
        way = np.maximum(creep(hold, run.poses)[::thin], _SMALLEST)
        time = thin * EVERY * hold.scene.timestep * np.arange(len(way))
        plot.add_scatter(x=time, y=way, name=name, mode="lines", line={"color": shades[name], "width": 2})
    plot.update_yaxes(**figures.log_axis(-14, 0, 2))
    return Plot(plot, f"Logarithmic; {_SMALLEST:g} m stands for everything below it, zero too.")


def replays(held: Held) -> list[Shown]:
    """The gripper first, then boxes on a slope and the stack."""
    front, downhill = (0.35, -1.0), (1.0, -0.4)
    return [
        _replay(held, grasp("cube", 20), "A cube between two fingers", front),
        _replay(held, two_on_a_slope(), "A box on a box on a slope", downhill),
        _replay(held, stack(), "Ten boxes", front),
    ]


def _replay(held: Held, hold: Hold, title: str, seen_from: tuple[float, float]) -> Shown:
    poses = {name: _until_lost(hold, held[name, hold.name].poses) for name in _SHOWN if (name, hold.name) in held}
    thin = max(1, max(len(run) for run in poses.values()) // _FRAMES)
    fast = thin * EVERY * hold.scene.timestep / _INTERVAL
    caption = "A run ends where something is dropped. Faint: how it began."
    model = engine.mujoco.MjModel.from_xml_string(mjcf(hold.scene))
    # Part 1 is body 1 of the model, whose body 0 is the world.
    plain = [part.slide is not None for part in hold.scene.parts]
    pieces = [replace(piece, body=piece.body - 1, plain=plain[piece.body - 1]) for piece in pieces_of(model)]
    runs = {name: run[_kept(len(run), thin)] for name, run in poses.items()}
    if hold.scene.slope:
        box = trimesh.creation.box(extents=_SLAB)
        pieces.append(Piece(len(plain), box.vertices, box.faces, plain=True))
        runs = {name: np.insert(run, len(plain), _slab_pose(hold.scene), axis=1) for name, run in runs.items()}
    motions = {name: Motion(run[..., :3], run[..., 3:], _INTERVAL) for name, run in runs.items()}
    return Shown(title, pieces, motions, caption, seen_from, ground=not hold.scene.slope, speed=fast)


def _until_lost(hold: Hold, poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """The run until something is lost; where it then falls to is not what is shown."""
    gone = np.flatnonzero(creep(hold, poses) > hold.lost)
    return poses[: gone[0] + 1] if len(gone) else poses


def _kept(frames: int, thin: int) -> NDArray[np.int64]:
    """Each of so many frames, and the last."""
    return np.unique(np.append(np.arange(0, frames, thin), frames - 1))


def _slab_pose(scene: Scene) -> NDArray[np.float64]:
    """Of what is drawn of a slope: position and quaternion."""
    return np.concatenate([0.15 * scene.downhill - _SLAB[2] / 2 * scene.up, scene.tilt])
