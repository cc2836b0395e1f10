"""The command line: what it writes, what its help says, and how it refuses."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import stiction
from stiction.cli import all_commands, main
from stiction_studies.catalogue import ABOUT, STUDIES
from stiction_studies.commands import CASES
from stiction_studies.reproduce import study_function


def test_simulate_writes_a_trajectory(tmp_path, capsys):
    path = tmp_path / "run.npz"
    assert main(["simulate", "--steps", "50", "--height", "0.3", "--out", str(path)]) == 0
    with np.load(path) as run:
        assert run["position"].shape == (51, 3) and run["mode"].shape == (50,)
    assert "final position" in capsys.readouterr().out


def test_simulate_draws_its_throw(tmp_path):
    pytest.importorskip("matplotlib")
    assert main(["simulate", "--steps", "50", "--plot", str(tmp_path / "throw.png")]) == 0
    assert (tmp_path / "throw.png").read_bytes().startswith(b"\x89PNG")


def test_simulate_puts_a_material_on_any_body(tmp_path):
    path = tmp_path / "run.npz"
    how = ["--body", "prism:6,0.1,0.3", "--mass", "2", "--timestep", "0.001", "--turn", "0", "0", "0"]
    throw = ["--height", "0.2", "--velocity", "1", "2", "0", "--spin", "0", "0", "3"]
    assert main(["simulate", "stribeck", *how, *throw, "--steps", "200", "--out", str(path)]) == 0
    body = stiction.Body.prism(6, 0.1, 0.3, mass=2.0)
    state = stiction.State([0, 0, 0.2], velocity=[1, 2, 0], angular_velocity=[0, 0, 3])
    wanted = stiction.rollout(stiction.load("stribeck").on(body, timestep=0.001), state, 200)
    with np.load(path) as run:
        np.testing.assert_array_equal(run["position"], wanted.position)


@pytest.mark.parametrize("law", ["box", "rectangle", "cube"])  # of a learned, a planar and an identified law
def test_simulate_throws_the_body_of_a_law(law, capsys):
    assert main(["simulate", law, "--steps", "400"]) == 0
    output = capsys.readouterr().out
    assert (
        " ".join(repr(stiction.load(law)).split()) in " ".join(output.split())
        and "first contact      none" not in output
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["simulate", "--mass", "-1"], "stiction: Body mass [kg] must be positive, got -1."),
        (["simulate", "--height", "0"], "stiction: The body starts below the ground"),
        (["simulate", "--out", "run.csv"], "stiction: --out must name an .npz file, got run.csv."),
        (["simulate", "box", "--mass", "2"], "stiction: box is a law of its own body, a box of 1 kg: give no other"),
        (["simulate", "dart", "--friction", "2"], "stiction: --friction and --cone are for the law coulomb;"),
        (["evaluate", "no-such-law"], "stiction: There is no law 'no-such-law'; shipped are"),
        (["evaluate", "box", "--data", "tosses"], "stiction: --data is for laws that were identified from recordings"),
        (
            ["identify", "tosses", "--body", "box:1,1,1", "--mass", "1", "--out", "a.safetensors", "--plot", "a.jpg"],
            "stiction: The plot is a .png file, got a.jpg.",
        ),
        (
            ["train", "data", "--out", "x", "--through", "rollouts"],
            "stiction: --through and --body are for a material.",
        ),
        (["view", "no-such-law"], "stiction: There is no law 'no-such-law'; shipped are"),
        (["reprodce"], "stiction: There is no command 'reprodce'; did you mean reproduce?"),
        (["sing"], "stiction: There is no command 'sing'; there are demo, simulate, view,"),
        (["reproduce", "--out", "x", "robt"], "stiction: There is no study 'robt'; did you mean robot or robots?"),
        (["reproduce", "slope"], "stiction: `reproduce slope` needs a folder for its results: give --out FOLDER."),
        (["reproduce", "slope", "--out", "x", "--quick", "--full"], "stiction: Give --quick or --full, not both."),
        (["bench", "thorw"], "stiction: There is no case 'thorw'; did you mean throw?"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(arguments, sentence, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("stiction 0.")


def test_the_package_is_a_program_and_names_every_command():
    program = [sys.executable, "-m", "stiction"]
    output = subprocess.run(program, check=True, capture_output=True, text=True).stdout
    assert "--version" in output and stiction.__version__ in output
    assert [name for name in all_commands() if f"• {name}" not in output] == []


@pytest.mark.parametrize(("command", "about"), [("reproduce", ABOUT), ("bench", CASES)])
def test_help_has_a_line_for_each_study_and_case(command, about, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ended.value.code == 0 and [pair for pair in about.items() if list(pair) not in lines] == []


def test_reproduce_without_a_name_lists_the_studies(capsys):
    assert main(["reproduce"]) == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert lines[: len(ABOUT)] == [list(pair) for pair in ABOUT.items()]


@pytest.mark.parametrize("command", [(), ("train",), ("reproduce",), ("view",)])
def test_help_imports_nothing_heavy(command):
    code = f"""
