"""MuJoCo's own identification toolbox, `mujoco.sysid`, fitted to segments of recordings."""

import io
import logging
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from stiction.basics.environment import needs

try:
    import mujoco as engine
    from mujoco import sysid as toolbox  # pyright: ignore[reportAttributeAccessIssue]
except ImportError as error:
    raise ImportError(needs("stiction_studies.engines.mujoco_sysid", "mujoco", "tabulate")) from error

mujoco, sysid = cast(Any, engine), cast(Any, toolbox)  # compiled modules, whose names are known at run time only
if not hasattr(sysid, "optimize"):  # without some packages of its own it is there, but empty
    raise ImportError(needs("stiction_studies.engines.mujoco_sysid", "tabulate"))

Differences = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
_STEP = 1e-3  # of all finite differences: sysid has a single one, so that parameters are scaled by their own steps


@dataclass(frozen=True)
class ModelParameter:
    """A parameter of the model: initial guess, step of its finite difference, bounds, and how it is applied."""

    name: str
    start: float
    step: float
    low: float
    high: float
    apply: Callable[[Any, float], None] | None = None  # to an MjSpec; None if `build` makes the model

    def parameter(self) -> Any:
        """Return the parameter of sysid: 0 at the initial guess, _STEP for one step."""
        low, high = ((bound - self.start) * _STEP / self.step for bound in (self.low, self.high))
        apply = self.apply
        modify = None if apply is None else lambda spec, p: apply(spec, self.value(p))
        return sysid.Parameter(self.name, 0.0, low, high, modifier=modify)

    def value(self, parameter: Any) -> float:
        """Return the unscaled value."""
        return self.start + float(parameter.value[0]) * self.step / _STEP


@dataclass(frozen=True)
class Segment:
    """A part of a recording, from some frame on.

    start: qpos and qvel at frame 0
    frame: numbers of the frames that were recorded, shape (n,)
    qpos: recorded joint positions, shape (n, nq)
    """

    start: tuple[NDArray[np.float64], NDArray[np.float64]]
    frame: NDArray[np.int64]
    qpos: NDArray[np.float64]


class Identification:
    """Identification by `mujoco.sysid` of a model's parameters, and of the inertia and centre of mass of its bodies.

    scene: MJCF
    bodies: whose inertia and centre of mass are found; their masses are not observable in motions on the ground.
        No initial centre of mass may be exactly the frame's origin: sysid would mix two layouts of the model
    differences: from predicted and recorded qpos, both (n, nq), to residuals (n, k), in units of the scale of the
        Cauchy loss
    substeps: time steps of the model from frame to frame
    after: called with each compiled MjModel
    build: makes the MjModel from the values of the parameters
    """

    def __init__(
        self,
        scene: str,
        numbers: Sequence[ModelParameter],
        bodies: Sequence[str],
        differences: Differences,
        substeps: int,
        *,
        after: Callable[[Any], None] = lambda model: None,
        build: Callable[[dict[str, float]], Any] | None = None,
    ) -> None:
        self.spec = mujoco.MjSpec.from_string(scene)
        # A motion that diverges must not be reset: MuJoCo would also reset the time, which sysid refuses.
        self.spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
        self.differences, self.substeps, self.after, self.build = differences, substeps, after, build
        self.parameters = sysid.ParameterDict()
        self._numbers = {number.name: number for number in numbers}
        for number in numbers:
            self.parameters.add(number.parameter())
        model = self.spec.compile()
        for body in bodies:
            self.parameters.add(_inertia(self.spec, model, body))

    def fit(self, segments: Sequence[Segment], iterations: int) -> None:
        """Continue the fit from the present parameters."""
        logging.getLogger("absl").setLevel(logging.ERROR)  # a warning for each segment, see _sequences
        residual = sysid.build_residual_fn(
            models_sequences=[self._sequences(segments)],
            build_model=self._built,
            modify_residual=self._residual,
            resample_true=False,
        )
        with redirect_stdout(io.StringIO()):  # its tables of iterations
            self.parameters, _found = sysid.optimize(
                self.parameters,
                residual,
                optimizer="scipy_parallel_fd",  # unlike "mujoco", it is robust to chaotic tosses
                loss="cauchy",
                x_scale="jac",
                diff_step=_STEP,
                max_iters=iterations,
                verbose=False,
            )

    @property
    def model(self) -> Any:
        """The MjModel with the present parameters."""
        return self._built(self.parameters, self.spec)

    def _built(self, parameters: Any, spec: Any) -> Any:
        if self.build is not None:
            model = self.build({name: number.value(parameters[name]) for name, number in self._numbers.items()})
        else:
            model = sysid.apply_param_modifiers(parameters, spec)
        self.after(model)
        return model

    @property
    def values(self) -> dict[str, float]:
        """The present values of the parameters."""
        return {name: number.value(self.parameters[name]) for name, number in self._numbers.items()}

    def _sequences(self, segments: Sequence[Segment]) -> Any:
        model = self.spec.compile()
        h = model.opt.timestep
        frame = h * self.substeps
        where = {"qpos": (sysid.SignalType.CustomObs, np.arange(model.nq))}
        inputs = [np.arange(segment.frame[-1] * self.substeps + 1) * h for segment in segments]
        return sysid.ModelSequences(
            "recorded",
            self.spec,
            [str(number) for number in range(len(segments))],
            [sysid.create_initial_state(model, *segment.start) for segment in segments],
            [sysid.TimeSeries(times, np.zeros((len(times), model.nu)), {}) for times in inputs],
            [sysid.TimeSeries(frame * segment.frame, segment.qpos, where) for segment in segments],
            allow_missing_sensors=True,  # it warns of this: the recordings are poses, no sensors of the model
        )

    def _residual(self, params, predicted, measured, model, everything, *, state, **_rest):
        """Return residuals (n, k) and the two series that they compare, as `mujoco.sysid` requires."""
        after = measured.times > 0
        at = np.rint(measured.times[after] / model.opt.timestep).astype(int) - 1
        far = self.differences(state[at, 1 : 1 + model.nq], measured.data[after])
        return np.nan_to_num(far, nan=1e3) / np.sqrt(len(far)), measured, measured


def _inertia(spec: Any, model: Any, body: str) -> Any:
    def modify(spec, parameter):
        sysid.apply_body_inertia(spec, body, parameter)
        spec.body(body).iquat = [1, 0, 0, 0]  # sysid leaves NaN there, which the compiler reads as an inertia of zero

    size = float(np.max(model.geom_rbound[model.geom_bodyid == model.body(body).id]))
    return sysid.body_inertia_param(
        spec,
        model,
        body,
        inertia_type=sysid.InertiaType.Pseudo,
        mass_bound_mult=np.array([0.99, 1.01]),
        ipos_bound_off=np.array([-0.3, 0.3]) * size,
        shear_bound_off=np.array([-0.3, 0.3]) * size,
        modifier=modify,
    )
