"""Contact instances as examples for networks: features, targets and weights, for each kind of patch."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.bodies.state import Kind
from stiction.laws.features import OUTPUTS, WHOLE, describe_all, observe_all
from stiction.laws.frame import GUESS, SCALE
from stiction.laws.inputs import Inputs
from stiction.patch import Contacts, new_contacts
from stiction.stepping import Motion, Setting, begin_step


@dataclass(frozen=True)
class Instances:
    """Observed contacts of one body, at its centre of mass; n rows.

    position: (n, 3) [m]; quaternion: (n, 4); twist: before the step, (n, 6); impulse: (n, 6); mode, throw: (n,)
    """

    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    twist: NDArray[np.float64]
    impulse: NDArray[np.float64]
    mode: NDArray[np.int8]
    throw: NDArray[np.int64]

    def __getitem__(self, index) -> "Instances":
        return Instances(**{name: value[index] for name, value in vars(self).items()})

    def __len__(self) -> int:
        return len(self.mode)


@dataclass(frozen=True)
class Examples:
    """Examples of one kind of patch.

    x: features, shape (n, inputs)
    y: what a regressor should add to the guess of friction, `guess`, both (n, 2 or 3), in units of `load`
    whole: the whole impulse in its standard form, (n, 6)
    load: frictionless normal impulse N0 [N s], (n,); the mass, where impulses are not divided by N0
    radius: length L that turns spin components into torques [m], (n,)
    mode, throw: (n,)
    """

    kind: Kind
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    whole: NDArray[np.float64]
    load: NDArray[np.float64]
    radius: NDArray[np.float64]
    guess: NDArray[np.float64]
    mode: NDArray[np.int8]
    throw: NDArray[np.int64]


def contacts_of(body: Body, instances: Instances, setting: Setting) -> Contacts:
    """The instances as Algorithm 1 sees them."""
    contacts = new_contacts(body.hull, len(instances))
    motion = Motion(instances.position.copy(), instances.quaternion.copy(), instances.twist.copy())
    found = begin_step(setting, body.hull, contacts, motion)
    if found != len(instances):
        raise ValueError(f"{len(instances) - found} of {len(instances)} instances do not touch the ground.")
    return contacts


def make_examples(body: Body, instances: Instances, setting: Setting, inputs: Inputs) -> dict[Kind, Examples]:
    """Examples of each kind; instances without normal impulse are left out: physics alone knows that they detach."""
    contacts = contacts_of(body, instances, setting)
    describe_all(contacts, inputs.recipe, body.mass)
    described = contacts.record.memo[:, SCALE] > 0
    y, whole = np.zeros((len(described), 3)), np.zeros((len(described), WHOLE))
    observe_all(contacts, instances.impulse, y, whole)
    memo = contacts.record.memo
    result = {}
    for kind in (Kind.POINT, Kind.LINE, Kind.SURFACE):
        rows = (contacts.record.kind == kind) & described
        outputs = OUTPUTS[kind]
        result[kind] = Examples(
            kind,
            memo[rows, : inputs.size(kind)],
            y[rows, :outputs],
            whole[rows],
            memo[rows, SCALE],
            memo[rows, SCALE + 1],
            memo[rows, GUESS : GUESS + outputs],
            instances.mode[rows],
            instances.throw[rows],
        )
    return result
