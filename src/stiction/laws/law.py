"""Contact laws: the classifier C and the regressor R of the paper, and how the core calls them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import Mode
from stiction.laws.contacts import Contacts, native_of

GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2]
MAX_TIMESTEP = 0.1  # [s], also of large bodies


class LawLike(Protocol):
    """Any object with the attributes of a Law: `body`, `classify` and `friction`, or `body` and `respond`."""

    @property
    def body(self) -> Body: ...


class Law:
    """A contact law of one body on the ground.

    Derive from it and write `classify` and `friction`; an object that only has these and `body` works as well. Both
    are called for many contacts at once, which they see as `stiction.Contacts`. Whatever a law returns, the physics
    stays valid: see `stiction.paper`. `examples/own_law.py` is a template.

    body: whose contacts it describes
    timestep: the time step that it is meant for [s]
    softness: compliance of a loaded contact relative to its inverse effective inertia; 0 is rigid and exact
    gravity: [m/s^2]
    ground: height of the ground plane [m]
    drag: linear damping rate [1/s] of the medium; only an `ImpactLaw` may have one
    substeps: equal parts of a time step, cut further where a corner reaches the ground; 0: whole steps
    any_timestep: whether it also holds for other time steps
    bounces: whether contacts have restitution
    whole: whether it returns whole impulses by `respond`, without Algorithm 1, as the paper's baseline does
    rough_friction: (mu_x, mu_y) of a similar Coulomb law, as an initial guess for searches; None: unknown
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
        its torque impulses (m_x, m_y) about the centre because of unequal depths. Values that are not finite count as
        zero.
        """
        raise NotImplementedError(f"{type(self).__name__} must define friction.")

    def respond(self, contacts: Contacts) -> tuple[ArrayLike, ArrayLike]:
        """For a law of whole impulses: impulses (n, 6) about the centre of mass, and modes (n,), NONE where they are to
        be derived from the motion."""
        raise NotImplementedError(f"{type(self).__name__} must define respond.")

    def outside(self, contacts: Contacts) -> NDArray[np.bool_]:
        """Whether each contact (n,) lies outside the range of the training data."""
        return np.zeros(len(contacts), dtype=np.bool_)

    def drawn(self, number: int, seed: int) -> "Law":
        """Laws for `number` bodies, drawn from this law's uncertainty."""
        raise checks.InputError(f"{self!r} has no known uncertainty, so that no samples can be drawn from it.")

    @property
    def native(self) -> _core.Law:
        """This law in the native core, which calls a law in plain Python back."""
        mu = (-1.0, -1.0) if self.rough_friction is None else self.rough_friction
        return _core.PythonLaw(_Callbacks(self), self.softness, self.whole, *mu, self.rough_cone == "round")

    def native_for(self, bodies: slice) -> _core.Law:
        """The same for some bodies of a batch, which differ if the law was `drawn`."""
        return self.native

    @property
    def is_native(self) -> bool:
        """Whether this law runs in the core, so that several threads may use it at once."""
        return False


