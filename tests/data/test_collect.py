"""Collection: the same bytes whoever works and whenever it is stopped, and instances that obey mechanics."""

import hashlib
import json
import signal
import subprocess
import sys
import time
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import stiction
from contact_states import contacts_of
from stiction import Body, CoulombLaw, DataSet, InputError, Kind, Mode, State
from stiction.basics.files import sole_writer_into
from stiction.cli import main
from stiction.data.instances import balanced_choice

LOW = {"height": (0.01, 0.1), "vertical": (-2.0, 0.0)}  # soon in contact
PLAN: dict[str, Any] = dict(
    truth="coulomb-box", friction=0.6, throws=9, steps=150, seed=3, ranges=LOW, shard_throws=2, requeries=10
)
BODIES = ("box", "rectangle", "lopsided")
BOX = Body.box((0.2, 0.3, 0.4), 1.0)


def collected(out=None, *, body: Body = BOX, workers: int = 1, **changes) -> DataSet:
    """A small data set of PLAN with changes."""
    return stiction.collect(body, out=out, workers=workers, progress=False, **{**PLAN, **changes})


@pytest.fixture(scope="module")
def lopsided() -> Body:
    return Body.box((0.2, 0.3, 0.4), 1.0, com=(0.03, -0.05, 0.08), inertia=np.diag([0.02, 0.018, 0.012]))


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> dict[str, bytes]:
    return contents(collected(tmp_path_factory.mktemp("one")).folder)


