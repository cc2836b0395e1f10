"""Soft contacts: a material's torsional and rolling friction, on free bodies."""

import numpy as np
import pytest

import stiction
from contact_states import random_contacts, twist_after
from stiction import AugmentedLaw, Body, InputError, Kind, Material, Mode, State, rollout

BOX = Body.box((0.2, 0.3, 0.4), 1.0)
SOFT = {
    "torsion": Material.soft(0.5, torsion=0.004),
    "rolling": Material.soft(0.5, rolling=0.003),
    "both": Material.soft(0.5, torsion=0.02, rolling=0.01),
    "no friction": Material.soft(0.0, torsion=0.02, rolling=0.01),
    "box": Material.soft(0.5, torsion=0.01, rolling=0.004, cone="box", limit="actual"),
    "bounces": Material.soft(0.5, torsion=0.01, rolling=0.002, restitution=0.4),
    "directional": Material.directional(0.3, 0.5, 0.8, torsion=0.01, rolling=0.004),
}


def _energy(run):
    """Kinetic and potential energy of throws of BOX at each step [J], (n, steps)."""
    turned = np.einsum("...ij,...j->...i", _rotations(run.quaternion).swapaxes(-1, -2), run.angular_velocity)
    kinetic = 0.5 * (BOX.mass * (run.velocity**2).sum(-1) + (turned * (turned @ np.asarray(BOX.inertia))).sum(-1))
    return kinetic + BOX.mass * 9.81 * run.position[..., 2]


def _rotations(q):
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(q.reshape(-1, 4), scalar_first=True).as_matrix().reshape(*q.shape[:-1], 3, 3)


@pytest.mark.parametrize("name", SOFT)
def test_throws_end_at_rest_and_lose_energy_only(name):
    run = rollout(SOFT[name].on(BOX), State.random(BOX, 12, seed=2), 1500)
    energy = _energy(run)
    assert (np.diff(energy, axis=-1).max(axis=-1) < 1e-9 * energy[:, 0]).all()
    if name != "no friction":
        assert np.abs(run.velocity[:, -1]).max() < 1e-12 and np.abs(run.angular_velocity[:, -1]).max() < 1e-12


@pytest.mark.parametrize("name", SOFT)
def test_torques_of_a_point_are_within_their_limits_and_against_its_turning(name):
    material = SOFT[name]
    law = material.on(BOX)
    contacts = random_contacts(BOX, 300, np.random.default_rng(5))
    impulses, modes = law.respond(contacts)
    checked = 0
    for i, (impulse, mode) in enumerate(zip(impulses, modes)):
        c = contacts.record[i]
        if c.kind != Kind.POINT or mode == Mode.DETACH:
            continue
        checked += 1
        after = twist_after(contacts, i, impulse)
        torque = impulse[3:] - np.cross(c.centre, impulse[:3])
        slack = 1e-7 * impulse[2]
        for axes, coefficient in ((slice(2, 3), material.torsion), (slice(0, 2), material.rolling)):
            m, w, most = torque[axes], after[3:][axes], (coefficient or 0.0) * impulse[2]
            assert np.linalg.norm(m) <= most + slack
            if np.linalg.norm(m) < most - slack:  # it sticks
                assert np.linalg.norm(w) < 1e-6 * (1 + np.linalg.norm(c.velocity[3:]))
            elif most > 0 and np.linalg.norm(w) > 1e-6:
                assert m @ w == pytest.approx(-most * np.linalg.norm(w), rel=1e-5)
    assert checked > 50


def test_a_spinning_point_stops_by_its_torsion_and_then_rests():
    top = Body.hull_of(
        np.array([(0, 0, -0.1), (0.1, 0, 0), (-0.1, 0, 0), (0, 0.1, 0), (0, -0.1, 0), (0, 0, 0.01)]), 1.0
    )
    height = -(np.asarray(top.vertices)[:, 2]).min()
    state = State((0, 0, height), (1, 0, 0, 0), (0, 0, 0), (0, 0, 3.0))
    law = Material.soft(0.5, torsion=0.002).on(top)
    run = rollout(law, state, 20)
    slowed = 0.002 * 9.81 * 1.0 / np.asarray(top.inertia)[2, 2] * 0.002
    assert np.allclose(np.diff(run.angular_velocity[1:6, 2]), -slowed, rtol=1e-6)
    hard = rollout(Material.coulomb(0.5).on(top), state, 20)
    assert hard.angular_velocity[10, 2] == pytest.approx(3.0, rel=1e-9)


def test_one_body_and_a_batch_have_the_same_bits():
    law = SOFT["both"].on(BOX)
    states = State.random(BOX, 5, seed=3)
    together = rollout(law, states, 400)
    for k in range(5):
        assert np.array_equal(rollout(law, states[k], 400).position, together.position[k])


def test_no_torsion_and_no_rolling_is_the_hard_material():
    states = State.random(BOX, 5, seed=4)
    hard, zero = (rollout(material.on(BOX), states, 400) for material in (Material.coulomb(0.5), Material.soft(0.5)))
    assert np.array_equal(hard.position, zero.position) and np.array_equal(hard.impulse, zero.impulse)


def test_networks_that_correct_nothing_are_the_soft_material():
    roles = [f"{kind} {role}" for kind in ("point", "line", "surface") for role in ("classifier", "regressor")]
    parts = AugmentedLaw.untrained(BOX).parts
    states = State.random(BOX, 5, seed=7)
    laws = AugmentedLaw(BOX, parts, material=SOFT["both"], dropped=tuple(roles)), SOFT["both"].on(BOX)
    corrected, own = (rollout(law, states, 400, substeps=0) for law in laws)
    assert np.array_equal(corrected.position, own.position)


def test_files_keep_torsion_and_rolling(tmp_path):
    for material in (SOFT["both"], Material.soft(0.5), Material.coulomb(0.5)):
        material.save(tmp_path / "soft.safetensors")
        back = stiction.load(tmp_path / "soft.safetensors")
        assert (back.torsion, back.rolling) == (material.torsion, material.rolling)
    assert "torsion 20 mm, rolling 10 mm" in repr(SOFT["both"]) and "torsion" not in repr(Material.soft(0.5))


@pytest.mark.parametrize("name", ["torsion", "rolling"])
@pytest.mark.parametrize("value", [-0.001, np.nan, np.inf])
def test_impossible_coefficients_are_refused(name, value):
    with pytest.raises(InputError, match=rf"{name} \[m\] must"):
        Material.coulomb(0.5, **{name: value})
