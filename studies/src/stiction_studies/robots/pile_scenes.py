"""Piles and structures: heaps in a pen, an arch, logs, a tower, a stone circle, a puzzle cube, a faceted ellipsoid."""

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.viewer.quadruped import Drive
from stiction_studies.robots.contact_scenes import ContactScene, model_of

_DENSITY = 500.0  # [kg/m^3]


def heap(count: int, seed: int = 0, *, only_boxes: bool = False) -> ContactScene:
    """Return bodies of five shapes, 4 to 13 cm long, that drop into a pen and come to rest."""
    rng = np.random.default_rng([seed, count])
    side = int(np.ceil((count / 8) ** 0.5))  # eight layers at most
    spacing = 0.13  # [m] no two bodies touch at the start
    half = 0.5 * spacing * side
    bodies = [_pen(half)]
    for k in range(count):
        layer, place = divmod(k, side * side)
        x, y = (spacing * (np.array(divmod(place, side)) - (side - 1) / 2)).tolist()
        position = (x, y, 0.08 + spacing * layer)
        shape = 0 if only_boxes else k % len(_SHAPES)
        bodies.append(_body(_SHAPES[shape](rng), position, _random_quaternion(rng)))
    model = model_of("".join(bodies))
    if only_boxes:  # which come to rest, as round bodies do not
        return _standing(f"boxes-{count}", model, duration=3.0, settled=2.5)
    return ContactScene(f"heap-{count}", model, duration=2.0 + 0.005 * count)


def arch(count: int = 9) -> ContactScene:
    """Return a semicircular arch of wedges, as convex meshes, which stands by friction between its faces alone."""
    inner, outer, depth = 0.4, 0.6, 0.3  # [m]
    edges = np.linspace(0.0, np.pi, count + 1)
    meshes, bodies = [], []
    for k in range(count):
        corners = [
            (radius * np.cos(angle), y, radius * np.sin(angle))
            for angle, radius, y in product(edges[k : k + 2], (inner, outer), (-depth / 2, depth / 2))
        ]
        meshes.append(f'<mesh name="wedge{k}" vertex="{_text(np.ravel(corners))}"/>')
        bodies.append(_body(f'type="mesh" mesh="wedge{k}"', (0.0, 0.0, 0.0), name=f"wedge{k}"))
    assets = f"<asset>{''.join(meshes)}</asset>"
    return _standing("arch", model_of("".join(bodies), assets), duration=2.0)


def logs(layers: int = 4) -> ContactScene:
    """Return a pyramid of logs, as capsules, between two chocks."""
    radius, length = 0.05, 0.4
    width = radius * layers
    chocks = "".join(_wall((side * (width + 0.01), 0.0, 0.03), (0.01, length / 2, 0.03)) for side in (-1, 1))
    bodies = []
    for layer in range(layers):
        for k in range(layers - layer):
            x, z = radius * (2 * k - (layers - layer - 1)), radius * (1 + layer * 3**0.5)
            shape = f'type="capsule" size="{radius} {length / 2}"'
            bodies.append(_body(shape, (x, 0.0, z), (2**-0.5, 2**-0.5, 0.0, 0.0)))
    return _standing("logs", model_of(chocks + "".join(bodies)), duration=2.0)


def jenga(layers: int = 6) -> ContactScene:
    """Return a tower of three blocks a layer, each layer across the one below."""
    size = np.array([0.075, 0.025, 0.015])  # [m]
    bodies = []
    for layer in range(layers):
        for k in (-1, 0, 1):
            across, z = 0.0254 * k, size[2] * (layer + 0.5)
            half = size / 2 if layer % 2 == 0 else size[[1, 0, 2]] / 2
            place = (0.0, across, z) if layer % 2 == 0 else (across, 0.0, z)
            bodies.append(_body(_box(half), place))
    return _standing("jenga", model_of("".join(bodies)), duration=1.0)


