"""The compiled kernel behind `tacit.engine.ridge.solve`.

Four ratings and two rows of the Gram matrix are taken at a time, so that most operands stay in
registers, and only the lower triangle is filled. The width is a constant of the compiled code:
with it the inner loops unroll completely (3.3 times a NumPy loop becomes 3.9 on the build machine;
`benchmarks/ridge.py` measures it here).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np

LANES = 4
"""Doubles in one vector register: the width handed to `kernel` is a multiple of this."""


@cache
def kernel(width: int) -> Callable[..., None]:
    """Compile for one width; call with (indptr, indices, values, factors, penalties, out)."""

    @numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
    def solve_rows(
        indptr: Any, indices: Any, values: Any, factors: Any, penalties: Any, out: Any
    ) -> None:
        gram = np.empty((width, width))
        right = np.empty(width)
        inverse = np.empty(width)
        for row in range(len(indptr) - 1):
            start, end = indptr[row], indptr[row + 1]
            gram[:, :] = 0.0
            right[:] = 0.0
            t = start
            while t + 4 <= end:
                v0, v1 = factors[indices[t]], factors[indices[t + 1]]
                v2, v3 = factors[indices[t + 2]], factors[indices[t + 3]]
                y0, y1, y2, y3 = values[t], values[t + 1], values[t + 2], values[t + 3]
                for a in range(0, width, 2):
                    p0, p1, p2, p3 = v0[a], v1[a], v2[a], v3[a]
                    q0, q1, q2, q3 = v0[a + 1], v1[a + 1], v2[a + 1], v3[a + 1]
                    right[a] += p0 * y0 + p1 * y1 + p2 * y2 + p3 * y3
                    right[a + 1] += q0 * y0 + q1 * y1 + q2 * y2 + q3 * y3
                    for c in range((a // 4 + 1) * 4):
                        gram[a, c] += p0 * v0[c] + p1 * v1[c] + p2 * v2[c] + p3 * v3[c]
                        gram[a + 1, c] += q0 * v0[c] + q1 * v1[c] + q2 * v2[c] + q3 * v3[c]
                t += 4
            while t < end:
                v0, y0 = factors[indices[t]], values[t]
                for a in range(width):
                    right[a] += v0[a] * y0
                    for c in range(a + 1):
                        gram[a, c] += v0[a] * v0[c]
                t += 1
            for a in range(width):
                gram[a, a] += penalties[row]
            # Cholesky factor in the lower triangle, then the two triangular solves in place.
            for a in range(width):
                for c in range(a):
                    s = gram[a, c]
                    for e in range(c):
                        s -= gram[a, e] * gram[c, e]
                    gram[a, c] = s * inverse[c]
                s = gram[a, a]
                for e in range(a):
                    s -= gram[a, e] * gram[a, e]
                gram[a, a] = math.sqrt(s)
                inverse[a] = 1.0 / gram[a, a]
            for a in range(width):
                s = right[a]
                for e in range(a):
                    s -= gram[a, e] * right[e]
                right[a] = s * inverse[a]
            for a in range(width - 1, -1, -1):
                x = right[a] * inverse[a]
                out[row, a] = x
                for e in range(a):
                    right[e] -= gram[a, e] * x

    compiled: Callable[..., None] = solve_rows
    return compiled
