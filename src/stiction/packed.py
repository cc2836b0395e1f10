"""Arguments of compiled code kept in memory, so that a call hands over one address instead of dozens of arrays.

To look at every array of a law, a hull and a batch takes longer than to step one body.
"""

from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import typeof
from numba.core import cgutils, types

from stiction.compiled import intrinsic, lean, lean_overload

_USUAL = 1024  # numbers that are room enough for most


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


def _loaded(builder, pointer, kind):
    """What is kept there, number by number: of those that are not used, none is looked up."""
    if not isinstance(kind, (ir.LiteralStructType, ir.ArrayType)):
        return builder.load(pointer)
    value = ir.Constant(kind, ir.Undefined)
    parts = kind.elements if isinstance(kind, ir.LiteralStructType) else [kind.element] * kind.count
    for k, part in enumerate(parts):
        value = builder.insert_value(value, _loaded(builder, cgutils.gep_inbounds(builder, pointer, 0, k), part), k)
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
def kept(typing, address, kind):
    """In compiled code: the arguments of that type, at that address."""

    def generate(context, builder, signature, args):
        kind = context.get_value_type(signature.return_type)
        return _loaded(builder, builder.inttoptr(args[0], kind.as_pointer()), kind)

    return kind.instance_type(types.int64, kind), generate


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
