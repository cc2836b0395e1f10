"""Metrics of whole motions: how far a run ends from its ground truth, and whether it obeys mechanics; and test sets of
throws and contacts that no training has seen, on which laws are evaluated.

All metrics take batches of throws, Trajectory (n,), and return one number a throw. A throw whose state is not finite
anywhere has diverged: its metrics are NaN, and it is counted as lost, never averaged in.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.bodies.body import Body
from stiction.bodies.faces import ring
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import Kind, State
from stiction.bodies.throws import drawn
from stiction.bodies.trajectory import Trajectory
from stiction.data.collection_plan import Plan
from stiction.evaluation.single_steps import FRESH, Fresh, evaluate, fresh_contacts
from stiction.laws.law import NativeLaw
from stiction.simulation.motion import Setting, free_twists
from stiction.simulation.rollout import rollout
from stiction_studies.study import bootstrap_interval

STEPS = 800  # of a throw
ERRORS = ("distance", "orientation", "impulse", "position")  # reported by mean, interval and median


def distances(run: Trajectory) -> NDArray[np.float64]:
    """Horizontal distance from start to end [m], shape (n,)."""
    way = run.position[:, -1, :2] - run.position[:, 0, :2]
    return np.linalg.norm(way, axis=1)


def turn_angles(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Angle [degrees] of the rotation between unit quaternions (n, 4); accurate for small angles too."""
    w = np.abs(np.sum(a * b, axis=1))
    # The norm of the vector part of conj(a) b is the sine of half the angle; an arc cosine would lose it.
    v = a[:, :1] * b[:, 1:] - b[:, :1] * a[:, 1:] - np.cross(a[:, 1:], b[:, 1:])
    return np.degrees(2 * np.arctan2(np.linalg.norm(v, axis=1), w))


def first_impulses(run: Trajectory) -> NDArray[np.float64]:
    """Linear contact impulse [N s] of the first step in contact, shape (n, 3); zero without any contact."""
    touching = run.kind > 0
    first = touching.argmax(axis=1)
    return np.where(touching.any(axis=1, keepdims=True), run.impulse[np.arange(len(first)), first, :3], 0.0)


def face_loops(body: Body) -> list[list[int]]:
    """Vertex indices of each face in order; for a planar body, of each side."""
    return sorted(list(side) for side in ring(body.faces[0])) if body.planar else body.faces


def faces_down(body: Body, quaternions: NDArray[np.float64]) -> NDArray[np.int64]:
    """Index of the face whose vertices are lowest on average, shape (n,)."""
    heights = rotation_matrices(quaternions)[:, 2] @ body.vertices.T
    means = np.stack([heights[:, face].mean(axis=1) for face in face_loops(body)], axis=1)
    return means.argmin(axis=1)


def vertex_heights(body: Body, run: Trajectory) -> NDArray[np.float64]:
    """Heights of all vertices above the ground [m], shape (n, steps + 1, V)."""
    shape = run.quaternion.shape[:-1]
    up = rotation_matrices(run.quaternion.reshape(-1, 4))[:, 2].reshape(*shape, 3)
    return run.position[..., 2:] + up @ body.vertices.T


def penetrations(body: Body, run: Trajectory) -> NDArray[np.float64]:
    """Greatest depth of any vertex below the ground at any time [m], shape (n,)."""
    return np.maximum(-vertex_heights(body, run).min(axis=(1, 2)), 0.0)


def energy_gains(body: Body, run: Trajectory, setting: Setting) -> NDArray[np.float64]:
    """Greatest kinetic energy [J] that contact adds in any one step: p . (v1 + v+) / 2, at least 0; shape (n,)."""
    n, steps = run.mode.shape
    with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge
        before, after = (_motion(body, run, part) for part in (slice(0, steps), slice(1, steps + 1)))
        v1 = free_twists(body, setting, *before)
        work = 0.5 * np.sum(run.impulse.reshape(-1, 6) * (v1 + after[1]), axis=1)
        return np.maximum(work.reshape(n, steps).max(axis=1), 0.0)


