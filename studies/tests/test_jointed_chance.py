"""What the study of a jointed part says about chance: nothing is left to it where nothing was."""

import numpy as np
import pytest

pytest.importorskip("mujoco")
from elbow_tosses import ELBOW, GRAVITY, TRUTH, toss, write
from stiction.fit.jointed_fit import judge, with_material
from stiction.fit.jointed_flight import prepare
from stiction.fit.jointed_part import JointedPart
from stiction_studies.recordings import jointed_chance
from stiction_studies.recordings.forecast_comparison import Compared
from stiction_studies.recordings.jointed_models import Fitted, by_horizon, replays


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    part = JointedPart.read(ELBOW)
    path = write(tmp_path_factory.mktemp("elbow") / "tosses.npz", toss(part, 8, frames=60))
    return prepare(path, part)


@pytest.fixture(scope="module")
def model(ready):
    values, build = {**TRUTH, "gravity": GRAVITY, "ground": 0.0}, with_material(ready.part)
    errors = by_horizon(judge(ready.held_out, build, values))
    return Fitted(build, values, Compared("stiction", len(ready.fitted), 0.0, errors))


def test_tosses_of_one_material_ask_for_that_material(ready, model):
    chosen, lowest = jointed_chance.best_parameters(ready.fitted, model)
    for factors in chosen.values():
        assert abs(np.median(np.log(factors))) < 0.35
    assert np.median(lowest["position"]) < 2.0


def test_the_start_alone_costs_little_where_it_is_well_known(ready, model):
    floor = jointed_chance.start_floor(ready.held_out, model, 0)
    assert 0 < np.median(floor.position) < 3.0


def test_the_middle_of_samples_without_spread_is_the_forecast_itself(ready, model):
    middle = jointed_chance.middle_errors(ready.held_out, model, 1e-9, 0)
    plain = judge(ready.held_out, model.build, model.values)
    np.testing.assert_allclose(middle["touch"].position, plain["touch"].position, atol=0.05)
    np.testing.assert_allclose(middle["touch"].rotation, plain["touch"].rotation, atol=0.05)


def test_what_follows_from_the_impact_is_explained_and_what_does_not_is_not():
    rng = np.random.default_rng(0)
    impacts = rng.normal(size=(300, 4))
    assert jointed_chance.explained(impacts, impacts @ [1.0, -2.0, 0.5, 0.0], 0) > 0.9
    assert jointed_chance.explained(impacts, rng.normal(size=300), 0) < 0.05


def test_replays_show_the_whole_part_beside_what_was_recorded(ready, model):
    scenes = replays(ready, model, None)
    assert len(scenes) == 3
    for scene in scenes:
        assert list(scene.runs) == ["recorded", "stiction"] and len({piece.body for piece in scene.pieces}) == 2
        frames = {len(run.position) for run in scene.runs.values()}
        assert len(frames) == 1
