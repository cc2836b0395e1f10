"""The data-augmented law: a learned classifier C and a learned regressor R for each kind of patch."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba.core import types
from numba.extending import overload
from numpy.typing import NDArray

from stiction import contact
from stiction.compiled import compiled
from stiction.contact import add_tilt
from stiction.laws.approximators import beyond, evaluate_all
from stiction.laws.features import OUTPUTS, Recipe, describe_all
from stiction.laws.frame import SCALE, friction_from
from stiction.laws.learned import LearnedLaw
from stiction.patch import Contacts
from stiction.state import Kind, Mode


class AugmentedTerms(NamedTuple):
    """The law in compiled form."""

    recipe: Recipe
    numbers: np.ndarray
    table: np.ndarray
    mass: float
    softness: float


class AugmentedLaw(LearnedLaw):
    """The law of the paper. The classifier scores STATIC, DYNAMIC and DETACH; the regressor corrects the guessed
    friction of a dynamic contact, both divided by the normal impulse."""

    ROLES = ("classifier", "regressor")

    @classmethod
    def outputs(cls, role: str, kind: Kind) -> int:
        """Number of outputs of an approximator."""
        return 3 if role == "classifier" else OUTPUTS[kind]

    @cached_property
    def compiled(self) -> AugmentedTerms:
        """The law as compiled code sees it."""
        return AugmentedTerms(self.inputs.recipe, *self.packed, self.body.mass, self.softness)

    def classify(self, contacts: Contacts) -> NDArray[np.int64]:
        """Mode of each contact, shape (n,)."""
        return augmented_classify(self.compiled, contacts)

    def friction(self, contacts: Contacts, dynamic: NDArray[np.int64]) -> NDArray[np.float64]:
        """Friction impulse (p_x, p_y, m_z, m_x, m_y) at the patch's centre of contacts that were classified, (k, 5)."""
        return augmented_friction(self.compiled, contacts, dynamic)


@compiled
def augmented_classify(law, contacts):
    """Describe each contact, keep that for `augmented_friction`, and return the modes with the highest score."""
    mode = np.empty(len(contacts.record), dtype=np.int64)
    for i in range(len(mode)):
        mode[i] = Mode.DETACH  # where nothing approaches, no impulse is needed
    described = describe_all(contacts, law.recipe, law.mass)
    scores = np.empty((len(described), 3))
    evaluate_all(law.numbers, law.table, 2, 0, contacts, described, scores)
    for k in range(len(described)):
        static, dynamic, detach = scores[k]
        mode[described[k]] = Mode.STATIC
        if dynamic > static:
            mode[described[k]] = Mode.DYNAMIC
        if detach > max(static, dynamic):
            mode[described[k]] = Mode.DETACH
    return mode


@compiled
def augmented_friction(law, contacts, dynamic):
    """Friction (k, 5) of the contacts that `augmented_classify` has described."""
    p_f = np.zeros((len(dynamic), 5))
    if len(dynamic) == 0:
        return p_f
    outputs = np.zeros((len(dynamic), 3))  # that of a point leaves the spin as it is
    evaluate_all(law.numbers, law.table, 2, 1, contacts, dynamic, outputs)
    for k in range(len(dynamic)):
        friction_from(contacts, dynamic[k], outputs[k], p_f[k])
        add_tilt(contacts, dynamic[k], p_f[k])
    return p_f


@overload(contact.classify)
def _classify(law, contacts):
    if isinstance(law, types.NamedTuple) and law.instance_class is AugmentedTerms:
        return lambda law, contacts: augmented_classify(law, contacts)


@overload(contact.friction)
def _friction(law, contacts, dynamic):
    if isinstance(law, types.NamedTuple) and law.instance_class is AugmentedTerms:
        return lambda law, contacts, dynamic: augmented_friction(law, contacts, dynamic)


@overload(contact.outside)
def _outside(law, contacts, i):
    if isinstance(law, types.NamedTuple) and law.instance_class is AugmentedTerms:

        def outside(law, contacts, i):
            c = contacts.record[i]
            return c.memo[SCALE] > 0.0 and beyond(law.numbers, law.table, 2 * (c.kind - 1), c.memo)

        return outside
