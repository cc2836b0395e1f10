"""A model in MuJoCo with a law of ours, stepped by one Python call a step."""

import numpy as np
from numpy.typing import NDArray

from stiction.laws.law import Law
from stiction.robots.mujoco import Simulation, mujoco
from stiction.simulators.stage import Stage


class LawStage(Stage):
    """A model in MuJoCo, one body of which touches the ground by a law of ours.

    angles: joint positions at the starts, (n, nq), all at rest
    """

    def __init__(self, model_text: str, name: str, law: Law, angles: NDArray[np.float64]) -> None:
        self.simulation = Simulation(mujoco.MjModel.from_xml_string(model_text), laws={name: law})
        self.contact, self.angles = self.simulation.contacts[name], angles
        self.step = self.simulation.step

    def put(self, start: int) -> None:
        self.simulation.reset(qpos=self.angles[start])

    def touching(self) -> int:
        return int(self.contact.kind)
