"""Rollouts: free motion, rest, slopes, batches, planar bodies, and what is refused."""

import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from conftest import random_states
from stiction import AugmentedLaw, Body, CoulombLaw, InputError, Kind, Law, Material, Mode, State, Stepper, rollout


def test_free_flight_is_a_parabola_and_keeps_angular_momentum(box):
    state = State([0, 0, 50], velocity=[1, 2, 3], angular_velocity=[3, -2, 5])
    run = rollout(CoulombLaw(box), state, 500)
    h, n = 0.002, np.arange(501)
    assert run.position[:, 2] == pytest.approx(50 + 3 * h * n - 9.81 * (h * n) ** 2 / 2, abs=1e-11)
    whole = rollout(CoulombLaw(box), state, 500, substeps=0)  # whole steps fall with the velocity at their end
    assert whole.position[:, 2] == pytest.approx(50 + 3 * h * n - 9.81 * h * h * n * (n + 1) / 2, abs=1e-11)
    R = Rotation.from_quat(run.quaternion, scalar_first=True).as_matrix()
    momentum = np.einsum("nij,jk,nlk,nl->ni", R, box.inertia, R, run.angular_velocity)
    assert np.linalg.norm(momentum - momentum[0], axis=1).max() < 0.05 * np.linalg.norm(momentum[0])
    assert not run.impulse.any() and (run.mode == Mode.NONE).all()


def test_offset_centre_of_mass_flies_on_a_parabola():
    body = Body.box((0.2, 0.3, 0.4), 1.0, com=(0.05, -0.03, 0.1))
    run = rollout(CoulombLaw(body), State([0, 0, 20], velocity=[1, 0, 0], angular_velocity=[1, 2, 3]), 300)
    com = run.position + Rotation.from_quat(run.quaternion, scalar_first=True).apply(np.array(body.com))
    assert np.diff(com[:, 2], n=2) == pytest.approx(-9.81 * 0.002**2, abs=1e-12)
    assert np.abs(np.diff(com[:, :2], n=2, axis=0)).max() < 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("softness", [0.0, 1e-5])
@pytest.mark.parametrize("cone", ["dart", "round"])
def test_nothing_at_rest_moves(box, softness, cone):
    """A box that has settled on a face, from flat and from tilted starts: less than 1e-12 m in 10 s, no turn."""
    tilted = Rotation.from_rotvec([[0, 0, 0], [0.05, 0.02, 0.4], [-0.2, 0.1, 1.0]]).as_quat(scalar_first=True)
    law = CoulombLaw(box, 0.5, softness=softness, cone=cone)
    settled = rollout(law, State([0, 0, 0.24], tilted), 15_000).state()
    run = rollout(law, settled, 5000)
    assert np.abs(run.position - run.position[:, :1]).max() < 1e-12
    assert np.abs(run.quaternion - run.quaternion[:, :1]).max() < 1e-12
    assert (run.kind == Kind.SURFACE).all() and (run.mode == Mode.STATIC).all()


def test_a_rectangle_on_its_edge_does_not_move(rectangle):
    """A line contact at rest."""
    law = CoulombLaw(rectangle, 0.5, softness=0.0)
    settled = rollout(law, State([0, 0, 0.21], [np.cos(0.02), 0, np.sin(0.02), 0]), 10_000).state()
    run = rollout(law, settled, 5000)
    assert np.abs(run.position - run.position[0]).max() < 1e-12
    assert (run.kind == Kind.LINE).all() and (run.mode == Mode.STATIC).all()


@pytest.mark.parametrize("slope", [0.95, 1.05])
def test_a_rigid_block_holds_on_a_slope_below_the_friction_angle_only(box, slope):
    angle = slope * np.arctan(0.5)
    gravity = 9.81 * np.array([np.sin(angle), 0, -np.cos(angle)])
    law = CoulombLaw(box, 0.5, softness=0.0, cone="round")
    settled = rollout(law, State([0, 0, 0.2]), 100).state()
    run = rollout(law, settled, 5000, gravity=gravity)
    travelled = run.position[-1, 0] - run.position[0, 0]
    if slope < 1:
        assert abs(travelled) < 1e-12 and (run.mode == Mode.STATIC).all()
    else:
        pull = 9.81 * (np.sin(angle) - 0.5 * np.cos(angle))
        assert travelled == pytest.approx(0.5 * pull * 10**2, rel=0.01)


