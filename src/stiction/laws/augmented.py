"""The data-augmented law: a learned classifier C and a learned regressor R for each kind of patch."""

from stiction import _core
from stiction.bodies.state import Kind
from stiction.laws.inputs import OUTPUTS
from stiction.laws.learned import LearnedLaw


class AugmentedLaw(LearnedLaw):
    """The law of the paper. The classifier scores STATIC, DYNAMIC and DETACH; the regressor corrects the guessed
    friction of a dynamic contact, both divided by the normal impulse."""

    ROLES = ("classifier", "regressor")

    @classmethod
    def outputs(cls, role: str, kind: Kind) -> int:
        """Number of outputs of an approximator."""
        return 3 if role == "classifier" else OUTPUTS[kind]

    def _to_native(self, recipe: _core.Recipe, *by_role: tuple[_core.Approximator, ...]) -> _core.AugmentedLaw:
        classifiers, regressors = by_role
        return _core.AugmentedLaw(recipe, list(classifiers), list(regressors))
