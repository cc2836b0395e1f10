"""What was identified reaches a robot: as a law, as a material, on a nominal body, and in other simulators."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import stiction
from stiction import Body, InputError, Material, State
from stiction.cli import main
from stiction.fit.free import LawType, fit_law
from stiction.fit.identified import IdentifiedBody, parameter_figures
from stiction.fit.point_material import adjusted, body_states
from stiction.fit.toss_objective import Stage
from stiction.laws.impact import ImpactLaw, ImpactMaterial
from stiction.recordings import read
from toss_files import record, write_npz

mujoco = pytest.importorskip("mujoco")
SIZE = Body.box((0.1, 0.1, 0.1), 0.37)
KNOWN = {"friction_rise": 0.05, "friction_load": 8.0, "spin": 0.85, "lag": 0.125, "restitution_fall": 0.0}
KNOWN |= {"restitution_threshold": 0.03, "ground": 0.0, "size": 1.0, "rounding": 0.002, "inertia_y": 1.0}
SCENE = """<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="part" pos="0 0 0.2"><freejoint/><geom name="skin" type="box" size="0.05 0.05 {half}" mass="{mass}"/></body>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> IdentifiedBody:
    """A box whose centre of mass, friction and restitution were identified from six tosses."""
    path = write_npz(tmp_path_factory.mktemp("tosses") / "a.npz", record(6, seed=4, frames=40))
    tosses = read(path, SIZE).tosses
    fitted = fit_law(tosses, SIZE, LawType(KNOWN | {"inertia_z": 1.0}), stages=(Stage((12,), 5.0, 4),))
    law = fitted.law(tosses.timestep)
    law.info["parameters"] = parameter_figures(fitted.parameters, fitted.solution)
    return IdentifiedBody(law, fitted, (6, 0), None, {}, {}, {}, {}, 0.0, recorded=(tosses, None))


@pytest.fixture(scope="module")
def saved(found, tmp_path_factory):
    path = tmp_path_factory.mktemp("law") / "part.safetensors"
    found.save(path)
    return path


def spec(mass=0.37, half=0.05):
    return mujoco.MjSpec.from_string(SCENE.format(mass=mass, half=half))


def test_the_material_has_the_friction_and_bounce_of_the_law(found):
    material, loads = found.material, np.array([3.6, 30.0])
    assert isinstance(material, Material) and material.parts == found.law.material.memory
    points = loads / [4, 1]  # a body at rest is carried by four points, an impact on a corner by one
    assert material.friction(0.0, 0.3, points) == pytest.approx(found.law.friction_at(0.3, loads), rel=0.1)
    assert material.restitution(1.0) == pytest.approx(float(found.law.restitution_at(1.0)), rel=0.1)
    assert (0.0 < material.uncertainty(0.0, 0.3, loads)).all() and material.info["restitution_error"] > 0


def test_a_body_slides_with_the_friction_that_slides_have_measured(found):
    """Whatever factors were fitted to impacts: under its weight on the four corners of a face."""
    weight = 0.37 * -found.law.gravity[2]
    for factors in ({}, {"friction_loaded": 0.7, "friction_load": 0.3}, {"friction_load": 4.0}):
        material = adjusted(found.law, factors)
        assert material.friction(0.0, 0.3, weight / 4) == pytest.approx(found.law.friction_at(0.3, weight), rel=1e-3)


@pytest.mark.parametrize("timestep", [0.0005, 0.002])
def test_the_material_follows_the_law_through_an_impact(timestep):
    """With restitution by the lever, friction by the load and a lag, at any time step."""
    surface = ImpactMaterial(
        restitution=0.4, restitution_lever=0.3, friction=0.3, friction_loaded=0.02, friction_load=500.0, lag=0.25
    )
    law = ImpactLaw(Body.box((0.1, 0.08, 0.06), 0.37), surface, timestep=timestep)
    turn = Rotation.from_euler("xyz", (35, 30, 10), degrees=True)
    height = 0.01 - turn.apply(law.body.vertices.copy())[:, 2].min()
    start = State([[0, 0, height]], [turn.as_quat(scalar_first=True)], [[1.0, 0.3, -1.5]], [[0.0, 2.0, 0.0]])
    steps = round(0.024 / timestep)
    run = stiction.rollout(law, start, steps)
    sim = stiction.mujoco.Simulation(
        mujoco.MjModel.from_xml_string(stiction.mujoco.to_mjcf(law)), laws={"body": law.as_material()}
    )
    sim.data.qpos[:], sim.data.qvel[:] = np.split(body_states(law.body, start)[0], [7])
    sim.step(steps)
    spin = Rotation.from_quat(sim.data.qpos[3:], scalar_first=True).apply(sim.data.qvel[3:])
    assert sim.data.qvel[:3] == pytest.approx(run.velocity[0, -1], abs=0.01)
    assert spin == pytest.approx(run.angular_velocity[0, -1], abs=0.15)


