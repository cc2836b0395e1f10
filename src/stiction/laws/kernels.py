"""Kernel machines: sums of Gaussian bumps around training examples, as support vector machines and Gaussian processes
are once they are trained."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiction.compiled import lean


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

    def layout(self) -> list[int]:
        """Numbers of centres and of outputs, for compiled code."""
        return self.sizes[1:]

    def numbers(self) -> list[NDArray[np.float32]]:
        """All numbers in turn, for compiled code."""
        return [self.gamma, self.bias, self.weights.ravel(), self.centres.ravel()]


@lean
def evaluate_kernels(numbers, at, layout, z, out):
    """Write the outputs for the standardised inputs z (n,); numbers begin at `at`."""
    m, outputs = layout[0], layout[1]
    weights = at + 2 * outputs
    centres = weights + m * outputs
    for k in range(outputs):
        out[k] = numbers[at + outputs + k]
    for i in range(m):
        square = 0.0
        for j in range(len(z)):
            difference = np.float64(z[j]) - numbers[centres + i * len(z) + j]
            square += difference * difference
        for k in range(outputs):
            weight = numbers[weights + i * outputs + k]
            if weight != 0:
                out[k] += weight * np.exp(-np.float64(numbers[at + k]) * square)
