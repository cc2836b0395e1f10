"""One layer of a network for a few contacts at once, written for the processor's vector unit.

numba leaves it to the compiler to find vectors, and on this loop it finds half of what the processor can do. Here the
sums of a tile, some contacts by some vectors of WIDE outputs, stay in registers while the inputs go by.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from stiction.compiled import intrinsic, lean

WIDE = 8  # outputs in a vector; rows of weights are padded to a multiple of it
PARTS = 4  # sums that do not wait for each other
TOGETHER = 4  # contacts that share the weights once they are loaded
_FLOATS = ir.VectorType(ir.FloatType(), WIDE)
_INT = ir.IntType(32)


def padded(outputs: int) -> int:
    """Places that a row of as many weights takes."""
    return -(-outputs // WIDE) * WIDE


def _tile(contacts: int, vectors: int):
    """A compiled function that writes `vectors` * WIDE outputs of each of `contacts` contacts."""

    def tile(typing, numbers, weights, bias, row, inputs, value, source, new, target, apart, cut_off):
        """Write bias + value . weights; if `cut_off`, 0 where that is negative.

        numbers: all weights and biases; those of this tile begin at `weights`, rows `row` apart, and at `bias`
        value, new: inputs and outputs; those of the first contact begin at `source` and `target`, of the next `apart`
            further
        """

        def generate(context, builder, signature, args):
            _, weights, bias, row, inputs, _, source, _, target, apart, cut_off = args
            data, value, new = (
                context.make_array(signature.args[k])(context, builder, args[k]).data for k in (0, 5, 7)
            )
            # The compiler makes registers of these. A sum waits for the one before: a lone vector is summed in parts.
            parts = PARTS if vectors == 1 else 1
            sums = [[cgutils.alloca_once(builder, _FLOATS) for _ in range(contacts * vectors)] for _ in range(parts)]
            zero = ir.Constant(_FLOATS, [0.0] * WIDE)
            for v in range(vectors):
                begin = _load(builder, data, _plus(builder, bias, v * WIDE))
                for c in range(contacts):
                    for part in range(parts):
                        builder.store(zero if part else begin, sums[part][c * vectors + v])
            shifts = [builder.mul(apart, _constant(c)) for c in range(contacts)]

            def add_input(number, part):
                at = builder.add(weights, builder.mul(number, row))
                columns = [_load(builder, data, _plus(builder, at, v * WIDE)) for v in range(vectors)]
                for c in range(contacts):
                    place = builder.add(builder.add(source, shifts[c]), number)
                    x = _spread(builder, builder.load(builder.gep(value, [place])))
                    for v in range(vectors):
                        own = sums[part][c * vectors + v]
                        builder.store(_multiply_add(builder, x, columns[v], builder.load(own)), own)

            whole = builder.sdiv(inputs, _constant(parts))
            with cgutils.for_range(builder, whole) as loop:
                for part in range(parts):
                    add_input(_plus(builder, builder.mul(loop.index, _constant(parts)), part), part)
            done = builder.mul(whole, _constant(parts))
            if parts > 1:
                with cgutils.for_range(builder, builder.sub(inputs, done)) as loop:
                    add_input(builder.add(done, loop.index), 0)
            for c in range(contacts):
                for v in range(vectors):
                    y = builder.load(sums[0][c * vectors + v])
                    for part in range(1, parts):
                        y = builder.fadd(y, builder.load(sums[part][c * vectors + v]))
                    positive = builder.select(builder.fcmp_ordered(">", y, zero), y, zero)
                    place = _plus(builder, builder.add(target, shifts[c]), v * WIDE)
                    out = builder.bitcast(builder.gep(new, [place]), _FLOATS.as_pointer())
                    builder.store(builder.select(cut_off, positive, y), out, align=4)
            return context.get_dummy_value()

        n = types.int64
        return types.none(numbers, n, n, n, n, value, n, new, n, n, types.boolean), generate

    return intrinsic(tile)


def _constant(value: int) -> Any:
    return ir.Constant(ir.IntType(64), value)


def _plus(builder, at, offset: int):
    return builder.add(at, _constant(offset))


def _load(builder, data, at):
    """WIDE numbers from place `at` on."""
    return builder.load(builder.bitcast(builder.gep(data, [at]), _FLOATS.as_pointer()), align=4)


def _spread(builder, x):
    """A vector of equal numbers."""
    nothing = ir.Constant(_FLOATS, ir.Undefined)
    one = builder.insert_element(nothing, x, ir.Constant(_INT, 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(_INT, WIDE), [0] * WIDE))


def _multiply_add(builder, a, b, c):
    """a b + c with one rounding: the same bits whatever the compiler makes of it."""
    name = f"llvm.fma.v{WIDE}f32"
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_FLOATS, [_FLOATS] * 3), name)
    return builder.call(function, [a, b, c])


_four_by_two, _four_by_one = _tile(TOGETHER, 2), _tile(TOGETHER, 1)
_one_by_eight, _one_by_four, _one_by_two, _one_by_one = _tile(1, 8), _tile(1, 4), _tile(1, 2), _tile(1, 1)


@lean
def write_layer(numbers, at, n, m, count, value, new, apart, cut_off):
    """Write the m outputs (padded) of a layer with n inputs for `count` contacts; what becomes of one does not depend
    on the others.

    numbers: holds weights (n, m padded) and biases (m padded) from `at` on
    value, new: inputs and outputs of the contacts, `apart` places from one to the next
    """
    row = -(-m // WIDE) * WIDE
    bias = at + n * row
    j = np.int64(0)
    if count == TOGETHER:
        while j + 2 * WIDE <= row:
            _four_by_two(numbers, at + j, bias + j, row, n, value, np.int64(0), new, j, apart, cut_off)
            j += 2 * WIDE
        if j < row:
            _four_by_one(numbers, at + j, bias + j, row, n, value, np.int64(0), new, j, apart, cut_off)
        return
    for c in range(count):  # the same outputs in lone vectors as above, so that the bits are the same
        begin = c * apart
        j = np.int64(0)
        while j + 8 * WIDE <= row:
            _one_by_eight(numbers, at + j, bias + j, row, n, value, begin, new, begin + j, apart, cut_off)
            j += 8 * WIDE
        if j + 4 * WIDE <= row:
            _one_by_four(numbers, at + j, bias + j, row, n, value, begin, new, begin + j, apart, cut_off)
            j += 4 * WIDE
        if j + 2 * WIDE <= row:
            _one_by_two(numbers, at + j, bias + j, row, n, value, begin, new, begin + j, apart, cut_off)
            j += 2 * WIDE
        if j < row:
            _one_by_one(numbers, at + j, bias + j, row, n, value, begin, new, begin + j, apart, cut_off)
