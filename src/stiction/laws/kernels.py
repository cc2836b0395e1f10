"""Kernel machines: sums of Gaussian bumps around training examples, as support vector machines and Gaussian processes
are once they are trained."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks
from stiction.laws.fitting import check_arrays, check_names, check_scale, length
from stiction.laws.networks import WIDEST

MOST_CENTRES = 50_000


@dataclass(frozen=True)
class KernelMachine:
    """Output k is bias_k + sum_i weight_ik exp(-gamma_k |z - centre_i|^2), z the standardised inputs.

    mean, scale: of the inputs, shape (n,)
    centres: (m, n), standardised; weights: (m, outputs); gamma, bias: (outputs,)
    """

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    centres: NDArray[np.float32]
    weights: NDArray[np.float32]
    gamma: NDArray[np.float32]
    bias: NDArray[np.float32]

    def __post_init__(self) -> None:
        n, m, k = self.sizes
        if not 0 <= m <= MOST_CENTRES or n > WIDEST:
            raise checks.InputError(
                f"A kernel machine may have {MOST_CENTRES} centres of {WIDEST} inputs, got {m} of {n}."
            )
        shapes = {"mean": (n,), "scale": (n,), "centres": (m, n), "weights": (m, k), "gamma": (k,), "bias": (k,)}
        check_arrays("a kernel machine", np.float32, self.arrays(), shapes)
        check_scale("a kernel machine", self.scale)
        if not np.all(self.gamma >= 0):  # else bumps grow without end, away from their centres
            raise checks.InputError(f"gamma of a kernel machine must not be negative, got {self.gamma.min():g}.")

    @property
    def sizes(self) -> list[int]:
        """Numbers of inputs, of centres, and of outputs."""
        centres = len(self.centres) if isinstance(self.centres, np.ndarray) and self.centres.ndim == 2 else -1
        return [length(self.mean), centres, length(self.bias)]

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """Everything by name, for a model file."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> "KernelMachine":
        """The machine that `arrays` described."""
        check_names("A kernel machine", arrays, [part.name for part in fields(cls)])
        return cls(**arrays)

    @property
    def native(self) -> _core.Approximator:
        """The machine as the native core asks it."""
        return _core.kernel_machine(**self.arrays())
