"""Gymnasium: its MuJoCo environments with contact laws, also many of them in threads."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Unpack

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.mujoco.simulation import Simulation, SimulationOptions

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode, SyncVectorEnv
    from gymnasium.vector.utils import iterate
except ImportError as error:
    raise ImportError(needs("stiction.gym", "gymnasium")) from error

__all__ = ["LearnedFeet", "ThreadVectorEnv"]


class LearnedFeet(gymnasium.Wrapper, gymnasium.utils.RecordConstructorArgs):
    """A MuJoCo environment whose contacts follow laws.

    env: an environment made on Gymnasium's MujocoEnv
    laws: as `stiction.mujoco.Simulation` takes them. The time step of a learned law must be the model's (not the
        environment's, which is several of them).
    options: of `stiction.mujoco.Simulation`, such as softness

    A model that asks for the integrator RK4, as many of Gymnasium's do, is stepped by Euler's method instead. Contact
    forces in observations (`cfrc_ext`) include those of the laws.
    `contacts` reports the contacts of each key; its counts start again with each episode.
    """

    def __init__(self, env: gymnasium.Env, *, laws: Mapping[Any, Any], **options: Unpack[SimulationOptions]) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, laws=laws, **options)
        gymnasium.Wrapper.__init__(self, env)
        inner: Any = env.unwrapped
        if not hasattr(inner, "_step_mujoco_simulation"):
            raise checks.InputError(
                f"LearnedFeet needs an environment made on Gymnasium's MujocoEnv, got {type(inner).__name__}."
            )
        self.simulation = Simulation(inner.model, inner.data, laws=laws, **options)
        self.simulation.core.forces_wanted = True  # as MujocoEnv: its observations may use them
        inner._step_mujoco_simulation = self._steps

    @property
    def contacts(self):
        """The contacts of each key of `laws`."""
        return self.simulation.contacts

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Start an episode."""
        self.simulation.forget()
        return self.env.reset(seed=seed, options=options)

    def _steps(self, ctrl, n_frames: int) -> None:
        """The environment's steps between an action and the next observation."""
        self.simulation.data.ctrl[:] = ctrl
        self.simulation.step(n_frames)


class _Ahead(gymnasium.Wrapper):
    """An environment whose next step may have been started in a thread."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self._started: Future[Any] | None = None
        self.is_over = False

    def start(self, pool: ThreadPoolExecutor, action: Any) -> None:
        """Start the step with this action."""
        self._started = pool.submit(self.env.step, action)

    def step(self, action: Any):
        """The step that was started, or a step."""
        started, self._started = self._started, None
        result = self.env.step(action) if started is None else started.result()
        self.is_over = bool(result[2] or result[3])
        return result

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Start an episode."""
        self.is_over = False
        return self.env.reset(seed=seed, options=options)


class ThreadVectorEnv(SyncVectorEnv):
    """Gymnasium's SyncVectorEnv with the steps of all environments in threads, which release Python's lock in physics.

    env_fns: functions that make the environments, such as LearnedFeet
    threads: how many; all processors by default. Results do not depend on it.
    options: of SyncVectorEnv
    """

    def __init__(
        self, env_fns: Sequence[Callable[[], gymnasium.Env]], *, threads: int | None = None, **options: Any
    ) -> None:
        super().__init__([lambda make=make: _Ahead(make()) for make in env_fns], **options)
        self._pool = ThreadPoolExecutor(None if threads is None else checks.count("threads", threads, 1))

    def step(self, actions: Any):
        """One step of each environment; one whose episode is over is reset instead, as in SyncVectorEnv."""
        resets = self.autoreset_mode is AutoresetMode.NEXT_STEP
        for env, action in zip(self.envs, iterate(self.action_space, actions)):
            if isinstance(env, _Ahead) and not (env.is_over and resets):
                env.start(self._pool, action)
        return super().step(actions)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environments, and end the threads."""
        super().close_extras(**kwargs)
        self._pool.shutdown()
