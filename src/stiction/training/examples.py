"""Contact instances as training examples: features, targets and weights, for each kind of patch."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import Kind, Mode
from stiction.data.dataset import DataSet
from stiction.data.instances import fault_text, possible_contacts
from stiction.data.store import Columns, chosen
from stiction.laws.inputs import OUTPUTS, Inputs
from stiction.laws.learned import recipe_of
from stiction.laws.material import Material
from stiction.simulation.motion import Motion, Setting, contacts_at


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


def read_instances(data: DataSet, most: int, seed: int) -> Instances:
    """The data set's contacts at the centre of mass, at most `most` of each kind."""
    rows = data.read(("throw", "position", "quaternion", "twist", "impulse", "mode", "kind"))
    rng = np.random.default_rng(seed)
    keep = np.zeros(len(rows["kind"]), dtype=np.bool_)
    for kind in np.unique(rows["kind"]):
        keep[rng.permutation(np.flatnonzero(rows["kind"] == kind))[:most]] = True
    return to_instances(data.body, chosen(rows, keep))


def to_instances(body: Body, rows: Columns) -> Instances:
    """Columns of a data set as instances."""
    position = rows["position"] + rotation_matrices(rows["quaternion"]) @ body.com
    quaternion, twist, impulse, mode = (rows[name] for name in ("quaternion", "twist", "impulse", "mode"))
    return Instances(position, quaternion, twist, impulse, mode, rows["throw"].astype(np.int64))


@dataclass(frozen=True)
class Examples:
    """Examples of one kind of patch.

    x: features, shape (n, inputs)
    y: target of a regressor, friction minus its `guess`, both (n, 2 or 3), in units of `load`
    whole: the whole impulse in its standard form, (n, 6)
    load: frictionless normal impulse N0 [N s], (n,); the mass, where impulses are not divided by N0
    radius: length L that turns spin components into torques [m], (n,)
    guessed_mode: that of a material, NONE without one, (n,)
    mode, throw: (n,)
    """

    kind: Kind
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    whole: NDArray[np.float64]
    load: NDArray[np.float64]
    radius: NDArray[np.float64]
    guess: NDArray[np.float64]
    guessed_mode: NDArray[np.int64]
    mode: NDArray[np.int8]
    throw: NDArray[np.int64]


def contacts_of(body: Body, instances: Instances, setting: Setting) -> _core.Contacts:
    """The instances as contacts of Algorithm 1."""
    contacts = contacts_at(body, Motion(instances.position, instances.quaternion, instances.twist), setting)
    if len(contacts) != len(instances):
        raise checks.InputError(f"{len(instances) - len(contacts)} of {len(instances)} contacts are in the air.")
    return contacts


def usable(body: Body, instances: Instances, setting: Setting) -> Instances:
    """The instances that are possible contacts of this body; the others are counted in a warning."""
    contacts = contacts_at(body, Motion(instances.position, instances.quaternion, instances.twist), setting)
    row = contacts.record["index"].astype(np.int64)
    good, counts = possible_contacts(body, contacts, setting, instances.impulse[row], len(instances))
    faults = fault_text(counts)
    if not faults:
        return instances
    number = len(instances) - int(good.sum())
    warnings.warn(f"{number:,} of {len(instances):,} contacts are left out: {faults}.", stacklevel=2)
    return instances[row[good]]


@dataclass(frozen=True)
class TrainingData:
    """Contacts to learn from; material: its friction is the guess, instead of Coulomb's."""

    body: Body
    instances: Instances
    setting: Setting
    material: Material | None = None

    def sliding(self, most: int, seed: int) -> "TrainingData":
        """At most `most` of the sliding contacts, drawn at random."""
        rows = np.flatnonzero(self.instances.mode == Mode.DYNAMIC)
        return replace(self, instances=self.instances[np.sort(np.random.default_rng(seed).permutation(rows)[:most])])

    def examples(self, inputs: Inputs) -> dict[Kind, Examples]:
        """Examples of each kind; instances without normal impulse are left out: they detach without any learning."""
        contacts = contacts_of(self.body, self.instances, self.setting)
        _core.describe(contacts, recipe_of(inputs, self.body, self.setting.timestep, self.material))
        y, whole = _core.targets(contacts, self.instances.impulse)
        record = contacts.record
        result = {}
        for kind in (Kind.POINT, Kind.LINE, Kind.SURFACE):
            rows = (record.kind == kind) & (record.unit_impulse > 0)
            outputs = OUTPUTS[kind]
            result[kind] = Examples(
                kind,
                record.features[rows, : inputs.size(kind)],
                y[rows, :outputs],
                whole[rows],
                record.unit_impulse[rows],
                record.unit_length[rows],
                record.guess[rows, :outputs],
                record.mode[rows],
                self.instances.mode[rows],
                self.instances.throw[rows],
            )
        return result
