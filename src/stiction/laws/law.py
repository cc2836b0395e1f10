"""What a contact law is: the classifier C and the regressor R of the paper, and what the physics asks about them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import Mode
from stiction.laws.contacts import Contacts, native_of

GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2]
SHORTEST_STEP, LONGEST_STEP = 1e-9, 1.0  # [s]
MOST_SUBSTEPS = 1000
MOST_GRAVITY = 1e6  # [m/s^2]
SOFTEST = 1.0  # share of its own response by which a contact may yield


class Law:
    """A contact law of one body on the ground.

    Derive from it and write `classify` and `friction`; an object that only has these and `body` will do as well. Both
    are asked about many contacts at once and see them as `stiction.Contacts`. What a law answers cannot break the
    physics: see `stiction.paper`. `examples/own_law.py` is one to begin with.

    body: whose contacts it knows
    timestep: the length of a step that it is meant for [s]
    softness: share of its own response by which a loaded contact yields; 0 is rigid and exact
    gravity: of the world that it belongs to [m/s^2]
    ground: height of the ground plane [m]
    drag: rate [1/s] at which what the body moves in slows it; only an `ImpactLaw` may have one
    substeps: equal parts of a time step, cut further where a corner reaches the ground; 0: whole steps
    any_timestep: whether it also holds for other time steps
    bounces: whether contacts separate faster than not at all
    whole: whether it answers with whole impulses by `respond`, without Algorithm 1, as the paper's baseline does
    rough_friction: (mu_x, mu_y) of a Coulomb law that is roughly this one, a place to begin a search; None: unknown
    rough_cone: its cone, "box" or "round"
    """

    body: Body
    timestep: float = 0.002
    softness: float = 0.0
    gravity: tuple[float, float, float] = GRAVITY
    ground: float = 0.0
    drag: float = 0.0
    substeps: int = 0
    any_timestep: bool = True
    bounces: bool = False
    whole: bool = False
    rough_friction: tuple[float, float] | None = None
    rough_cone: str = "round"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(getattr(self, 'body', None), 'shape', 'no body')})"

    def classify(self, contacts: Contacts) -> ArrayLike:
        """C(q, v1): the mode of each contact, STATIC, DYNAMIC or DETACH, shape (n,)."""
        raise NotImplementedError(f"{type(self).__name__} must define classify.")

    def friction(self, contacts: Contacts, dynamic: NDArray[np.int64]) -> ArrayLike:
        """R(q, v1): friction impulse at the patch's centre of the contacts numbered `dynamic` (k,), shape (k, 3).

        (p_x, p_y [N s], m_z [N m s]). A law that knows the friction of single vertices may return shape (k, 5), with
        the torques (m_x, m_y) that it has about the centre because the vertices lie at unequal depths. What is no
        number counts as no friction.
        """
        raise NotImplementedError(f"{type(self).__name__} must define friction.")

    def respond(self, contacts: Contacts) -> tuple[ArrayLike, ArrayLike]:
        """Of a law of whole impulses: impulses (n, 6) about the centre of mass, and modes (n,), NONE where they are to
        be seen in the motion."""
        raise NotImplementedError(f"{type(self).__name__} must define respond.")

    def outside(self, contacts: Contacts) -> NDArray[np.bool_]:
        """Whether each contact (n,) lies outside of what the law was trained on."""
        return np.zeros(len(contacts), dtype=np.bool_)

    def drawn(self, number: int, seed: int) -> "Law":
        """Laws for `number` bodies, drawn from this law's uncertainty."""
        raise checks.InputError(f"{self!r} does not know its own uncertainty, so that no samples can be drawn from it.")

    @property
    def native(self) -> _core.Law:
        """This law as the native core asks it; one in plain Python is asked by callback."""
        mu = (-1.0, -1.0) if self.rough_friction is None else self.rough_friction
        return _core.PythonLaw(_Callbacks(self), self.softness, self.whole, *mu, self.rough_cone == "round")

    def native_for(self, bodies: slice) -> _core.Law:
        """The same for some bodies of a batch, if they differ, as those of a law that was `drawn` do."""
        return self.native

    @property
    def is_native(self) -> bool:
        """Whether the core knows this law, so that several threads may ask it at once."""
        return False


