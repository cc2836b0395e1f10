"""Numbers of LANES bodies at once, for compiled code.

A `Lanes` value holds one number of each body and is calculated with like a float: + - * / and comparisons work on all
at once, in the processor's vector unit. Code that is written with the functions below compiles for floats, too, and
gives the same bits: what is found for a body does not depend on the company it is in.
"""

import operator
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.typing import templates
from numba.core.typing.templates import AbstractTemplate, signature
from numba.extending import lower_builtin, overload

from stiction.compiled import intrinsic

LANES = 8
infer_global = cast(Any, templates).infer_global
_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_BITS = ir.VectorType(ir.IntType(1), LANES)
_INT = ir.IntType(32)


class Lanes(types.Type):
    """The numba type of LANES numbers."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes({LANES})")


class Mask(types.Type):
    """The numba type of LANES truth values."""

    def __init__(self) -> None:
        super().__init__(name=f"Mask({LANES})")


lanes, mask = Lanes(), Mask()


@register_default(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type) -> None:
        super().__init__(dmm, fe_type, _DOUBLES)


@register_default(Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type) -> None:
        super().__init__(dmm, fe_type, _BITS)


def _spread(context, builder, value, kind):
    """The value as lanes: a single number goes into all of them."""
    if isinstance(kind, Lanes):
        return value
    nothing = ir.Constant(_DOUBLES, ir.Undefined)
    number = context.cast(builder, value, kind, types.float64)
    one = builder.insert_element(nothing, number, ir.Constant(_INT, 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES))


def _define(operation, instruct, result) -> None:
    """Give an operator its meaning for lanes, and for lanes with a number."""

    class Typing(AbstractTemplate):
        def generic(self, args, kws):
            one_is = any(isinstance(kind, Lanes) for kind in args)
            if len(args) == 2 and one_is and all(isinstance(kind, (Lanes, types.Number)) for kind in args):
                return signature(result, *args)
            return None

    def lower(context, builder, sig, args):
        a, b = (_spread(context, builder, value, kind) for value, kind in zip(args, sig.args, strict=True))
        return instruct(builder, a, b)

    infer_global(operation)(Typing)
    for pair in ((Lanes, Lanes), (Lanes, types.Number), (types.Number, Lanes)):
        lower_builtin(operation, *pair)(lower)


_define(operator.add, lambda builder, a, b: builder.fadd(a, b), lanes)
_define(operator.sub, lambda builder, a, b: builder.fsub(a, b), lanes)
_define(operator.mul, lambda builder, a, b: builder.fmul(a, b), lanes)
_define(operator.truediv, lambda builder, a, b: builder.fdiv(a, b), lanes)
_define(operator.lt, lambda builder, a, b: builder.fcmp_ordered("<", a, b), mask)
_define(operator.gt, lambda builder, a, b: builder.fcmp_ordered(">", a, b), mask)
_define(operator.eq, lambda builder, a, b: builder.fcmp_ordered("==", a, b), mask)
_define(operator.ne, lambda builder, a, b: builder.fcmp_unordered("!=", a, b), mask)


def _define_on_masks(operation, instruct) -> None:
    class Typing(AbstractTemplate):
        def generic(self, args, kws):
            return signature(mask, *args) if args == (mask, mask) else None

    infer_global(operation)(Typing)
    lower_builtin(operation, Mask, Mask)(lambda context, builder, sig, args: instruct(builder, *args))


_define_on_masks(operator.and_, lambda builder, a, b: builder.and_(a, b))
_define_on_masks(operator.or_, lambda builder, a, b: builder.or_(a, b))


def _builtin(name: str, arguments: int):
    """A function of LLVM on lanes."""

    def generate(context, builder, sig, args):
        kind = ir.FunctionType(_DOUBLES, [_DOUBLES] * arguments)
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f64")
        return builder.call(function, args)

    if arguments == 1:
        return intrinsic(lambda typing, a: (lanes(lanes), generate))
    return intrinsic(lambda typing, a, b, c: (lanes(lanes, lanes, lanes), generate))


_roots, _magnitudes, _fused = _builtin("sqrt", 1), _builtin("fabs", 1), _builtin("fma", 3)


@intrinsic
def _fused_one(typing, a, b, c):
    number = types.float64
    return number(number, number, number), lambda context, builder, sig, args: builder.fma(*args)


@intrinsic
def _chosen(typing, which, a, b):
    def generate(context, builder, sig, args):
        a, b = (_spread(context, builder, args[k], sig.args[k]) for k in (1, 2))
        return builder.select(args[0], a, b)

    return lanes(mask, a, b), generate


@intrinsic
def _any(typing, which):
    def generate(context, builder, sig, args):
        bits = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(LANES), 0))

    return types.boolean(mask), generate


def _address(context, builder, kind, array, row):
    data = context.make_array(kind)(context, builder, array).data
    place = builder.gep(data, [builder.mul(row, ir.Constant(ir.IntType(64), LANES))])
    return builder.bitcast(place, _DOUBLES.as_pointer())


@intrinsic
def _loaded(typing, array, row):
    def generate(context, builder, sig, args):
        return builder.load(_address(context, builder, sig.args[0], *args), align=8)

    return lanes(array, types.int64), generate


@intrinsic
def _store(typing, array, row, value):
    def generate(context, builder, sig, args):
        builder.store(args[2], _address(context, builder, sig.args[0], args[0], args[1]), align=8)
        return context.get_dummy_value()

    return types.none(array, types.int64, lanes), generate


def zeros() -> Any:
    """Lanes of zeros; 0.0 is the same for one body."""


@intrinsic
def _zeros(typing):
    return lanes(), lambda context, builder, sig, args: ir.Constant(_DOUBLES, [0.0] * LANES)


@overload(zeros)
def _all_zeros():
    return lambda: _zeros()


def load(room, row, zero) -> Any:
    """Row `row` of a flat array: as many numbers as `zero` has lanes."""


@overload(load)
def _load(room, row, zero):
    if isinstance(zero, Lanes):
        return lambda room, row, zero: _loaded(room, row)
    return lambda room, row, zero: room[row]


def store(room, row, value) -> Any:
    """Write a value to row `row` of a flat array."""


@overload(store)
def _write(room, row, value):
    if isinstance(value, Lanes):
        return lambda room, row, value: _store(room, row, value)

    def write(room, row, value):
        room[row] = value

    return write


def where(condition, a, b) -> Any:
    """a where the condition holds, else b."""


@overload(where)
def _where(condition, a, b):
    if isinstance(condition, Mask):
        return lambda condition, a, b: _chosen(condition, a, b)
    return lambda condition, a, b: a if condition else b


def any_of(condition) -> Any:
    """Whether the condition holds in any lane."""


@overload(any_of)
def _any_of(condition):
    if isinstance(condition, Mask):
        return lambda condition: _any(condition)
    return lambda condition: condition


def root(a) -> Any:
    """Square root."""


@overload(root)
def _root(a):
    if isinstance(a, Lanes):
        return lambda a: _roots(a)
    return lambda a: np.sqrt(a)


def magnitude(a) -> Any:
    """Absolute value."""


@overload(magnitude)
def _magnitude(a):
    if isinstance(a, Lanes):
        return lambda a: _magnitudes(a)
    return lambda a: abs(a)


def multiply_add(a, b, c) -> Any:
    """a b + c, rounded once."""


@overload(multiply_add)
def _multiply_add(a, b, c):
    if isinstance(a, Lanes):
        return lambda a, b, c: _fused(a, b, c)
    return lambda a, b, c: _fused_one(a, b, c)
