"""The study of materials: its grounds and places, tables from figures, and a whole run at the smallest scale."""

import json
from dataclasses import replace

import numpy as np
import pytest

from stiction import Material
from stiction.cli import main
from stiction_studies.materials.grounds import BOX, ELSEWHERE, GROUNDS, ground, stone, with_mass

pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("sklearn")
study = pytest.importorskip("stiction_studies.materials.materials_study", exc_type=ImportError)


def figures(error: float, mean: float) -> dict:
    kinds = {"point": {"friction_error": error, "accuracy": 0.999}, "line": {"accuracy": 0.98}}
    position = {"mean": mean, "mean_95": [mean / 2, 2 * mean], "median": mean / 3, "median_95": [0.0, mean]}
    return {"kinds": kinds, "throws": {"number": 8, "lost": 0, "right_face": 1.0, **position}, "law": {"throws": 4}}


def test_there_are_six_grounds_of_points_and_two_others():
    assert sum(one.of_points for one in GROUNDS) == 6 and len(GROUNDS) == 8
    assert all(isinstance(one.truth, Material) == one.of_points for one in GROUNDS)
    wanted = {"direction": ("direction",), "viscous": ("speed", "load"), "load-speed": ("speed", "load")}
    assert {name: ground(name).truth.depends_on for name in wanted} == wanted


def test_no_coulomb_law_is_among_the_grounds():
    angles, speeds, loads = np.linspace(0, 6, 7), np.geomspace(0.01, 5, 7), np.geomspace(1, 500, 7)
    for one in GROUNDS[:6]:
        mu = one.truth.friction(*np.meshgrid(angles, speeds, loads))
        assert mu.max() > 1.5 * mu.min() > 0.15


def test_setups_differ_from_the_box_in_one_thing_each():
    assert len(stone().vertices) == 200
    light = with_mass(BOX, 0.2)
    assert light.mass == 0.2 and np.allclose(light.inertia, 0.2 * BOX.inertia)
    assert [place.steps for place in ELSEWHERE[-2:]] == [1600, 320]


def test_cells_of_a_law():
    cells = study.cells_of(figures(0.0123, 0.05))
    assert cells[:4] == ["1.23 %", "–", "–", "98.00 %"]
    assert cells[4] == "5 % (2.5–10)" and cells[6] == "100.0 %"
    lost = {"kinds": {}, "throws": {"number": 3, "lost": 3, "right_face": 0.0}}
    assert study.cells_of(lost) == ["–"] * 4 + ["diverged"] * 3


def test_rows_of_all_parts_have_the_same_columns():
    law = {"material": figures(0.01, 0.02)}
    parts = {
        "grounds": {"ground": "speed", "laws": law},
        "transfer": {"ground": "speed", "place": "long box", "laws": law},
        "dart": {"place": "long box", "laws": law},
        "efficiency": {"ground": "speed", "name": "material", "learned_from": 8, **figures(0.01, 0.02)},
    }
    rows = [row for name, row in parts.items() for row in study.flat_rows(name, [row])]
    assert len(rows) == 4 and len({tuple(row) for row in rows}) == 1
    assert rows[3]["law"] == "material" and rows[3]["position_mean"] == 0.02


@pytest.mark.slow
def test_a_small_run_from_end_to_end_and_once_more_from_what_it_kept(tmp_path, monkeypatch, capsys):
    pytest.importorskip("dartpy")
    small = replace(
        study.SCALES["quick"],
        throws=12,
        contacts=60,
        tests=4,
        grounds=("direction",),
        networks=(),
        dart=(),
        counts=(12,),
    )
    monkeypatch.setattr(study, "SCALES", {"quick": small})
    assert main(["reproduce", "materials", "--quick", "--out", str(tmp_path)]) == 0
    folder = tmp_path / "materials"
    first = json.loads((folder / "results.json").read_text())
    laws = first["grounds"][0]["laws"]
    assert laws["material"]["throws"]["mean"] < 0.5 * laws["Coulomb"]["throws"]["mean"]
    assert laws["material"]["law"]["structure"]["depends_on"] == "direction"
    for kind in ("point", "line", "surface"):
        assert (
            laws["material"]["kinds"][kind]["friction_error"] < 0.2 * laws["Coulomb"]["kinds"][kind]["friction_error"]
        )
    assert first["transfer"][0]["laws"]["material"]["throws"]["mean"] < 0.05
    assert len(pq.read_table(folder / "rows.parquet")) == 2 + 1 + 2
    assert (folder / "map-direction.png").read_bytes()[:4] == b"\x89PNG"
    assert "data:image/png" in (tmp_path / "index.html").read_text()
    assert "| direction: material |" in (folder / "tables.md").read_text()
    kept = {path: path.stat().st_mtime_ns for path in (folder / "figures").iterdir()}
    assert main(["reproduce", "materials", "--quick", "--out", str(tmp_path)]) == 0
    assert {path: path.stat().st_mtime_ns for path in (folder / "figures").iterdir()} == kept
    again = json.loads((folder / "results.json").read_text())
    assert {**again, "duration_s": 0} == {**first, "duration_s": 0}
