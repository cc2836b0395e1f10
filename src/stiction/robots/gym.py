"""Gymnasium: any of its MuJoCo environments with contact laws on chosen bodies."""

from collections.abc import Mapping
from typing import Any

from stiction.basics import checks
from stiction.laws.law import Law
from stiction.robots.mujoco import Simulation, mujoco

try:
    import gymnasium
except ImportError as error:
    raise ImportError("stiction.gym needs Gymnasium: pip install 'stiction[gym]'.") from error


class LearnedFeet(gymnasium.Wrapper, gymnasium.utils.RecordConstructorArgs):
    """The environment, with the contacts of chosen bodies and the ground from their laws.

    env: an environment made on Gymnasium's MujocoEnv
    laws: body name -> law; the law's time step must be the model's (not the environment's, which is several of them)
    options: of stiction.mujoco.Simulation

    A model that asks for the integrator RK4, as many of Gymnasium's do, is stepped by Euler's method instead.
    `contacts` tells what became of each body's contact; its counts begin anew with each episode.
    """

    def __init__(self, env: gymnasium.Env, *, laws: Mapping[str, Law], **options: Any) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, laws=laws, **options)
        gymnasium.Wrapper.__init__(self, env)
        inner: Any = env.unwrapped
        if not hasattr(inner, "_step_mujoco_simulation"):
            raise checks.InputError(
                f"LearnedFeet needs an environment made on Gymnasium's MujocoEnv, got {type(inner).__name__}."
            )
        self.simulation = Simulation(inner.model, inner.data, laws=laws, **options)
        inner._step_mujoco_simulation = self._steps

    @property
    def contacts(self):
        """The contact of each body with a law, by its name."""
        return self.simulation.contacts

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Begin an episode."""
        self.simulation.forget()
        return self.env.reset(seed=seed, options=options)

    def _steps(self, ctrl, n_frames: int) -> None:
        """What the environment does between an action and the next observation."""
        data = self.simulation.data
        data.ctrl[:] = ctrl
        for _ in range(n_frames):
            self.simulation.step()
        mujoco.mj_rnePostConstraint(self.simulation.model, data)  # as MujocoEnv: its observations may use forces