class NativeLaw(Law):
    """A law that runs in the native core, as `native`."""

    def __setattr__(self, name: str, value: Any) -> None:
        if "native" in vars(self) and name != "info":  # it is built once and would not follow
            raise checks.InputError(f"{self!r} is in use: its {name} cannot be changed any more; make another law.")
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
        evaluated = np.full(len(contacts), Mode.DETACH, dtype=np.int64)
        evaluated[dynamic] = Mode.DYNAMIC
        contacts.set_mode(evaluated)
        self.native.friction(contacts)
        contacts.set_mode(mode)
        return contacts.record["friction"][dynamic]

    def respond(self, contacts: Contacts | _core.Contacts) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Impulses (n, 6) about the centre of mass, and modes (n,)."""
        contacts = native_of(contacts)
        self.native.respond(contacts)
        return contacts.record["impulse"].copy(), contacts.record["mode"].copy()

    def outside(self, contacts: Contacts | _core.Contacts) -> NDArray[np.bool_]:
        """Whether each contact (n,) lies outside the range of the training data."""
        native, contacts = self.native, native_of(contacts)
        native.classify(contacts)
        return native.outside(contacts)


class Saved:
    """A law or material that model files can hold, by its `to_parts`."""

    def save(self, path: str | Path) -> None:
        """Write it to a model file."""
        from stiction.laws.modelfile import save  # which imports this module

        save(self, path)


class _Adapted(Law):
    """An object that has the attributes of a law, but is not derived from Law."""

    def __init__(self, inner: Any) -> None:
        methods = ("respond",) if callable(getattr(inner, "respond", None)) else ("classify", "friction")
        missing = [] if hasattr(inner, "body") else ["body"]
        missing += [name for name in methods if not callable(getattr(inner, name, None))]
        if missing:
            raise checks.InputError(
                f"A law needs body, classify and friction; {type(inner).__name__} has no {' and no '.join(missing)}."
            )
        self.inner = inner
        for name in (*Law.__annotations__, *methods, "outside"):
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))
        self.whole = methods == ("respond",)

    def drawn(self, number: int, seed: int) -> Law:
        draw: Any = getattr(self.inner, "drawn", None)
        return as_law(draw(number, seed)) if callable(draw) else super().drawn(number, seed)

    def __repr__(self) -> str:
        return repr(self.inner)


def as_law(law: Any) -> Law:
    """`law` as a checked Law; any object with the attributes of a law is accepted."""
    if isinstance(law, type):
        raise checks.InputError(f"A law must be an object, got the class {law.__name__}: make an instance of it.")
    if callable(getattr(law, "on", None)) and not hasattr(law, "body"):
        raise checks.InputError(f"{law!r} is a material and no law yet: put it on a body with material.on(body).")
    found = law if isinstance(law, Law) else _Adapted(law)
    body = getattr(found, "body", None)
    if not isinstance(body, Body):
        raise checks.InputError(f"The body of a law must be a stiction.Body, got {type(body).__name__}.")
    checked_softness(found.softness)
    return found


def checked_softness(value: float) -> float:
    """The compliance of a loaded contact relative to its inverse effective inertia."""
    return checks.between("The softness of a law", value, 0, 1)


def checked_timestep(value: float, body: Body | None = None, gravity: ArrayLike = GRAVITY, substeps: int = 1) -> float:
    """The length of a time step [s]; for a body, short enough to resolve its fall."""
    h = checks.between("timestep [s]", checks.positive("timestep [s]", value), 1e-9, 1)
    if body is None:
        return h
    fall = float(np.sqrt(body.diameter / max(float(np.linalg.norm(gravity)), 1e-300)))  # [s], by half its size
    longest = min(MAX_TIMESTEP, max(1, substeps) * fall)
    if h > longest:
        raise checks.InputError(
            f"timestep [s] must be at most {longest:.2g} for this body, {body.diameter:.3g} m in size: longer steps do "
            f"not resolve its fall; got {h:g}."
        )
    return h


def checked_gravity(value: ArrayLike) -> NDArray[np.float64]:
    """Gravity (3,) [m/s^2], the same for all bodies."""
    gravity = checks.vector("gravity", value, 3)
    if np.abs(gravity).max() > 1e6:
        raise checks.InputError(f"gravity must lie within 1e+06 m/s^2, got {gravity.tolist()}.")
    return gravity


def checked_substeps(value: int) -> int:
    """The number of equal parts of a time step; 0: whole steps."""
    return checks.count("substeps", value, 0, 1000)


def checked_info(value: Any) -> dict[str, Any]:
    """A copy of what is known about a law's origin."""
    if value is not None and not isinstance(value, dict):
        raise checks.InputError(f"The info of a law must be a dict, got {type(value).__name__}.")
    return dict(value or {})


def _numbers(name: str, answer: Any, *shapes: tuple[int, int]) -> NDArray[np.float64]:
    """What a law's method `name` returned, as numbers of one of these shapes."""
    allowed = " or ".join(map(str, shapes))
    numbers = checks.numbers(f"A law's {name}", answer, f"numbers of shape {allowed}")
    if numbers.shape not in shapes:
        raise checks.InputError(f"A law's {name} must return shape {allowed}, got {numbers.shape}.")
    return numbers


def _modes(name: str, answer: Any, number: int, allowed: Sequence[Mode]) -> NDArray[np.int64]:
    """What a law's method `name` returned, as modes of that number of contacts."""
    modes = np.asarray(answer)
    if modes.shape != (number,) or not np.isin(modes, allowed).all():
        names = ", ".join(mode.name for mode in allowed)
        raise checks.InputError(f"A law's {name} must return {number} modes of {names}, got {checks.shown(modes)}.")
    return modes.astype(np.int64)


class _Callbacks:
    """What the core calls for a law in plain Python: checks its results and writes them into the contacts."""

    def __init__(self, law: Law) -> None:
        self.law = law

    def _view(self, contacts: _core.Contacts) -> Contacts:
        return Contacts(contacts, self.law.softness)

    def classify(self, contacts: _core.Contacts) -> None:
        answer, allowed = self.law.classify(self._view(contacts)), (Mode.STATIC, Mode.DYNAMIC, Mode.DETACH)
        contacts.set_mode(_modes("classify", answer, len(contacts), allowed))

    def friction(self, contacts: _core.Contacts) -> None:
        dynamic = np.flatnonzero(contacts.record["mode"] == Mode.DYNAMIC)
        if len(dynamic) == 0:
            return
        shapes = (len(dynamic), 3), (len(dynamic), 5)
        p_f = _numbers("friction", self.law.friction(self._view(contacts), dynamic), *shapes)
        contacts.set_friction(dynamic, np.pad(p_f, ((0, 0), (0, 5 - p_f.shape[1]))))
        if p_f.shape[1] == 3:
            contacts.tilt()

    def respond(self, contacts: _core.Contacts) -> None:
        answer = self.law.respond(self._view(contacts))
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise checks.InputError(f"A law's respond must return impulses and modes, got {checks.shown(answer)}.")
        contacts.set_impulse(_numbers("respond", answer[0], (len(contacts), 6)))
        contacts.set_mode(_modes("respond", answer[1], len(contacts), list(Mode)))

    def outside(self, contacts: _core.Contacts) -> NDArray[np.bool_]:
        outside = np.asarray(self.law.outside(self._view(contacts)))
        if outside.shape != (len(contacts),):
            raise checks.InputError(
                f"A law's outside must return {len(contacts)} truth values, one per contact, got "
                f"{checks.shown(outside)}."
            )
        return outside.astype(np.bool_)
