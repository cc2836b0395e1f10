"""The purely data-driven baseline (PDD of the paper): the whole impulse is regressed; no physics corrects it."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stiction import contact
from stiction.bodies.state import Kind, Mode
from stiction.compiled import lean, lean_overload
from stiction.laws.approximators import evaluate_all
from stiction.laws.features import WHOLE, Recipe, describe_all
from stiction.laws.frame import impulse_from, is_described
from stiction.laws.learned import LearnedLaw
from stiction.patch import Contacts
from stiction.reference import is_of
from stiction.spatial import clear


class StatisticalTerms(NamedTuple):
    """The law in compiled form."""

    ANSWERS_BY_ITSELF = True  # no Algorithm 1
    recipe: Recipe
    numbers: np.ndarray
    table: np.ndarray
    mass: float
    softness: float


class StatisticalLaw(LearnedLaw):
    """Direct regression of the six numbers of the impulse, from the same inputs as the augmented law."""

    ROLES = ("impulse",)

    @classmethod
    def outputs(cls, role: str, kind: Kind) -> int:
        """Number of outputs of an approximator."""
        return WHOLE

    @cached_property
    def compiled(self) -> StatisticalTerms:
        """The law as compiled code sees it."""
        return StatisticalTerms(self.inputs.recipe, *self.packed, self.body.mass, self.softness)

    def respond(self, contacts: Contacts) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Impulses (n, 6); the modes are left open (NONE), to be seen in the motion."""
        statistical_impulse(self.compiled, contacts)
        return contacts.record["impulse"].copy(), contacts.record["mode"].copy()


@lean
def statistical_impulse(law, contacts):
    """Impulses straight from the networks, and open modes."""
    describe_all(contacts, law.recipe, law.mass)
    evaluate_all(law.numbers, law.table, 1, 0, contacts, Mode.NONE)
    for i in range(len(contacts.record)):
        c = contacts.record[i]
        c.mode = Mode.NONE
        clear(c.impulse)
        if is_described(c):
            impulse_from(contacts, i, c.answer, c.impulse)


@lean_overload(contact.respond)
def _respond(law, contacts):
    if is_of(law, StatisticalTerms):
        return lambda law, contacts: statistical_impulse(law, contacts)
