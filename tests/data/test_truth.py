"""An identified law as ground truth: the paper's networks can be trained on a real material."""

import numpy as np
import pytest

from stiction import InputError, rollout
from stiction.commands.learning import collection_plan
from stiction.commands.options import CollectOptions
from stiction.data.collection_plan import Plan
from stiction.data.ground_truth import GroundTruth
from toss_files import LAW, starts


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "cube.safetensors"
    LAW.save(path)
    return path


def test_the_law_is_thrown_in_whole_steps(path):
    truth = GroundTruth("law", law=str(path))
    run = truth.throw(LAW.body, starts(2, 0), 40, timestep=0.002)
    assert np.array_equal(run.position, rollout(LAW, starts(2, 0), 40, timestep=0.002, substeps=0).position)


def test_the_law_brings_its_body_and_gravity(path, tmp_path):
    plan = collection_plan(CollectOptions(out=tmp_path / "set", law=str(path)))
    assert plan.body.to_dict() == LAW.body.to_dict() and plan.gravity == LAW.gravity
    assert Plan.from_dict(plan.to_dict()).fingerprint == plan.fingerprint
    with pytest.raises(InputError, match=r"Give a BODY .* or --law"):
        collection_plan(CollectOptions(body="box", out=tmp_path, law=str(path)))
    with pytest.raises(InputError, match=r"Give a BODY .* or --law"):
        collection_plan(CollectOptions(out=tmp_path))


def test_other_truths_keep_their_description():
    assert "law" not in GroundTruth().to_dict()
    with pytest.raises(InputError, match="A law is thrown with the truth 'law'"):
        GroundTruth("dantzig", law="cube")
