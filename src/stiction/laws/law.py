"""What a contact law is: the classifier C and the regressor R of the paper, and what the physics asks about them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import Mode

GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2]


class Law:
    """A contact law of one body on the ground.

    Derive from it and write `classify` and `friction`; an object that only has these and `body` will do as well. What a
    law answers cannot break the physics: see `stiction.paper`.

    body: whose contacts it knows
    timestep: the length of a step that it is meant for [s]
    softness: share of its own response by which a loaded contact yields; 0 is rigid and exact
    gravity: of the world that it belongs to [m/s^2]
    ground: height of the ground plane [m]
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
    substeps: int = 0
    any_timestep: bool = True
    bounces: bool = False
    whole: bool = False
    rough_friction: tuple[float, float] | None = None
    rough_cone: str = "round"

    def classify(self, contacts: _core.Contacts) -> ArrayLike:
        """C(q, v1): Mode of each contact, shape (n,). `contacts.record` has one row a contact."""
        raise NotImplementedError(f"{type(self).__name__} must define classify.")

    def friction(self, contacts: _core.Contacts, dynamic: NDArray[np.int64]) -> ArrayLike:
        """R(q, v1): friction impulse at the patch's centre of the contacts numbered `dynamic` (k,), shape (k, 3).

        (p_x, p_y [N s], m_z [N m s]). A law that knows the friction of single vertices may return shape (k, 5), with
        the torques (m_x, m_y) that it has about the centre because the vertices lie at unequal depths. What is no
        number counts as no friction.
        """
        raise NotImplementedError(f"{type(self).__name__} must define friction.")

    def respond(self, contacts: _core.Contacts) -> tuple[ArrayLike, ArrayLike]:
        """Of a law of whole impulses: impulses (n, 6) about the centre of mass, and modes (n,), NONE where they are to
        be seen in the motion."""
        raise NotImplementedError(f"{type(self).__name__} must define respond.")

    def outside(self, contacts: _core.Contacts) -> NDArray[np.bool_]:
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

    @property
    def is_native(self) -> bool:
        return True

    def classify(self, contacts: _core.Contacts) -> NDArray[np.int64]:
        """Mode of each contact, shape (n,)."""
        self.native.classify(contacts)
        return contacts.record["mode"].copy()

    def friction(self, contacts: _core.Contacts, dynamic: NDArray[np.int64]) -> NDArray[np.float64]:
        """Friction impulse (p_x, p_y, m_z, m_x, m_y) at the patch's centre of contacts that were classified, (k, 5)."""
        mode = contacts.record["mode"].copy()
        asked = np.full(len(contacts), Mode.DETACH, dtype=np.int64)
        asked[dynamic] = Mode.DYNAMIC
        contacts.set_mode(asked)
        self.native.friction(contacts)
        contacts.set_mode(mode)
        return contacts.record["friction"][dynamic]

    def respond(self, contacts: _core.Contacts) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Impulses (n, 6) about the centre of mass, and modes (n,)."""
        self.native.respond(contacts)
        return contacts.record["impulse"].copy(), contacts.record["mode"].copy()

    def outside(self, contacts: _core.Contacts) -> NDArray[np.bool_]:
        """Whether each contact (n,) lies outside of what the law was trained on."""
        native = self.native
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

    def classify(self, contacts: _core.Contacts) -> ArrayLike:
        return self.inner.classify(contacts)

    def friction(self, contacts: _core.Contacts, dynamic: NDArray[np.int64]) -> ArrayLike:
        return self.inner.friction(contacts, dynamic)

    def respond(self, contacts: _core.Contacts) -> tuple[ArrayLike, ArrayLike]:
        return self.inner.respond(contacts)

    def outside(self, contacts: _core.Contacts) -> NDArray[np.bool_]:
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
    checks.non_negative("The softness of a law", found.softness)
    return found


def _numbers(who: str, answer: Any, *shapes: tuple[int, int]) -> NDArray[np.float64]:
    """A law's answer as numbers of one of these shapes."""
    allowed = " or ".join(map(str, shapes))
    try:
        numbers = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise checks.InputError(f"{who} must return numbers of shape {allowed}, got {answer!r:.80}.") from error
    if numbers.shape not in shapes:
        raise checks.InputError(f"{who} must return shape {allowed}, got {numbers.shape}.")
    return numbers


class _Callbacks:
    """What the core calls for a law in plain Python: its answers are checked and written into the contacts."""

    def __init__(self, law: Law) -> None:
        self.law = law

    def classify(self, contacts: _core.Contacts) -> None:
        mode = np.asarray(self.law.classify(contacts))
        if mode.shape != (len(contacts),) or not np.isin(mode, (Mode.STATIC, Mode.DYNAMIC, Mode.DETACH)).all():
            raise checks.InputError(
                f"A law's classify must return {len(contacts)} modes, each STATIC, DYNAMIC or DETACH, got {mode!r:.80}."
            )
        contacts.set_mode(mode.astype(np.int64))

    def friction(self, contacts: _core.Contacts) -> None:
        dynamic = np.flatnonzero(contacts.record["mode"] == Mode.DYNAMIC)
        if len(dynamic) == 0:
            return
        shapes = (len(dynamic), 3), (len(dynamic), 5)
        p_f = _numbers("A law's friction", self.law.friction(contacts, dynamic), *shapes)
        contacts.set_friction(dynamic, np.pad(p_f, ((0, 0), (0, 5 - p_f.shape[1]))))
        if p_f.shape[1] == 3:
            contacts.tilt()

    def respond(self, contacts: _core.Contacts) -> None:
        answer = self.law.respond(contacts)
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise checks.InputError(f"A law's respond must return impulses and modes, got {answer!r:.80}.")
        impulse, mode = _numbers("A law's respond", answer[0], (len(contacts), 6)), np.asarray(answer[1])
        if mode.shape != (len(contacts),) or not np.isin(mode, list(Mode)).all():
            raise checks.InputError(f"A law's respond must return {len(contacts)} values of Mode, got {mode!r:.80}.")
        contacts.set_impulse(np.asarray(impulse, dtype=np.float64))
        contacts.set_mode(np.asarray(mode, dtype=np.int64))

    def outside(self, contacts: _core.Contacts) -> NDArray[np.bool_]:
        outside = np.asarray(self.law.outside(contacts))
        if outside.shape != (len(contacts),):
            raise checks.InputError(
                f"A law's outside must return {len(contacts)} truth values, one a contact, got {outside!r:.80}."
            )
        return outside.astype(np.bool_)
