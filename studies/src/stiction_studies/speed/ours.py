"""Our own stage: a body with a law, stepped by one Python call a step."""

from stiction.bodies.state import State
from stiction.laws.law import Law
from stiction.simulation.rollout import Stepper
from stiction_studies.engines.stage import Stage


class StepperStage(Stage):
    """A body stepped by stiction.Stepper."""

    def __init__(self, law: Law, states: State) -> None:
        self.states, self.stepper = states, Stepper(law, states[0])
        self.step = self.stepper.step

    def put(self, start: int) -> None:
        self.stepper.state = self.states[start]

    def touching(self) -> int:
        return int(self.stepper.kind)  # in contact or not; the patch has no list of points
