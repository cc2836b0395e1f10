"""Colours of contact modes and of compared runs, the same in the viewer, plots, replays and pages."""

from collections.abc import Iterable

Colour = tuple[int, int, int]  # red, green, blue, 0 to 255

INK: Colour = (30, 36, 46)  # lines and flight
# By the value of stiction.Mode (0, no contact, has no colour): teal, amber and pink suit colour-blind readers too.
MODES: dict[int, Colour] = {1: (13, 148, 136), 2: (245, 158, 11), 3: (219, 39, 119)}
# Runs by the start of their names. The ground truth is grey, so that others stand out.
TRUTH: Colour = (128, 139, 155)
STICTION: Colour = (64, 108, 232)
BASELINE: Colour = (190, 92, 58)
MUJOCO: Colour = (120, 88, 180)
BULLET: Colour = (60, 140, 80)
_RUNS = {
    "stiction": STICTION,
    "the law in MuJoCo": STICTION,
    "PDD": BASELINE,
    "MuJoCo": MUJOCO,
    "Bullet": BULLET,
    "DART": TRUTH,
    "ground truth": TRUTH,
    "recorded": TRUTH,
    "the law's own rollout": TRUTH,
}
# Other lines, in this order; none is a mode's colour.
SERIES: tuple[Colour, ...] = (STICTION, BASELINE, MUJOCO, BULLET, (217, 164, 0), (86, 180, 233), TRUTH)


def of_runs(names: Iterable[str]) -> list[Colour]:
    """A colour for each run that is shown beside the others: by its name, or one that is not yet used."""
    names = list(names)
    own = [next((colour for start, colour in _RUNS.items() if name.startswith(start)), None) for name in names]
    given = [colour if colour not in own[:k] else None for k, colour in enumerate(own)]
    free = [colour for colour in (TRUTH, *SERIES[:-1]) if colour not in given] or list(SERIES)
    rest = (free[k % len(free)] for k in range(len(names)))
    return [next(rest) if colour is None else colour for colour in given]


def as_hex(colour: Colour) -> str:
    """The colour for HTML and plots, such as "#0d9488"."""
    return "#{:02x}{:02x}{:02x}".format(*colour)