def test_impacts_with_friction_by_load_are_solved_at_points_that_coincide():
    """A corner of a planar body is an edge in MuJoCo: two points share the load of an impact in many ways."""
    law = stiction.load("square")
    sim = stiction.mujoco.Simulation(
        mujoco.MjModel.from_xml_string(stiction.mujoco.to_mjcf(law)), laws={"body": law.as_material()}
    )
    sim.data.qpos[:], sim.data.qvel[:] = (0.0, 0.15, 0.4), (-1.5, 0.0, 5.0)
    sim.model.opt.timestep = 0.0005
    sim.step(1500)
    assert sim.contacts["body"].steps > 0 and sim.unsolved == 0


def test_figures_say_what_the_material_loses(found):
    figures = found.figures["material"]
    assert figures["material"]["position"] < 2.0 and figures["material"]["rotation"] < 2.0
    assert set(figures["loss"]) == {"position", "rotation"}


def test_without_mujoco_the_conversion_serves(found, monkeypatch):
    from stiction.fit import point_material

    monkeypatch.setattr(point_material, "find_spec", lambda name: None)
    material, _ = point_material.fit_material(found.law.with_residual(None), *found.recorded)
    assert "needs MuJoCo" in material.info["source"]
    assert material.friction(0.0, 0.3, 5.0) == pytest.approx(float(found.law.friction_at(0.3, 5.0)), rel=0.01)


def test_a_saved_law_keeps_its_material(found, saved):
    law = stiction.load(saved)
    kept = law.as_material()
    assert kept.friction(0.0, 0.3, 5.0) == found.material.friction(0.0, 0.3, 5.0)
    np.testing.assert_array_equal(kept.covariance, found.material.covariance)
    assert law.with_material(friction=0.5).as_material().friction() != kept.friction()


def test_draws_have_materials_of_their_own(found):
    frictions = [float(draw.material.friction()) for draw in found.sample(4)]
    assert len(set(frictions)) == 4 and np.std(frictions) < 0.2 * np.mean(frictions)


def test_a_nominal_body_gets_the_identified_mass_properties_and_the_material(found):
    with pytest.warns(UserWarning, match="now has the centre of mass and inertia that were identified"):
        sim = stiction.mujoco.Simulation(spec(), laws={"part": found})
    assert sim.model.body("part").ipos == pytest.approx(found.body.com)
    assert sim.model.body("part").mass[0] == pytest.approx(0.37)
    assert isinstance(sim.contacts["part"], stiction.mujoco.PairContact)
    sim.step(400)
    assert sim.data.qpos[2] == pytest.approx(0.05, abs=1e-3)


def test_another_mass_scales_the_inertia(found):
    with pytest.warns(UserWarning, match="the identified material acts"):
        sim = stiction.mujoco.Simulation(spec(mass=0.74), laws={"part": found})
    moments = np.sort(sim.model.body("part").inertia)
    assert moments == pytest.approx(2 * np.linalg.eigvalsh(found.body.inertia), rel=1e-6)
    assert isinstance(sim.contacts["part"], stiction.mujoco.PairContact)


def test_a_body_of_another_shape_takes_the_material_only(found):
    with pytest.warns(UserWarning, match="keeps its mass properties, and the identified material acts"):
        sim = stiction.mujoco.Simulation(spec(half=0.1), laws={"part": found})
    assert sim.model.body("part").ipos == pytest.approx(np.zeros(3))


def test_a_compiled_model_says_how_to_give_it_mass_properties(found):
    with pytest.warns(UserWarning, match="give an MjSpec"):
        stiction.mujoco.Simulation(spec().compile(), laws={"part": found})
    model = mujoco.MjModel.from_xml_string(
        SCENE.format(mass=0.37, half=0.05).replace('name="part"', 'name="part" simple="false"')
    )
    with pytest.warns(UserWarning, match="the identified material acts"):
        stiction.mujoco.Simulation(model, laws={"part": found})
    assert model.body("part").ipos == pytest.approx(found.body.com)


