import enum
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Annotated, Any, overload

import numpy
from numpy.typing import NDArray

LEVEL: str
baseline: ModuleType
v3: ModuleType

def has_avx2() -> bool:
    """Whether this processor has AVX2 and fused multiply-add."""

class Hull:
    """The convex hull of a body, prepared for contact queries."""

    def __init__(
        self,
        arg0: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)],
        arg1: Sequence[Sequence[int]],
        arg2: float,
        arg3: Annotated[NDArray[numpy.float64], dict(shape=(3, 3), order="C", device="cpu", writable=False)],
        arg4: bool,
        arg5: float,
        /,
    ) -> None: ...
    @property
    def diameter(self) -> float:
        """Greatest extent [m]."""

class ContactMemory:
    """Memory of contacts."""

class Contacts:
    """Contacts of some bodies in one step, the batch that laws evaluate."""

    def __len__(self) -> int: ...
    @property
    def record(self) -> numpy.recarray[Any, Any]:
        """One row a contact, a view that can only be read: what laws look at."""

    @property
    def inverse_inertia(self) -> NDArray[numpy.float64]:
        """M^-1 of each contact, (n, 6, 6)."""

    def points(self, arg: int, /) -> NDArray[numpy.float64]:
        """
        Contact points (k, 3) of contact i, relative to the centre of mass [m].
        """

    def vertices(self, arg: int, /) -> NDArray[numpy.int64]:
        """Numbers (k,) of the touching vertices of contact i."""

    def normal_impulse(
        self,
        i: int,
        twist: Annotated[NDArray[numpy.float64], dict(shape=(6), order="C", device="cpu", writable=False)],
        softness: float = 0.0,
        rate: float = 0.0,
        cap: float = 0.0,
    ) -> tuple:
        """
        The frictionless normal impulse (p_z, m_x, m_y) of contact i for a twist before it.
        """

    def static_impulse(self, arg: int, /) -> NDArray[numpy.float64]:
        """The impulse (6,) that stops the patch of contact i."""

    def set_mode(
        self, arg: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)], /
    ) -> None:
        """Write the mode of each contact, (n,)."""

    def set_friction(
        self,
        arg0: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        arg1: Annotated[NDArray[numpy.float64], dict(shape=(None, 5), order="C", device="cpu", writable=False)],
        /,
    ) -> None:
        """Write the friction (k, 5) of the contacts with these numbers (k,)."""

    def set_impulse(
        self, arg: Annotated[NDArray[numpy.float64], dict(shape=(None, 6), order="C", device="cpu", writable=False)], /
    ) -> None:
        """Write the impulse of each contact, (n, 6)."""

    def set_velocity(
        self, arg: Annotated[NDArray[numpy.float64], dict(shape=(None, 6), order="C", device="cpu", writable=False)], /
    ) -> None:
        """Ask about other twists v1 of the same contacts, (n, 6)."""

    def tilt(self) -> None:
        """
        Add the torques that the spin of each dynamic contact's friction has where its ends lie at unequal depths.
        """

    def observe(
        self, arg: Annotated[NDArray[numpy.float64], dict(shape=(None, 6), order="C", device="cpu", writable=False)], /
    ) -> tuple:
        """
        Impulses (n, 6) and modes (n,) of contacts, from the twists after the step (n, 6).
        """

def touching(
    hull: Hull,
    position: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)],
    quaternion: Annotated[NDArray[numpy.float64], dict(shape=(None, 4), order="C", device="cpu", writable=False)],
    twist: Annotated[NDArray[numpy.float64], dict(shape=(None, 6), order="C", device="cpu", writable=False)],
    timestep: float,
    gravity: Annotated[NDArray[numpy.float64], dict(shape=(3), order="C", device="cpu", writable=False)],
    touch: float = 5e-09,
) -> Contacts:
    """
    The contacts of bodies at the start of a step, with v1; states are at the centre of mass.
    """

def to_centre_of_mass(
    arg0: Annotated[NDArray[numpy.float64], dict(shape=(3), order="C", device="cpu", writable=False)],
    arg1: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)],
    arg2: Annotated[NDArray[numpy.float64], dict(shape=(None, 4), order="C", device="cpu", writable=False)],
    arg3: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)],
    arg4: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)],
    /,
) -> tuple:
    """
    States of body frames as those of their centres of mass: position, quaternion, twist.
    """

