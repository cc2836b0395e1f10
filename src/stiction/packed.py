"""Arguments of compiled code kept in memory, so that a call hands over one address instead of dozens of arrays.

To look at every array of a law, a hull and a batch takes longer than to step one body.
"""

from typing import Any, cast

import numpy as np
from numba import typeof
from numba.core import cgutils, types

from stiction.compiled import compiled, intrinsic, lean
from stiction.finely import simulate_finely
from stiction.stepping import simulate


def _uncounted(context, builder, kind, value):
    """The same value, with arrays that do not count who uses them: Python keeps them."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for k, part in enumerate(cast(Any, kind)):
            new = _uncounted(context, builder, part, builder.extract_value(value, k))
            value = builder.insert_value(value, new, k)
    return value


@intrinsic
def _size(typing, value):
    def generate(context, builder, signature, args):
        return context.get_constant(types.int64, context.get_abi_sizeof(args[0].type))

    return types.int64(value), generate


@intrinsic
def _keep(typing, value, room):
    def generate(context, builder, signature, args):
        value = _uncounted(context, builder, signature.args[0], args[0])
        data = context.make_array(signature.args[1])(context, builder, args[1]).data
        builder.store(value, builder.bitcast(data, value.type.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.none(value, room), generate


@intrinsic
def _kept(typing, address, kind):
    def generate(context, builder, signature, args):
        pointer = context.get_value_type(signature.return_type).as_pointer()
        return builder.load(builder.inttoptr(args[0], pointer), align=8)

    return kind.instance_type(types.int64, kind), generate


@lean
def _size_of(arguments):
    return _size(arguments)


@lean
def _write(arguments, room):
    _keep(arguments, room)


@compiled
def _step(address, kind):
    """One step with the arguments of `simulate` that are kept at an address."""
    law, setting, hull, contacts, motion, record = _kept(address, kind)
    _clear(record)
    simulate(law, setting, hull, contacts, motion, record)


@compiled
def _step_finely(address, kind):
    """As `_step`, with those of `simulate_finely`."""
    law, setting, hull, contacts, motion, record = _kept(address, kind)
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
        self._arguments = arguments  # whose arrays must stay where they are
        self._kind = typeof(arguments)
        room = np.empty(-(-_size_of(arguments) // 8), dtype=np.int64)
        _write(arguments, room)
        self._room, self._address = room, room.ctypes.data
        step = cast(Any, _step_finely if finely else _step)
        # The compiled function itself: to find it by the types of its arguments takes longer than to call it.
        self._entry = step.compile((types.int64, types.TypeRef(self._kind)))

    def __call__(self) -> None:
        self._entry(self._address, self._kind)
