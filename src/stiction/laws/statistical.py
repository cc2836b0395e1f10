"""The purely data-driven baseline (PDD of the paper): the whole impulse is regressed; no physics corrects it."""

from stiction import _core
from stiction.bodies.state import Kind
from stiction.laws.inputs import WHOLE
from stiction.laws.learned import LearnedLaw


class StatisticalLaw(LearnedLaw):
    """Direct regression of the six numbers of the impulse, from the same inputs as the augmented law."""

    ROLES = ("impulse",)
    whole = True

    @classmethod
    def outputs(cls, role: str, kind: Kind) -> int:
        """Number of outputs of an approximator."""
        return WHOLE

    def _to_native(self, recipe: _core.Recipe, *by_role: tuple[_core.Approximator, ...]) -> _core.StatisticalLaw:
        return _core.StatisticalLaw(recipe, list(by_role[0]))
