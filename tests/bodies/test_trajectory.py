"""Trajectories: kept in files, plotted, and as tables."""

import sys
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest

from stiction import CoulombLaw, InputError, Kind, Mode, State, Trajectory, rollout
from stiction.basics import colours


@pytest.fixture(scope="module")
def run(box) -> Trajectory:
    return rollout(CoulombLaw(box, 0.5), State.random(box, 6, seed=1), 150)


def same(a: Trajectory, b: Trajectory) -> bool:
    return all(np.array_equal(getattr(a, field.name), getattr(b, field.name)) for field in fields(Trajectory))


def test_a_batch_is_a_sequence_of_trajectories_and_each_of_its_states(run):
    assert len(run) == 6 and same(run[-1], run[5])
    assert len(run[2]) == run.steps + 1 == len(list(run[2]))
    assert np.array_equal(run[2][-1].position, run[2].state().position)
    assert run[2][10:20].batch_shape == (10,)
    with pytest.raises(IndexError):
        run[2][run.steps + 1]


def test_modes_and_kinds_have_names(run):
    assert run.modes.shape == run.mode.shape and set(run.modes.flat) <= {mode.name for mode in Mode}
    assert ((run.modes == "STATIC") == (run.mode == Mode.STATIC)).all()
    assert ((run.kinds == "LINE") == (run.kind == Kind.LINE)).all()


def test_what_is_saved_is_loaded_to_the_bit(tmp_path, run):
    for number, one in enumerate((run, run[2], Trajectory(**vars(run) | {"timestep": 0.5}))):
        one.save(tmp_path / "new" / f"{number}.npz")
        assert same(Trajectory.load(tmp_path / "new" / f"{number}.npz"), one)
    run.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "new/0.npz").read_bytes()
    with np.load(tmp_path / "again.npz") as file:
        assert np.array_equal(file["time"], run.time)
    assert Trajectory.load(tmp_path / "again.npz").mode.dtype == np.int8


def test_what_holds_no_trajectory_is_refused(tmp_path, run):
    def refused(path, sentence):
        with pytest.raises(InputError, match=sentence):
            Trajectory.load(path)

    refused(tmp_path / "none.npz", "There is no trajectory .*none.npz")
    with pytest.raises(InputError, match=r"kept in an .npz file, got .*throw.csv"):
        run.save(tmp_path / "throw.csv")
    (tmp_path / "text.npz").write_text("no archive")
    refused(tmp_path / "text.npz", "is not a whole .npz file")
    (tmp_path / "empty.npz").touch()
    refused(tmp_path / "empty.npz", "is not a whole .npz file")
    with (tmp_path / "lone.npz").open("wb") as file:
        np.save(file, run.position)
    refused(tmp_path / "lone.npz", "is not a whole .npz file")
    run.save(tmp_path / "changed.npz")
    whole = (tmp_path / "changed.npz").read_bytes()
    for place in range(1000, len(whole) - 2000, 501):  # what is packed; the list of the contents comes last
        changed = bytes([whole[place] ^ 255])
        (tmp_path / "changed.npz").write_bytes(whole[:place] + changed + whole[place + 1 :])
        refused(tmp_path / "changed.npz", "is not a whole .npz file")
    np.savez(tmp_path / "less.npz", position=run.position)
    refused(tmp_path / "less.npz", "holds no trajectory: it has no quaternion, velocity")
    np.savez(tmp_path / "short.npz", **vars(run) | {"velocity": run.velocity[:, 1:]})
    refused(tmp_path / "short.npz", r"velocity has shape \(6, 150, 3\) beside mode with \(6, 150\)")
    np.savez(tmp_path / "step.npz", **vars(run) | {"timestep": -1.0})
    refused(tmp_path / "step.npz", "The timestep in .* must be positive, got -1")


def test_a_plot_shows_height_speed_and_modes(tmp_path, run):
    pytest.importorskip("matplotlib")
    from matplotlib.colors import to_hex

    height, speed, modes = run.plot(tmp_path / "new" / "throws.png").axes
    assert (tmp_path / "new/throws.png").read_bytes().startswith(b"\x89PNG")
    assert len(height.lines) == len(speed.lines) == 6
    assert np.array_equal(np.asarray(height.lines[4].get_ydata()), run.position[4, :, 2])
    assert np.asarray(speed.lines[4].get_ydata()) == pytest.approx(np.linalg.norm(run.velocity[4], axis=1))
    bands = modes.collections[0]
    assert np.array_equal(np.asarray(bands.get_array()).reshape(run.mode.shape), run.mode)
    for mode in (Mode.STATIC, Mode.DYNAMIC, Mode.DETACH):
        assert to_hex(bands.to_rgba(float(mode))) == colours.as_hex(colours.MODES[mode])
    assert len(run[0].plot().axes[0].lines) == 1


def test_what_cannot_be_plotted_is_refused(tmp_path, run, monkeypatch):
    pytest.importorskip("matplotlib")
    with pytest.raises(InputError, match=r"ending of a picture's file must be one of .*'png'.*, got 'txt'"):
        run.plot(tmp_path / "throws.txt")
    with pytest.raises(InputError, match=r"nothing to plot in Trajectory\(batch \(0,\), 150 steps of 0.002 s\)"):
        run[:0].plot()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"Trajectory.plot needs matplotlib: pip install 'stiction\[report\]'"):
        run.plot()


def test_a_table_has_a_row_for_each_state(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))  # which shows the columns as they are
    table = run.to_dataframe()
    names = "toss time x y z qw qx qy qz vx vy vz wx wy wz px py pz mx my mz mode kind"
    assert list(table) == names.split()
    row = 4 * 151 + 100  # of throw 4, after 100 steps
    assert table["toss"][row] == 4 and table["time"][row] == pytest.approx(0.2)
    assert [table[name][row] for name in ("x", "y", "z")] == run.position[4, 100].tolist()
    assert [table[name][row] for name in ("qw", "qx", "qy", "qz")] == run.quaternion[4, 100].tolist()
    assert [table[name][row] for name in ("px", "py", "pz", "mx", "my", "mz")] == run.impulse[4, 99].tolist()
    touching = np.argwhere(run.kind > 0)[0]
    row = touching[0] * 151 + touching[1] + 1
    assert table["mode"][row] == Mode(int(run.mode[tuple(touching)])).name
    assert table["kind"][row] == Kind(int(run.kind[tuple(touching)])).name
    assert table["mode"][4 * 151] == "NONE" and table["pz"][4 * 151] == 0
    assert "toss" not in run[0].to_dataframe()
    halves = Trajectory(**{k: v.reshape(2, 3, *v.shape[1:]) if k != "timestep" else v for k, v in vars(run).items()})
    assert halves.to_dataframe()["toss_1"][4 * 151] == 1 and halves.to_dataframe()["toss_0"][4 * 151] == 1


def test_without_pandas_a_table_is_refused(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"Trajectory.to_dataframe needs pandas: pip install pandas"):
        run.to_dataframe()
