"""64 bits added to 64 small counters in a few instructions.

The compiler learns that a word is a row of 64 single bits, and finds the vector instructions of
the machine for it (three per 32 counters on AVX2); written as a loop it does not. Bit c of the word
goes to counter c, as every processor that Numba runs on has it (all store the low byte first).
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _add_bits(typing: Any, counters: Any, position: Any, word: Any) -> Any:
    """In a kernel `add_bits(counters, position, word)`: bit c of the uint64 word is added to
    counters[position + c], uint8, without a check of the bounds."""
    del typing, word  # Numba hands them over; the signature does not depend on them

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        row = ir.VectorType(ir.IntType(8), 64)
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.PointerType(row))
        bits = builder.bitcast(arguments[2], ir.VectorType(ir.IntType(1), 64))
        # A set bit, extended with its sign, is -1.
        sums = builder.sub(builder.load(place, align=1), builder.sext(bits, row))
        builder.store(sums, place, align=1)
        return context.get_dummy_value()

    return types.void(counters, position, types.uint64), generate


add_bits: Any = _add_bits
