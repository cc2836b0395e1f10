"""Recorded tosses: read and check them, forecast them, and see whether a law knows its own uncertainty.

    cube = stiction.Body.box((0.1, 0.1, 0.1), mass=0.37)
    recordings = stiction.recordings.read("tosses.csv", cube)  # checked against mechanics
    toss = recordings[3]
    state = toss.start()  # fitted to its free flight
    run = toss.forecast("cube", samples=64)  # of the law, from that start; batch axis: the samples
    stiction.recordings.coverage("cube", recordings)  # share of the tosses inside the law's 50 % and 90 % regions

`stiction.identify(recordings)` finds the body and its law. Needs the extra `record`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stiction.fit.forecast import coverage_of_regions as coverage
    from stiction.recordings.folder import load_recordings as load
    from stiction.recordings.folder import save_recordings as save
    from stiction.recordings.importing import import_recordings as read
    from stiction.recordings.poses import Conventions
    from stiction.recordings.splitting import plot_cuts
    from stiction.recordings.tosses import Recordings, Toss, Tosses, split

__all__ = ["Conventions", "Recordings", "Toss", "Tosses", "coverage", "load", "plot_cuts", "read", "save", "split"]

# The module and the name behind each public name; imported on first use, since some need pyarrow.
_HOME = {
    "Conventions": ("poses", "Conventions"),
    "Recordings": ("tosses", "Recordings"),
    "Toss": ("tosses", "Toss"),
    "Tosses": ("tosses", "Tosses"),
    "coverage": ("forecast", "coverage_of_regions"),
    "load": ("folder", "load_recordings"),
    "plot_cuts": ("splitting", "plot_cuts"),
    "read": ("importing", "import_recordings"),
    "save": ("folder", "save_recordings"),
    "split": ("tosses", "split"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"stiction.recordings has no {name!r}; it has {', '.join(__all__)}.")
    module, actual = _HOME[name]
    package = "stiction.fit" if name == "coverage" else "stiction.recordings"
    value = getattr(import_module(f"{package}.{module}"), actual)
    globals()[name] = value
    return value
