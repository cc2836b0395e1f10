"""Identified laws in words and as plots: reports match the fit and its standard errors."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stiction import Body, InputError, Material, State, load, rollout
from stiction.fit.direct_measurements import Direct
from stiction.fit.forecast import TossErrors, calibrated, coverage
from stiction.fit.free import NO_BOUNCE, Fitted, Refits
from stiction.fit.gauss_newton import Solution
from stiction.fit.identified import IdentifiedBody, loads_seen
from stiction.fit.rebounds import MeasuredRestitution
from stiction.fit.report import body_details, print_identified
from stiction.fit.slides import SlidingFriction
from stiction.fit.toss_objective import body_parameters, law_parameters
from stiction.fit.verdict import verdict_figures
from stiction.recordings import Toss, Tosses, read
from toss_files import BODY, LAW, impact_law, record, write_npz

BOX = Body.box((0.1, 0.1, 0.1), 0.37)


def identified(
    values: dict[str, float] | None = None,
    *,
    error: float = 0.02,
    fixed: dict[str, float] | None = None,
    unobserved: str = "",
) -> IdentifiedBody:
    """As if fitted: parameters at their starts but for `values`, all errors this share of their scales."""
    values, fixed = values or {}, fixed or {}
    parameters = [p for p in body_parameters(BOX) + law_parameters() if p.name not in fixed]
    found = np.array([values.get(p.name, p.start) for p in parameters])
    covariance = np.diag([(error * p.scale) ** 2 for p in parameters])
    observed = np.array([0.1 if p.name == unobserved else 1.0 for p in parameters])
    fitted = Fitted(
        BOX, parameters, Solution(found, covariance, observed), fixed, 8, (9.81, 0.01), direct=Direct(corner_impacts=9)
    )
    law = fitted.law(0.007).with_spread((0.05, 0.15, 0.05))
    doubt = {"restitution": 0.01, "error": 0.012, "gain": 0.0, "gain_error": 0.1, "kept": False}
    tried = {"impacts": {"friction builds up": 0.1, "friction at once": 0.3}, **({"bounce": doubt} if fixed else {})}
    return IdentifiedBody(law, fitted, (30, 8), None, {}, {0.5: 0.5, 0.9: 0.875}, tried, {}, 1.0)


def test_verdict_states_each_quantity_once():
    body, same = {"com_z": 0.004, "size": 0.98}, {"friction": 0.3, "friction_loaded": 0.3, "friction_rise": 0.0}
    found = replace(identified({"restitution": 0.05, **body, **same}), loads=(3.0, 300.0))
    text = found.summary()
    assert "Restitution:       0.050 ± 0.002 at 1 m/s." in text
    assert "(0.00 ± 0.10, 0.00 ± 0.10, 4.00 ± 0.10) mm in the body frame, 4.0 mm from the given one" in text
    assert "-2.0 ± 0.1 % of the given one." in text and "+0.0 ± 0.4 % of the given one, not a significant" in text
    assert "Friction, impacts: 0.300 ± 0.00" in text
    verdict = verdict_figures(found)
    assert verdict["restitution"]["value"] == pytest.approx(float(found.law.restitution_at(1.0)), abs=1e-12)
    assert verdict["friction_sliding"]["value"] == pytest.approx(found.values["friction"], abs=1e-12)
    assert "friction=0.300, restitution=0.050" in repr(found.law)


def test_sliding_friction_that_no_toss_shows_is_not_claimed():
    text = identified().summary()
    assert "Friction, sliding: not observed: too few tosses slide to rest on a face" in text and "certain" not in text
    assert verdict_figures(identified())["friction_sliding"]["observed"] is False


def test_sliding_friction_is_reported_with_the_speeds_at_which_it_was_seen():
    found = identified({"friction": 0.4})
    sliding = SlidingFriction(0.4, 0.0, (0.01, np.inf), 12, 10, (0.1, 0.6), 2.0, (0.4, 0.4, 0.28))
    text = replace(found, fitted=replace(found.fitted, direct=Direct(sliding))).summary()
    assert "under its own weight (3.6 N), measured in 12 slides at 0.1 to 0.6 m/s" in text
    assert "it depends on direction: 0.40 along x, 0.40 along y, 0.28 on the diagonals" in text


def test_restitution_is_reported_with_the_rebounds_in_which_it_was_seen():
    found = identified({"restitution": 0.4})
    direct = Direct(rebounds=MeasuredRestitution(0.4, 0.01, 14, (1.2, 2.4), 0.004), corner_impacts=14)
    text = replace(found, fitted=replace(found.fitted, direct=direct)).summary()
    assert "Restitution:       0.400 ± 0.032 at 1 m/s, measured in 14 rebounds at 1.2 to 2.4 m/s." in text
    other = identified({"restitution": 0.25})
    text = replace(other, fitted=replace(other.fitted, direct=direct)).summary()
    assert "at 1.2 to 2.4 m/s; the law uses 0.25, an effective value for forecasts." in text


def test_restitution_and_inertia_of_a_part_that_only_slaps_the_ground_are_not_claimed():
    found = identified({"restitution": 0.2})
    slapped = replace(found, fitted=replace(found.fitted, direct=Direct(corner_impacts=1)))
    assert "Restitution:       not observed: too few tosses land on a single corner; the law uses 0.20." in str(slapped)
    assert not verdict_figures(slapped)["restitution"]["observed"]
    assert not verdict_figures(slapped)["inertia"]["observed"]


def test_details_name_what_is_not_observable():
    found = replace(identified(error=1.0, unobserved="spin"), loads=(3.14, 424.0))
    lines = "\n".join(body_details(found))
    assert "Not observable in these tosses, kept near the start: spin." in lines and "Uncertain: " in lines
    assert "slip mostly under 3.1 to 420 N" in lines and "90% regions hold 87.5%" in lines


def test_loads_are_those_under_which_a_body_slips(tmp_path):
    tosses = read(write_npz(tmp_path / "a.npz", record(6)), BOX).tosses
    seen = loads_seen(LAW, tosses)
    assert seen is not None
    low, high = seen
    weight = 9.81 * LAW.body.mass
    assert 0.2 * weight < low < 2 * weight and 5 * weight < high < 200 * weight
    still = State(np.tile([0, 0, 0.05], (6, 1)))
    assert loads_seen(LAW, Resting(tosses.tosses, tosses.timestep, still)) is None


class Resting(Tosses):
    """Tosses that start at rest on the ground, and so never slip."""

    def __init__(self, tosses, timestep, start):
        super().__init__(tosses, timestep)
        self._start = start

    def __getitem__(self, which):
        return self

    def states(self, body, gravity, drag=0.0):
        return self._start


def test_few_tosses_are_counted_not_given_in_percent():
    few = replace(identified(), tosses=(20, 5), held_out=TossErrors(*np.ones((3, 5))), coverage={0.5: 0.6, 0.9: 1.0})
    assert "Final positions of 5 held-out tosses: 50% regions hold 3 of 5, 90% regions hold 5 of 5." in body_details(
        few
    )


def test_the_table_says_what_its_names_mean(capsys):
    print_identified(identified(), details=True)
    output = " ".join(capsys.readouterr().out.split())
    assert "in % of the width (the mean extent of the body along its axes, 100 mm)" in output
    assert "size and inertia are factors on those of the body as given" in output
    assert "restitution is that at 1 m/s" in output and "forecasts of the 8 held-out tosses" in output


def test_verdict_says_that_nothing_bounces():
    text = identified(fixed=NO_BOUNCE).summary()
    assert "Restitution:       none: a law with 0.01 ± 0.01 forecasts left-out tosses no better." in text
    assert str(identified(fixed=NO_BOUNCE)) == text


def test_plot_is_a_picture_of_the_same_bytes(tmp_path):
    pytest.importorskip("matplotlib")
    found = identified()
    for name in ("a.png", "b.png"):
        found.plot(tmp_path / name)
    data = (tmp_path / "a.png").read_bytes()
    assert data[:4] == b"\x89PNG" and data == (tmp_path / "b.png").read_bytes()
    with pytest.raises(InputError, match=r"\.png"):
        found.plot(tmp_path / "a.jpg")


def test_curves_are_those_of_the_law():
    """A flat drop leaves as restitution says; a slide loses speed as friction says."""
    numbers: dict[str, Any] = dict(
        restitution=0.3, restitution_fall=0.2, friction=0.3, friction_rise=0.2, friction_load=5.0
    )
    law = impact_law(BOX, timestep=1e-3, gravity=(0.0, 0.0, 0.0), **numbers)
    material = law.material
    for speed in (0.2, 1.0):
        run = rollout(law, State([0.0, 0.0, 0.0501], velocity=[0.0, 0.0, -speed]), 5)
        assert run.velocity[-1, 2] == pytest.approx(speed * material.restitution_at(speed), rel=1e-6)
    law = impact_law(BOX, timestep=1e-3, **numbers)
    run = rollout(law, State([0.0, 0.0, 0.05], velocity=[1.0, 0.0, 0.0]), 20)
    lost = run.velocity[0, 0] - run.velocity[-1, 0]
    assert lost / (20e-3 * 9.81) == pytest.approx(material.friction_at(1.0, 0.37 * 9.81), rel=0.01)


def test_refits_that_disagree_widen_errors():
    """By the jackknife: fits without a quarter of the tosses that end 0.1 apart."""
    fitted = identified().fitted
    refits = Refits([_moved(fitted, shift) for shift in (-0.1, 0.1, -0.1, 0.1)], [_three_tosses()] * 4)
    errors = refits.errors(12)
    assert errors == pytest.approx(np.full(len(errors), np.sqrt(3 / 4 * 0.04)))
    assert refits.errors(48) == pytest.approx(errors / 2)


def _three_tosses() -> Tosses:
    toss = Toss(np.arange(4), np.zeros((4, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (4, 1)), 4)
    return Tosses([toss] * 3, 0.007)


def _moved(fitted: Fitted, by: float) -> Fitted:
    return replace(fitted, solution=replace(fitted.solution, values=fitted.solution.values + by))


@pytest.mark.slow
def test_worse_forecasts_get_wider_regions(tmp_path):
    """Laws that were off when they forecast tosses which they had not seen must widen the spread."""
    tosses = read(write_npz(tmp_path / "a.npz", record(12, seed=2, frames=60)), BODY).tosses
    good, _ = calibrated(LAW, [(LAW, tosses)])
    off = LAW.with_material(friction_loaded=0.2, restitution=0.3)
    wide, shares = calibrated(LAW, [(off, tosses)])
    assert wide.spread[0] > 1.5 * good.spread[0]
    assert shares[0.9] > coverage(off.with_spread(good.spread), tosses)[0.9]


def test_verdict_judges_the_forecasts():
    def judged(position: float, still: float, horizon: tuple[int, int], size: float = 1.0) -> str:
        errors = TossErrors(np.array([position]), np.array([8.0]), np.array([20.0]))
        found = replace(identified({"size": size}), held_out=errors, still={"position": still}, horizon=horizon)
        return found.summary().splitlines()[-1]

    assert "not usable: a body that stays where it first touches is forecast as well" in judged(10.0, 9.0, (20, 30))
    assert "of use for a few frames only, fewer than the starts allow" in judged(60.0, 150.0, (3, 40))
    assert "doubtful: the contacts fit a body of another size" in judged(6.0, 150.0, (20, 30), size=0.9)
    assert "usable for impacts; record slides" in judged(6.0, 150.0, (20, 30))


def test_results_are_sampled_written_and_exported(tmp_path):
    found = identified()
    few = found.sample(4, seed=1)
    assert [one.law.material.friction for one in found.sample(4, seed=1)] == [one.law.material.friction for one in few]
    assert np.std([one.values["friction"] for one in few]) > 0 and few[0].law.spread == found.law.spread
    assert isinstance(found.material, Material)
    assert found.body is found.law.body and found.report == found.summary()
    (path,) = found.save(tmp_path / "law.safetensors")
    assert load(path).material == found.law.material
    pytest.importorskip("mujoco")
    assert "<freejoint/>" in found.mjcf()
