"""A Gymnasium environment with learned feet: tune a trot by random search.

    python examples/train_gait.py [ROUNDS]

The environment is an ordinary MujocoEnv; `LearnedFeet` puts the law that was learned from throws of one foot on all
four.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from gymnasium.envs.mujoco import MujocoEnv
from gymnasium.spaces import Box

import stiction
from stiction.viewer.quadruped import FEET, STANCE, Gait, model_text, targets


class Quadruped(MujocoEnv):
    """Actions are joint targets [rad]; the reward is the distance that the trunk moves forward [m]."""

    metadata = {"render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"], "render_fps": 50}  # noqa: RUF012

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "quadruped.xml"
            path.write_text(model_text())
            space = Box(-np.inf, np.inf, shape=(37,), dtype=np.float64)
            super().__init__(str(path), frame_skip=10, observation_space=space)

    def step(self, action):
        before = float(self.data.qpos[0])
        self.do_simulation(action, self.frame_skip)
        fallen = bool(self.data.qpos[2] < 0.25)
        return self._observation(), float(self.data.qpos[0]) - before, fallen, False, {}

    def reset_model(self):
        qpos = self.init_qpos.copy()
        qpos[7:] = targets(0.0, Gait(), 0.0)
        qpos[2] = STANCE + 0.05
        self.set_state(qpos, np.zeros(self.model.nv))
        return self._observation()

    def _observation(self):
        return np.concatenate([self.data.qpos, self.data.qvel])


def distance(env: stiction.gym.LearnedFeet, gait: Gait, seconds: float = 4.0) -> float:
    """Distance that the robot trots [m]; 0 if it falls."""
    env.reset(seed=0)
    total = 0.0
    for k in range(round(seconds / 0.02)):
        now = 0.02 * k
        _observation, reward, fallen, _cut, _info = env.step(targets(now, gait, min(1.0, now)))
        if fallen:
            return 0.0
        total += reward
    return total


def main(rounds: int) -> None:
    foot = stiction.load("foot")
    env = stiction.gym.LearnedFeet(Quadruped(), laws={name: foot for name in FEET})
    rng = np.random.default_rng(0)
    best = Gait(period=0.8, stride=0.04, lift=0.03)
    record = distance(env, best)
    print(f"start     {record:.3f} m in 4 s with {best}")
    for k in range(rounds):
        period, stride, lift = np.array([best.period, best.stride, best.lift]) * rng.uniform(0.75, 1.33, 3)
        trial = Gait(
            float(np.clip(period, 0.3, 1.0)), float(np.clip(stride, 0.02, 0.16)), float(np.clip(lift, 0.02, 0.06))
        )
        reached = distance(env, trial)
        if reached > record:
            best, record = trial, reached
            print(f"round {k + 1:3d} {record:.3f} m in 4 s with {best}")
    unsolved = sum(contact.unsolved for contact in env.contacts.values())
    print(f"best: {record:.3f} m; {unsolved} unsolved foot contacts in the last episode")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