def contents(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def centre_of_mass(body, rows, which=slice(None)) -> np.ndarray:
    """From the origin of the body frame to the centre of mass, world axes (n, 3)."""
    return Rotation.from_quat(rows["quaternion"][which], scalar_first=True).apply(np.array(body.com))


def states_of(body, rows, which) -> State:
    """The states before the step of some rows."""
    position, quaternion, twist = (rows[column][which] for column in ("position", "quaternion", "twist"))
    arm = centre_of_mass(body, rows, which)
    return State(position, quaternion, twist[:, :3] - np.cross(twist[:, 3:], arm), twist[:, 3:])


def skip_without_dart(truth: str) -> None:
    if truth in ("dantzig", "nsgs"):
        pytest.importorskip("stiction.dart", reason="DART is not installed", exc_type=ImportError)


def test_dart_gives_the_same_bytes_again(tmp_path):
    pytest.importorskip("joblib", reason="joblib is not installed")
    skip_without_dart("dantzig")
    one, two = (collected(tmp_path / str(n), workers=n, truth="dantzig", throws=4).folder for n in (1, 2))
    assert contents(one) == contents(two)


@pytest.mark.parametrize("name", ["dantzig", "nsgs", "coulomb-box", "coulomb-round"])
def test_throws_do_not_depend_on_their_shard(name):
    skip_without_dart(name)
    cut, whole = (collected(truth=name, throws=5, steps=100, shard_throws=count).read() for count in (2, 5))
    for column, values in whole.items():
        assert np.array_equal(cut[column], values), column


KILLED = """
import json, sys, time
import stiction
from stiction.data import collecting

real = collecting.write_whole
def slow(path, data):
    real(path, data)
    print(path.name, flush=True)
    time.sleep(0.02)
collecting.write_whole = slow
body = stiction.Body.box((0.2, 0.3, 0.4), 1.0)
stiction.collect(body, out=sys.argv[2], workers=2, progress=False, **json.loads(sys.argv[1]))
"""


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on_to_the_same_bytes(uninterrupted, tmp_path):
    rng = np.random.default_rng(1)
    arguments = [sys.executable, "-c", KILLED, json.dumps(PLAN), str(tmp_path)]
    for _ in range(2):
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()  # it has started to write shards
        time.sleep(rng.uniform(0, 0.08))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    assert contents(collected(tmp_path).folder) == uninterrupted


def test_files_of_a_killed_process_are_cleaned_up(uninterrupted, tmp_path):
    collected(tmp_path)
    first = next(iter(uninterrupted.values()))
    for kept in ([], ["manifest.json"], sorted(uninterrupted)[:3]):
        for name in uninterrupted:
            (tmp_path / name).unlink()
        for name in kept:  # the manifest as it is before the end does not name the shards yet
            data = uninterrupted[name]
            (tmp_path / name).write_bytes(unfinished(data) if name == "manifest.json" else data)
        (tmp_path / ".shard-00003.1234.tmp.parquet").write_bytes(first[:100])
        (tmp_path / ".manifest.1234.tmp.json").write_bytes(b"{")
        assert contents(collected(tmp_path).folder) == uninterrupted


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("truth", ["dantzig", "nsgs", "coulomb-box", "coulomb-round"])
def test_instances_obey_mechanics(name, truth, request):
    """after = v1 + M^-1 p, v1 and kind as Algorithm 1 sees them, modes as the core names them."""
    skip_without_dart(truth)
    body = request.getfixturevalue(name)
    rows = collected(body=body, truth=truth, throws=6, shard_throws=6, steps=250).read()
    position = rows["position"] + centre_of_mass(body, rows)
    contacts = contacts_of(body, position, rows["quaternion"], rows["twist"])
    record = contacts.record
    assert len(position) == len(record) > 300
    assert np.array_equal(record.kind, rows["kind"])
    assert np.abs(record.velocity - rows["v1"]).max() < 1e-12
    after = rows["v1"] + np.einsum("nij,nj->ni", contacts.inverse_inertia, rows["impulse"])
    assert np.abs(after - rows["after"]).max() < 1e-11
    impulse, modes = contacts.observe(rows["after"])
    assert np.abs(impulse - rows["impulse"]).max() < 1e-11
    assert np.array_equal(modes, rows["mode"])
    assert {Mode.STATIC, Mode.DYNAMIC, Mode.DETACH} == set(modes)


@pytest.mark.parametrize("truth", ["dantzig", "coulomb-box"])
def test_requeried_states_are_contacts_with_other_velocities(lopsided, truth):
    skip_without_dart(truth)
    plan: dict[str, Any] = dict(body=lopsided, truth=truth, throws=4, keep_static_surface=1.0)
    rows = collected(**plan).read()
    again = rows["step"] == -1
    assert again.sum() == 40 and (np.diff(rows["throw"]) >= 0).all()
    for throw in range(4):
        here, those = (rows["throw"] == throw) & ~again, (rows["throw"] == throw) & again
        gap = rows["position"][those][:, np.newaxis] - rows["position"][here]
        source = np.abs(gap).max(axis=2).argmin(axis=1)
        assert np.abs(gap[np.arange(10), source]).max() < 1e-12
        change = rows["twist"][those] - rows["twist"][here][source]
        assert (1e-4 < np.linalg.norm(change[:, :3], axis=1)).all() and np.abs(change[:, 3:]).max() < 20
    states = states_of(lopsided, rows, again)
    if truth == "dantzig":
        asked = stiction.dart.throw(lopsided, states, 1, friction=0.6)
    else:
        asked = stiction.rollout(CoulombLaw(lopsided, 0.6, cone="dart"), states, 1)
    assert np.abs(asked.angular_velocity[:, 1] - rows["after"][again][:, 3:]).max() < 1e-9
    assert collected(**plan, requeries=0).read()["step"].min() >= 0


@pytest.mark.parametrize("solver", ["dantzig", "nsgs"])
@pytest.mark.parametrize("name", ["box", "rectangle", "stone"])
def test_one_dart_world_answers_as_a_fresh_one(name, solver, request):
    """Bit for bit, whatever it was asked before."""
    skip_without_dart(solver)
    body = request.getfixturevalue(name)
    rows = collected(body=body, truth=solver, throws=3, requeries=0).read()
    chosen = np.random.default_rng(0).choice(len(rows["kind"]), 20)
    states = states_of(body, rows, chosen)
    throw = partial(stiction.dart.throw, body, steps=1, friction=0.6, solver=solver)
    together = throw(states[:])  # cut as below: a State scales its quaternions, by the last bit
    for k in range(20):
        alone = throw(states[k : k + 1])
        assert np.array_equal(alone.velocity[0], together.velocity[k])
        assert np.array_equal(alone.impulse[0], together.impulse[k])


def test_static_surface_contacts_are_thinned():
    everything, some, none = (
        collected(throws=8, shard_throws=8, steps=600, requeries=0, keep_static_surface=share).read()
        for share in (1.0, 0.2, 0.0)
    )
    at_rest, kept, left = (
        (rows["mode"] == Mode.STATIC) & (rows["kind"] == Kind.SURFACE) for rows in (everything, some, none)
    )
    assert at_rest.sum() > 1000
    assert 0.15 < kept.sum() / at_rest.sum() < 0.25
    assert not left.any()
    for column in everything:
        assert np.array_equal(none[column], everything[column][~at_rest])


def test_rare_contacts_are_asked_as_often_as_common_ones():
    kind, mode = np.array([3] * 900 + [1] * 90 + [2] * 10), np.array([1] * 900 + [2] * 90 + [3] * 10)
    picks = balanced_choice(kind, mode, 3000, np.random.default_rng(0))
    assert np.bincount(kind[picks])[1:] == pytest.approx([1000, 1000, 1000], abs=120)


def test_throws_that_touch_nothing_make_an_empty_data_set():
    data = collected(steps=3, ranges={"height": (1, 1)}, throws=2)
    assert len(data) == 0 and data.read(["v1"])["v1"].shape == (0, 6)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (dict(seed=4), "holds a data set with seed 3, not 4: repeat its command or give a new folder."),
        (dict(throws=10), "throws 9, not 10"),
        (dict(body=Body.box((0.2, 0.3, 0.4), 2.0)), "body.mass 1.0, not 2.0"),
        (dict(truth="coulomb-round"), 'truth.name "coulomb-box", not "coulomb-round"'),
        (dict(ranges=None), "ranges.height .0.01, 0.1., not .0.01, 1.0."),
    ],
)
def test_another_plan_is_refused_in_the_same_folder(uninterrupted, tmp_path, changes, sentence):
    (tmp_path / "manifest.json").write_bytes(unfinished(uninterrupted["manifest.json"]))
    with pytest.raises(InputError, match=sentence):
        collected(tmp_path, **changes)


