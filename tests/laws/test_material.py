"""Materials: friction at the points of a patch, for any body."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stiction
from conftest import random_states
from contact_states import handled, random_contacts, twist_after
from stiction import AugmentedLaw, Body, CoulombLaw, InputError, Material, Mode, State, rollout
from stiction.laws.curves import Curve, Restitution
from stiction.laws.inputs import Inputs

STONE = Body.hull_of(np.random.default_rng(3).standard_normal((200, 3)) * [0.1, 0.15, 0.2], 2.0)
BODIES = {"box": Body.box((0.2, 0.3, 0.4), 1.0), "prism": Body.prism(5, 0.2, 0.2, 1.0), "stone": STONE}
SLAB = Body.box((0.4, 0.4, 0.1), 1.0)  # so flat that friction does not tip it over
MATERIALS = {
    "coulomb": Material.coulomb(0.6),
    "directional": Material.directional(0.3, 0.5, 0.8),
    "body axes": Material.directional(0.3, 0.5, 0.8, axes="body"),
    "stribeck": Material.stribeck(0.8, 0.4, speed=0.3),
    "load": Material.of(0.5, load=lambda N: (N / 10 + 0.05) ** -0.33),
    "all": Material.of(
        0.4, direction=lambda a: 1 + 0.3 * np.cos(a), speed=lambda v: 1 + 0.5 / (1 + v), load=lambda N: 2 - N / (N + 5)
    ),
    "frictionless limit": Material.coulomb(0.6, limit="frictionless"),
    "box": Material.coulomb(0.6, cone="box", limit="actual"),
    "dart": Material.coulomb(0.6, cone="box"),
    "ellipse": Material.anisotropic((0.3, 0.8)),
}


def _any(value) -> Any:
    return value


def _limits(material: Material, contacts, i: int, places, impulses, slip):
    """Greatest friction (m,) of points that slip along `slip` (m, 2), by the definition in `stiction.laws.material`."""
    c = contacts.record[i]
    before = c.before[:3] + np.cross(c.before[3:], places)
    if material.axes == "body":
        x = c.rotation[:2, 0 if np.linalg.norm(c.rotation[:2, 0]) > 0.1 else 1]
        x = x / np.linalg.norm(x)
        slip = slip @ np.array([[x[0], -x[1]], [x[1], x[0]]])
    direction = np.arctan2(slip[:, 1], slip[:, 0])
    load = np.maximum(impulses[:, 2], 1e-300)
    return load * material.friction(direction, np.linalg.norm(before[:, :2], axis=1), load / c.timestep)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", ["coulomb", "directional", "body axes", "stribeck", "load", "all"])
def test_each_point_is_open_sticks_or_slips_against_its_friction(body, name):
    material = MATERIALS[name]
    law = material.on(BODIES[body])
    contacts = random_contacts(BODIES[body], 300, np.random.default_rng(5))
    slipping = sticking = 0
    for i in range(len(contacts)):
        places, x = law.impulses(contacts, i)
        if len(places) == 0:
            continue
        p = np.concatenate([x.sum(axis=0), np.cross(places, x).sum(axis=0)])
        after = twist_after(contacts, i, p)
        w = after[:3] + np.cross(after[3:], places)
        speed = np.abs(contacts.record[i].velocity[:3] + np.cross(contacts.record[i].velocity[3:], places)).max()
        close = 1e-6 * speed
        assert (x[:, 2] >= -1e-12 * np.abs(x).max()).all() and (w[:, 2] >= -close).all()
        assert (x[:, 2] * w[:, 2] <= close * np.abs(x).max()).all()
        size, moving = np.linalg.norm(x[:, :2], axis=1), np.linalg.norm(w[:, :2], axis=1) > close
        loaded = x[:, 2] > 1e-9 * np.abs(x).max()
        slips, sticks = loaded & moving, loaded & ~moving
        most = _limits(material, contacts, i, places, x, w[:, :2])
        against = -(x[:, :2] * w[:, :2]).sum(axis=1)
        assert size[slips] == pytest.approx(most[slips], rel=1e-5, abs=1e-9 * np.abs(x).max())
        assert against[slips] == pytest.approx((size * np.linalg.norm(w[:, :2], axis=1))[slips], rel=1e-5)
        held = _limits(material, contacts, i, places, x, -x[:, :2])
        assert (size[sticks] <= held[sticks] * (1 + 1e-6) + 1e-12).all()
        slipping, sticking = slipping + slips.sum(), sticking + sticks.sum()
    assert slipping > 50 and sticking > 50
    assert law.unsolved <= 1


@pytest.mark.parametrize("cone", ["round", "dart"])
@pytest.mark.parametrize("mu", [0.5, (0.3, 0.8)])
def test_constant_friction_is_that_of_the_reference_law(box, cone, mu):
    make = Material.coulomb if np.ndim(mu) == 0 else Material.anisotropic
    reference = CoulombLaw(box, mu, cone=cone, softness=0.0)
    law = make(mu, cone=reference.material.cone).on(box)
    contacts = random_contacts(box, 2000, np.random.default_rng(0))
    p, mode = handled(law, contacts)
    exact, exact_mode = handled(reference, contacts)
    error = np.linalg.norm(p - exact, axis=1) / np.linalg.norm(exact, axis=1).clip(1e-300)
    assert (mode == exact_mode).mean() > 0.999
    assert np.quantile(error, 0.99) < 1e-6 and error.mean() < 1e-5


def test_coulomb_law_is_a_material(box):
    law = CoulombLaw(box, 0.7, cone="dart")
    assert isinstance(law.material, Material) and law.material.cone == "box" and law.material.limit == "frictionless"
    assert law.material.friction(0.0) == pytest.approx(0.7)


@pytest.mark.parametrize("name", MATERIALS)
def test_a_resting_body_never_moves(box, name):
    law = MATERIALS[name].on(box)
    run = rollout(law, State((0, 0, 0.2), (1, 0, 0, 0)), 2000)
    assert np.array_equal(run.position[0], run.position[-1]) and (run.mode == Mode.STATIC).all()


@pytest.mark.parametrize("mu, moves", [(0.60, False), (0.56, True)])
def test_a_body_on_a_slope_sticks_below_its_friction_angle(mu, moves):
    gravity = 9.81 * np.array([np.sin(np.pi / 6), 0, -np.cos(np.pi / 6)])  # tan 30 degrees is 0.577
    for material in (Material.coulomb(mu), Material.of(mu, load=lambda N: 1.0), Material.static_dynamic(mu, 0.3)):
        run = rollout(material.on(SLAB), State((0, 0, 0.05), (1, 0, 0, 0)), 500, gravity=gravity)
        assert (run.position[-1, 0] != 0.0) == moves


def test_a_sliding_box_is_slowed_by_the_friction_at_its_speed():
    material = Material.stribeck(0.8, 0.4, speed=0.3)
    run = rollout(material.on(SLAB), State((0, 0, 0.05), (1, 0, 0, 0), (2.0, 0, 0)), 100)
    slower = -np.diff(run.velocity[:, 0]) / 0.002 / 9.81
    expected = material.friction(0.0, run.velocity[:-1, 0])
    assert slower[10:] == pytest.approx(expected[10:], rel=1e-3)


def test_scales_are_smooth_forwards_and_rough_backwards():
    law = Material.directional(0.2, 0.4, 0.8).on(SLAB)
    distance = {}
    for name, velocity in {"forward": (1.5, 0, 0), "backward": (-1.5, 0, 0), "sideways": (0, 1.5, 0)}.items():
        end = rollout(law, State((0, 0, 0.05), (1, 0, 0, 0), velocity), 600).position[-1]
        distance[name] = np.linalg.norm(end[:2])
    for name, mu in {"forward": 0.2, "backward": 0.8, "sideways": 0.4}.items():
        assert distance[name] == pytest.approx(1.5**2 / (2 * mu * 9.81), rel=0.05)


def test_axes_of_the_body_turn_with_it():
    material = Material.directional(0.2, 0.4, 0.8, axes="body")
    quarter = (np.sqrt(0.5), 0, 0, np.sqrt(0.5))
    ahead = rollout(material.on(SLAB), State((0, 0, 0.05), (1, 0, 0, 0), (1.5, 0, 0)), 500)
    turned = rollout(material.on(SLAB), State((0, 0, 0.05), quarter, (0, 1.5, 0)), 500)
    assert turned.position[-1, 1] == pytest.approx(ahead.position[-1, 0], rel=1e-9)


def test_a_texture_turns_with_the_body_and_lies_on_all_of_its_sides(tmp_path):
    ahead_is_smooth = Material(0.4, texture=np.array([-np.log(2), 0, 0, 0, 0, 0, 0, 0]))  # 0.2 along x, 0.8 against it
    ahead_is_smooth.save(tmp_path / "m.safetensors")
    law = stiction.load(tmp_path / "m.safetensors").on(SLAB)  # type: ignore[union-attr]
    half, quarter = (0, 1, 0, 0), (np.sqrt(0.5), 0, 0, np.sqrt(0.5))
    for quaternion, velocity, mu in (
        ((1, 0, 0, 0), (1.5, 0, 0), 0.2),
        ((1, 0, 0, 0), (-1.5, 0, 0), 0.8),
        (half, (1.5, 0, 0), 0.2),  # upside down
        (quarter, (0, 1.5, 0), 0.2),
        (quarter, (1.5, 0, 0), 0.4),
    ):
        end = rollout(law, State((0, 0, 0.05), quaternion, velocity), 600).position[-1]
        assert np.linalg.norm(end[:2]) == pytest.approx(1.5**2 / (2 * mu * 9.81), rel=0.05)


def test_a_rough_guess_of_friction_is_that_along_each_axis(box):
    assert Material.anisotropic((0.8, 0.2)).on(box).rough_friction == pytest.approx((0.8, 0.2))
    assert Material.directional(0.2, 0.8, 0.4).on(box).rough_friction == pytest.approx((0.2, 0.8))


def test_impulses_of_points_do_not_depend_on_who_asked_before(box):
    law = Material.coulomb(0.5, restitution=0.8).on(box)
    fresh, asked = (random_contacts(box, 20, np.random.default_rng(0)) for _ in range(2))
    CoulombLaw(box).native.classify(asked)
    for i in range(20):
        assert np.array_equal(law.impulses(fresh, i)[1], law.impulses(asked, i)[1])


def test_restitution_falls_with_speed_as_it_says():
    law = Material.coulomb(0.5, restitution=Restitution(0.5, fall=0.4, threshold=0.05)).on(SLAB)
    for height in (0.05, 0.4):
        run = rollout(law, State((0, 0, 0.05 + height), (1, 0, 0, 0)), 300)
        first = np.flatnonzero(run.mode > 0)[0]
        approach = -run.velocity[first, 2]
        assert run.velocity[first + 1, 2] == pytest.approx(law.material.restitution(approach) * approach, abs=0.025)


def test_networks_on_a_material_bounce_as_it_does(box):
    parts = AugmentedLaw.untrained(box).parts
    assert AugmentedLaw(box, parts, material=Material.coulomb(0.5, restitution=0.3)).bounces
    with pytest.raises(InputError, match="inputs in contact space"):
        AugmentedLaw(box, parts, Inputs(guess=False), material=Material.coulomb(0.5))


def test_a_material_bounces_by_its_restitution():
    ball = Body.box((0.1, 0.1, 0.1), 1.0)
    law = Material.coulomb(0.5, restitution=Restitution(0.5)).on(ball)
    run = rollout(law, State((0, 0, 0.25), (1, 0, 0, 0)), 400)
    first = np.flatnonzero(run.mode > 0)[0]
    assert run.velocity[first + 1, 2] == pytest.approx(-0.5 * run.velocity[first, 2], rel=0.02)
    assert law.bounces and Restitution(0.5, threshold=0.1)(0.2) == pytest.approx(0.25)


@pytest.mark.parametrize("sides", [24, 1000])
def test_many_corners_are_as_good_as_few(sides):
    wheel = Body.prism(sides, 0.2, 0.1, 1.0)
    few = Body.prism(8, 0.2, 0.1, 1.0)
    for velocity in ((1.0, 0.0, 0.0), (0.6, 0.8, 0.0)):
        ends = [
            rollout(Material.coulomb(0.5).on(body), State((0, 0, 0.05), (1, 0, 0, 0), velocity), 300).position[-1]
            for body in (wheel, few)
        ]
        assert ends[0][:2] == pytest.approx(ends[1][:2], rel=0.03)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 5), st.floats(-2, 2), st.floats(0, 3))
def test_contact_never_adds_energy_pulls_or_sinks_whatever_the_map(seed, scale, harmonic, viscosity):
    rng = np.random.default_rng(seed)
    body = list(BODIES.values())[seed % 3]
    curve = Curve(-7.0, 1.0, rng.normal(0, 1.5, 14))
    material = Material(
        scale,
        cosines=np.array([harmonic, 0.3]),
        sines=np.array([0.2, -harmonic]),
        speed=curve,
        load=curve,
        viscosity=viscosity,
        cone=("round", "box")[seed % 2],
        limit=("actual", "frictionless")[seed // 2 % 2],
    )
    contacts = random_contacts(body, 60, rng)
    p, _ = handled(material.on(body), contacts)
    record = contacts.record
    W = contacts.inverse_inertia
    after = record.velocity + np.einsum("nij,nj->ni", W, p)
    gained = 0.5 * np.einsum("ni,ni->n", p, record.velocity + after)
    size = np.abs(p * record.velocity).sum(axis=1)
    assert (gained <= 1e-10 * size + 1e-15).all() and (p[:, 2] >= 0).all()
    for i in range(len(contacts)):
        rise = after[i, 2] + np.cross(after[i, 3:], contacts.points(i))[:, 2]
        assert (rise >= -1e-9 * (1 + np.abs(record.velocity[i]).max())).all()


def test_a_batch_in_threads_has_the_bits_of_single_bodies(box):
    law = MATERIALS["all"].on(box)
    state = random_states(np.random.default_rng(2), 300)  # more than one chunk for each thread
    together = rollout(law, state, 250, threads=2)
    assert np.array_equal(together.position, rollout(law, state, 250, threads=1).position)
    for i in (0, 150, 299):
        assert np.array_equal(rollout(law, state[i], 250).position, together.position[i])


def test_the_map_is_what_its_makers_say():
    speeds = np.geomspace(1e-4, 10, 30)
    wanted = 0.4 + 0.4 * np.exp(-((speeds / 0.3) ** 2))
    assert Material.stribeck(0.8, 0.4, speed=0.3).friction(0.0, speeds) == pytest.approx(wanted, rel=1e-6)
    scales = Material.directional(0.3, 0.5, 0.8, heading=0.4)
    assert scales.friction(0.4 + np.array([0, 0.5, 1, 1.5]) * np.pi) == pytest.approx([0.3, 0.5, 0.8, 0.5])
    assert Material.viscous(0.4, 0.6).friction(0.0, 2.0, 3.0) == pytest.approx(0.4 + 0.6 * 2 / 3)
    assert Material.static_dynamic(0.9, 0.5, speed=0.01).friction(0.0, [1e-6, 1.0]) == pytest.approx(
        [0.9, 0.5], rel=1e-3
    )
    assert Material.anisotropic((0.3, 0.8)).friction([0, np.pi / 2]) == pytest.approx([0.3, 0.8])
    assert Material.coulomb(0.5, cone="box").friction([0.0, 0.7]) == pytest.approx([0.5, 0.5 * np.sqrt(2)])


def test_curves_keep_their_last_value_and_say_what_was_not_seen(box):
    curve = Curve(np.log(0.01), 0.5, np.linspace(0, 1, 12), seen=(np.log(0.1), np.log(1.0)))
    material = Material(0.5, speed=curve)
    assert material.friction(0.0, [1.0, 5.0])[0] == material.friction(0.0, [1.0, 5.0])[1]
    contacts = random_contacts(box, 200, np.random.default_rng(1))
    law = material.on(box)
    outside = law.outside(contacts)
    dynamic = contacts.record.mode == Mode.DYNAMIC
    assert outside.any() and not outside[~dynamic].any() and not outside.all()


def test_uncertainty_comes_from_the_covariance():
    material = Material(0.5, cosines=np.array([0.1]), sines=np.array([0.0]), covariance=np.diag([1e-4, 4e-4, 0, 0]))
    assert material.uncertainty(0.0) == pytest.approx(np.sqrt(5e-4))
    assert material.uncertainty(np.pi / 2) == pytest.approx(1e-2)
    assert np.isnan(Material.coulomb(0.5).uncertainty(0.0))


def test_files_give_a_material_back_whole(tmp_path, box):
    for name, material in MATERIALS.items():
        material.with_info(made=name).save(tmp_path / "m.safetensors")
        back = stiction.load(tmp_path / "m.safetensors")
        assert isinstance(back, Material) and back.info == {"made": name} and back.cone == material.cone
        angles, speeds = np.linspace(0, 6, 7), np.geomspace(1e-3, 5, 7)
        assert np.array_equal(back.friction(angles, speeds, 4.0), material.friction(angles, speeds, 4.0))


def test_laws_of_materials_can_be_copied_and_sent(box):
    law = MATERIALS["all"].on(box)
    state = State((0, 0, 0.5), (1, 0, 0, 0), (1, 0, 0), (3, 2, 1))
    wanted = rollout(law, state, 200).position
    for other in (copy.deepcopy(law), pickle.loads(pickle.dumps(law))):
        assert np.array_equal(rollout(other, state, 200).position, wanted)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Material.coulomb(-0.1), "friction must not be negative"),
        (lambda: Material.coulomb(np.nan), "friction must be finite"),
        (lambda: Material.coulomb(0.5, cone="square"), "cone must be one of"),
        (lambda: Material(0.5, cosines=np.array([0.1])), "as many cosines as sines"),
        (lambda: Material(0.5, stretch=(1, 2), cosines=np.array([0.1]), sines=np.array([0.1])), "elliptic cone"),
        (lambda: Material(0.5, texture=np.zeros(4)), "3, 8, 15, 24 coefficients"),
        (lambda: Material(0.5, cone="box", texture=np.zeros(3)), "A texture needs a round cone"),
        (lambda: Material(0.5, speed=_any(3.0)), "speed must be a Curve"),
        (lambda: Material.of(speed=lambda v: -v), "must be positive"),
        (lambda: Material.of(direction=lambda a: np.cos(a)), "must be positive"),
        (lambda: Material.coulomb(0.5, restitution=1.5), "restitution must be 0 to 1"),
        (lambda: Material.coulomb(0.5).on(_any("box")), "put on a stiction.Body"),
        (lambda: Material.coulomb(0.5).friction(0.0, 0.1, 0.0), "load above 0"),
        (lambda: Material.coulomb(0.5).uncertainty(0.0, 0.1, -1.0), "load above 0"),
        (lambda: Material.coulomb(0.5).friction([0.0, 1.0, 2.0], [0.1, 0.2]), "must broadcast together"),
        (lambda: Material.of(speed=_any(0.5)), "speed must be a function"),
        (lambda: Material(0.5, cosines=np.array([1e4]), sines=np.array([0.0])), "must stay below 1e20"),
        (lambda: Curve(0.0, 1.0, np.array([1.0, 2.0])), "4 to 4096 coefficients"),
        (lambda: rollout(_any(Material.coulomb(0.5)), State((0, 0, 1), (1, 0, 0, 0))), "put it on a body"),
    ],
)
def test_impossible_materials_are_refused(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()
