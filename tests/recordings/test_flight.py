"""Free flight: a part whose inertias differ precesses, and its start and its inertia come back all the same."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from stiction import Body, InputError, State, rollout
from stiction.bodies.rotations import rotation_vectors
from stiction.fit.free import fit_law
from stiction.fit.toss_objective import STAGES
from stiction.recordings import Toss, Tosses
from stiction.recordings.flight import Flights, momentum_slopes, torque_free
from stiction.recordings.flight_estimate import inertia_estimate, released, shaped, significant_inertia
from toss_files import impact_law

RATE, FINE = 240.0, 40  # [Hz]; the simulation's explicit gyroscopic torque wants short steps
NUT = Body.prism(6, 0.03, 0.025, mass=0.15)
LAW = impact_law(NUT, timestep=1 / RATE, restitution=0.2, friction=0.3, friction_loaded=0.3)


def tossed(count: int, *, seed: int = 0, frames: int = 60) -> tuple[Tosses, State]:
    """Noisy recordings of a nut, which lands a little after its 24th frame, and its true states at the first one."""
    rng = np.random.default_rng(seed)
    position = np.column_stack([rng.normal(0, 0.1, (count, 2)), rng.uniform(0.14, 0.2, count)])
    velocity = np.column_stack([rng.normal(0, 0.5, (count, 2)), rng.uniform(0.0, 0.2, count)])
    turn = Rotation.random(count, rng).as_quat(scalar_first=True)
    start = State(position, turn, velocity, rng.normal(0, 6, (count, 3)))
    run = rollout(LAW, start, FINE * (frames - 1), timestep=1 / RATE / FINE, every=FINE)
    where = run.position + rng.normal(0, 1e-4, run.position.shape)
    shaken = Rotation.from_rotvec(rng.normal(0, 1e-3, (count * frames, 3)))
    seen = (shaken * Rotation.from_quat(run.quaternion.reshape(-1, 4), scalar_first=True)).as_quat(scalar_first=True)
    number = np.arange(frames)
    tosses = [Toss(number, p, q, 24, 1 / RATE, NUT) for p, q in zip(where, seen.reshape(count, frames, 4))]
    return Tosses(tosses, 1 / RATE), start


def test_bodies_that_nothing_turns_keep_momentum_and_energy():
    rng = np.random.default_rng(1)
    start, momentum = Rotation.random(5, rng), rng.normal(0, 8, (5, 3))
    inertia = np.array([[0.7, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 1.4]])
    path = torque_free(start.as_quat(scalar_first=True), momentum, inertia, 1 / 200, 60)
    R = Rotation.from_quat(path.reshape(-1, 4), scalar_first=True).as_matrix().reshape(5, 61, 3, 3)
    L = np.einsum("nkji,nj->nki", R, momentum)  # body axes
    energy = np.einsum("nki,ij,nkj->nk", L, np.linalg.inv(inertia), L)
    assert np.ptp(energy, axis=1).max() < 1e-4 * energy.min()
    # The spin that the poses show is that of the momentum.
    step = Rotation.from_matrix(R[:, 31]) * Rotation.from_matrix(R[:, 29]).inv()
    spin = np.einsum("nij,jl,nl->ni", R[:, 30], np.linalg.inv(inertia), L[:, 30])
    assert step.as_rotvec() * 100 == pytest.approx(spin, rel=0.01, abs=0.02)
    # A little more momentum turns it by what the slopes say.
    more = 1e-4 * rng.normal(size=(5, 3))
    other = torque_free(start.as_quat(scalar_first=True), momentum + more, inertia, 1 / 200, 60)
    off = Rotation.from_quat(other[:, -1], scalar_first=True) * Rotation.from_matrix(R[:, -1]).inv()
    slopes = momentum_slopes(path, momentum, inertia, 1 / 200)[:, -1]
    assert off.as_rotvec() == pytest.approx(np.einsum("nij,nj->ni", slopes, more), abs=0.02 * np.abs(more).max())


def test_an_even_body_turns_steadily():
    spin = np.array([[3.0, -7.0, 9.0]])
    path = torque_free([[1.0, 0.0, 0.0, 0.0]], spin, np.eye(3), 1 / 148, 40)
    assert Rotation.from_quat(path[0, -1], scalar_first=True).as_matrix() == pytest.approx(
        Rotation.from_rotvec(spin[0] * 40 / 148).as_matrix(), abs=1e-12
    )


def test_the_start_of_a_part_that_precesses():
    tosses, true = tossed(30)
    found = tosses.states(NUT, (0.0, 0.0, -9.81))
    off = np.linalg.norm(found.angular_velocity - true.angular_velocity, axis=1)
    steady = tosses.states(Body.prism(6, 0.03, 0.025, mass=0.15, inertia=np.eye(3) * 1e-4), (0.0, 0.0, -9.81))
    wrong = np.linalg.norm(steady.angular_velocity - true.angular_velocity, axis=1)
    assert np.median(off) < 0.02 < 0.5 < np.median(wrong)
    assert np.abs(found.velocity - true.velocity).max() < 0.005
    alone = tosses.tosses[7].start()
    assert alone.angular_velocity == pytest.approx(found.angular_velocity[7], abs=1e-6)


def test_flight_alone_gives_the_proportions_of_the_inertia():
    tosses, _ = tossed(20)
    wrong = Body.prism(6, 0.03, 0.025, mass=0.15, inertia=shaped(NUT.inertia, {"inertia_z": 0.7, "inertia_xz": 0.1}))
    found = inertia_estimate(tosses, wrong)
    found_inertia = shaped(wrong.inertia, {name: value for name, (value, _) in found.items()})
    assert found_inertia / np.trace(found_inertia) == pytest.approx(NUT.inertia / np.trace(NUT.inertia), abs=2e-3)
    right = significant_inertia(tosses, NUT)
    assert set(right) == {"inertia_y", "inertia_z"}
    assert all(abs(value - 1) < 4 * error and error < 5e-3 for value, error in right.values())
    still = [Toss(t.frame, t.position, np.tile([1.0, 0.0, 0.0, 0.0], (60, 1)), 24, 1 / RATE) for t in tosses.tosses]
    assert significant_inertia(Tosses(still, 1 / RATE), NUT) == {}


@pytest.mark.slow
def test_a_fit_gives_the_inertia_of_a_nut_back():
    tosses, _ = tossed(12, frames=50)
    found = fit_law(tosses, NUT, stages=STAGES[:1], errors=False)
    inertia = found.law(1 / RATE).body.inertia
    assert inertia[2, 2] / inertia[0, 0] == pytest.approx(NUT.inertia[2, 2] / NUT.inertia[0, 0], rel=0.01)
    assert inertia == pytest.approx(NUT.inertia, rel=0.2, abs=1e-7)


def test_the_covariance_of_a_start_is_that_of_its_errors():
    tosses, true = tossed(60, seed=3)
    gravity = (0.0, 0.0, -9.81)
    noise, found = tosses.noise(NUT, gravity), tosses.states(NUT, gravity)
    assert noise.position == pytest.approx([1e-4] * 3, rel=0.1) and noise.rotation == pytest.approx(1e-3, rel=0.1)
    off = np.hstack(
        [
            found.position - true.position,
            rotation_vectors(found.quaternion, true.quaternion),
            found.velocity - true.velocity,
            found.angular_velocity - true.angular_velocity,
        ]
    )
    covariance = tosses.start_covariances(NUT, gravity)
    squares = np.einsum("ni,nij,nj->n", off, np.linalg.inv(covariance), off)
    assert 0.8 < squares.mean() / 12 < 1.25
    drawn = tosses[[4]].drawn_states(NUT, gravity, 4000, 0)
    assert np.cov(drawn.angular_velocity[:, 0].T) == pytest.approx(covariance[4, 9:, 9:], abs=0.1 * covariance[4, 9, 9])


def test_frames_in_which_a_hand_still_turns_the_part_do_not_count_as_flight():
    tosses, true = tossed(12, seed=5)
    parts = list(tosses.tosses)
    fading = np.array([0.06, 0.02, 0.008])  # [rad] off the flight in the first three frames
    seen = Rotation.from_quat(parts[2].quaternion[:3], scalar_first=True)
    shifted = Rotation.from_rotvec(np.outer(fading, [0.6, 0.0, 0.8])) * seen
    turned = np.concatenate([shifted.as_quat(scalar_first=True), parts[2].quaternion[3:]])
    parts[2] = replace(parts[2], quaternion=turned)
    marked, report = released(Tosses(parts, tosses.timestep), NUT)
    assert marked.tosses[2].held in (2, 3) and sum(toss.held > 0 for toss in marked.tosses) == 1
    assert "at the start of 1 of 12 tosses" in report[0]
    gravity = (0.0, 0.0, -9.81)
    with_hand, without = (some.states(NUT, gravity).angular_velocity[2] for some in (Tosses(parts, 1 / RATE), marked))
    right = true.angular_velocity[2]
    assert np.linalg.norm(without - right) < 0.05 < 0.15 < np.linalg.norm(with_hand - right)
    assert "still held" in repr(marked.tosses[2])


def test_drops_that_do_not_turn_can_be_forecast():
    """Of a simulation, or of a tracker that holds the orientation, there is no noise of rotation."""
    t = np.arange(40) / 200
    tosses = []
    for k in range(6):
        position = np.stack([0.1 * k * t, 0 * t, np.maximum(0.6 - 0.5 * 9.81 * t**2, 0.05)], axis=1)
        tosses.append(Toss(np.arange(40), position, np.tile([1.0, 0, 0, 0], (40, 1)), 30))
    body = Body.box((0.1, 0.1, 0.1), 0.3)
    states = Tosses(tosses, 1 / 200).drawn_states(body, (0, 0, -9.81), 8, 0)
    assert np.isfinite(states.position).all() and np.abs(states.angular_velocity).max() < 1e-3


def test_flights_that_no_such_body_could_make_are_refused_in_words():
    turns = Rotation.random(12, np.random.default_rng(29)).as_quat(scalar_first=True)
    flights = Flights([Toss(np.arange(12), np.zeros((12, 3)), turns, 12)], 1 / 148)
    with pytest.raises(InputError, match="No body of this inertia rotates in flight as recorded: is this the body"):
        flights.flown(np.diag([1.0, 1.0, 0.01]))