def to_body_frame(
    arg0: Annotated[NDArray[numpy.float64], dict(shape=(3), order="C", device="cpu", writable=False)],
    arg1: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)],
    arg2: Annotated[NDArray[numpy.float64], dict(shape=(None, 4), order="C", device="cpu", writable=False)],
    arg3: Annotated[NDArray[numpy.float64], dict(shape=(None, 6), order="C", device="cpu", writable=False)],
    /,
) -> tuple:
    """
    States of centres of mass as those of body frames: position, velocity, spin.
    """

def lowest_heights(
    arg0: Hull,
    arg1: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)],
    arg2: Annotated[NDArray[numpy.float64], dict(shape=(None, 4), order="C", device="cpu", writable=False)],
    /,
) -> NDArray[numpy.float64]:
    """Height of the lowest point of each body [m], (n,)."""

def free_twists(
    arg0: Hull,
    arg1: Annotated[NDArray[numpy.float64], dict(shape=(None, 4), order="C", device="cpu", writable=False)],
    arg2: Annotated[NDArray[numpy.float64], dict(shape=(None, 6), order="C", device="cpu", writable=False)],
    arg3: float,
    arg4: Annotated[NDArray[numpy.float64], dict(shape=(3), order="C", device="cpu", writable=False)],
    /,
) -> NDArray[numpy.float64]:
    """v1 (n, 6) of bodies, wherever the ground is."""

TOUCH: float = 5e-09

DETACH_IMPULSE: float = 1e-08

class Law:
    """
    What the data decides: the classifier C and the regressor R of the paper.
    """

    @property
    def softness(self) -> float:
        """Share of its own response by which a loaded contact yields."""

    def classify(self, arg: Contacts, /) -> None:
        """Write the mode of each contact into its record."""

    def friction(self, arg: Contacts, /) -> None:
        """Write the friction of each dynamic contact into its record."""

    def respond(self, arg: Contacts, /) -> None:
        """Write impulse and mode of each contact into its record: Algorithm 1."""

    def outside(self, arg: Contacts, /) -> NDArray[numpy.bool_]:
        """
        Whether each contact, as classified last, is outside of the law's training range, (n,).
        """

class PythonLaw(Law):
    """A law in plain Python."""

    def __init__(self, arg0: object, arg1: float, arg2: bool, arg3: float, arg4: float, arg5: bool, /) -> None: ...

class Fold(enum.Enum):
    NONE = 0

    MIRROR = 1

    MIRROR_SWAP = 2

    HEADING = 3

class Inputs(enum.Enum):
    CONTACT = 0

    MATRIX = 1

    QUATERNION = 2

    EULER = 3

    AXIS_ANGLE = 4

class Recipe:
    """How contacts are described to a learned law."""

    def __init__(
        self,
        *,
        fold: Fold,
        mu_x: float,
        mu_y: float,
        round: bool,
        guess: bool,
        scaled: bool,
        inputs: Inputs,
        centre: bool,
        slip: bool,
        mass: float,
        absolute: bool = False,
        material: Law | None = None,
    ) -> None: ...

FEATURES: tuple = (18, 53, 71)

ABSOLUTE_FEATURES: tuple = (2, 6, 10)

def describe(arg0: Contacts, arg1: Recipe, /) -> None:
    """
    Write the description of each contact that needs a normal impulse into its record.
    """

def targets(
    arg0: Contacts,
    arg1: Annotated[NDArray[numpy.float64], dict(shape=(None, 6), order="C", device="cpu", writable=False)],
    /,
) -> tuple:
    """
    What a regressor should add to the guess (n, 3), and whole impulses in standard form.
    """

def friction_from(
    arg0: Contacts,
    arg1: int,
    arg2: Annotated[NDArray[numpy.float64], dict(shape=(3), order="C", device="cpu", writable=False)],
    /,
) -> tuple:
    """
    The friction (p_x, p_y, m_z) of contact i for what a regressor adds to its guess.
    """

