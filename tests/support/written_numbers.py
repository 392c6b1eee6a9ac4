"""How a number may stand in a message: as text, or in one of the usual binary forms."""

from __future__ import annotations

import struct


def spellings_of_float(value: float) -> list[bytes]:
    """Decimal text, and 32 and 64 bits in both orders of bytes."""
    packed = [struct.pack(form, value) for form in (">d", "<d", ">f", "<f")]
    return [repr(value).encode(), *packed]


def spellings_of_integer(value: int) -> list[bytes]:
    """Decimal text, and 32 and 64 bits in both orders of bytes."""
    packed = [struct.pack(form, value) for form in (">q", "<q", ">i", "<i")]
    return [str(value).encode(), *packed]