@pytest.mark.parametrize("timestep", [0.001, 0.005])
@pytest.mark.parametrize("height", [0.0, 0.001, 0.02])
def test_an_identified_law_rests_below_its_angle_of_repose(found, height, timestep):
    """From whatever height the body is put down on a slope of 8 degrees, at most steps."""
    model = mujoco.MjModel.from_xml_string(found.mjcf())
    slope = np.radians(8.0)
    model.opt.timestep, model.opt.gravity[:] = timestep, 9.81 * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    assert found.law.friction_at(0.0, 3.6) > 1.2 * np.tan(slope)
    sim = stiction.mujoco.Simulation(model, laws={"body": found.law})
    sim.data.qpos[2] = found.law.ground + height - found.body.vertices[:, 2].min()
    sim.step(int(2.0 / timestep))
    assert np.abs(sim.data.qvel).max() < 1e-12 and sim.contacts["body"].mode == stiction.Mode.STATIC


@pytest.mark.parametrize("key", [("part", "floor"), "skin", ("floor", "part")])
def test_pairs_and_geoms_take_the_material(found, saved, key):
    for law in (found, stiction.load(saved)):
        sim = stiction.mujoco.Simulation(spec(), laws={key: law})
        sim.step(400)
        assert sim.data.qpos[2] == pytest.approx(0.05, abs=1e-3) and not sim.uncovered


def test_a_law_on_a_nominal_body_names_the_ways_out(saved):
    with pytest.raises(InputError, match=r"to_mjcf\(law\) or found.mjcf\(\).*law.as_material\(\)"):
        stiction.mujoco.Simulation(spec(), laws={"part": saved})


def test_the_model_as_identified_takes_the_material_without_a_word(found, recwarn):
    sim = stiction.mujoco.Simulation(mujoco.MjModel.from_xml_string(found.mjcf()), laws={"body": found})
    assert isinstance(sim.contacts["body"], stiction.mujoco.PairContact) and not recwarn.list


def test_export_to_mujoco_measures_its_loss(saved, tmp_path, capsys, monkeypatch):
    from stiction.fit import export

    monkeypatch.setattr(export, "N_THROWS", 4)
    monkeypatch.setattr(export, "STAGES", (Stage((12,), 5.0, 2),))
    out, figures = tmp_path / "part.xml", tmp_path / "part.json"
    assert main(["export", str(saved), "--to", "mujoco", "--out", str(out), "--json", str(figures)]) == 0
    model, content = mujoco.MjModel.from_xml_path(str(out)), json.loads(figures.read_text())
    assert model.geom("part").friction[0] == pytest.approx(content["contact"]["friction"])
    assert 0 < content["loss"]["position"] < 50
    assert "differ from the law's by" in out.read_text() and "restitution:" in capsys.readouterr().out


@pytest.mark.parametrize("to", ["urdf", "sdf", "usd-physics", "json"])
def test_export_has_mass_properties_contact_and_ranges(found, saved, tmp_path, to):
    out = tmp_path / f"part.{to}"
    assert main(["export", str(saved), "--to", to, "--out", str(out), "--name", "box"]) == 0
    text, law = out.read_text(), stiction.load(saved)
    assert "not measured" in text and "com_x" in text
    if to in ("urdf", "sdf"):
        tree, wanted = ET.fromstring(text), float(law.friction_at(0.3, 0.37 * -law.gravity[2]))
        written = [*(one.get("value") for one in tree.iter("lateral_friction")), *(one.text for one in tree.iter("mu"))]
        assert [float(str(mu)) for mu in written] == pytest.approx([wanted], rel=1e-4)
        assert out.with_suffix(".obj").read_text().count("v ") == 8
    if to == "json":
        content = json.loads(text)
        low, high = content["ranges"]["friction"]
        assert low < content["friction"] < high and content["com"] == pytest.approx(found.body.com)


def test_heightfields_are_named(found):
    """A body may creep on them, whose points jump."""
    hill = '<mujoco><asset><hfield name="hill" nrow="4" ncol="4" size="1 1 .2 .1"/></asset><worldbody>'
    hill += '<geom name="hill" type="hfield" hfield="hill"/>'
    scene = mujoco.MjSpec.from_string(hill + SCENE.format(mass=0.37, half=0.05).partition("<worldbody>")[2])
    with pytest.warns(UserWarning, match="may creep or rock on the heightfield 'hill'"):
        stiction.mujoco.Simulation(scene, laws={"part": found})


def test_only_an_identified_body_in_space_is_exported(tmp_path, capsys):
    for law, why in (("box", "Only a law of stiction.identify"), ("square", "a body that moves in space")):
        assert main(["export", law, "--to", "json", "--out", str(tmp_path / "a.json")]) == 2
        assert why in capsys.readouterr().err