def impulse_from(
    arg0: Contacts,
    arg1: int,
    arg2: Annotated[NDArray[numpy.float64], dict(shape=(6), order="C", device="cpu", writable=False)],
    /,
) -> NDArray[numpy.float64]:
    """The impulse (6,) of contact i from its standard form."""

class Approximator:
    """A network, kernel machine or trees."""

    @property
    def inputs(self) -> int: ...
    def __call__(
        self,
        arg: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        /,
    ) -> NDArray[numpy.float64]:
        """
        Answers (n, 6) for descriptions (n, inputs); what an approximator does not have is 0.
        """

WIDEST: int = 512

FARTHEST: float = 6.0

def network(
    arg0: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    arg1: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    arg2: Sequence[
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)]
    ],
    arg3: Sequence[Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)]],
    /,
) -> Approximator:
    """
    A network from the mean and scale of its inputs, its weights and its biases.
    """

def kernel_machine(
    mean: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    centres: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    gamma: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Approximator:
    """A kernel machine from the arrays of laws.kernels.KernelMachine."""

def trees(
    mean: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    output: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threshold: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Approximator:
    """Trees from the arrays of laws.trees.Trees, which must lead to leaves."""

LEAF: int = -1

class AugmentedLaw(Law):
    """The data-augmented law of the paper."""

    def __init__(
        self,
        recipe: Recipe,
        classifiers: Sequence[Approximator],
        regressors: Sequence[Approximator],
        classifies: Sequence[bool],
        corrects: Sequence[bool],
    ) -> None: ...

class StatisticalLaw(Law):
    """The purely data-driven baseline of the paper."""

    def __init__(self, arg0: Recipe, arg1: Sequence[Approximator], /) -> None: ...

MOST_VISCOUS: float = 10.0

RESTITUTION_SPEED: float = 0.5

def material_points(vertices: int) -> int:
    """
    Number of points at which a material is solved on a patch with this number of vertices.
    """

class Spline:
    """
    A cubic B-spline over equidistant knots, held outside of what was seen.
    """

    def __init__(self, begin: float, step: float, coefficients: Sequence[float], low: float, high: float) -> None: ...
    def __call__(
        self, arg: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)], /
    ) -> NDArray[numpy.float64]:
        """Values (n,) at x (n,)."""