def test_energy_never_rises_in_a_throw(prism):
    run = rollout(CoulombLaw(prism, 0.7, softness=0.0), random_states(np.random.default_rng(1), 20), 600)
    R = Rotation.from_quat(run.quaternion.reshape(-1, 4), scalar_first=True)
    spin = R.inv().apply(run.angular_velocity.reshape(-1, 3))
    kinetic = 0.5 * (run.velocity**2).sum(-1) + 0.5 * np.einsum("ni,ij,nj->n", spin, prism.inertia, spin).reshape(
        20, -1
    )
    before = np.linalg.norm(run.impulse, axis=-1) > 0
    gain = np.diff(kinetic, axis=1)[before]
    # Gravity's own work in a step, m g h |v|, is the only way up.
    assert (gain <= 9.81 * 0.002 * np.linalg.norm(run.velocity, axis=-1)[:, 1:][before] + 1e-4).all()


def test_a_batch_equals_its_throws_one_by_one(prism):
    """Bit for bit, also across the chunks in which a batch is stepped."""
    law = CoulombLaw(prism, 0.7)
    states = random_states(np.random.default_rng(2), 300)
    batch = rollout(law, states.reshape(3, 100), 60)
    assert batch.position.shape == (3, 100, 61, 3)
    for i in (0, 17, 255, 256, 299):
        alone = rollout(law, states[i], 60)
        assert np.array_equal(alone.position, batch.position.reshape(300, 61, 3)[i])
        assert np.array_equal(alone.impulse, batch.impulse.reshape(300, 60, 6)[i])


def test_a_rollout_continues_from_any_of_its_states(box):
    law = CoulombLaw(box, 0.6)
    start = random_states(np.random.default_rng(3), 4)
    whole = rollout(law, start, 400)
    rest = rollout(law, whole.state(150), 250)
    assert rest.position == pytest.approx(whole.position[:, 150:], abs=1e-9)


def test_a_planar_body_stays_in_its_plane(rectangle):
    run = rollout(CoulombLaw(rectangle, 0.5), random_states(np.random.default_rng(4), 10, planar=True), 500)
    assert not run.position[..., 1].any() and not run.angular_velocity[..., [0, 2]].any()
    assert set(np.unique(run.kind)) == {Kind.NONE, Kind.POINT, Kind.LINE}


def lowest(body, run):
    """Height of the lowest corner in each state."""
    down = Rotation.from_quat(run.quaternion.reshape(-1, 4), scalar_first=True).as_matrix()[:, 2]
    return (down @ body.vertices.T).min(axis=1).reshape(run.position.shape[:-1]) + run.position[..., 2]


@pytest.mark.parametrize("restitution", [0.0, 0.4])
def test_a_thrown_body_does_not_sink_into_the_ground(box, restitution):
    """Steps end at impacts: what remains is the curvature of a corner's path in one step. Whole steps sink in."""
    law = Material.coulomb(0.5, restitution=restitution).on(box)
    start = State([0, 0, 0.6], velocity=[2, 0, 0], angular_velocity=[1, 2, 3])
    assert lowest(box, rollout(law, start, 800)).min() > -1e-6
    many = State.random(box, 200, seed=5)
    run = rollout(law, many, 800)
    depth = -lowest(box, run).min(axis=1)
    assert depth.max() < 2e-5 and np.mean(depth < 1e-6) > 0.9
    assert -lowest(box, rollout(law, many, 800, substeps=0)).min() > 5e-3


def mechanical_energy(body, run, gravity=(0.0, 0.0, -9.81)):
    """Kinetic and potential energy of each state [J], for a body whose frame is at its centre of mass."""
    turns = Rotation.from_quat(run.quaternion.reshape(-1, 4), scalar_first=True).inv()
    spin = turns.apply(run.angular_velocity.reshape(-1, 3)).reshape(run.velocity.shape)
    kinetic = 0.5 * body.mass * (run.velocity**2).sum(-1) + 0.5 * np.einsum("...i,ij,...j", spin, body.inertia, spin)
    return kinetic - body.mass * run.position @ np.asarray(gravity)


@pytest.mark.parametrize("law", [CoulombLaw, lambda body, mu: Material.stribeck(0.6, mu, restitution=0.3).on(body)])
def test_the_whole_energy_of_a_thrown_body_never_rises(box, law):
    run = rollout(law(box, 0.5), State.random(box, 50, seed=2), 800)
    assert np.diff(mechanical_energy(box, run), axis=-1).max() < 1e-9


class Pushing(Law):
    """A motor: it never stops a patch, and pushes it along its slip."""

    def __init__(self, body, size):
        self.body, self.size = body, size

    def classify(self, contacts):
        return np.full(len(contacts), Mode.DYNAMIC)

    def friction(self, contacts, dynamic):
        slip = contacts.slip[dynamic, :2]
        return np.c_[self.size * slip / np.linalg.norm(slip, axis=1, keepdims=True), np.zeros(len(dynamic))]


