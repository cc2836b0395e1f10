"""What `stiction identify` prints and draws: the table of parameters, the summary in words, the picture."""

import sys
from importlib.util import find_spec
from math import isinf
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from stiction.basics.extras import needs
from stiction.laws.impact import RESTITUTION_SPEED, SLIP_SPEED
from stiction.learning.identify.identified import Identified
from stiction.learning.identify.identify import width_of
from stiction.learning.identify.in_plane import FLIGHT_UNITS

_CAPTION = (
    "size and inertia are factors on those of the body as given, inertia_y and inertia_z further ones on two of its "
    "moments; com is the centre of mass in the body frame; restitution is that at {restitution:g} m/s, friction that "
    "at {slip:g} m/s without load, friction_loaded that under any great load. Position and rotation: by how much "
    "forecasts of the {tosses} tosses get worse if this parameter alone is put back, in % of the width (the mean "
    "extent of the body along its axes, {width:.0f} mm) and in degrees."
)


def print_identified(found: Identified) -> None:
    """The table of parameters, and what was found in words."""
    # A file or a pipe has no width of its own; rich would take 80 columns and cut the names.
    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)
    title = f"Fitted to {found.tosses[0]} tosses"
    fitted, held = found.tosses
    caption = _CAPTION.format(
        restitution=RESTITUTION_SPEED,
        slip=SLIP_SPEED,
        tosses=f"{held} held-out" if held else f"{fitted} fitted",
        width=1e3 * width_of(found.fitted.body),
    )
    table = Table(
        title=title, title_justify="left", caption=caption, caption_justify="left", box=SIMPLE_HEAD, padding=(0, 1)
    )
    for name in ("parameter", "value", "standard error", "unit", "if put back to", "position", "rotation"):
        table.add_column(name, justify="left" if name in ("parameter", "unit") else "right", no_wrap=True)
    for name, (value, error) in found.fitted.flight.items():
        unit = FLIGHT_UNITS.get(name, "")
        told = ("not told", unit, "") if isinf(error) else (f"{error:.2g}", unit, "free flight")
        table.add_row(name, f"{value:.4g}", *told, "", "")
    solution = found.fitted.solution
    for p, value, error in zip(found.fitted.parameters, solution.values, solution.errors):
        dp, dr = found.effects.get(p.name, (float("nan"),) * 2)
        scale, unit = (1e3, "mm") if p.unit == "m" else (1.0, p.unit)
        cells = (f"{scale * value:.4g}", "not told" if p.name in found.untold else f"{scale * error:.2g}", unit)
        table.add_row(p.name, *cells, f"{scale * p.start:.4g}", f"{dp:+.2f} %", f"{dr:+.2f} deg")
    console.print(table)
    console.print(found.summary())
    console.print(f"Took {found.seconds:.0f} s.")


def draw(found: Identified, path: str | Path) -> None:
    """Draw what was found, if that can be done."""
    if find_spec("matplotlib") is None:
        print(needs("A plot of it", "matplotlib"))
        return
    found.plot(path)
    print(f"Wrote {path}")
