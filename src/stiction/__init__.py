"""stiction: contact laws learned from throws, inside exact rigid-body physics."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stiction import dart, gym, mujoco, recordings
    from stiction.basics.checks import InputError
    from stiction.bodies.body import Body
    from stiction.bodies.state import Kind, Mode, State, Trajectory
    from stiction.laws.augmented import AugmentedLaw
    from stiction.laws.coulomb import CoulombLaw
    from stiction.laws.law import Law
    from stiction.laws.material import Material
    from stiction.laws.modelfile import load
    from stiction.learning.collect.collect import collect
    from stiction.learning.collect.dataset import DataSet
    from stiction.learning.collect.elsewhere import instances
    from stiction.learning.material.plot import plot_material
    from stiction.learning.material.train import train_material
    from stiction.learning.train.from_data import train
    from stiction.simulation.rollout import rollout
    from stiction.simulation.stepper import Stepper

__all__ = [
    "AugmentedLaw",
    "Body",
    "CoulombLaw",
    "DataSet",
    "InputError",
    "Kind",
    "Law",
    "Material",
    "Mode",
    "State",
    "Stepper",
    "Trajectory",
    "collect",
    "dart",
    "gym",
    "instances",
    "load",
    "mujoco",
    "plot_material",
    "recordings",
    "rollout",
    "train",
    "train_material",
]

# Where each public name lives; imported on first use, so that `import stiction` is quick and needs no engine.
_HOME = {
    "AugmentedLaw": "stiction.laws.augmented",
    "Body": "stiction.bodies.body",
    "CoulombLaw": "stiction.laws.coulomb",
    "DataSet": "stiction.learning.collect.dataset",
    "InputError": "stiction.basics.checks",
    "Kind": "stiction.bodies.state",
    "Law": "stiction.laws.law",
    "Material": "stiction.laws.material",
    "Mode": "stiction.bodies.state",
    "State": "stiction.bodies.state",
    "Trajectory": "stiction.bodies.state",
    "collect": "stiction.learning.collect.collect",
    "instances": "stiction.learning.collect.elsewhere",
    "load": "stiction.laws.modelfile",
    "rollout": "stiction.simulation.rollout",
    "Stepper": "stiction.simulation.stepper",
    "train": "stiction.learning.train.from_data",
    "plot_material": "stiction.learning.material.plot",
    "train_material": "stiction.learning.material.train",
}
_MODULES = ("dart", "gym", "mujoco", "recordings")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = import_module(f"stiction.{name}")
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name == "__version__":
        value = import_module("importlib.metadata").version("stiction")
    else:
        raise AttributeError(f"stiction has no {name!r}; it has {', '.join(__all__)}.")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
