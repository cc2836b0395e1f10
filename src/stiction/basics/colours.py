"""The colours of all pictures: one for each contact mode, and one for each simulator or law that is compared.

Page, replays, viewer and plots take them from here, so that a mode and a run look the same wherever they are seen.
"""

from collections.abc import Iterable

Colour = tuple[int, int, int]  # red, green, blue, 0 to 255

INK: Colour = (30, 36, 46)  # lines and flight
# By the value of stiction.Mode (0, no contact, has no colour): teal, amber and pink differ for colour-blind eyes too.
MODES: dict[int, Colour] = {1: (13, 148, 136), 2: (245, 158, 11), 3: (219, 39, 119)}
# Of runs, by how their names begin. The ground truth is grey, so that what is compared with it stands out.
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
# For lines that are no run, in this order; none is a mode's.
SERIES: tuple[Colour, ...] = (STICTION, BASELINE, MUJOCO, BULLET, (217, 164, 0), (86, 180, 233), TRUTH)


def of_runs(names: Iterable[str]) -> list[Colour]:
    """A colour for each run that is shown beside the others: its own by its name, or one that is still free."""
    names = list(names)
    own = [next((colour for start, colour in _RUNS.items() if name.startswith(start)), None) for name in names]
    given = [colour if colour not in own[:k] else None for k, colour in enumerate(own)]
    free = [colour for colour in (TRUTH, *SERIES[:-1]) if colour not in given] or list(SERIES)
    rest = (free[k % len(free)] for k in range(len(names)))
    return [next(rest) if colour is None else colour for colour in given]


def as_hex(colour: Colour) -> str:
    """Such as "#0d9488", for HTML and plots."""
    return "#{:02x}{:02x}{:02x}".format(*colour)
