"""Each item is decided once: whatever becomes of its star, the tables or the catalogue."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tacit.designs.standard_scheme.device import Device
from tacit.designs.standard_scheme.disclosure import RefusalError
from tacit.designs.standard_scheme.memory import Record, State
from tacit.designs.standard_scheme.messages import MICRO
from tests.support.scripted_dice import always, never, seeded

OWN = {"gender": "F"}
HISTORY = {f"item {number}": float(1 + number % 5) for number in range(6)}


def test_item_is_decided_once(disclose, state):
    """A second release of the same stars draws nothing and repeats the first."""
    first = Device(disclose(), OWN, state, seeded(1)).release(HISTORY, 0)
    second = Device(disclose(), OWN, state, never).release(HISTORY, 0)
    assert second.encode() == first.encode()


def test_memory_survives_a_restart(disclose, state):
    """With the memory read back from its bytes, the release has the same bytes."""
    first = Device(disclose(), OWN, state, seeded(1)).release(HISTORY, 0)
    saved = State.decode(state.encode())
    assert Device(disclose(), OWN, saved, never).release(HISTORY, 0).encode() == first.encode()


@pytest.mark.parametrize("release", ["coupling", "scheme+selection+rounding"])
def test_changed_star_changes_nothing(disclose, state, release):
    """The first released level stands, whatever becomes of the star; nothing is drawn again."""
    first = Device(disclose(release), OWN, state, seeded(2)).release(HISTORY, 0)
    changed = {item: 6.0 - star for item, star in HISTORY.items()}
    second = Device(disclose(release), OWN, state, never).release(changed, 1)
    assert second.ratings == first.ratings


def test_held_back_stays_held_back(disclose, state):
    """An item held back once is held back for good, whatever later tables say."""
    held = Device(disclose(), OWN, state, always(MICRO)).release(HISTORY, 0)
    assert held.ratings == ()
    assert all(record.level is None for record in state.records.values())
    later = disclose("scheme+selection+rounding", minimum=1.0)
    assert Device(later, OWN, state, always(0)).release(HISTORY, 1).ratings == ()


def test_new_item_leaves_the_others_alone(disclose, state):
    """A longer history adds its new item and changes none that was released."""
    fewer = {item: stars for item, stars in HISTORY.items() if item != "item 5"}
    first = dict(Device(disclose(), OWN, state, seeded(3)).release(fewer, 0).ratings)
    second = dict(Device(disclose(), OWN, state, seeded(4)).release(HISTORY, 1).ratings)
    second.pop("item 5", None)
    assert second == first


def test_refit_changes_nothing_that_was_decided(disclose, tables, state):
    """Under new tables the old set is sent under the new digest; they count for new items only."""
    fewer = {item: stars for item, stars in HISTORY.items() if item != "item 5"}
    first = Device(disclose(), OWN, state, seeded(3)).release(fewer, 0)
    other = disclose(tables={"gender": tables(99)})
    second = Device(other, OWN, state, always(0)).release(HISTORY, 1)
    assert second.disclosure == other.digest != first.disclosure
    assert dict(second.ratings).items() > dict(first.ratings).items()
    assert state.records["item 5"].digest == other.digest


def test_release_tells_no_order(disclose, state):
    """The order in which stars were given, or stand in the memory, does not show."""
    first = Device(disclose(), OWN, state, bytes(32)).release(HISTORY, 0)
    state.records = dict(reversed(state.records.items()))
    second = Device(disclose(), OWN, state, never).release(dict(reversed(HISTORY.items())), 0)
    assert second.encode() == first.encode()
    again = Device(disclose(), OWN, State(created=0), bytes(32))
    assert again.release(dict(reversed(HISTORY.items())), 0).encode() == first.encode()


def test_release_tells_no_more_than_its_items(disclose, state):
    """Neither the attribute, nor the items held back, nor their number is in the bytes."""
    state.records = {f"item {n}": Record(None, "", 0) for n in range(3)}
    sent = Device(disclose(), OWN, state, always(0)).release(HISTORY, 7)
    shown = [item for item, _ in sent.ratings]
    assert shown == ["item 3", "item 4", "item 5"]
    content = json.loads(sent.encode())
    assert set(content) == {"version", "message", "disclosure", "epoch", "ratings"}
    assert content["ratings"] == [list(pair) for pair in sent.ratings]
    assert content["epoch"] == 7
    assert not any(item in sent.encode().decode() for item in set(HISTORY) - set(shown))


def test_an_item_without_a_chance_waits(disclose, tables, state):
    """Where every value's chance is 0 an item is not decided; a later table decides it."""
    none = replace(tables(), keep=np.where(np.arange(6) == 2, 0, tables().keep))
    Device(disclose(tables={"gender": none}), OWN, state, always(0)).release(HISTORY, 0)
    assert set(state.records) == set(HISTORY) - {"item 2"}
    Device(disclose(), OWN, state, always(0)).release(HISTORY, 1)
    assert state.records["item 2"].epoch == 1


def test_deleted_items_leave_and_come_back(disclose, state):
    """A shown item whose rating is deleted is left out; rated again, it is what it was."""
    first = Device(disclose(), OWN, state, always(0)).release(HISTORY, 0)
    fewer = {item: stars for item, stars in HISTORY.items() if item != "item 1"}
    second = Device(disclose(), OWN, state, never).release(fewer, 1)
    assert set(first.ratings) - set(second.ratings) == {first.ratings[1]}
    third = Device(disclose(), OWN, state, never).release(HISTORY | {"item 1": 5.0}, 2)
    assert third.ratings == first.ratings


def test_an_item_that_leaves_the_catalogue_comes_back_as_it_was(disclose, state):
    """An item that the disclosure does not have is left out; its record stays."""
    first = Device(disclose(), OWN, state, always(0)).release(HISTORY, 0)
    whole = disclose()
    table = replace(
        whole.attributes[0],
        offsets=tuple(row[:-1] for row in whole.attributes[0].offsets),
        keep=tuple(row[:-1] for row in whole.attributes[0].keep),
    )
    fewer = replace(whole, items=whole.items[:-1], attributes=(table,))
    second = Device(fewer, OWN, state, never).release(HISTORY, 1)
    assert second.ratings == first.ratings[:-1]
    assert Device(whole, OWN, state, never).release(HISTORY, 2).ratings == first.ratings


def test_a_renamed_item_keeps_its_record(disclose, state):
    """What was decided about an old id counts for the new one, under either id of the rating."""
    old = HISTORY | {"old": 3.0}
    del old["item 0"]
    state.records["old"] = Record(MICRO, "", 0)
    renamed = disclose(aliases=(("old", "item 0"),))
    for history in (old, HISTORY, old | HISTORY):
        sent = Device(renamed, OWN, state, always(0)).release(history, 1)
        assert dict(sent.ratings)["item 0"] == MICRO
    assert "old" not in state.records


def test_frozen_items_are_neither_decided_nor_sent(disclose, state):
    """Another memory may have decided them."""
    state.frozen = {"item 0", "old"}
    renamed = disclose(aliases=(("old", "item 1"),))
    sent = Device(renamed, OWN, state, always(0)).release(HISTORY, 0)
    assert [item for item, _ in sent.ratings] == [f"item {n}" for n in range(2, 6)]
    assert state.frozen == {"item 0", "item 1"}


def test_a_closed_memory_decides_nothing(disclose, state):
    """Another memory of the account exists."""
    state.closed = True
    with pytest.raises(RefusalError, match="another memory of this account"):
        Device(disclose(), OWN, state, never)