@pytest.mark.parametrize("slope", [0.0, 0.5])
@pytest.mark.parametrize("which", ["networks", "push little", "push hard", "bounce"])
def test_no_law_is_a_motor(box, which, slope):
    """Over whole throws: networks with random weights gained 97 % while each step seemed to add nothing."""
    law = {
        "networks": lambda: AugmentedLaw.untrained(box, seed=3),
        "push little": lambda: Pushing(box, 1e-3),
        "push hard": lambda: Pushing(box, 1.0),
        "bounce": lambda: Material.coulomb(0.8, restitution=1.0).on(box),
    }[which]()
    gravity = 9.81 * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    for substeps in {0, law.substeps}:
        run = rollout(law, State.random(box, 20, seed=4), 2000, gravity=gravity, substeps=substeps)
        energy = mechanical_energy(box, run, gravity)
        start = energy[:, 0] + gravity[0] * run.position[:, 0, 0]  # above the ground below it
        assert ((energy.max(axis=1) - energy[:, 0]) / start).max() < 1e-9


@pytest.mark.parametrize("law", [lambda body: Pushing(body, 1e-2), lambda body: AugmentedLaw.untrained(body, seed=5)])
def test_a_body_at_rest_stays_at_rest_whatever_the_law_says(box, rectangle, law):
    for body, height in ((box, 0.2), (rectangle, None)):
        half = -body.vertices[:, 2].min() if height is None else height
        run = rollout(law(body), State([0, 0, half]), 50)
        assert (run.mode == Mode.STATIC).all() and np.ptp(run.position, axis=0).max() == 0
        assert not run.velocity.any() and not run.angular_velocity.any()


def test_friction_is_the_same_in_all_directions_by_default(box):
    """A box that slides at 2 m/s stops after v^2 / 2 mu g, straight ahead; with DART's cone sooner, and elsewhere."""
    angle = np.radians([0.0, 22.5, 45.0])
    start = State([[0, 0, 0.2]] * 3, velocity=2 * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1))
    end = rollout(CoulombLaw(box, 0.5), start, 600).position[:, -1]
    assert np.linalg.norm(end[:, :2], axis=1) == pytest.approx(2**2 / (2 * 0.5 * 9.81), rel=0.01)
    assert np.arctan2(end[:, 1], end[:, 0]) == pytest.approx(angle, abs=1e-6)
    dart = rollout(CoulombLaw(box, 0.5, cone="dart"), start, 600).position[:, -1]
    assert np.linalg.norm(dart[2, :2]) < 0.75 * np.linalg.norm(end[2, :2])


