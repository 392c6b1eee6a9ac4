"""A memory of version 1 of the standard scheme's device, taken over: the vectors' reference.

With the disclosure that the last release followed, what that release showed stays shown. No client
kept it: they hold back everything, as this does without it.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.designs.standard_scheme.memory import Record, State, lost
from tacit.designs.standard_scheme.messages import ItemId

Entry = tuple[int, int | None, tuple[int, ...], str]
"""True level, released level or None, dice of selection, what the draw was bound to."""


def migrated(
    entries: Mapping[ItemId, Entry],
    last: bytes | None,
    values: Mapping[str, str],
    now: int,
    length: int,
) -> State:
    """The state that goes on from a memory of version 1.

    last: the bytes of the disclosure that the last release was made for, of version 1; without
    them everything is held back. values: the owner's. length: the present epoch length.
    """
    state = lost((), now, length)
    digest = "" if last is None else hashlib.sha256(last).hexdigest()[:16]
    shown = _shown(entries, json.loads(last), values) if last is not None else {}
    epoch = max(0, state.last_epoch)
    state.records = {item: Record(shown.get(item), digest, epoch) for item in entries}
    return state


def _shown(
    entries: Mapping[ItemId, Entry], disclosure: Any, values: Mapping[str, str]
) -> dict[ItemId, int]:
    """Released levels of what version 1 would show, in the stratum of this many records."""
    rows = [
        _chances(table, values.get(table["name"]), len(entries))
        for table in disclosure["attributes"]
    ]
    number = {item: at for at, item in enumerate(disclosure["items"])}
    return {
        item: released
        for item, (_, released, dice, _) in entries.items()
        if released is not None
        and item in number
        # No dice: the item was shown whatever.
        and all(die < row[number[item]] for die, row in zip(dice, rows, strict=False))
    }


def _chances(table: Any, value: str | None, records: int) -> Sequence[int]:
    if value not in table["values"]:
        return [0] * len(table["offsets"][0])
    own = table["values"].index(value)
    chances: Sequence[int] = table["keep"][own][bisect_right(table["bounds"][own], records)]
    return chances
