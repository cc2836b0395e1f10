"""Slip and spin of a soft contact share its friction: spinning balls, and a tippe top integrated independently."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from stiction import Material
from stiction.mujoco import Simulation

mujoco: Any = pytest.importorskip("mujoco")

G, MU = 9.81, 1.0
UP = np.array([0.0, 0.0, 1.0])
RADIUS = 0.02


def ball(timestep: float, torsion: float, velocity: tuple[float, ...]) -> Simulation:
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{timestep}"/><worldbody><geom name="floor" type="plane" size="5 5 1"/>'
        f'<body name="ball" pos="0 0 {RADIUS}"><freejoint/><geom type="sphere" size="{RADIUS}" mass="0.3"/></body>'
        "</worldbody></mujoco>"
    )
    sim = Simulation(model, laws={("ball", "floor"): Material.soft(MU, torsion)})
    sim.data.qvel[:] = velocity
    return sim


def motion(sim: Simulation) -> tuple[np.ndarray, float]:
    """Slip (2,) [m/s] and spin [rad/s] of the ball, world axes."""
    spin = sim.data.body("ball").xmat.reshape(3, 3) @ sim.data.qvel[3:]
    return sim.data.qvel[:2] + RADIUS * np.array([-spin[1], spin[0]]), float(spin[2])


@pytest.mark.parametrize("velocity", [(0.03, 0.04, 0, 0, 0, 200), (0.2, -0.1, 0, 0, 0, 100), (0.5, 0, 0, 0, 0, 1)])
def test_friction_follows_the_limit_surface_of_slip_and_spin(velocity):
    torsion, h = 5e-4, 1e-5
    sim = ball(h, torsion, velocity)
    sim.step(100)  # 1 ms
    slip, spin = motion(sim)
    sim.step()
    contact = sim.contacts["ball", "floor"]
    r = np.hypot(MU * np.linalg.norm(slip), torsion * spin)
    load = contact.impulses[0, 2]
    assert contact.impulses[0, :2] == pytest.approx(-(MU**2) * load * slip / r, rel=5e-3, abs=1e-6 * load)
    assert contact.torques[0, 2] == pytest.approx(-(torsion**2) * load * spin / r, rel=2e-3)


def test_a_spinning_ball_creeps_down_a_slope_on_which_it_would_not_slip():
    """Slow slip meets a viscous force, mu^2 load / (torsion spin) times its speed; without spin the ball rolls."""
    torsion, angle = 5e-4, 0.01
    slips = []
    for spin in (300.0, 0.0):
        sim = ball(1e-4, torsion, (0, 0, 0, 0, 0, spin))
        sim.model.opt.gravity[:] = G * np.sin(angle), 0, -G * np.cos(angle)
        sim.step(400)
        slips.append(motion(sim)[0][0])
    needed = 2 / 7 * np.tan(angle)  # friction over load of a ball that rolls
    assert slips[0] == pytest.approx(needed * torsion * 300.0 / MU**2, rel=0.05) and abs(slips[1]) < 1e-12


def top(timestep: float, torsion: float) -> Any:
    surface = f'condim="4" friction="{MU} {torsion} 1e-5"'
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{timestep}"/><worldbody>'
        f'<geom name="floor" type="plane" size=".5 .5 .01" {surface}/><body name="top" pos="0 0 .02">'
        f'<freejoint/><geom type="sphere" size="{RADIUS}" {surface}/>'
        f'<geom type="cylinder" pos="0 0 .02" size=".004 .008" {surface}/>'
        '<geom type="box" size=".023 .023 .005" pos="0 0 -.015" contype="0" conaffinity="0"/></body>'
        "</worldbody></mujoco>"
    )


def spun(timestep: float, torsion: float) -> Simulation:
    """A tippe top that spins at 200 rad/s, tilted by 0.1 rad."""
    sim = Simulation(top(timestep, torsion), laws={"top": Material.coulomb(MU)})
    sim.data.qpos[3:5], sim.data.qvel[5] = (np.cos(0.05), np.sin(0.05)), 200.0
    return sim


def upright(sim: Simulation, time: float) -> float:
    sim.step(round(time / sim.model.opt.timestep) - sim.steps)
    mujoco.mj_kinematics(sim.model, sim.data)
    return float(sim.data.body("top").xmat[8])


def integrated(torsion: float, time: float) -> float:
    """The same motion as an ordinary differential equation, with the sphere kept on the ground."""
    start = spun(1e-3, torsion)
    model, data = start.model, start.data
    mujoco.mj_forward(model, data)
    mass, com = model.body_mass[1], model.body_ipos[1]
    axes = Rotation.from_quat(np.roll(model.body_iquat[1], -1)).as_matrix()
    inertia = axes @ np.diag(model.body_inertia[1]) @ axes.T

    def rates(_, y):
        q, w, v = y[:4] / np.linalg.norm(y[:4]), y[4:7], y[7:]
        R = Rotation.from_quat(q).as_matrix()
        J, c = R @ inertia @ R.T, R @ com
        arm = -c - RADIUS * UP
        slip = (v + np.cross(w, arm)) * [1, 1, 0]
        r = np.hypot(MU * np.linalg.norm(slip), torsion * w[2]) + 1e-12
        force, torque = UP - MU**2 * slip / r, -(torsion**2) * w[2] / r * UP  # per load
        free = np.linalg.solve(J, -np.cross(w, J @ w))
        by_load = np.linalg.solve(J, np.cross(arm, force) + torque)
        # The load keeps the centre of the sphere at its height.
        fall = -G + (np.cross(free, -c) + np.cross(w, np.cross(w, -c)))[2]
        load = -fall / (1 / mass + np.cross(by_load, -c)[2])
        turn = np.append(q[3] * w + np.cross(w, q[:3]), -w @ q[:3]) / 2
        return np.concatenate([turn, free + load * by_load, load / mass * force - G * UP])

    R = Rotation.from_quat(np.roll(data.qpos[3:7], -1))
    w = R.as_matrix() @ data.qvel[3:6]
    y = np.concatenate([R.as_quat(), w, np.cross(w, R.as_matrix() @ com)])
    end = solve_ivp(rates, (0, time), y, method="LSODA", rtol=1e-8, atol=1e-10).y[:4, -1]
    return float(Rotation.from_quat(end).as_matrix()[2, 2])


@pytest.mark.parametrize(("torsion", "error"), [(5e-5, 1e-3), (5e-4, 1.2e-2)])
def test_a_tippe_top_rises_as_the_law_wants(torsion, error):
    wanted = integrated(torsion, 0.25)
    coarse, fine = (upright(spun(h, torsion), 0.25) - wanted for h in (4e-4, 1e-4))
    assert wanted < 0.99 and abs(coarse) < error and abs(fine) < 0.4 * error


@pytest.mark.slow
@pytest.mark.parametrize("torsion", [5e-5, 5e-4])
def test_a_tippe_top_turns_over_at_any_time_step(torsion):
    times = []
    for h in (1e-3, 5e-4, 2e-4):
        sim = spun(h, torsion)
        while upright(sim, sim.steps * h + 0.002) > -0.3 and sim.steps * h < 2.0:
            pass
        times.append(sim.steps * h)
    assert max(times) < 1.05 * min(times) < 1.0
