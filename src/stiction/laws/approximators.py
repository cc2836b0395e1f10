"""What learns the map from a contact's description to its mode or friction: networks, kernel machines or trees."""

from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks
from stiction.laws.kernels import KernelMachine
from stiction.laws.networks import Network
from stiction.laws.trees import Trees

Approximator = Network | KernelMachine | Trees
FARTHEST = _core.FARTHEST  # standardised inputs are clipped here: beyond it nothing was seen
_TYPES = {"weight0": Network, "centres": KernelMachine, "roots": Trees}  # by an array that only this type has


def from_arrays(arrays: dict[str, NDArray]) -> Approximator:
    """The approximator whose `arrays()` these are."""
    for mark, kind in _TYPES.items():
        if mark in arrays:
            return kind.from_arrays(arrays)
    raise checks.InputError("An approximator is missing, or of an unknown type.")
