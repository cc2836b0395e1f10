"""All scenes of contact by name, in families."""

from collections.abc import Callable
from functools import partial

from stiction_studies.robots import machine_scenes, pile_scenes, third_party_hands
from stiction_studies.robots.contact_scenes import ContactScene
from stiction_studies.robots.legged_scenes import BALL_FEET, CAPSULE_FEET, humanoid, trot

Build = Callable[[], ContactScene]
QUADRUPEDS, HUMANOIDS, HANDS = "quadrupeds", "humanoids", "hands and grippers"
HEAPS, STRUCTURES, OTHERS = "heaps", "structures at rest", "others"

FAMILIES: dict[str, dict[str, Build]] = {
    QUADRUPEDS: {
        "quadruped-stands": partial(trot, "quadruped-stands", strength=0.0),
        "quadruped-trots": partial(trot, "quadruped-trots", strength=1.0),
        "quadruped-ball-feet": partial(trot, "quadruped-ball-feet", strength=1.0, ball_feet=True),
    },
    HUMANOIDS: {
        "humanoid-stands": partial(humanoid, "humanoid-stands"),
        "humanoid-ball-feet": partial(humanoid, "humanoid-ball-feet", BALL_FEET),
        "humanoid-capsule-feet": partial(humanoid, "humanoid-capsule-feet", CAPSULE_FEET),
        "humanoid-squats": partial(humanoid, "humanoid-squats", BALL_FEET, depth=0.6),
        "humanoid-13-gears": partial(humanoid, "humanoid-13-gears", n_geared=13),
    },
    HANDS: {
        "hand": machine_scenes.hand,
        "gripper": machine_scenes.gripper,
        "peg": machine_scenes.peg,
        **third_party_hands.installed(),
    },
    HEAPS: {
        **{f"heap-{count}": partial(pile_scenes.heap, count) for count in (10, 30, 60, 100)},
        "boxes-30": partial(pile_scenes.heap, 30, only_boxes=True),
    },
    STRUCTURES: {
        "arch": pile_scenes.arch,
        "logs": pile_scenes.logs,
        "jenga": pile_scenes.jenga,
        "stonehenge": pile_scenes.stonehenge,
    },
    OTHERS: {
        "belt": machine_scenes.belt,
        "puzzle-cube": pile_scenes.puzzle_cube,
        "loops": machine_scenes.loops,
        "tippe-top": machine_scenes.tippe_top,
        "facets": pile_scenes.facets,
    },
}
SCENES = {name: build for scenes in FAMILIES.values() for name, build in scenes.items()}


def scene(name: str) -> ContactScene:
    """Return the scene of this name, newly built."""
    return SCENES[name]()