class FrictionMap:
    """Friction at one point by direction, speed and load."""

    def __init__(
        self,
        *,
        scale: float,
        stretch_x: float,
        stretch_y: float,
        cosines: Sequence[float],
        sines: Sequence[float],
        speed: Spline,
        load: Spline,
        viscosity: float,
        round: bool,
        frictionless_limit: bool,
        torsion: float = 0.0,
        rolling: float = 0.0,
        texture: Sequence[float] = [],
    ) -> None: ...
    def __call__(
        self,
        direction: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        speed: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        load: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> NDArray[numpy.float64]:
        """
        Coefficients (n,) for directions of slip [rad], speeds [m/s] and loads [N], each (n,).
        """

class MaterialLaw(Law):
    """Friction at the points of a patch, by a friction map."""

    def __init__(
        self,
        *,
        map: FrictionMap,
        e0: float,
        fall: float,
        threshold: float,
        body_axes: bool,
        softness: float,
        mu_x: float,
        mu_y: float,
        reference: bool = False,
    ) -> None: ...
    def impulses(self, contacts: Contacts, i: int) -> tuple:
        """
        Points (m, 3) of contact i relative to the centre of mass [m], and their impulses (m, 3) [N s]; none where nothing approaches.
        """

    @property
    def unsolved(self) -> int:
        """Contacts so far for which no solution was found."""

class ImpactLaw(Law):
    """Impacts that bounce; friction that follows the slip meanwhile."""

    def __init__(
        self,
        *,
        restitution: float,
        restitution_fall: float,
        restitution_threshold: float,
        restitution_lever: float,
        friction: float,
        friction_loaded: float,
        friction_load: float,
        friction_rise: float,
        spin: float,
        lag: float,
        memory: int,
        drag: float,
        each: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        friction_factor: FrictionMap,
        restitution_factor: Spline,
    ) -> None:
        """
        each: rows of factors of friction and restitution, then turns of friction [rad]; one a body, or one for all. friction_factor: a map whose coefficient is a factor of friction. restitution_factor: logarithm of that of restitution, by the logarithm of the approach speed [m/s].
        """

class Links:
    """Links of a multibody system that have a law, and Algorithm 2 for them."""

    def __init__(self, laws: Sequence[Law], hulls: Sequence[Hull], timestep: float = 0.002) -> None: ...
    def __len__(self) -> int: ...
    def touch(
        self,
        position: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)],
        rotation: Annotated[NDArray[numpy.float64], dict(shape=(None, 3, 3), order="C", device="cpu", writable=False)],
        before: Annotated[NDArray[numpy.float64], dict(shape=(None, 6), order="C", device="cpu", writable=False)]
        | None = None,
    ) -> NDArray[numpy.int64]:
        """
        Numbers of the links that touch the ground, in the order in which `solve` wants them.
        """

    @property
    def contacts(self) -> Contacts:
        """Contacts of the last `touch`; the index of each is its link's number."""

    def solve(
        self,
        V_free: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        L: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        tolerance: float,
    ) -> tuple:
        """
        Algorithm 2: (impulse (n, 6), mode (n,), outside (n,), evaluations, solved).
        """

    def begin(
        self,
        V_free: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        L: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ) -> object:
        """
        For another solver: impulses (6 n,) as if all that is pressed were to stick; None if nothing is.
        """

    def ask(
        self, p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> NDArray[numpy.float64]:
        """
        H(V1) for impulses p (6 n,), V1 = V_free + (L - M_b^-1) p: Algorithm 1 for each link.
        """

    def accept(
        self,
        p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        evaluations: int,
        solved: bool,
    ) -> None:
        """
        Take the impulses p (6 n,) of another solver, at which H was evaluated last, as the solution.
        """

    @property
    def solution(self) -> tuple:
        """What `solve` gave last."""

class Engine:
    """A model and its data, which must outlive it."""

class EngineLayout:
    """
    Addresses of MuJoCo's functions, and offsets of the fields of its structs.
    """

    def __init__(
        self,
        *,
        functions: Mapping[str, int],
        constants: Mapping[str, int],
        model: Mapping[str, int],
        data: Mapping[str, int],
        contact: Mapping[str, int],
    ) -> None: ...
    def engine(self, model: int, data: int, damping: Mapping[str, int], state_size: int) -> Engine:
        """The engine of the structs at these addresses."""

class Outcome(enum.Enum):
    """Result of a time step: see core/mujoco/step.hpp."""

    DONE = 0

    NOT_FINITE = 1

    RESET = 2

    UNSUPPORTED_INTEGRATOR = 3

    BAD_TIMESTEP = 4

    SLEEP = 5

    BAD_CONTROL = 6

    OVERFLOW = 7

class PairLaw:
    """Friction and restitution between two surfaces."""

    def __init__(
        self,
        *,
        map: FrictionMap,
        e0: float,
        fall: float,
        threshold: float,
        body_axes: bool,
        n_sub_impacts: int,
        impact_time: float,
        lever: float,
        lag: float,
        names_both: bool,
        even_faces: bool,
    ) -> None: ...

class PairTable:
    """The law of each pair of geoms: see core/mujoco/contact_point.hpp."""

    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(
        self,
        *,
        class_of: Sequence[int],
        n_classes: int,
        n_unnamed: int,
        laws: Sequence[int],
        gaps: Sequence[float],
        pair_gaps: Sequence[tuple[int, int, float]],
    ) -> None: ...
    def add_curved(
        self,
        *,
        geom: int,
        normals: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)],
        offsets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        curvatures: Annotated[
            NDArray[numpy.float64], dict(shape=(None, 3, 3), order="C", device="cpu", writable=False)
        ],
    ) -> None:
        """
        A mesh that stands for a smooth surface: see src/stiction/mujoco/smooth_meshes.py.
        """