def _motion(body: Body, run: Trajectory, steps: slice) -> tuple[NDArray, NDArray]:
    """Quaternions (m, 4) and twists (m, 6) at the centre of mass of all throws at `steps`, one after the other."""
    quaternion = run.quaternion[:, steps].reshape(-1, 4)
    spin = run.angular_velocity[:, steps].reshape(-1, 3)
    arm = rotation_matrices(quaternion) @ body.com
    return quaternion, np.hstack([run.velocity[:, steps].reshape(-1, 3) + np.cross(spin, arm), spin])


def compare(body: Body, truth: Trajectory, run: Trajectory, setting: Setting) -> dict[str, NDArray[np.float64]]:
    """Per-throw figures of `run` against `truth` from the same starts; units as in the functions above."""
    right = faces_down(body, run.quaternion[:, -1]) == faces_down(body, truth.quaternion[:, -1])
    figures = {
        "distance": np.abs(distances(run) - distances(truth)),
        "orientation": turn_angles(run.quaternion[:, -1], truth.quaternion[:, -1]),
        "impulse": np.linalg.norm(first_impulses(run) - first_impulses(truth), axis=1),
        "position": np.linalg.norm(run.position[:, -1] - truth.position[:, -1], axis=1),
        "right_face": right.astype(np.float64),
        "penetration": penetrations(body, run),
        "energy_gain": energy_gains(body, run, setting),
    }
    lost = lost_throws(run)
    return {name: np.where(lost, np.nan, values) for name, values in figures.items()}


def lost_throws(run: Trajectory) -> NDArray[np.bool_]:
    """Which throws have states that are not finite, shape (n,)."""
    parts = (run.position, run.quaternion, run.velocity, run.angular_velocity)
    return ~np.logical_and.reduce([np.isfinite(part).all(axis=(1, 2)) for part in parts])


def sizes(truth: Trajectory) -> dict[str, float]:
    """Means of the ground truth by which errors are divided: distance [m] (also for position errors), angle turned from
    start to end [degrees], first impulse [N s]."""
    distance = float(distances(truth).mean())
    return {
        "distance": distance,
        "orientation": float(turn_angles(truth.quaternion[:, 0], truth.quaternion[:, -1]).mean()),
        "impulse": float(np.linalg.norm(first_impulses(truth), axis=1).mean()),
        "position": distance,
    }


def summarise(figures: dict[str, NDArray], size: dict[str, float], seed: int) -> dict[str, Any]:
    """Figures of one run over all throws, ready for JSON; shares are of the mean of the ground truth."""
    lost = np.isnan(figures["position"])
    summary: dict[str, Any] = {"throws": len(lost), "lost": int(lost.sum())}
    if lost.all():
        return summary
    kept = {name: values[~lost] for name, values in figures.items()}
    for name in ERRORS:
        mean, median = float(kept[name].mean()), float(np.median(kept[name]))
        summary[name] = {
            "mean": mean,
            "interval_95": list(bootstrap_interval(kept[name], seed)),
            "median": median,
            "share_mean": mean / size[name],
            "share_median": median / size[name],
        }
    summary["right_face"] = float(kept["right_face"].sum() / len(lost))  # a diverged throw ends on no face
    summary["greatest_penetration_m"] = float(kept["penetration"].max())
    summary["greatest_energy_gain_J"] = float(kept["energy_gain"].max())
    return summary


