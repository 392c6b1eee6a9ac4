"""Draws of the standard scheme's device, made of the account's secret.

The same stars give the same draws on every device that has the secret, so that losing the memory
does not lead to a second draw that could be averaged with the first. Each draw's word is

root   HMAC(secret, "tacit standard scheme" 0 {"owner":[[name,value],...],"rule":...,"scale":...})
word   first 8 bytes of HMAC(root, {"draw":n,"earlier":null or [level,released,dice],"item":...})

with HMAC-SHA256 and canonical JSON, n counting the words of one item. `earlier` is what the memory
held, so that what is drawn after a change of stars has nothing to do with what was drawn before.
The TypeScript client draws the same: client/src/standard-scheme/drawing.ts.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from tacit.recommenders.standard_scheme.canonical import encode
from tacit.recommenders.standard_scheme.device import Entry, Memory
from tacit.recommenders.standard_scheme.messages import Disclosure, ItemId

_PURPOSE = b"tacit standard scheme\0"


class SecretDraws:
    """`memory` and `draw` for a device: give it both.

    The device looks an item up before it draws for it, which tells what the draws are for.
    secret: at least 32 bytes, ValueError otherwise.
    """

    def __init__(
        self, secret: bytes, disclosure: Disclosure, values: Mapping[str, str], memory: Memory
    ) -> None:
        if len(secret) < 32:
            raise ValueError("a secret has at least 32 bytes: make one with new_secret()")
        scale = {
            "minimum": disclosure.minimum,
            "step": disclosure.step,
            "levels": disclosure.levels,
        }
        owner = [[table.name, values.get(table.name)] for table in disclosure.attributes]
        setting = {"owner": owner, "rule": disclosure.rule.to_wire(), "scale": scale}
        self._root = _hmac(secret, _PURPOSE + encode(setting))
        self._asked: dict[str, Any] = {}
        self.memory: Memory = _Watched(memory, self)

    def begin(self, item: ItemId, earlier: Entry | None) -> None:
        """From here on, draws are for this item."""
        before = None if earlier is None else [earlier[0], earlier[1], list(earlier[2])]
        self._asked = {"draw": 0, "earlier": before, "item": item}

    def draw(self, bound: int) -> int:
        """A uniform integer in [0, bound): words that would favour small results are skipped."""
        limit = (1 << 64) - (1 << 64) % bound
        word = self._word()
        while word >= limit:
            word = self._word()
        return word % bound

    def _word(self) -> int:
        word = int.from_bytes(_hmac(self._root, encode(self._asked))[:8], "big")
        self._asked["draw"] += 1
        return word


class _Watched(MutableMapping[ItemId, Entry]):
    """A memory that says which item was looked up."""

    def __init__(self, memory: Memory, draws: SecretDraws) -> None:
        self._memory = memory
        self._draws = draws

    def get(self, item: ItemId, default: Any = None) -> Any:
        earlier = self._memory.get(item)
        self._draws.begin(item, earlier)
        return default if earlier is None else earlier

    def __getitem__(self, item: ItemId) -> Entry:
        return self._memory[item]

    def __setitem__(self, item: ItemId, entry: Entry) -> None:
        self._memory[item] = entry

    def __delitem__(self, item: ItemId) -> None:
        del self._memory[item]

    def __iter__(self) -> Iterator[ItemId]:
        return iter(self._memory)

    def __len__(self) -> int:
        return len(self._memory)


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, hashlib.sha256).digest()
