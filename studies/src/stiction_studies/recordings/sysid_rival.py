"""`mujoco.sysid` on recorded tosses of a box: its own fit, with our windows, starts and measure of what is far."""

import functools
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics.splits import drawn
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_vectors
from stiction.bodies.state import State
from stiction.fit.toss_objective import Motions, groups_alike, last_frames
from stiction.recordings.tosses import Tosses

NAME = "mujoco.sysid"
SUBSTEPS = 4
FAR = 10.0  # percent of the width, or degrees, beyond which a miss counts less and less
STAGES = ((12, 64, 8), (25, 64, 8), (None, None, 6))  # frames after the first touch, tosses at most, iterations
CONTACT = {"friction": 0.2, "torsion": 0.005, "time_constant": 0.01, "damping_ratio": 0.6}  # where it begins
LIMITS = {  # step of the finite difference, and bounds
    "friction": (0.005, 0.01, 2.0),
    "torsion": (0.001, 1e-5, 0.1),
    "time_constant": (0.0005, 0.0036, 0.1),
    "damping_ratio": (0.03, 0.05, 2.0),
}


def is_there() -> bool:
    """Whether `mujoco.sysid` and the packages that it needs are installed."""
    return all(find_spec(name) is not None for name in ("mujoco", "absl", "tabulate", "yaml", "colorama"))


class SysidRival:
    """MuJoCo's contact, the size, inertia and centre of mass of a box and the ground's height, by `mujoco.sysid`.

    Masses stay as they are: a toss does not tell them. Starts are those that free flight tells.

    com: where the centre of mass is looked for first [m], shape (3,)
    gravity: [m/s^2], shape (3,); drag: [1/s]
    width: [m], in percent of which positions count
    """

    def __init__(self, body: Body, com, timestep: float, gravity, width: float, *, drag: float = 0.0) -> None:
        from stiction_studies.engines import mujoco_peer
        from stiction_studies.engines.mujoco_sysid import Identification

        self.gravity, self.drag, self.width = np.array(gravity), drag, width
        self.body = body.reshaped(com=com + 1e-3 * width, rounding=0.0)  # not at the origin, see Identification
        scene = mujoco_peer.scene(self.body, timestep / SUBSTEPS, self.gravity, **CONTACT)
        after = functools.partial(mujoco_peer.slow_down, drag=drag)
        self.found = Identification(scene, _numbers(body), ["body"], self._differences, SUBSTEPS, after=after)

    def fit(self, tosses: Tosses, progress: Callable[[int, int], None] = lambda done, most: None) -> None:
        """Short windows first, then whole tosses, as with our own fit."""
        for number, (window, most, iterations) in enumerate(STAGES):
            self.found.fit(self._segments(tosses[drawn(len(tosses), most, 0)], window), iterations)
            progress(number + 1, len(STAGES))

    def starts(self, tosses: Tosses) -> State:
        """Where tosses begin (n,), for the body as it is now."""
        return tosses.states(self._as_it_is(), self.gravity, self.drag)

    def motions(self, states: State, steps: NDArray[np.int64]) -> Motions:
        """Motions of the states (n,), each for its own number of steps (n,)."""
        from stiction_studies.engines import mujoco_peer

        model = self.found.model
        motions: Motions = [(np.empty(0), np.empty(0))] * len(steps)
        for group in groups_alike(steps):
            position, quaternion = mujoco_peer.motion(model, states[group], int(steps[group].max()), SUBSTEPS)
            for k, i in enumerate(group.tolist()):
                motions[i] = position[k], quaternion[k]
        return motions

    def _segments(self, tosses: Tosses, window: int | None) -> list:
        from stiction_studies.engines.mujoco_sysid import Segment

        states = self.starts(tosses)
        spin = Rotation.from_quat(states.quaternion, scalar_first=True).inv().apply(states.angular_velocity)
        segments = []
        for i, (toss, last) in enumerate(zip(tosses.tosses, last_frames(tosses, window).tolist())):
            n = toss.frames_until(last)
            qpos = np.hstack([toss.position[:n], toss.quaternion[:n]])
            start = np.r_[states.position[i], states.quaternion[i]], np.r_[states.velocity[i], spin[i]]
            segments.append(Segment(start, toss.frame[:n], qpos))
        return segments

    def _as_it_is(self) -> Body:
        """The body with centre of mass and inertia as the model has them now."""
        found = self.found.model.body("body")
        axes = Rotation.from_quat(found.iquat, scalar_first=True).as_matrix()
        return self.body.reshaped(com=found.ipos, inertia=axes @ np.diag(found.inertia) @ axes.T, rounding=0.0)

    def _differences(self, predicted: NDArray[np.float64], recorded: NDArray[np.float64]) -> NDArray[np.float64]:
        away = (predicted[:, :3] - recorded[:, :3]) * (100 / self.width)
        turn = np.degrees(rotation_vectors(predicted[:, 3:], recorded[:, 3:]))
        return np.hstack([away, turn]) / FAR


def _numbers(body: Body) -> list:
    from stiction_studies.engines.mujoco_sysid import ModelParameter

    def friction(spec, to):
        spec.pairs[0].friction[:2] = to

    def torsion(spec, to):
        spec.pairs[0].friction[2] = to

    def time_constant(spec, to):
        spec.pairs[0].solref[0] = to

    def damping_ratio(spec, to):
        spec.pairs[0].solref[1] = to

    def size(spec, to):
        spec.geom("body").size = np.array(body.size) / 2 * to

    def ground(spec, to):
        spec.geom("ground").pos = [0.0, 0.0, to]

    applied = friction, torsion, time_constant, damping_ratio
    return [
        *(ModelParameter(apply.__name__, CONTACT[apply.__name__], *LIMITS[apply.__name__], apply) for apply in applied),
        ModelParameter("size", 1.0, 0.001, 0.8, 1.2, size),
        ModelParameter("ground", 0.0, 1e-4, -0.01, 0.01, ground),
    ]