def perturbed(body: Body, start: State, size: float, seed: int) -> State:
    """The starts with position [m], orientation [rad], velocity [m/s] and spin [rad/s] each perturbed by a random
    vector of length `size`; a planar body stays in its plane."""
    rng = np.random.default_rng(seed)
    moves = rng.standard_normal((4, *start.position.shape))
    if body.planar:
        moves[[0, 2], ..., 1] = 0.0
        moves[[1, 3], ..., 0] = moves[[1, 3], ..., 2] = 0.0
    moves *= size / np.linalg.norm(moves, axis=-1, keepdims=True)
    turned = Rotation.from_rotvec(moves[1]) * Rotation.from_quat(start.quaternion, scalar_first=True)
    quaternion = turned.as_quat(scalar_first=True)
    if body.planar:
        quaternion[..., [1, 3]] = 0.0
    return State(start.position + moves[0], quaternion, start.velocity + moves[2], start.angular_velocity + moves[3])


def fresh_starts(plan: Plan, count: int, seed: int) -> State:
    """Starts (count,) of throws from the plan's ranges that no training has seen; start i is the same for any count."""
    return drawn(plan.body, plan.ranges, plan.seed + seed + FRESH, range(count))


def throw_truth(plan: Plan, start: State, steps: int = STEPS) -> Trajectory:
    """Simulate throws with the ground truth of a plan."""
    return plan.truth.throw(plan.body, start, steps, timestep=plan.timestep, gravity=plan.gravity)


def perturbed_throws(plan: Plan, start: State, sizes: tuple[float, ...], steps: int, seed: int) -> list[Trajectory]:
    """Throws of the ground truth from perturbed starts. Throws are chaotic, so that the distance of the ground truth
    from itself after a small perturbation is a lower bound on the error of any law."""
    moved = [perturbed(plan.body, start, size, seed + k) for k, size in enumerate(sizes)]
    return [throw_truth(plan, one, steps) for one in moved]


@dataclass(frozen=True)
class EvaluationSet:
    """Fresh contacts by kind of patch, and motions of the ground truth from fresh starts (n,)."""

    plan: Plan
    contacts: dict[Kind, Fresh]
    start: State
    truth: Trajectory

    @classmethod
    def drawn(cls, plan: Plan, *, contacts: int, throws: int, seed: int) -> "EvaluationSet":
        """Simulate `contacts` contacts of each kind of patch and `throws` whole throws with the ground truth."""
        start = fresh_starts(plan, throws, seed)
        return cls(plan, fresh_contacts(plan, contacts, seed), start, throw_truth(plan, start, plan.steps))

    def evaluate(self, law: NativeLaw, seed: int) -> dict[str, Any]:
        """Figures of a law, ready for JSON: single contacts by kind, and whole throws."""
        wanted = ("contacts", "dynamic", "accuracy", "friction_error", "spin_error", "impulse_error")
        kinds = {}
        for kind, fresh in self.contacts.items():
            found = evaluate(law, fresh)
            kinds[kind.name.lower()] = {name: found[name] for name in wanted if name in found}
        plan = self.plan
        run = rollout(
            law, self.start, plan.steps, timestep=plan.timestep, gravity=plan.gravity, substeps=0, finite=False
        )  # whole steps, as the ground truth has
        return {"kinds": kinds, "throws": self.compare_ends(run, seed)}

    def compare_ends(self, run: Trajectory, seed: int) -> dict[str, Any]:
        """Errors of the final position as shares of the mean distance, and how often the right face ends below.

        A throw that diverges is counted as lost; it has no error and ends on no face.
        """
        lost = lost_throws(run)
        error = np.linalg.norm(run.position[:, -1] - self.truth.position[:, -1], axis=1)
        share = (error / distances(self.truth).mean())[~lost]
        faces = (faces_down(self.plan.body, part.quaternion[:, -1]) for part in (run, self.truth))
        right = np.equal(*faces) & ~lost
        found = {"number": len(lost), "lost": int(lost.sum()), "right_face": float(right.mean())}
        if not len(share):
            return found
        return found | {
            "mean": float(share.mean()),
            "mean_95": list(bootstrap_interval(share, seed)),
            "median": float(np.median(share)),
            "median_95": list(bootstrap_interval(share, seed, np.median)),
        }
