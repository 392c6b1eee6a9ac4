"""A synchronised store that forgets at the end of the test."""

from __future__ import annotations


class PassingStore:
    """Like a file, in this process."""

    def __init__(self) -> None:
        self._held = (0, b"")

    def read(self) -> tuple[int, bytes]:
        return self._held

    def swap(self, number: int, data: bytes) -> bool:
        if number != self._held[0]:
            return False
        self._held = (number + 1, data)
        return True