class NativeLaw(Law):
    """A law that the native core knows; `native` is its form there."""

    def __setattr__(self, name: str, value: Any) -> None:
        if "native" in vars(self) and name != "info":  # made once and kept, it would not follow
            raise checks.InputError(f"{self!r} is in use, so that its {name} cannot be changed: make another law.")
        super().__setattr__(name, value)

    @property
    def is_native(self) -> bool:
        return True

    def classify(self, contacts: Contacts | _core.Contacts) -> NDArray[np.int64]:
        """Mode of each contact, shape (n,)."""
        contacts = native_of(contacts)
        self.native.classify(contacts)
        return contacts.record["mode"].copy()

    def friction(self, contacts: Contacts | _core.Contacts, dynamic: NDArray[np.int64]) -> NDArray[np.float64]:
        """Friction impulse (p_x, p_y, m_z, m_x, m_y) at the patch's centre of contacts that were classified, (k, 5)."""
        contacts = native_of(contacts)
        mode = contacts.record["mode"].copy()
        asked = np.full(len(contacts), Mode.DETACH, dtype=np.int64)
        asked[dynamic] = Mode.DYNAMIC
        contacts.set_mode(asked)
        self.native.friction(contacts)
        contacts.set_mode(mode)
        return contacts.record["friction"][dynamic]

    def respond(self, contacts: Contacts | _core.Contacts) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Impulses (n, 6) about the centre of mass, and modes (n,)."""
        contacts = native_of(contacts)
        self.native.respond(contacts)
        return contacts.record["impulse"].copy(), contacts.record["mode"].copy()

    def outside(self, contacts: Contacts | _core.Contacts) -> NDArray[np.bool_]:
        """Whether each contact (n,) lies outside of what the law was trained on."""
        native, contacts = self.native, native_of(contacts)
        native.classify(contacts)
        return native.outside(contacts)


class _Adapted(Law):
    """An object that has what a law must have, but is not derived from Law."""

    def __init__(self, inner: Any) -> None:
        missing = [name for name in ("body",) if not hasattr(inner, name)]
        questions = ("respond",) if callable(getattr(inner, "respond", None)) else ("classify", "friction")
        missing += [name for name in questions if not callable(getattr(inner, name, None))]
        if missing:
            raise checks.InputError(
                f"A law needs body, classify and friction; {type(inner).__name__} has no {' and no '.join(missing)}."
            )
        self.inner = inner
        self.whole = questions == ("respond",)
        for name in Law.__annotations__:  # its own values stand for those that Law declares
            if name != "whole" and hasattr(inner, name):
                setattr(self, name, getattr(inner, name))

    def classify(self, contacts: Contacts) -> ArrayLike:
        return self.inner.classify(contacts)

    def friction(self, contacts: Contacts, dynamic: NDArray[np.int64]) -> ArrayLike:
        return self.inner.friction(contacts, dynamic)

    def respond(self, contacts: Contacts) -> tuple[ArrayLike, ArrayLike]:
        return self.inner.respond(contacts)

    def outside(self, contacts: Contacts) -> NDArray[np.bool_]:
        own: Any = getattr(self.inner, "outside", None)
        return np.asarray(own(contacts), dtype=np.bool_) if callable(own) else super().outside(contacts)

    def drawn(self, number: int, seed: int) -> Law:
        own: Any = getattr(self.inner, "drawn", None)
        return as_law(own(number, seed)) if callable(own) else super().drawn(number, seed)

    def __repr__(self) -> str:
        return repr(self.inner)


def as_law(law: Any) -> Law:
    """A Law, or one that asks an object with the attributes of a law; what a law must have is checked."""
    if isinstance(law, type):
        raise checks.InputError(f"A law is an object, got the class {law.__name__}: make one of it.")
    if callable(getattr(law, "on", None)) and not hasattr(law, "body"):
        raise checks.InputError(f"{law!r} is a material and no law yet: put it on a body with material.on(body).")
    found = law if isinstance(law, Law) else _Adapted(law)
    body = getattr(found, "body", None)
    if not isinstance(body, Body):
        raise checks.InputError(f"The body of a law must be a stiction.Body, got {type(body).__name__}.")
    checked_softness(found.softness)
    return found


def checked_softness(value: float) -> float:
    """The share of its own response by which a loaded contact yields."""
    softness = checks.non_negative("The softness of a law", value)
    if softness > SOFTEST:
        raise checks.InputError(f"The softness of a law must be at most {SOFTEST:g}, got {softness:g}.")
    return softness


def checked_timestep(value: float) -> float:
    """The length of a time step [s]."""
    timestep = checks.positive("timestep [s]", value)
    if not SHORTEST_STEP <= timestep <= LONGEST_STEP:
        raise checks.InputError(f"timestep must be {SHORTEST_STEP:g} to {LONGEST_STEP:g} s, got {timestep:g} s.")
    return timestep


def checked_gravity(value: ArrayLike) -> NDArray[np.float64]:
    """Gravity (3,) [m/s^2], the same for all bodies."""
    gravity = checks.vector("gravity", value, 3)
    if np.abs(gravity).max() > MOST_GRAVITY:
        raise checks.InputError(f"gravity must lie within {MOST_GRAVITY:g} m/s^2, got {gravity.tolist()}.")
    return gravity


def checked_substeps(value: int) -> int:
    """The number of equal parts of a time step; 0: whole steps."""
    return checks.count("substeps", value, 0, MOST_SUBSTEPS)


def checked_info(value: Any) -> dict[str, Any]:
    """What is known of a law's origin: a copy."""
    if value is not None and not isinstance(value, dict):
        raise checks.InputError(f"The info of a law must be a dict, got {type(value).__name__}.")
    return dict(value or {})


