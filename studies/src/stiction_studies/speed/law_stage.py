"""A model in MuJoCo with a law of ours, stepped by one Python call a step."""

import numpy as np
from numpy.typing import NDArray

from stiction.laws.law import Law
from stiction.mujoco.simulation import Simulation, mujoco
from stiction_studies.engines.stage import Stage


class LawStage(Stage):
    """A model in MuJoCo, some bodies of which touch the ground by a law of ours.

    angles: joint positions at the starts, (n, nq), all at rest
    """

    def __init__(self, model_text: str, names: tuple[str, ...], law: Law, angles: NDArray[np.float64]) -> None:
        self.simulation = Simulation(mujoco.MjModel.from_xml_string(model_text), laws={name: law for name in names})
        self.angles, self.data = angles, self.simulation.data
        self.step = self.simulation.step

    def put(self, start: int) -> None:
        self.simulation.reset(qpos=self.angles[start])

    def touching(self) -> int:
        return sum(contact.kind > 0 for contact in self.simulation.contacts.values())
