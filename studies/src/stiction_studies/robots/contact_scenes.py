"""Scenes of contact that are built from code: what a scene consists of, and all of them by name."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.laws.material import Material
from stiction.mujoco.simulation import Simulation, mujoco
from stiction.viewer.quadruped import Drive

FRICTION = 0.8
EVERYTHING = ("*", "*")


@dataclass(frozen=True)
class Outcome:
    """What is known of the end of a run.

    name: with its unit; wanted: what theory has; measure: from model and data after the last step
    """

    name: str
    wanted: float
    measure: Callable[[Any, Any], float]


def height_of(body: str, wanted: float) -> Outcome:
    """Return the height of a body as the outcome of a scene."""
    return Outcome(f"height of the {body} [m]", wanted, lambda model, data: float(data.xpos[model.body(body).id, 2]))


@dataclass(frozen=True)
class ContactScene:
    """A scene that MuJoCo alone and `Simulation` step from the same state with the same friction.

    model: is not changed: `simulation` and `alone` make copies
    friction: coefficient between all geoms, with `Simulation` and with MuJoCo alone
    control: from a model and its data, the function that sets the controls of each step
    duration: of a run [s]
    qpos, qvel: the start; by default the model's own, at rest
    held: pairs of bodies, of which the first may not move in the frame of the second from the time `settled` [s] on
    rests: whether all else rests then, too; held bodies of a mechanism that moves drift by the error of its integration
    """

    name: str
    model: Any
    duration: float
    friction: float = FRICTION
    control: Callable[[Any, Any], Drive] = lambda model, data: lambda step: None
    qpos: NDArray[np.float64] | None = None
    qvel: NDArray[np.float64] | None = None
    held: tuple[tuple[int, int], ...] = ()
    settled: float = 0.0
    rests: bool = True
    outcome: Outcome | None = None

    @property
    def steps(self) -> int:
        """Time steps of a run."""
        return round(self.duration / self.model.opt.timestep)

    @property
    def laws(self) -> dict[Any, Any]:
        """The material of all contacts, for `Simulation`."""
        return {EVERYTHING: Material.coulomb(self.friction)}

    def simulation(self) -> Simulation:
        """Return a simulation with the scene's laws, at the start."""
        sim = Simulation(copy.copy(self.model), laws=self.laws)
        sim.reset(qpos=self.qpos, qvel=self.qvel)
        return sim

    def alone(self) -> tuple[Any, Any]:
        """Return model and data for MuJoCo alone, at the start."""
        model = copy.copy(self.model)
        model.geom_friction[:, 0] = self.friction
        data = mujoco.MjData(model)
        if self.qpos is not None:
            data.qpos[:] = self.qpos
        if self.qvel is not None:
            data.qvel[:] = self.qvel
        mujoco.mj_forward(model, data)
        return model, data


def model_of(bodies: str, extra: str = "", *, timestep: float = 0.002, option: str = "") -> Any:
    """Return the MjModel of bodies on a floor.

    bodies: elements of the worldbody; extra: sections beside it; option: attributes of <option>
    """
    return mujoco.MjModel.from_xml_string(f"""<mujoco>
      <compiler angle="radian"/>
      <option timestep="{timestep}" {option}/>
      <worldbody><geom name="floor" type="plane" size="20 20 0.1"/>{bodies}</worldbody>{extra}
    </mujoco>""")