def _numbers(who: str, answer: Any, *shapes: tuple[int, int]) -> NDArray[np.float64]:
    """A law's answer as numbers of one of these shapes."""
    allowed = " or ".join(map(str, shapes))
    try:
        numbers = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise checks.InputError(f"{who} must return numbers of shape {allowed}, got {checks.shown(answer)}.") from error
    if numbers.shape not in shapes:
        raise checks.InputError(f"{who} must return shape {allowed}, got {numbers.shape}.")
    return numbers


class _Callbacks:
    """What the core calls for a law in plain Python: its answers are checked and written into the contacts."""

    def __init__(self, law: Law) -> None:
        self.law = law

    def _shown(self, contacts: _core.Contacts) -> Contacts:
        return Contacts(contacts, self.law.softness)

    def classify(self, contacts: _core.Contacts) -> None:
        mode = np.asarray(self.law.classify(self._shown(contacts)))
        if mode.shape != (len(contacts),) or not np.isin(mode, (Mode.STATIC, Mode.DYNAMIC, Mode.DETACH)).all():
            raise checks.InputError(
                f"A law's classify must return {len(contacts)} modes, each STATIC, DYNAMIC or DETACH, got "
                f"{checks.shown(mode)}."
            )
        contacts.set_mode(mode.astype(np.int64))

    def friction(self, contacts: _core.Contacts) -> None:
        dynamic = np.flatnonzero(contacts.record["mode"] == Mode.DYNAMIC)
        if len(dynamic) == 0:
            return
        shapes = (len(dynamic), 3), (len(dynamic), 5)
        p_f = _numbers("A law's friction", self.law.friction(self._shown(contacts), dynamic), *shapes)
        contacts.set_friction(dynamic, np.pad(p_f, ((0, 0), (0, 5 - p_f.shape[1]))))
        if p_f.shape[1] == 3:
            contacts.tilt()

    def respond(self, contacts: _core.Contacts) -> None:
        answer = self.law.respond(self._shown(contacts))
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise checks.InputError(f"A law's respond must return impulses and modes, got {checks.shown(answer)}.")
        impulse, mode = _numbers("A law's respond", answer[0], (len(contacts), 6)), np.asarray(answer[1])
        if mode.shape != (len(contacts),) or not np.isin(mode, list(Mode)).all():
            raise checks.InputError(
                f"A law's respond must return {len(contacts)} values of Mode, got {checks.shown(mode)}."
            )
        contacts.set_impulse(np.asarray(impulse, dtype=np.float64))
        contacts.set_mode(np.asarray(mode, dtype=np.int64))

    def outside(self, contacts: _core.Contacts) -> NDArray[np.bool_]:
        outside = np.asarray(self.law.outside(self._shown(contacts)))
        if outside.shape != (len(contacts),):
            raise checks.InputError(
                f"A law's outside must return {len(contacts)} truth values, one a contact, got {checks.shown(outside)}."
            )
        return outside.astype(np.bool_)
