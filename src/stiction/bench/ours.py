"""Our own stages: a body stepped by one Python call a step, and rollouts in one call."""

import numpy as np
from numpy.typing import NDArray

from stiction.contact import Law
from stiction.engines.stage import Stage
from stiction.state import Kind, State
from stiction.stepping import rollout

try:
    from stiction.stepping import Stepper
except ImportError:

    class Stepper:
        def __init__(self, law, state):
            self.law, self.state = law, state

        def step(self):
            self.state = rollout(self.law, self.state, 1).state()


class StepperStage(Stage):
    """A body with a law, stepped by stiction.Stepper."""

    def __init__(self, law: Law, states: State) -> None:
        self.law, self.states = law, states

    def put(self, start: int) -> None:
        self.step = Stepper(self.law, self.states[start]).step

    def touching(self) -> int:
        raise NotImplementedError  # `counts` asks the rollout, which tells

    def counts(self, start: int, steps: int) -> NDArray[np.int64]:
        kind = rollout(self.law, self.states[start], steps).kind
        return (kind != Kind.NONE).astype(np.int64)
