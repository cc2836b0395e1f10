"""Commands that cannot do what they are asked: one sentence, exit code 2, at once, and nothing half-written."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from stiction import Body, CoulombLaw, InputError, collect, load
from stiction.basics.files import sole_writer_into, sole_writer_of
from stiction.cli import main
from toss_files import record, write_npz

pytest.importorskip("pyarrow")
BOX = ["--body", "box:0.1,0.1,0.1", "--mass", "0.37"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    """A folder with recordings, a data set, and a file that stands where a folder is wanted."""
    folder = tmp_path_factory.mktemp("inputs")
    write_npz(folder / "tosses.npz", record(4))
    body = Body.box((0.2, 0.3, 0.4), 1.0)
    collect(body, CoulombLaw(body, 0.5), throws=8, workers=1, progress=False, out=folder / "data")
    (folder / "file").write_text("not a folder")
    (folder / "folder.safetensors").mkdir()
    return folder


UNWRITABLE = {
    "simulate": ["simulate", "--steps", "5", "--out", "file/run.npz"],
    "simulate, plot": ["simulate", "--steps", "5", "--plot", "file/run.png"],
    "collect": ["collect", "box", "--truth", "coulomb-box", "--throws", "2", "--out", "file/data"],
    "import": ["import", "tosses.npz", *BOX, "--out", "file/set"],
    "train": ["train", "data", "--out", "file/law.safetensors"],
    "train, a folder": ["train", "data", "--out", "folder.safetensors"],
    "train, material": ["train", "data", "--law", "material", "--out", "file/law.safetensors"],
    "train, json": ["train", "data", "--law", "material", "--out", "law.safetensors", "--json", "file/a.json"],
    "identify": ["identify", "tosses.npz", *BOX, "--out", "file/law.safetensors"],
    "identify, plot": ["identify", "tosses.npz", *BOX, "--out", "law.safetensors", "--plot", "file/a.png"],
    "evaluate": ["evaluate", "box", "--json", "file/figures.json"],
    "reproduce": ["reproduce", "slope", "--quick", "--out", "file/results"],
    "reproduce, json": ["reproduce", "slope", "--quick", "--out", "results", "--json", "file/figures.json"],
    "bench": ["bench", "throw", "--quick", "--out", "file"],
}


ABSURD = {
    "a host that is everywhere": (["view", "box", "--no-open", "--host", ""], "host must be an address"),
    "a picture that is none": (["bench", "points", "--quick", "--plot", "a.xyz"], "The plot is a .png file, got a.xyz"),
    "runs without end": (["bench", "--quick", "--repeat", "99999999999999999999"], "from 1 to 1000"),
    "contacts without end": (["evaluate", "box", "--contacts", "99999999999999999999"], "from 1 to 10000000"),
    "a model of nothing": (["simulate", "coulomb", "--mjcf", "empty.xml", "--body", "x"], "no body 'x'; it has none"),
    "a part of nothing": (["identify", "t.npz", "--mjcf", "empty.xml", "--out", "a"], "must have one free joint"),
}


def refusal(arguments: list[str], capsys) -> str:
    """The sentence by which a command refuses."""
    began = time.perf_counter()
    code = main(arguments)
    message = capsys.readouterr().err
    assert code == 2 and message.startswith("stiction: ") and message.count("\n") == 1 and len(message) < 600
    assert time.perf_counter() - began < 20  # in which torch may be loaded for the first time
    return message


@pytest.mark.parametrize("arguments", UNWRITABLE.values(), ids=UNWRITABLE)
def test_an_output_that_cannot_be_written_is_refused_before_the_work(inputs, arguments, capsys, monkeypatch):
    monkeypatch.chdir(inputs)
    before = {path for path in inputs.rglob("*") if path.is_file()}
    assert "cannot be written" in refusal(arguments, capsys)
    assert {path for path in inputs.rglob("*") if path.is_file()} == before


WRONG = {
    "wide": (["train", "data", "--out", "a.safetensors", "--hidden", "100000"], "hidden must be a whole number from 1"),
    "deep": (["train", "data", "--out", "a.safetensors", "--hidden", *["8"] * 9], "must name at most"),
    "seed": (["train", "data", "--out", "a.safetensors", "--seed", "-1"], "seed must be a whole number"),
    "no data": (["train", "tosses.npz", "--out", "a.safetensors"], "is no data set"),
    "long": (["train", "a" * 5000, "--out", "a.safetensors"], "cannot be a path: File name too long"),
    "a long law": (["simulate", "a" * 5000], "cannot be a path: File name too long"),
    "steps": (["simulate", "--steps", "2000000000"], "GB of memory"),
    "digits": (["simulate", "--steps", "1" + "0" * 400], "steps must be a whole number"),
    "no recording": (["import", "nothing.npz", *BOX, "--out", "set"], "There is no recording nothing.npz"),
    "a folder": (["import", ".", "--body", "box:1,1,1", "--out", "set", "--rate", "1e300"], "interval [s] must be"),
    "a port": (["view", "--port", "99999999", "--no-open"], "port must be a whole number from 0 to 65535"),
    "a host": (["view", "--host", "no-such-host.invalid", "--no-open"], "cannot listen on the host"),
}


@pytest.mark.parametrize(("arguments", "sentence"), WRONG.values(), ids=WRONG)
def test_nonsense_gets_one_sentence(inputs, arguments, sentence, capsys, monkeypatch):
    monkeypatch.chdir(inputs)
    if arguments[0] == "view":
        pytest.importorskip("viser")
    if arguments[0] == "train":
        pytest.importorskip("torch")
    before = sorted(inputs.rglob("*"))
    assert sentence in refusal(arguments, capsys)
    assert sorted(inputs.rglob("*")) == before


def test_a_server_of_names_that_does_not_answer_is_not_waited_for(monkeypatch):
    pytest.importorskip("viser")
    from stiction.viewer import window as serving

    monkeypatch.setattr(serving.socket, "getaddrinfo", lambda *_, **__: time.sleep(30))
    began = time.perf_counter()
    with pytest.raises(InputError, match="the name was not resolved within"):
        serving.free_port("somewhere.example", 8080)
    assert time.perf_counter() - began < 3


@pytest.mark.skipif(os.name != "posix", reason="no such locks on Windows")
def test_two_processes_do_not_write_to_one_place(inputs, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(inputs)
    law = tmp_path / "law.safetensors"
    commands = [["identify", "tosses.npz", *BOX, "--out", str(law)]]
    commands += [["train", "data", "--law", "material", "--out", str(law)]]
    code = f"""