def test_other_versions_and_other_folders_are_refused(uninterrupted, tmp_path):
    (tmp_path / "manifest.json").write_bytes(unfinished(uninterrupted["manifest.json"], numpy="1.0"))
    with pytest.raises(InputError, match=r'holds a data set with package\.numpy "1\.0", not'):
        collected(tmp_path)
    (tmp_path / "manifest.json").rename(tmp_path / "diary.txt")
    with pytest.raises(InputError, match="is not empty and holds no data set"):
        collected(tmp_path)


def test_damaged_shards_stop_a_continuation(uninterrupted, tmp_path):
    write_bytes = {**uninterrupted, "manifest.json": unfinished(uninterrupted["manifest.json"])}
    for name, data in write_bytes.items():
        (tmp_path / name).write_bytes(data)
    shard = tmp_path / "shard-00002.parquet"
    shard.write_bytes(uninterrupted[shard.name][:-100])
    with pytest.raises(InputError, match=r"shard-00002\.parquet is damaged.*; delete it, and it is made again"):
        collected(tmp_path)
    shard.unlink()
    assert contents(collected(tmp_path).folder) == uninterrupted


def test_only_one_process_collects_into_a_folder(tmp_path):
    with sole_writer_into(tmp_path), pytest.raises(InputError, match="Another process is writing to"):
        collected(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(executor="slurm"), "executor must be one of 'local', 'ray', got 'slurm'"),
        (dict(workers=0), "workers must be a whole number of at least 1"),
        (dict(address="1.2.3.4:5"), "An address is for the executor ray only"),
        (dict(executor="ray", address="cluster"), "address must be HOST:PORT, ray://HOST:PORT or auto"),
        (dict(executor="ray", address="127.0.0.1:9"), "Nothing answers at 127.0.0.1:9"),
    ],
)
def test_impossible_executors_are_refused(tmp_path, arguments, sentence):
    if arguments.get("executor") == "ray":
        pytest.importorskip("ray", reason="Ray is not installed")
    with pytest.raises(InputError, match=sentence):
        collected(tmp_path / "new", **arguments)
    assert not (tmp_path / "new").exists() or arguments.get("executor") == "ray"


def test_options_mean_a_plan(tmp_path):
    short = ["--throws", "1", "--steps", "5", "--truth", "coulomb-box", "--workers", "1"]

    def plan(body: str, *options: str):
        out = tmp_path / str(len(list(tmp_path.iterdir())))
        assert main(["collect", body, "--out", str(out), *short, *options]) == 0
        return DataSet(out).plan

    link = plan("link", "--spin", "-1", "1")
    assert link.truth.friction == (0.6,) and link.body.size == (0.5, 0.1, 0.08)
    assert link.ranges.spin == (-1, 1) and link.ranges.horizontal == (-6, 6)
    two = plan("box", "--friction", "0.75", "1.5", "--mass", "2")
    assert two.truth.friction == (0.75, 1.5) and two.body.mass == 2.0
    assert plan("box:1,1,1").truth.friction == (0.5,)


def test_the_command_ends_with_a_table_and_a_warning(tmp_path, capsys):
    options = ["--throws", "3", "--steps", "200", "--truth", "coulomb-box", "--workers", "1"]
    assert main(["collect", "rectangle", "--out", str(tmp_path), *options]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "static" in output and "surface" in output and f"of 3 throws in {tmp_path}" in output
    assert "Fewer than 200 instances, too few to learn from: point static" in output
    assert "surface detach (" not in output


def unfinished(manifest: bytes, **packages: str) -> bytes:
    """A manifest as it is before the last shard, with other versions of packages."""
    content = json.loads(manifest)
    content["packages"] |= packages
    content["shards"] = None
    del content["sha256"]
    body = json.dumps(content, indent=2) + "\n"
    return (json.dumps(content | {"sha256": hashlib.sha256(body.encode()).hexdigest()}, indent=2) + "\n").encode()