import sys
from stiction.cli import main
try:
    main([*{command!r}, "--help"])
except SystemExit:
    pass
print(sorted({{"numpy", "scipy", "torch", "mujoco", "stiction._core"}} & set(sys.modules)), file=sys.stderr)
"""
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stderr == "[]\n"


def test_a_command_of_the_studies_that_are_not_installed_gets_a_hint(monkeypatch, capsys):
    monkeypatch.setattr("stiction.cli.entry_points", lambda group: [])
    assert "reproduce" not in all_commands()
    assert main(["reproduce", "slope"]) == 2
    assert (
        capsys.readouterr().err == "stiction: `stiction reproduce` needs the studies: pip install stiction-studies.\n"
    )


def test_every_study_and_case_that_is_listed_is_there():
    from stiction_studies.speed import bench_run

    assert list(CASES) == list(bench_run.CASES)
    for name, study in STUDIES.items():
        if all(find_spec(package) for package in study.needs):
            assert callable(study_function(name))


def test_a_shell_completes_commands_studies_and_options(tmp_path, capsys):
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "completion.sh"
    script.write_text(capsys.readouterr().out)
    ask = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_tyro_stiction; printf '%s\\n' "${COMPREPLY[@]}"
"""
    for words, found in (
        (["rep"], ["reproduce"]),
        (["reproduce", "rob"], ["robot", "robots"]),
        (["collect", "box", "--t"], ["--throws", "--timestep", "--truth"]),  # --truth has help of several lines
    ):
        call = ["bash", "-c", ask, "bash", str(script), "stiction", *words]
        output = subprocess.run(call, check=True, capture_output=True, text=True).stdout
        assert sorted(output.split("\n")[:-1]) == found


def test_demo_says_at_once_what_it_lacks(monkeypatch, capsys):
    hidden = ("dartpy", "torch", "pyarrow", "plotly")
    monkeypatch.setattr("stiction.basics.environment.find_spec", lambda module: None if module in hidden else module)
    assert main(["demo"]) == 2
    needed = "`stiction demo` needs DART, pyarrow, torch and plotly"
    assert capsys.readouterr().err == f"stiction: {needed}: pip install 'stiction[dart,data,train,report]'.\n"


def test_demo_runs_the_commands_that_it_shows(tmp_path, monkeypatch, capsys):
    """Throwing, learning and measuring have tests of their own; here each is looked at only for what it is given."""
    for module in ("dartpy", "torch", "viser"):
        pytest.importorskip(module)
    called = []
    for module, name in (
        ("stiction.data.collecting", "run_plan"),
        ("stiction.training.from_data", "train_from"),
        ("stiction.evaluation.evaluate", "evaluate"),
        ("stiction_studies.commands", "run"),
    ):
        monkeypatch.setattr(f"{module}.{name}", lambda *given, **named: called.append((given, named)))
    monkeypatch.setattr("stiction.data.dataset.print_summary", lambda data: None)
    monkeypatch.setattr("stiction.evaluation.evaluate.print_figures", lambda figures: None)
    assert main(["demo", "--out", str(tmp_path)]) == 0
    shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith("──")]
    commands = ["reproduce", "collect", "train", "evaluate", "reproduce"]
    assert [line.split(": stiction ")[1].split()[0] for line in shown] == commands
    (story, _), (thrown, _), (trained, _), (measured, contacts), (study, of) = called
    assert story[:3] == ("take", tmp_path, "usual")
    assert (thrown[0].body.shape, thrown[0].throws, thrown[1]) == ("box", 300, tmp_path / "data")
    law = tmp_path / "box.safetensors"
    assert trained[:2] == (tmp_path / "data", law) and trained[2].time_budget == 30
    assert measured == (str(law),) and contacts["contacts"] == 10_000
    assert study[:3] == ("trajectories", tmp_path, "quick") and of["law"] == law


def test_errors_name_the_options_of_the_command_line(tmp_path, capsys):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.annulus(0.1, 0.2, 0.1).export(tmp_path / "ring.stl")
    trimesh.creation.box((200, 300, 400)).export(tmp_path / "large.stl")
    for args, words in {
        ("--body", str(tmp_path / "ring.stl")): "give --hull for the hull",
        ("--body", str(tmp_path / "large.stl")): "give --scale 0.001 for a file in millimetres",
        ("--timestep", "1"): "stiction: --timestep [s] must be at most 0.1 for this body",
    }.items():
        assert main(["simulate", *args]) == 2
        assert words in capsys.readouterr().err
    assert main(["simulate", "--body", str(tmp_path / "ring.stl"), "--hull", "--steps", "10"]) == 0
