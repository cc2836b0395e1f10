"""Learning a material from noisy poses, through short rollouts."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import stiction
from stiction import Body, DataSet, InputError, Material, State, Trajectory, train_material
from stiction.cli import main
from stiction.fit.friction_structure import Model, Structure
from stiction.fit.pose_windows import cut, pose_noise, recorded_poses
from stiction.recordings import Recordings, Toss, Tosses

BOX = Body.box((0.2, 0.3, 0.4), 1.0)
MM, DEGREE = 1e-3, np.pi / 180
RANGES = {"height": (0.01, 0.1), "vertical": (-1.5, 0.0)}


def motions(material: Material, throws: int, *, steps: int = 300, every: int = 1) -> Trajectory:
    start = State.random(BOX, throws, ranges=RANGES)
    return stiction.rollout(material.on(BOX), start, steps, substeps=0, every=every)


def tracked(run: Trajectory, *, position: float = 0.2 * MM, rotation: float = 0.2 * DEGREE) -> Tosses:
    """The poses of a motion as a tracker gives them."""
    rng = np.random.default_rng(1)
    seen = run.position + rng.normal(0, position, run.position.shape)
    turn = Rotation.from_rotvec(rng.normal(0, rotation, (run.position.size // 3, 3)))
    turn = turn * Rotation.from_quat(run.quaternion.reshape(-1, 4), scalar_first=True)
    quaternion = turn.as_quat(scalar_first=True).reshape(run.quaternion.shape)
    frame = np.arange(run.steps + 1)
    return Tosses([Toss(frame, p, q, flight=4) for p, q in zip(seen, quaternion)], run.timestep)


@pytest.fixture(scope="module")
def run() -> Trajectory:
    return motions(Material.coulomb(0.5), 6)


@pytest.fixture(scope="module")
def recordings(run) -> Recordings:
    number = np.arange(len(run.position))
    return Recordings(tracked(run), [f"toss {k}" for k in number], number, np.zeros(len(number), dtype=np.bool_))


@pytest.fixture(scope="module")
def learned(recordings, tmp_path_factory) -> Material:
    """What the command makes of a folder of recordings."""
    folder = tmp_path_factory.mktemp("tosses")
    stiction.recordings.save(recordings, folder / "data")
    body = ["--body", "box:0.2,0.3,0.4", "--mass", "1"]
    out = folder / "box.safetensors"
    assert main(["train", str(folder / "data"), "--law", "material", *body, "--out", str(out)]) == 0
    material = stiction.load(out)
    assert isinstance(material, Material)
    return material


@pytest.mark.slow
def test_friction_is_learned_from_noisy_poses(learned):
    assert learned.info["structure"]["depends_on"] == "constant"
    assert learned.info["structure"]["switches"] == "round cone, actual limit"
    assert float(learned.friction()) == pytest.approx(0.5, rel=0.04)
    assert 0.8 < learned.info["held_out"]["rollouts"]["error_over_noise"] < 1.5
    assert learned.info["warning"] is None
    assert 0.0 < float(learned.uncertainty()) < 0.1


def test_the_noise_is_measured(run):
    noise = pose_noise(tracked(run))
    assert noise.position == pytest.approx(0.2 * MM, rel=0.1)
    assert noise.rotation == pytest.approx(0.2 * DEGREE, rel=0.1)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_material(learned, recordings):
    assert train_material(recordings, body=BOX).scale == learned.scale


def test_windows_start_before_the_touch_and_have_no_gaps(run):
    tosses = tracked(run)
    whole = cut(recorded_poses(tosses, BOX))
    keep = np.arange(301) != 120
    holes = [Toss(t.frame[keep], t.position[keep], t.quaternion[keep], flight=4) for t in tosses.tosses]
    rest = cut(recorded_poses(Tosses(holes, tosses.timestep), BOX))
    assert 0 < len(rest) < len(whole)
    assert rest.position.shape[1:] == whole.position.shape[1:]


def test_slower_frames_are_simulated_in_several_steps():
    windows = cut(recorded_poses(tracked(motions(Material.coulomb(0.5), 4, every=4)), BOX))
    assert windows.every == 4 and windows.setting.timestep == pytest.approx(0.002)
    truth, other = Material.coulomb(0.5), Material.coulomb(0.4)
    assert windows.refined(truth, 4).misfit(truth) < windows.refined(other, 4).misfit(other)


def test_another_start_explains_no_friction(run):
    """The residuals of the truth are noise, those of other friction are more, although starts adapt to it."""
    windows = cut(recorded_poses(tracked(run), BOX)).refined(Material.coulomb(0.5), 3)
    model = Model(Structure(), (0.0, 1.0), (0.0, 1.0))
    sizes = [np.mean(np.square(windows.residuals(model, model.start(mu)))) for mu in (0.4, 0.5, 0.6)]
    assert sizes[1] < 0.9 * min(sizes[0], sizes[2])


def test_starts_that_noise_puts_below_the_ground_are_raised(run):
    windows = cut(recorded_poses(tracked(run), BOX))
    deep = windows.run(Material.coulomb(0.5), windows.start.raised(-0.5))
    turned = Rotation.from_quat(deep.quaternion[:, 0], scalar_first=True).as_matrix() @ BOX.vertices.T
    height = turned[:, 2].min(axis=1) + deep.position[:, 0, 2]
    assert height.min() > -0.05 * BOX.diameter


@pytest.fixture(scope="module")
def contacts() -> DataSet:
    """All contacts of `run`."""
    law = Material.coulomb(0.5).on(BOX)
    kept: dict[str, Any] = dict(requeries=0, keep_static_surface=1.0, workers=1, progress=False)
    return stiction.collect(BOX, law, throws=6, steps=300, ranges=RANGES, **kept)


def test_contacts_of_consecutive_steps_are_poses_too(run, contacts):
    poses = recorded_poses(contacts, None)
    assert len(poses.tosses) == 6 and poses.tosses.timestep == run.timestep
    first = int(np.flatnonzero(run.kind[0])[0])
    np.testing.assert_array_equal(poses.tosses.tosses[0].position[0], run.position[0, first])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "give the stiction.Body as body"),
        ({"body": BOX, "through": "steps"}, "Poses alone have no impulses"),
        ({"body": BOX, "through": "poses"}, "through"),
        ({"body": BOX, "held_out": 1.5}, "held_out must be a share"),
    ],
)
def test_wrong_calls_are_explained(run, how, message):
    with pytest.raises(InputError, match=message):
        train_material(tracked(run), **how)


def test_too_few_throws_are_refused(run):
    with pytest.raises(InputError, match="at least 5 throws"):
        train_material(tracked(run)[[0, 1, 2, 3]], body=BOX)


def test_flight_alone_gives_no_material():
    run = motions(Material.coulomb(0.5), 4, steps=2)
    with pytest.raises(InputError, match="frames in a row"):
        train_material(run, body=BOX)


def test_a_data_set_knows_its_body(contacts):
    with pytest.raises(InputError, match="a data set has its own"):
        train_material(contacts, body=BOX)


@pytest.mark.slow
def test_a_body_that_bounces_is_warned_of():
    material = train_material(tracked(motions(Material.coulomb(0.5, restitution=0.5), 6)), body=BOX)
    assert "times their noise" in material.info["warning"]
