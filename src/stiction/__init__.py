"""Contact laws for rigid bodies, analytic or learned, inside exact rigid-body physics.

    import stiction

    body = stiction.Body.box(size=(0.2, 0.3, 0.4), mass=1.0)
    state = stiction.State.from_euler([0, 0, 0.6], [30, 20, 0], velocity=[2, 0, 0])
    run = stiction.rollout(stiction.CoulombLaw(body, friction=0.5), state, steps=800)
    run.plot("throw.png")

Public names, each with its own help, such as help(stiction.rollout):

Bodies and motions
    Body            a convex body: box, prism, rectangle, mesh, hull_of
    State           pose and velocity of one body or of a batch; from_euler, random
    Trajectory      a recorded motion: save, load, plot, to_dataframe
    Mode, Kind      of a contact: static, dynamic or detach; point, line or surface
Laws
    CoulombLaw      Coulomb's friction, solved exactly
    Material        friction by direction, speed and load, for any body: material.on(body)
    load            a shipped law or material by its name, or one from a model file
    AugmentedLaw    the learned law of the paper
    Law, Contacts   a user-defined law, and the contacts it sees: see examples/own_law.py
Simulating
    rollout         whole motions, of one body or of many, in threads
    Stepper         one step per call
Learning
    collect         throw a body in a ground truth and record its contacts
    instances       contacts from elsewhere
    DataSet         the result of both
    train           a learned law from a data set
    train_material  a material from data sets or recordings; plot_material plots one
    identify        a body and its law from recorded tosses
    evaluate        errors of a law on data it was not trained on
Modules with extras, such as pip install 'stiction[mujoco]'
    mujoco          laws in MuJoCo models
    gym             laws in Gymnasium environments
    dart            DART as ground truth
    recordings      read recorded tosses, forecast them
All of them raise an InputError for invalid input.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stiction import dart, gym, mujoco, recordings
    from stiction.basics.errors import InputError
    from stiction.bodies.body import Body
    from stiction.bodies.state import Kind, Mode, State
    from stiction.bodies.trajectory import Trajectory
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
    "AugmentedLaw", "Body", "Contacts", "CoulombLaw", "DataSet", "InputError", "Kind", "Law", "Material", "Mode",
    "State", "Stepper", "Trajectory", "collect", "dart", "evaluate", "gym", "identify", "instances", "load", "mujoco",
    "plot_material", "recordings", "rollout", "train", "train_material",
]  # fmt: skip

# Modules and their public names; imported on first use, so that `import stiction` is quick and needs no engine.
_NAMES = {
    "basics.errors": ("InputError",),
    "bodies.body": ("Body",),
    "bodies.state": ("Kind", "Mode", "State"),
    "bodies.trajectory": ("Trajectory",),
    "data.collecting": ("collect",),
    "data.dataset": ("DataSet",),
    "data.external_instances": ("instances",),
    "evaluation.evaluate": ("evaluate",),
    "fit.identify": ("identify",),
    "fit.report": ("plot_material",),
    "fit.train_material": ("train_material",),
    "laws.contacts": ("Contacts",),
    "laws.coulomb": ("CoulombLaw",),
    "laws.law": ("Law",),
    "laws.learned": ("AugmentedLaw",),
    "laws.material": ("Material",),
    "laws.modelfile": ("load",),
    "simulation.rollout": ("Stepper", "rollout"),
    "training.from_data": ("train",),
}
_HOME = {name: f"stiction.{module}" for module, names in _NAMES.items() for name in names}
# Packages that names need: help() and dir() leave out the names whose packages are missing.
_NEEDS = {
    "dart": ("dartpy",),
    "gym": ("gymnasium", "mujoco"),
    "mujoco": ("mujoco",),
    **dict.fromkeys(("DataSet", "collect", "identify", "instances", "recordings", "train"), ("pyarrow",)),
}


def __getattr__(name: str) -> Any:
    if name in ("dart", "gym", "mujoco", "recordings"):
        from importlib.util import find_spec

        missing = [package for package in _NEEDS[name] if find_spec(package) is None]
        if missing:
            from stiction.basics.environment import needs

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
    from importlib.util import find_spec

    missing = {needed for packages in _NEEDS.values() for needed in packages if find_spec(needed) is None}
    return [*(name for name in __all__ if missing.isdisjoint(_NEEDS.get(name, ()))), "__version__"]