class Ground:
    """Planes and boxes that do not move, on which links stand."""

    def __init__(
        self,
        *,
        axes: Annotated[NDArray[numpy.float64], dict(shape=(None, 3, 3), order="C", device="cpu", writable=False)],
        height: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        support: Sequence[float],
        endless: Sequence[Sequence[bool]],
    ) -> None:
        """
        axes: of each plane, rows x, y and normal, (p, 3, 3); height: along its normal [m], (p,); support: cosine of its normal with up, (p,); endless: whether a plane carries a link by more than faces of boxes, (n, p)
        """

    def add_box(
        self,
        *,
        centre: Annotated[NDArray[numpy.float64], dict(shape=(3), order="C", device="cpu", writable=False)],
        axes: Annotated[NDArray[numpy.float64], dict(shape=(3, 3), order="C", device="cpu", writable=False)],
        half: Annotated[NDArray[numpy.float64], dict(shape=(3), order="C", device="cpu", writable=False)],
        faces: Sequence[int],
        meets: Sequence[bool],
    ) -> None:
        """
        centre (3,), axes in rows (3, 3), half edges (3,); faces: planes of +x, -x, +y ..., (6,); meets: whether each link may touch it, (n,)
        """

class LinkSetup:
    """The links of a model that have a learned law, and their ground."""

    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(
        self,
        *,
        links: Links,
        bodies: Sequence[int],
        frames: Annotated[NDArray[numpy.float64], dict(shape=(None, 3, 3), order="C", device="cpu", writable=False)],
        ground: Ground,
        plane_geoms: Sequence[Sequence[int]],
        spins: Sequence[Sequence[int]],
        solver: Callable | None,
    ) -> None: ...

class Step:
    """Steps of MuJoCo in which chosen contacts follow laws."""

    def __init__(
        self,
        *,
        engine: Engine,
        laws: Sequence[PairLaw],
        table: PairTable,
        links: LinkSetup,
        softness: float,
        tolerance: float,
        max_substep: float,
    ) -> None: ...
    def steps(self, count: int) -> tuple[Outcome, int]:
        """
        Take `count` steps, or fewer if one cannot be completed: the last outcome, and how many were completed.
        """

    def reset(self) -> None:
        """Forget what is remembered of the last step."""

    def reset_counts(self) -> None: ...
    def pair_statistics(self, law: int) -> object: ...
    @property
    def link_statistics(self) -> NDArray[numpy.void]:
        """Statistics of each link, a view."""

    def points(self) -> object: ...
    def link_points(self, link: int) -> NDArray[numpy.float64]:
        """
        Contact points of a link at the start of the last step, world axes [m], (k, 3).
        """

    def problem(self) -> object:
        """
        The last group of points that was solved: A, b, x, bounds and coefficients.
        """

    @property
    def memory(self) -> object:
        """What the next step must know of the last, (n, 8)."""

    @memory.setter
    def memory(
        self, arg: Annotated[NDArray[numpy.float64], dict(shape=(None, 8), order="C", device="cpu", writable=False)], /
    ) -> None: ...
    @property
    def counts(self) -> object:
        """All counts but those of the links, (n,)."""

    @counts.setter
    def counts(
        self, arg: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)], /
    ) -> None: ...
    @property
    def run_statistics(self) -> object:
        """
        Counts (steps with points, points, most points, steps, steps whose time was measured, time of each phase [ns], histogram of residuals), greatest residual, and of each pair of geoms: geoms, steps, unsolved, points, depth, depth at the start [m].
        """

    @run_statistics.setter
    def run_statistics(
        self,
        arg: tuple[
            Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            float,
            Annotated[NDArray[numpy.float64], dict(shape=(None, 7), order="C", device="cpu", writable=False)],
        ],
        /,
    ) -> None: ...
    @property
    def uncovered(self) -> NDArray[numpy.int64]:
        """
        Steps in which each body touched something that its materials do not cover.
        """

    @property
    def touching(self) -> list[int]:
        """Numbers of the links that touch."""

    @property
    def predicted(self) -> NDArray[numpy.float64]:
        """
        Twists (6 n,) of the touching links after the step, axes of their planes.
        """

    @property
    def V_free(self) -> NDArray[numpy.float64]:
        """The same without their contact impulses."""

    def centre(self, body: int) -> NDArray[numpy.float64]:
        """Centre of mass of a body at the start of the last step [m], (3,)."""

    def set_touch_sensors(self, sensors: Sequence[tuple[int, int, int, int, float]]) -> None:
        """
        Addresses in sensordata, sites, bodies, shapes of sites and cutoffs of touch sensors.
        """

    @property
    def forces_wanted(self) -> bool: ...
    @forces_wanted.setter
    def forces_wanted(self, arg: bool, /) -> None: ...
    @property
    def unsolved(self) -> int:
        """Steps without an exact solution."""

    @property
    def all_contact_steps(self) -> int:
        """Steps in which points or links were in contact."""

    @property
    def rounds(self) -> int:
        """Integrations in all steps."""

    @property
    def n_uncovered(self) -> int:
        """
        Number of bodies with a law that have touched something that no law covers.
        """

    @property
    def points_unsolved(self) -> int:
        """Steps without an exact solution for the points."""

    @property
    def contact_steps(self) -> int: ...
    @property
    def newton_steps(self) -> int: ...
    @property
    def work(self) -> float:
        """Kinetic energy that contact at points added in the last step [J]."""

