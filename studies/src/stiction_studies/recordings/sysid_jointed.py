"""`mujoco.sysid` on recorded tosses of a jointed part: its optimiser, with our windows, starts and measure of far."""

import time
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from stiction.basics.splits import drawn
from stiction.fit.gauss_newton import Parameter
from stiction.fit.jointed_fit import part_parameters
from stiction.fit.jointed_flight import Prepared
from stiction.fit.jointed_recording import rest_heights
from stiction.fit.jointed_starts import SUBSTEPS, Starts, differences
from stiction.fit.toss_objective import last_frames
from stiction_studies.engines.mujoco_sysid import Identification, ModelParameter, Segment
from stiction_studies.recordings.jointed_rival import MUJOCO_CONTACT, with_mujoco_contact

STAGES = ((6, 96, 8), (12, 96, 8), (16, None, 5))  # frames after the first touch, tosses at most, iterations
FAR = 10.0  # percent of the length, or degrees, beyond which a miss counts less and less


class SysidJointed:
    """MuJoCo's contact and the same numbers of the part as under our own fitter, found by `mujoco.sysid`."""

    def __init__(self, ready: Prepared) -> None:
        self.ready = ready
        self.build = with_mujoco_contact(ready.part)
        self._timestep = ready.fitted.timestep / SUBSTEPS
        parameters = [*part_parameters(ready.part, ready.gravity), *MUJOCO_CONTACT]
        numbers = [ModelParameter(p.name, p.start, p.step, *_bounds(p)) for p in parameters]
        scene = ready.part.spec({p.name: p.start for p in parameters}, self._timestep)
        scene.compile()
        self._found = Identification(scene.to_xml(), numbers, [], self._differences, SUBSTEPS, build=self._built)

    @property
    def values(self) -> dict[str, float]:
        """What was found, by name."""
        return self._found.values

    def fit(self, seconds: float = 0.0, progress: Callable[[int, int], None] = lambda done, most: None) -> None:
        """Windows that grow, as with our own fit.

        seconds: of processor time; what is left of it after the last window goes into more iterations there, until
        nothing changes any more
        """
        began = time.process_time()
        tosses = self.ready.fitted
        for number, (window, most, iterations) in enumerate(STAGES):
            self._found.fit(self._segments(tosses[drawn(len(tosses), most, 0)], window), iterations)
            progress(number + 1, len(STAGES))
        window, _most, iterations = STAGES[-1]
        before: dict[str, float] = {}
        while time.process_time() - began < seconds and before != self.values:
            before = self.values
            self._found.fit(self._segments(tosses, window), iterations)

    def _built(self, values: Mapping[str, float]):
        return self.build(values, self._timestep)[0]

    def _segments(self, tosses: Starts, window: int | None) -> list[Segment]:
        model, nq = self._found.model, self._found.model.nq
        states = tosses.states(tosses.part.model(self.values, self._timestep, contact=False))
        lowered = rest_heights(model, tosses.tosses)
        segments = []
        for state, toss, height, last in zip(states, tosses.tosses, lowered, last_frames(tosses, window).tolist()):
            n = toss.frames_until(last)
            down = np.r_[0.0, 0.0, height, np.zeros(nq - 3)]
            segments.append(Segment((state[:nq] - down, state[nq:]), toss.frame[:n], toss.qpos[:n] - down))
        return segments

    def _differences(self, predicted: NDArray[np.float64], recorded: NDArray[np.float64]) -> NDArray[np.float64]:
        return differences(self.ready.part, predicted, recorded) / FAR


def _bounds(p: Parameter) -> tuple[float, float]:
    """Bounds that sysid can work with: none are infinite."""
    return max(p.low, p.start - 5 * p.scale), min(p.high, p.start + 5 * p.scale)