def stonehenge(uprights: int = 30, trilithons: int = 5) -> ContactScene:
    """Return a circle of uprights under a ring of lintels, with trilithons inside."""
    bodies = []
    radius, height, thickness = 15.0, 4.1, 0.8  # [m]
    pitch = 2 * np.pi / uprights
    for k in range(uprights):
        bodies.append(_stone((0.55, 1.05, height / 2), radius, k * pitch, height / 2))
        chord = (radius - 0.5) * np.tan(pitch / 2) - 0.01
        bodies.append(_stone((0.5, chord, thickness / 2), radius, (k + 0.5) * pitch, height + thickness / 2))
    for k in range(trilithons):
        angle = 2 * np.pi * k / trilithons
        for side in (-1, 1):
            bodies.append(_stone((0.6, 1.1, 3.0), 7.0, angle, 3.0, aside=1.6 * side))
        bodies.append(_stone((0.6, 2.5, 0.5), 7.0, angle, 6.5))
    return _standing("stonehenge", model_of("".join(bodies)), duration=0.6)


def grid(count: int, height: int = 1) -> ContactScene:
    """Return `count` stacks of boxes, `height` boxes each, which do not touch each other."""
    side = int(np.ceil(count**0.5))
    bodies = [
        _body(_box((0.05, 0.05, 0.05)), (0.3 * (k // side), 0.3 * (k % side), 0.1 * (layer + 0.5)))
        for k in range(count)
        for layer in range(height)
    ]
    return _standing(f"grid-{count}x{height}", model_of("".join(bodies)), duration=0.4)


def wall(layers: int) -> ContactScene:
    """Return a wall of boxes, each on two of the layer below."""
    half, pitch = (0.05, 0.03, 0.025), 0.102  # [m]
    bodies = [
        _body(_box(half), (pitch * (k - (layers - layer - 1) / 2), 0.0, 0.05 * (layer + 0.5)))
        for layer in range(layers)
        for k in range(layers - layer)
    ]
    return _standing(f"wall-{layers}", model_of("".join(bodies)), duration=0.4)


def puzzle_cube() -> ContactScene:
    """Return a cube of 26 cubelets, each tied to a core by an equality, that drops on the floor and is twisted.

    The centre cubelets turn on hinges; edges and corners are held in the core by `connect` and by their neighbours.
    """
    pitch, half = 0.019, 0.00945  # [m] between centres, of a cubelet
    cubelets, equalities, motors = [], [], []
    for index in product((-1, 0, 1), repeat=3):
        if not any(index):
            continue
        label = "".join("mop"[i + 1] for i in index)
        place = pitch * np.array(index)
        geom = f"<geom {_box((half,) * 3)}/>"
        if sum(map(abs, index)) == 1:
            axis = f'<joint name="{label}" axis="{_text(index)}" pos="{_text(-place)}" damping="1e-4" armature="1e-6"/>'
            motors.append(f'<position joint="{label}" kp="0.1" kv="0.003"/>')
            cubelets.append(f'<body pos="{_text(place)}">{axis}{geom}</body>')
        else:
            joint = f'<joint type="ball" pos="{_text(-place)}" damping="1e-5" armature="1e-6"/>'
            cubelets.append(f'<body name="{label}" pos="{_text(place)}">{joint}{geom}</body>')
            equalities.append(f'<connect body1="{label}" body2="core" anchor="0 0 0"/>')
    core = '<geom type="sphere" size="0.005" contype="0" conaffinity="0"/>'
    body = f'<body name="core" pos="0 0 0.05" euler="0.2 0.1 0"><freejoint/>{core}{"".join(cubelets)}</body>'
    extra = f"<actuator>{''.join(motors)}</actuator><equality>{''.join(equalities)}</equality>"

    def control(model: Any, data: Any) -> Drive:
        def drive(step: int) -> None:
            data.ctrl[0] = min(np.pi / 2, max(0.0, model.opt.timestep * step - 0.4))  # [rad]

        return drive

    model = model_of(body, extra, option='integrator="implicitfast"')
    return ContactScene("puzzle-cube", model, duration=1.0, control=control)


def facets(around: int = 12, rings: int = 10) -> ContactScene:
    """Return an ellipsoid as a mesh of 240 triangles that is tossed and rolls."""
    polar = np.arange(1, rings + 1) * np.pi / (rings + 1)
    turn = 2 * np.pi * np.arange(around) / around
    ring = [(np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)) for a in polar for b in turn]
    vertices = np.array(_RADII) * np.array([(0.0, 0.0, 1.0), *ring, (0.0, 0.0, -1.0)])
    assets = f'<asset><mesh name="egg" vertex="{_text(vertices.ravel())}"/></asset>'
    return _egg("facets", 'type="mesh" mesh="egg"', assets)


def smooth_facets() -> ContactScene:
    """Return the same scene with MuJoCo's own ellipsoid."""
    return _egg("smooth", f'type="ellipsoid" size="{_text(_RADII)}"')


_RADII = (0.06, 0.05, 0.04)  # [m]


def _egg(name: str, geom: str, assets: str = "") -> ContactScene:
    """Return a tossed ellipsoid; its inertia is that of the smooth one."""
    mass = _DENSITY * 4 / 3 * np.pi * np.prod(_RADII)
    squares = np.array(_RADII) ** 2
    inertia = _text(mass / 5 * (squares.sum() - squares))
    inertial = f'<inertial pos="0 0 0" mass="{mass}" diaginertia="{inertia}"/>'
    model = model_of(f'<body pos="0 0 0.08"><freejoint/>{inertial}<geom {geom}/></body>', assets)
    return ContactScene(name, model, duration=1.5, qvel=np.array([0.8, 0.2, 0.0, 2.0, 6.0, 1.0]))


def _standing(name: str, model: Any, *, duration: float, settled: float | None = None) -> ContactScene:
    """Return a scene none of whose free bodies may move from a time on, by default half the duration [s]."""
    held = tuple((body, 0) for body in range(1, model.nbody) if model.body_dofnum[body])
    return ContactScene(name, model, duration, held=held, settled=duration / 2 if settled is None else settled)


def _pen(half: float) -> str:
    """Return four walls around a square, 2 m high."""
    thick = 0.05
    sides = [(1, 0), (-1, 0), (0, 1), (0, -1)]
    return "".join(
        _wall((x * (half + thick), y * (half + thick), 1.0), (thick if x else half, thick if y else half, 1.0))
        for x, y in sides
    )


def _wall(position: Iterable[float], half: Iterable[float]) -> str:
    return f'<geom {_box(half)} pos="{_text(position)}"/>'


def _stone(half: Iterable[float], radius: float, angle: float, height: float, aside: float = 0.0) -> str:
    """Return a stone on a circle, its y axis along the circle."""
    c, s = np.cos(angle), np.sin(angle)
    position = (radius * c - aside * s, radius * s + aside * c, height)
    return _body(_box(half), position, (np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)))


def _body(
    geom: str, position: Iterable[float], quaternion: Iterable[float] = (1.0, 0.0, 0.0, 0.0), *, name: str = ""
) -> str:
    """Return a free body with one geom."""
    named = f' name="{name}"' if name else ""
    pose = f'pos="{_text(position)}" quat="{_text(quaternion)}"'
    return f'<body{named} {pose}><freejoint/><geom {geom} density="{_DENSITY}"/></body>'


def _box(half: Iterable[float]) -> str:
    return f'type="box" size="{_text(half)}"'


def _sizes(rng: np.random.Generator, n: int) -> str:
    return _text(rng.uniform(0.018, 0.032, n))


_SHAPES = (
    lambda rng: f'type="box" size="{_sizes(rng, 3)}"',
    lambda rng: f'type="capsule" size="{_sizes(rng, 2)}"',
    lambda rng: f'type="sphere" size="{_sizes(rng, 1)}"',
    lambda rng: f'type="cylinder" size="{_sizes(rng, 2)}"',
    lambda rng: f'type="ellipsoid" size="{_sizes(rng, 3)}"',
)


def _random_quaternion(rng: np.random.Generator) -> NDArray[np.float64]:
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def _text(values: Iterable[float]) -> str:
    return " ".join(f"{value:.12g}" for value in values)
