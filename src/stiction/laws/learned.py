"""Learned laws: the data-augmented law of the paper, and its purely data-driven baseline."""

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import Kind
from stiction.laws.approximators import Approximator, Network, check_names, from_arrays, taken
from stiction.laws.inputs import KINDS, OUTPUTS, SIZE, WHOLE, Inputs
from stiction.laws.law import NativeLaw, Saved, checked_info, checked_timestep
from stiction.laws.material import Material

HIDDEN = {Kind.POINT: (48, 48), Kind.LINE: (64, 64), Kind.SURFACE: (64, 64)}  # units of the shipped networks


class LearnedLaw(Saved, NativeLaw):
    """A contact law of one body on one ground that was learned from data.

    parts: for each kind of patch, one approximator for each of ROLES
    inputs: how contacts are described to them
    timestep: of the data [s]
    info: what is known about the law's origin: data, seed, command
    """

    KIND: ClassVar[str] = ""  # its name in model files
    ROLES: ClassVar[tuple[str, ...]] = ()
    any_timestep = False
    material: Material | None = None  # whose friction is the guess, instead of Coulomb's

    def __init__(
        self,
        body: Body,
        parts: dict[Kind, tuple[Approximator, ...]],
        inputs: Inputs | None = None,
        *,
        timestep: float = 0.002,
        info: dict[str, Any] | None = None,
    ) -> None:
        self.body = body
        self.parts = parts
        self.inputs = inputs or Inputs()
        self._timestep = checked_timestep(timestep)
        self.info = checked_info(info)
        self.rough_friction, self.rough_cone = self.inputs.friction, self.inputs.cone
        for kind in KINDS:
            for role, part in zip(self.ROLES, parts[kind], strict=True):
                wanted = (self.inputs.size(kind), self.outputs(role, kind))
                got = (part.sizes[0], part.sizes[-1])
                if got != wanted:
                    raise checks.InputError(
                        f"The {role} of a {kind.name.lower()} must have {wanted[0]} inputs and {wanted[1]} outputs, "
                        f"got {got[0]} and {got[1]}."
                    )

    @property
    def timestep(self) -> float:
        """The time step of the data [s]; the law holds for no other."""
        return self._timestep

    @classmethod
    @abstractmethod
    def outputs(cls, role: str, kind: Kind) -> int:
        """Number of outputs of an approximator."""

    @classmethod
    def untrained(cls, body: Body, seed: int = 0):
        """A law with random weights and the shipped size: for benchmarks and safety tests."""
        rng = np.random.default_rng(checks.count("seed", seed, 0))
        parts: dict[Kind, tuple[Approximator, ...]] = {
            kind: tuple(Network.random([SIZE[kind], *HIDDEN[kind], cls.outputs(role, kind)], rng) for role in cls.ROLES)
            for kind in KINDS
        }
        return cls(body, parts, info={"untrained": seed})

    @cached_property
    def native(self) -> _core.Law:
        """The law in the native core, with copies of all arrays, which are read-only from then on."""
        for part in (part for parts in self.parts.values() for part in parts):
            part.freeze()
        return self._to_native(self.recipe, *zip(*([part.native for part in self.parts[kind]] for kind in KINDS)))

    @property
    def recipe(self) -> _core.Recipe:
        """How contacts are described to the approximators."""
        return recipe_of(self.inputs, self.body, self.timestep, self.material)

    @abstractmethod
    def _to_native(self, recipe: _core.Recipe, *by_role: tuple[_core.Approximator, ...]) -> _core.Law:
        """The law from its recipe and, for each role, the approximators of the kinds of patches."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "native"}  # rebuilt on demand

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Description for JSON, and tensors, for a model file."""
        tensors = {
            f"{kind.name.lower()}.{role}.{name}": np.ascontiguousarray(array)
            for kind in KINDS
            for role, part in zip(self.ROLES, self.parts[kind], strict=True)
            for name, array in part.arrays().items()
        }
        body, inputs = self.body.to_dict(), self.inputs.to_dict()
        names = {"kind": self.KIND, "body": body, "timestep": self.timestep, "inputs": inputs, "info": self.info}
        return names, tensors

    @classmethod
    def from_parts(cls, description: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Self:
        """The law that `to_parts` described."""
        rest = dict(tensors)
        parts = {
            kind: tuple(from_arrays(taken(rest, f"{kind.name.lower()}.{role}.")) for role in cls.ROLES)
            for kind in KINDS
        }
        inputs = Inputs.from_dict(description.pop("inputs"))
        if "material" in description:
            description["material"] = Material.from_parts(description["material"], taken(rest, "material."))
        check_names("A law", rest, [])
        return cls(Body.from_dict(description.pop("body")), parts, inputs, **description)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.body.shape}, fold={self.inputs.fold!r}, cone={self.inputs.cone!r})"


class AugmentedLaw(LearnedLaw):
    """The law of the paper, with a classifier C and a regressor R for each kind of patch.

    C scores STATIC, DYNAMIC and DETACH; R corrects the guessed friction of a dynamic contact, both divided by the
    normal impulse.

    material: whose friction is the guess, instead of Coulomb's, and whose mode replaces a dropped classifier
    dropped: approximators that are not used, such as "point regressor", because the guess alone predicts better
    """

    KIND, ROLES = "augmented", ("classifier", "regressor")

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
            raise checks.InputError("A classifier can be dropped only if a material predicts the mode.")
        if material is not None:
            if self.inputs.space != "contact" or not self.inputs.guess:
                raise checks.InputError("A material needs inputs in contact space that correct a guess.")
            law = material.on(body, timestep=self.timestep)
            self.rough_friction, self.rough_cone, self.bounces = law.rough_friction, law.rough_cone, law.bounces

    @classmethod
    def outputs(cls, role: str, kind: Kind) -> int:
        """Number of outputs of an approximator."""
        return 3 if role == "classifier" else OUTPUTS[kind]

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Description for JSON, and tensors, for a model file."""
        description, tensors = super().to_parts()
        if self.dropped:
            description["dropped"] = list(self.dropped)
        if self.material is not None:
            description["material"], parts = self.material.to_parts()
            tensors |= {f"material.{name}": array for name, array in parts.items()}
        return description, tensors

    def _to_native(self, recipe: _core.Recipe, *by_role: tuple[_core.Approximator, ...]) -> _core.AugmentedLaw:
        classifiers, regressors = by_role
        classifies, corrects = ([part_name(kind, role) not in self.dropped for kind in KINDS] for role in self.ROLES)
        return _core.AugmentedLaw(recipe, list(classifiers), list(regressors), classifies, corrects)


def part_name(kind: Kind, role: str) -> str:
    """The name of an approximator, such as "point regressor"."""
    return f"{kind.name.lower()} {role}"


def recipe_of(inputs: Inputs, body: Body, timestep: float, material: Material | None = None) -> _core.Recipe:
    """How contacts of a body are described, with the guess of a material if one is given."""
    return inputs.recipe(body.mass, None if material is None else material.on(body, timestep=timestep).native)


class StatisticalLaw(LearnedLaw):
    """The purely data-driven baseline (PDD of the paper): regression of the whole impulse, without physics."""

    KIND, ROLES = "statistical", ("impulse",)
    whole = True

    @classmethod
    def outputs(cls, role: str, kind: Kind) -> int:
        """Number of outputs of an approximator."""
        return WHOLE

    def _to_native(self, recipe: _core.Recipe, *by_role: tuple[_core.Approximator, ...]) -> _core.StatisticalLaw:
        return _core.StatisticalLaw(recipe, list(by_role[0]))
