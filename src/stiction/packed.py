"""Arguments of compiled code kept in memory, so that a call hands over one address instead of dozens of arrays.

To look at every array of a law, a hull and a batch takes longer than to step one body.
"""

from typing import Any, cast

import numpy as np
from numba import typeof
from numba.core import types

from stiction.compiled import intrinsic, lean, lean_overload
from stiction.reference import look_up, referred, uncounted

_USUAL = 1024  # numbers that are room enough for most


@intrinsic
def _size(typing, value):
    def generate(context, builder, signature, args):
        return context.get_constant(types.int64, context.get_abi_sizeof(args[0].type))

    return types.int64(value), generate


@intrinsic
def _keep(typing, value, room):
    def generate(context, builder, signature, args):
        value = uncounted(context, builder, signature.args[0], args[0])
        data = context.make_array(signature.args[1])(context, builder, args[1]).data
        builder.store(value, builder.bitcast(data, value.type.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.none(value, room), generate


@intrinsic
def kept(typing, address, kind):
    """In compiled code: the arguments of that type, at that address; NamedTuples by reference."""

    def generate(context, builder, signature, args):
        own = kind.instance_type
        pointer = builder.inttoptr(args[0], context.get_value_type(own).as_pointer())
        return look_up(context, builder, own, pointer)

    return referred(kind.instance_type)(types.int64, kind), generate


def opened(arguments, kind):
    """The arguments themselves, or in compiled code those of type `kind` that are kept at an address: to hand them over
    from function to function takes longer than to look them up in memory."""
    return arguments


# Written out by LLVM. If numba did it (inline="always"), it would take assignments to these arrays for dead code.
@lean_overload(opened, forceinline=True)
def _opened(arguments, kind):
    return lambda arguments, kind: kept(arguments, kind)


@lean
def _write(arguments, room):
    """Write the arguments into `room`, if they have their place there; the bytes they take."""
    size = _size(arguments)
    if size <= 8 * len(room):
        _keep(arguments, room)
    return size


class Packed:
    """Arguments in memory, for functions that are compiled for an address and a type and begin with `kept`."""

    def __init__(self, arguments: tuple) -> None:
        self.kind = typeof(arguments)
        self._room = np.empty(_USUAL, dtype=np.int64)
        self._write = cast(Any, _write).compile((self.kind, typeof(self._room)))
        size = self._write(arguments, self._room)
        if size > self._room.nbytes:
            self._room = np.empty(-(-size // 8), dtype=np.int64)
        self.address = self._room.ctypes.data
        self.keep(arguments)

    def keep(self, arguments: tuple) -> None:
        """Keep other arguments of the same types instead; their arrays must stay where they are."""
        self.arguments = arguments
        self._write(arguments, self._room)

    def entry(self, function: Any, *more: Any) -> Any:
        """The compiled function itself, for an address, a type, and more arguments of these types: to find it by the
        types of its arguments takes longer than to call it."""
        return function.compile((types.int64, types.TypeRef(self.kind), *more))
