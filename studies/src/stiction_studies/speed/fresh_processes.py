"""Fresh Python processes: how long until stiction is imported and has made a step, and how much memory it takes."""

import subprocess
import sys
import time
from importlib.util import find_spec

from stiction_studies.speed.bench_case import Measured, Progress, Scale
from stiction_studies.timing import pinned

IMPORT, ANALYTIC = "import stiction", "a throw of 800 steps with CoulombLaw"
LEARNED, ROBOT = "the same with a learned law", "a first contact step in MuJoCo"
_ANALYTIC = """
import stiction
body = stiction.Body.box(size=(0.2, 0.3, 0.4), mass=1.0)
law = stiction.CoulombLaw(body, friction=0.5)
state = stiction.State(position=[0, 0, 0.6], quaternion=[1, 0, 0, 0], velocity=[2, 0, 0], angular_velocity=[1, 2, 3])
stiction.rollout(law, state, steps=800)
"""
_LEARNED = """
import stiction
stiction.rollout(stiction.load("box"), stiction.State([0, 0, 0.6], velocity=[2, 0, 0], angular_velocity=[1, 2, 3]), 800)
"""
_ROBOT = """
import mujoco, stiction
from stiction.mujoco import Simulation
size = " ".join(str(length / 2) for length in stiction.load("box").body.size)
geom = f"<geom type='box' size='{size}' mass='1'/>"
body = f"<body name='box' pos='0 0 0.2'><freejoint/>{geom}</body>"
text = f"<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='1 1 1'/>{body}</worldbody></mujoco>"
sim = Simulation(mujoco.MjModel.from_xml_string(text), laws={"box": stiction.load("box")})
while not sim.contacts["box"].kind:
    sim.step()
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


def start(size: Scale, seed: int, progress: Progress) -> Measured:
    """Time from the start of a process to the end of its work, least of all repeats."""
    works = {"bare Python": "", IMPORT: "import stiction", ANALYTIC: _ANALYTIC, LEARNED: _LEARNED}
    if find_spec("mujoco") is not None:
        works[ROBOT] = _ROBOT
    least: dict[str, float] = {}
    advance = progress("Fresh processes", len(works) * (size.rounds + 1))
    with pinned():
        for _ in range(size.rounds + 1):  # the first fills caches, and never is the least
            for name, work in works.items():
                least[name] = min(least.get(name, float("inf")), _seconds(work))
                advance()
    figures = {IMPORT: {"s": least[IMPORT] - least["bare Python"]}}
    figures |= {name: {"s": least[name]} for name in works if name in (ANALYTIC, LEARNED, ROBOT)}
    notes = ["The import on top of bare Python; all else from the start of the process to its end, imports included."]
    return Measured("From the start of a process", "s", ["s"], figures, {}, notes)


def memory(size: Scale, seed: int, progress: Progress) -> Measured:
    """Measure the peak memory of processes that roll out many bodies and keep the first and last state only."""
    advance = progress("Memory", len(size.bodies))
    figures = {}
    for bodies in size.bodies:
        name = f"{bodies:,} {'body' if bodies == 1 else 'bodies'}"
        figures[name] = {"MB": int(_output(_MEMORY, bodies)) / 1e6}
        advance()
    notes = ["Greatest memory of a whole process, Python and libraries included; 100 steps, every 100th state kept."]
    return Measured("Memory", "MB", ["MB"], figures, {}, notes)


def _seconds(work: str) -> float:
    """Time from before the process starts until its work is done [s]."""
    start_time = time.time()  # the one clock that two processes share
    code = f"{work}\nimport time; print(time.time())"
    return float(_output(code)) - start_time


def _output(code: str, *arguments: object) -> str:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
