"""Contact laws for rigid bodies, analytic or learned, inside exact rigid-body physics.

    import stiction

    body = stiction.Body.box(size=(0.2, 0.3, 0.4), mass=1.0)
    state = stiction.State.from_euler([0, 0, 0.6], [30, 20, 0], velocity=[2, 0, 0])
    run = stiction.rollout(stiction.CoulombLaw(body, friction=0.5), state, steps=800)
    run.plot("throw.png")

What is public, each with its own help, such as help(stiction.rollout):

Bodies and motions
    Body            a convex body: box, prism, rectangle, mesh, hull_of
    State           pose and velocity of one body or of a batch; from_euler, random
    Trajectory      a recorded motion: save, load, plot, to_dataframe
    Mode, Kind      what becomes of a contact, and whether it is a point, a line or a surface
Laws
    CoulombLaw      Coulomb's friction, solved exactly
    Material        friction by direction, speed and load, for any body: material.on(body)
    load            a law or material that ships, by its name, or from a model file
    AugmentedLaw    the learned law of the paper
    Law, Contacts   a law of your own, and what it is shown of contacts: see examples/own_law.py
Simulating
    rollout         whole motions, of one body or of many in threads
    Stepper         one step a call
Learning
    collect         throw a body in a ground truth and keep its contacts
    instances       contacts from elsewhere
    DataSet         what both of them return
    train           a learned law from a data set
    train_material  a material from data sets or recordings; plot_material draws one
    identify        a body and its law from recorded tosses
    evaluate        how good a law is on what it was not trained on
Modules for which extras are needed, such as pip install 'stiction[mujoco]'
    mujoco          laws in MuJoCo models
    gym             laws in Gymnasium environments
    dart            DART as ground truth
    recordings      read recorded tosses, forecast them
InputError is what all of them raise for input that they cannot work with.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stiction import dart, gym, mujoco, recordings
    from stiction.basics.checks import InputError
    from stiction.bodies.body import Body
    from stiction.bodies.state import Kind, Mode, State, Trajectory
    from stiction.data.collecting import collect
    from stiction.data.dataset import DataSet
    from stiction.data.external_instances import instances
    from stiction.evaluation.evaluate import evaluate
    from stiction.fit.identify import identify
    from stiction.fit.report import plot_material
    from stiction.fit.train_material import train_material
    from stiction.laws.contacts import Contacts
    from stiction.laws.coulomb import CoulombLaw
    from stiction.laws.law import Law
    from stiction.laws.learned import AugmentedLaw
    from stiction.laws.material import Material
    from stiction.laws.modelfile import load
    from stiction.simulation.rollout import Stepper, rollout
    from stiction.training.from_data import train

__all__ = [
    "AugmentedLaw",
    "Body",
    "Contacts",
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
    "evaluate",
    "gym",
    "identify",
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
    "AugmentedLaw": "stiction.laws.learned",
    "Body": "stiction.bodies.body",
    "Contacts": "stiction.laws.contacts",
    "CoulombLaw": "stiction.laws.coulomb",
    "DataSet": "stiction.data.dataset",
    "InputError": "stiction.basics.checks",
    "Kind": "stiction.bodies.state",
    "Law": "stiction.laws.law",
    "Material": "stiction.laws.material",
    "Mode": "stiction.bodies.state",
    "State": "stiction.bodies.state",
    "Trajectory": "stiction.bodies.state",
    "collect": "stiction.data.collecting",
    "evaluate": "stiction.evaluation.evaluate",
    "identify": "stiction.fit.identify",
    "instances": "stiction.data.external_instances",
    "load": "stiction.laws.modelfile",
    "rollout": "stiction.simulation.rollout",
    "Stepper": "stiction.simulation.rollout",
    "train": "stiction.training.from_data",
    "plot_material": "stiction.fit.report",
    "train_material": "stiction.fit.train_material",
}
_MODULES = ("dart", "gym", "mujoco", "recordings")
# What names cannot be imported without: where it is missing, help() and dir() leave them out.
_NEEDS = {
    "dart": ("dartpy",),
    "gym": ("gymnasium", "mujoco"),
    "mujoco": ("mujoco",),
    **dict.fromkeys(("DataSet", "collect", "identify", "instances", "recordings", "train"), ("pyarrow",)),
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib.util import find_spec

        missing = [package for package in _NEEDS[name] if find_spec(package) is None]
        if missing:
            needs = import_module("stiction.basics.environment").needs
            raise ImportError(needs(f"stiction.{name}", *missing))
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
    from importlib.util import find_spec  # not needed to import names

    missing = {needed for packages in _NEEDS.values() for needed in packages if find_spec(needed) is None}
    return [*(name for name in __all__ if missing.isdisjoint(_NEEDS.get(name, ()))), "__version__"]