def test_time_steps_that_do_not_resolve_the_fall_are_refused(box):
    small, start = Body.box((0.002, 0.002, 0.002), 1e-4), State([0, 0, 0.6])
    sentence = "timestep .s. must be at most 0.1 for this body, 0.539 m in size: longer steps do not resolve its fall"
    for refused in (
        lambda: rollout(CoulombLaw(box), start, 10, timestep=0.2),
        lambda: Stepper(CoulombLaw(box), start, timestep=0.2),
        lambda: Material.coulomb(0.5).on(box, timestep=0.2),
    ):
        with pytest.raises(InputError, match=sentence):
            refused()
    with pytest.raises(InputError, match=r"must be at most 0.019 for this body, 0.00346 m in size"):
        rollout(CoulombLaw(small), start, 10, timestep=0.02)
    assert rollout(CoulombLaw(small), start, 10, timestep=0.02, gravity=[0, 0, -1.6]).steps == 10


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), mu=st.floats(0, 2))
def test_throws_do_not_sink_fly_off_or_go_wrong(seed, mu):
    body = Body.box((0.1, 0.2, 0.15), 0.5)
    run = rollout(CoulombLaw(body, mu, softness=0.0), random_states(np.random.default_rng(seed), 2), 400)
    assert lowest(body, run).min() >= -1e-4
    assert np.isfinite(run.position).all() and np.isfinite(run.impulse).all()
    assert (run.impulse[..., 2] >= 0).all()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(state=State([0, 0, 0.05])), "starts below the ground: its lowest point is at z = -0.15 m, allowed is"),
        (dict(state=State([0, 0, 1]), steps=-1), "steps must be a whole number from 0 to 2147483647, got -1"),
        (dict(state=State([0, 0, 1]), steps=2.5), "steps must be a whole number from 0 to 2147483647, got 2.5"),
        (dict(state=State([0, 0, 1]), timestep=0.0), "timestep .s. must be positive, got 0"),
        (dict(state=State([0, 0, 1]), timestep=np.nan), "timestep .s. must be finite, got nan"),
        (dict(state=State([0, 0, 1]), gravity=[0, 0]), r"gravity must have shape \(..., 3\)"),
        (dict(state=State([[0, 0, 1]] * 4), gravity=[[0, 0, -9.81]] * 4), r"must have shape \(3,\), the same for all"),
        (dict(state=State([0, 0, 1]), threads=0), "threads must be a whole number from 1 to 1024, got 0"),
        (dict(state=State([0, 0, 1]), every=0), "every must be a whole number from 1 to 2147483647, got 0"),
        (dict(state=State([0, 0, 1]), samples=2), "has no known uncertainty"),
        (dict(state=[0, 0, 1]), "state must be a stiction.State, got list"),
    ],
)
def test_impossible_rollouts_are_refused(box, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        rollout(CoulombLaw(box), **arguments)


def test_a_planar_body_out_of_its_plane_is_refused(rectangle):
    with pytest.raises(InputError, match="outside that plane of 1"):
        rollout(CoulombLaw(rectangle), State([0, 0, 1], velocity=[0, 1, 0]), 1)


def test_a_spin_too_fast_for_the_time_step_keeps_its_energy():
    """The gyroscopic torque of a long body is integrated explicitly, as in DART, where a fast enough spin diverges."""
    rod = Body.box((0.5, 0.1, 0.08), 1.0)
    start = State([0, 0, 1000], angular_velocity=[200, 150, 100])
    total = mechanical_energy(rod, rollout(CoulombLaw(rod), start, 800, substeps=0))
    assert np.diff(total).max() <= 1e-12 * total[0]


def test_no_steps_give_the_start(box):
    run = rollout(CoulombLaw(box), State([0, 0, 1]), 0)
    assert run.position.shape == (1, 3) and run.impulse.shape == (0, 6)


def test_threads_and_strides_change_no_bit(box):
    """More bodies than a chunk holds, in one thread or two; each fourth state is that of the whole record."""
    rng = np.random.default_rng(8)
    law = CoulombLaw(box, 0.5)
    states = State(
        np.c_[rng.normal(size=(600, 2)), rng.uniform(0.3, 0.5, 600)],
        velocity=rng.normal(size=(600, 3)),
        angular_velocity=rng.normal(0, 3, (600, 3)),
    )
    one, two = (rollout(law, states, 100, threads=threads) for threads in (1, 2))
    thin = rollout(law, states, 100, every=4, threads=2)
    for name in ("position", "quaternion", "velocity", "angular_velocity", "impulse", "mode", "kind"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert np.array_equal(thin.position, one.position[:, ::4]) and thin.timestep == pytest.approx(4 * one.timestep)
    assert thin.impulse == pytest.approx(one.impulse.reshape(600, 25, 4, 6).sum(axis=2))
    assert np.array_equal(thin.mode, one.mode[:, 3::4])
    with pytest.raises(InputError, match="multiple of every"):
        rollout(law, states, 100, every=3)


def test_an_empty_batch_is_a_batch(box):
    run = rollout(CoulombLaw(box), State(np.zeros((0, 3))), 5)
    assert run.position.shape == (0, 6, 3) and run.mode.shape == (0, 5)


def test_a_bar_changes_no_bit(box):
    """With a progress bar, the batch is cut into pieces."""
    start = random_states(np.random.default_rng(9), 2100)
    plain, shown = (rollout(CoulombLaw(box), start, 3, threads=1, progress=progress) for progress in (False, True))
    assert np.array_equal(plain.position, shown.position) and plain.position.shape == (2100, 4, 3)


def test_a_signal_ends_a_long_rollout(box):
    """As Ctrl-C does: what a handler raises comes out of the rollout, soon, and not at its end."""
    signal = pytest.importorskip("signal")
    if not hasattr(signal, "setitimer"):
        pytest.skip("no timers here")

    def interrupt(*_):
        raise KeyboardInterrupt

    start = random_states(np.random.default_rng(10), 20_000)
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    began = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            rollout(CoulombLaw(box), start, 500, every=500, threads=1)
        assert time.perf_counter() - began < 5
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert rollout(CoulombLaw(box), start[0], 3).steps == 3


def test_a_long_rollout_can_be_interrupted(tmp_path):
    """Ctrl-C ends it at once, in threads too, and what follows works."""
    code = """
import os, signal, threading, time
import numpy as np, stiction
states = stiction.State(np.tile([0, 0, 0.5], (4000, 1)))
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background may lack
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
began = time.monotonic()
try:
    stiction.rollout("box", states, 1_000_000, every=1_000_000, threads=2)
except KeyboardInterrupt:
    print(stiction.rollout("box", states[0], 10).steps, time.monotonic() - began < 30)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["10", "True"]