import pathlib, sys
from stiction.basics.files import sole_writer_of
with sole_writer_of(pathlib.Path({str(law)!r})):
    print("held", flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout and other.stdout.readline() == b"held\n"
        for command in commands:
            assert f"Another process is writing to {law}" in refusal(command, capsys)
        other.kill()
    with sole_writer_of(law):  # the lock has gone with its holder, though the file beside is still there
        pass
    assert list(tmp_path.iterdir()) == []


def test_of_many_that_want_a_lock_one_has_it(tmp_path):
    """Files beside come and go while others ask for them: never do two hold the lock of one place."""
    held, most, refused = [], [], []

    def work() -> None:
        for _ in range(100):
            try:
                with sole_writer_of(tmp_path / "law.safetensors"):
                    held.append(1)
                    most.append(len(held))
                    held.pop()
            except InputError:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1 and len(most) + len(refused) == 400 and list(tmp_path.iterdir()) == []


def test_a_folder_is_locked_as_a_whole(tmp_path):
    with sole_writer_into(tmp_path / "data"), pytest.raises(InputError, match="Another process is writing to"):
        with sole_writer_into(tmp_path / "data"):
            pass


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("stiction.basics.files.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        load("dart").save(tmp_path / "a.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_neither_a_home_nor_a_name_nor_a_cache_is_needed(tmp_path):
    """As in a container whose user has no entry in the system's list of users, and may write to one folder only."""
    code = """
import os, pwd, sys
def nobody(*_): raise KeyError("getpwuid(): uid not found")
pwd.getpwuid = pwd.getpwnam = nobody
from stiction.cli import main
sys.exit(main(sys.argv[1:]))
"""
    lost = ("HOME", "USER", "LOGNAME", "LNAME", "USERNAME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    bare = {key: value for key, value in os.environ.items() if key not in lost} | {"PYTHONDONTWRITEBYTECODE": "1"}
    commands = [["simulate", "box", "--steps", "20", "--out", "run.npz"]]
    commands += [["collect", "box", "--truth", "coulomb-box", "--throws", "2", "--out", "data", "--workers", "2"]]
    for command in commands:
        call = [sys.executable, "-c", code, *command]
        ended = subprocess.run(call, cwd=tmp_path, env=bare, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "run.npz").is_file() and (tmp_path / "data" / "manifest.json").is_file()


@pytest.mark.parametrize("what", ABSURD)
def test_what_makes_no_sense_is_refused_before_anything_is_done(what, tmp_path, monkeypatch, capsys):
    for package in ("mujoco", "viser", "matplotlib"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    Path("empty.xml").write_text("<mujoco/>")
    arguments, sentence = ABSURD[what]
    assert sentence in refusal(arguments, capsys)
