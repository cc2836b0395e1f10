"""The data-augmented law: a learned classifier C and a learned regressor R for each kind of patch."""

from typing import Any

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import Kind
from stiction.laws.approximators import Approximator
from stiction.laws.inputs import OUTPUTS, Inputs
from stiction.laws.learned import KINDS, LearnedLaw
from stiction.laws.material import Material


class AugmentedLaw(LearnedLaw):
    """The law of the paper. The classifier scores STATIC, DYNAMIC and DETACH; the regressor corrects the guessed
    friction of a dynamic contact, both divided by the normal impulse.

    material: whose friction is the guess, instead of Coulomb's; it then has a mode of its own as well
    dropped: approximators that are not asked, such as "point regressor", since they do not help: the guess stands.
        Without a material there is no mode to stand for a classifier.
    """

    ROLES = ("classifier", "regressor")

    def __init__(
        self,
        body: Body,
        parts: dict[Kind, tuple[Approximator, ...]],
        inputs: Inputs | None = None,
        *,
        material: Material | None = None,
        dropped: tuple[str, ...] = (),
        **more: Any,
    ) -> None:
        super().__init__(body, parts, inputs, **more)
        self.material = material
        self.dropped = tuple(dropped)
        for name in self.dropped:
            checks.choice(
                "A dropped approximator", name, [part_name(kind, role) for kind in KINDS for role in self.ROLES]
            )
        if material is None and any(name.endswith("classifier") for name in self.dropped):
            raise checks.InputError("A classifier can only be dropped where a material has a mode of its own.")
        if material is not None:
            if self.inputs.space != "contact" or not self.inputs.guess:
                raise checks.InputError(
                    "A material is the guess of networks that see contacts, and that correct a guess."
                )
            law = material.on(body, timestep=self.timestep)
            self.rough_friction, self.rough_cone, self.bounces = law.rough_friction, law.rough_cone, law.bounces

    @classmethod
    def outputs(cls, role: str, kind: Kind) -> int:
        """Number of outputs of an approximator."""
        return 3 if role == "classifier" else OUTPUTS[kind]

    @property
    def recipe(self) -> _core.Recipe:
        """How contacts are described to the approximators."""
        return recipe_of(self.inputs, self.body, self.timestep, self.material)

    def _to_native(self, recipe: _core.Recipe, *by_role: tuple[_core.Approximator, ...]) -> _core.AugmentedLaw:
        classifiers, regressors = by_role
        classifies, corrects = ([part_name(kind, role) not in self.dropped for kind in KINDS] for role in self.ROLES)
        return _core.AugmentedLaw(recipe, list(classifiers), list(regressors), classifies, corrects)


def part_name(kind: Kind, role: str) -> str:
    """An approximator in words, such as "point regressor"."""
    return f"{kind.name.lower()} {role}"


def recipe_of(inputs: Inputs, body: Body, timestep: float, material: Material | None = None) -> _core.Recipe:
    """How contacts of a body are described, with the guess of a material if there is one."""
    return inputs.recipe(body.mass, None if material is None else material.on(body, timestep=timestep).native)
