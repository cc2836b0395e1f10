"""A step of bodies whose arguments are kept in memory."""

from typing import Any, cast

from stiction.compiled import lean
from stiction.finely import simulate_finely
from stiction.packed import Packed, kept
from stiction.stepping import simulate


@lean
def _step(address, kind):
    """One step with the arguments of `simulate` that are kept at an address."""
    law, setting, hull, contacts, motion, record = kept(address, kind)
    _clear(record)
    simulate(law, setting, hull, contacts, motion, record)


@lean
def _step_finely(address, kind):
    """As `_step`, with those of `simulate_finely`."""
    law, setting, hull, contacts, motion, record = kept(address, kind)
    _clear(record)
    simulate_finely(law, setting, hull, contacts, motion, record)


@lean
def _clear(record):
    """Forget the contacts of the step before."""
    for i in range(len(record.mode)):
        for t in range(record.mode.shape[1]):
            record.mode[i, t] = record.kind[i, t] = 0
            for k in range(6):
                record.impulse[i, t, k] = 0.0


class PackedStep:
    """Calls `simulate`, or `simulate_finely`, with the same arguments again and again."""

    def __init__(self, arguments: tuple, finely: bool) -> None:
        self._packed = Packed(arguments)
        self._address, self._kind = self._packed.address, self._packed.kind
        self._entry = self._packed.entry(cast(Any, _step_finely if finely else _step))

    def __call__(self) -> None:
        self._entry(self._address, self._kind)
