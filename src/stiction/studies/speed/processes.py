"""Fresh Python processes: how long until stiction is imported and has made a step, and how much memory it takes."""

import os
import subprocess
import sys
import tempfile
import time

from stiction.studies.speed.common import Begin, Scale
from stiction.studies.speed.measured import Measured
from stiction.studies.speed.timing import pinned

IMPORT, FIRST, COLD = "import stiction", "first step, compiled before", "first step, nothing compiled"
_STEP = """
import stiction
stiction.rollout(stiction.load("box"), stiction.State([0, 0, 0.5]), 1)
"""
_MEMORY = """
import sys
import numpy, stiction
bodies, steps = int(sys.argv[1]), 100
position = numpy.zeros((bodies, 3)) + [0, 0, 0.3]
turn = numpy.random.default_rng(0).normal(size=(bodies, 4))
turn /= numpy.linalg.norm(turn, axis=1, keepdims=True)
stiction.rollout(stiction.load("box"), stiction.State(position, turn, [1, 0, -2]), steps, every=steps)
try:  # of this program alone; the other figure knows the process that started it, too, if that was greater
    with open("/proc/self/status") as file:
        print(next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM")))
except (OSError, StopIteration):
    import resource
    unit = 1 if sys.platform == "darwin" else 1024
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
"""


def start(size: Scale, seed: int, begin: Begin) -> Measured:
    """Time from the start of a process to the end of its work, least of all repeats."""
    works = {"bare Python": "", IMPORT: "import stiction", FIRST: _STEP}
    least: dict[str, float] = {}
    advance = begin("Fresh processes", len(works) * (size.rounds + 1) + size.cold)
    with pinned():
        for _ in range(size.rounds + 1):  # the first fills caches, and never is the least
            for name, work in works.items():
                least[name] = min(least.get(name, float("inf")), _seconds(work, {}))
                advance()
        figures = {
            IMPORT: {"s": least[IMPORT] - least["bare Python"]},
            FIRST: {"s": least[FIRST]},
        }
        if size.cold:
            with tempfile.TemporaryDirectory() as folder:
                figures[COLD] = {"s": _seconds(_STEP, {"XDG_CACHE_HOME": folder, "NUMBA_CACHE_DIR": folder})}
            advance()
    notes = ["The import on top of bare Python; a first step from the start of the process on."]
    return Measured("start", "From the start of a process", "s", ["s"], figures, {}, notes)


def memory(size: Scale, seed: int, begin: Begin) -> Measured:
    """Greatest memory of processes that roll out many bodies and keep the first and the last state only."""
    advance = begin("Memory", len(size.bodies))
    figures = {}
    for bodies in size.bodies:
        name = f"{bodies:,} {'body' if bodies == 1 else 'bodies'}"
        figures[name] = {"MB": int(_output(_MEMORY, bodies)) / 1e6}
        advance()
    notes = ["Greatest memory of a whole process, Python and libraries included; 100 steps, every 100th state kept."]
    return Measured("memory", "Memory", "MB", ["MB"], figures, {}, notes)


def _seconds(work: str, environment: dict[str, str]) -> float:
    """Time from before the process starts until its work is done [s]."""
    began = time.time()  # the one clock that two processes share
    code = f"{work}\nimport time; print(time.time())"
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=os.environ | environment
    )
    return float(found.stdout) - began


def _output(code: str, *arguments: object) -> str:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
