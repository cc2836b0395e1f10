"""The data-augmented law: a learned classifier C and a learned regressor R for each kind of patch."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stiction import contact
from stiction.bodies.state import Kind, Mode
from stiction.compiled import lean, lean_overload
from stiction.contact import add_tilt, friction_of
from stiction.laws.approximators import beyond, evaluate_all
from stiction.laws.features import OUTPUTS, Recipe, describe_all
from stiction.laws.frame import friction_from, is_described
from stiction.laws.learned import LearnedLaw
from stiction.patch import Contacts
from stiction.reference import is_of
from stiction.spatial import clear

# Not plain numbers, for each of which numba would compile the networks once more.
_ROLES, _C, _R = np.int64(2), np.int64(0), np.int64(1)


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
        augmented_classify(self.compiled, contacts)
        return contacts.record["mode"].copy()

    def friction(self, contacts: Contacts, dynamic: NDArray[np.int64]) -> NDArray[np.float64]:
        """Friction impulse (p_x, p_y, m_z, m_x, m_y) at the patch's centre of contacts that were classified, (k, 5)."""
        return friction_of(augmented_friction, self.compiled, contacts, dynamic)


@lean
def augmented_classify(law, contacts):
    """Describe each contact, keep that for `augmented_friction`, and take the mode with the highest score."""
    describe_all(contacts, law.recipe, law.mass)
    evaluate_all(law.numbers, law.table, _ROLES, _C, contacts, Mode.NONE)
    for i in range(len(contacts.record)):
        c = contacts.record[i]
        if not is_described(c):
            c.mode = Mode.DETACH  # where nothing approaches, no impulse is needed
            continue
        static, dynamic, detach = c.answer[0], c.answer[1], c.answer[2]
        c.mode = Mode.STATIC
        if dynamic > static:
            c.mode = Mode.DYNAMIC
        if detach > max(static, dynamic):
            c.mode = Mode.DETACH


@lean
def augmented_friction(law, contacts):
    """Friction of the dynamic contacts, which `augmented_classify` has described."""
    for i in range(len(contacts.record)):
        contacts.record[i].answer[2] = 0.0  # that of a point leaves the spin as it is
    evaluate_all(law.numbers, law.table, _ROLES, _R, contacts, Mode.DYNAMIC)
    for i in range(len(contacts.record)):
        c = contacts.record[i]
        if c.mode == Mode.DYNAMIC:
            clear(c.p_f)
            if is_described(c):
                friction_from(contacts, i, c.answer[:3], c.p_f)
                add_tilt(contacts, i, c.p_f)


@lean_overload(contact.classify)
def _classify(law, contacts):
    if is_of(law, AugmentedTerms):
        return lambda law, contacts: augmented_classify(law, contacts)


@lean_overload(contact.friction)
def _friction(law, contacts):
    if is_of(law, AugmentedTerms):
        return lambda law, contacts: augmented_friction(law, contacts)


@lean_overload(contact.outside)
def _outside(law, contacts, i):
    if is_of(law, AugmentedTerms):

        def outside(law, contacts, i):
            c = contacts.record[i]
            return is_described(c) and beyond(law.numbers, law.table, 2 * (c.kind - 1), c.memo)

        return outside