def substeps_of(timestep: float, max_substep: float) -> int:
    """Into how many equal sub-steps a step is divided."""

def run_motions(
    workers: Sequence[Step],
    initial: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    warmstart: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)]
    | None,
    control: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)]
    | None,
    state: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    sensors: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    *,
    state_kind: int,
    control_kind: int,
) -> None:
    """
    Run motions (n, steps) in as many threads as there are workers; state and sensors are written.
    """

def rollout(
    law: Law,
    hull: Hull,
    com: Annotated[NDArray[numpy.float64], dict(shape=(3), order="C", device="cpu", writable=False)],
    position: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)],
    quaternion: Annotated[NDArray[numpy.float64], dict(shape=(None, 4), order="C", device="cpu", writable=False)],
    twist: Annotated[NDArray[numpy.float64], dict(shape=(None, 6), order="C", device="cpu", writable=False)],
    timestep: float,
    gravity: Annotated[NDArray[numpy.float64], dict(shape=(3), order="C", device="cpu", writable=False)],
    substeps: int,
    steps: int,
    every: int,
    threads: int,
) -> tuple:
    """
    Motions of bodies from states at their centres of mass, which lie at `com` in their frames: position, quaternion, velocity and spin of the frames, impulse, mode, kind.
    """

class Stepper:
    """Bodies that move by one time step a call."""

    def __init__(
        self,
        arg0: Law,
        arg1: Hull,
        arg2: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)],
        arg3: Annotated[NDArray[numpy.float64], dict(shape=(None, 4), order="C", device="cpu", writable=False)],
        arg4: Annotated[NDArray[numpy.float64], dict(shape=(None, 6), order="C", device="cpu", writable=False)],
        arg5: float,
        arg6: Annotated[NDArray[numpy.float64], dict(shape=(3), order="C", device="cpu", writable=False)],
        arg7: int,
        /,
    ) -> None: ...
    def step(self) -> None:
        """Move on by one time step."""

    def set(
        self,
        arg0: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)],
        arg1: Annotated[NDArray[numpy.float64], dict(shape=(None, 4), order="C", device="cpu", writable=False)],
        arg2: Annotated[NDArray[numpy.float64], dict(shape=(None, 6), order="C", device="cpu", writable=False)],
        /,
    ) -> None:
        """Go on from other states, at the centres of mass."""

    def state(self) -> tuple:
        """Position, quaternion and twist at the centres of mass."""

    def remember(
        self,
        arg0: Annotated[NDArray[numpy.float64], dict(shape=(None, 6), order="C", device="cpu", writable=False)],
        arg1: Annotated[NDArray[numpy.int8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        arg2: Annotated[NDArray[numpy.int8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        arg3: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        /,
    ) -> None:
        """
        Take over impulses, modes and kinds of a last step, and the impacts so far.
        """

    def impulse(self) -> NDArray[numpy.float64]:
        """Contact impulses of the last step, (n, 6)."""

    def mode(self) -> NDArray[numpy.int8]:
        """Modes of the last step, (n,)."""

    def kind(self) -> NDArray[numpy.int8]:
        """Kinds of the patches in the last step, (n,)."""

    def impacts(self) -> NDArray[numpy.int64]:
        """Number of impacts of each body so far, (n,)."""
