"""The study of data efficiency, end to end at its smallest."""

import json

import pytest

pytest.importorskip("dartpy")
pytest.importorskip("sklearn")
pytest.importorskip("torch")

from stiction_studies.paper import efficiency


@pytest.mark.slow
def test_laws_are_trained_and_judged(tmp_path, monkeypatch):
    smallest = efficiency.Scale(throws=(10,), steps=20, contacts=400, tests=2, approximators=("svm",))
    monkeypatch.setitem(efficiency.SCALES, "quick", smallest)
    efficiency.run(tmp_path, scale="quick")
    laws = json.loads((tmp_path / "efficiency" / "results.json").read_text())["laws"]
    assert [(law["throws"], law["guess"], law["approximator"]) for law in laws] == [
        (10, True, "svm"),
        (10, False, "svm"),
    ]
    assert laws[1]["instances"] == laws[0]["instances"] > 1000
    for law in laws:
        assert 0 <= law["friction_error"] < (0.05 if law["guess"] else 2.0), law
        assert law["accuracy"] > 0.5 and law["position_share_mean"] < 1.0, law
