"""Kernel machines: sums of Gaussian bumps around training examples, as support vector machines and Gaussian processes
are once they are trained."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiction import _core


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
        m, n, k = len(self.centres), len(self.mean), len(self.bias)
        if self.centres.shape != (m, n) or self.weights.shape != (m, k) or self.gamma.shape != (k,):
            raise ValueError("the parts of a kernel machine do not fit together")

    @property
    def sizes(self) -> list[int]:
        """Numbers of inputs, of centres, and of outputs."""
        return [len(self.mean), len(self.centres), len(self.bias)]

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """Everything by name, for a model file."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> "KernelMachine":
        """The machine that `arrays` described."""
        return cls(**arrays)

    @property
    def native(self) -> _core.Approximator:
        """The machine as the native core asks it."""
        return _core.kernel_machine(**self.arrays())
