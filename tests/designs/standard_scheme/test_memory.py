"""What a device remembers, loses, and takes over."""

from __future__ import annotations

import copy
import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.designs.standard_scheme.epochs import latest_ended_epoch
from tacit.designs.standard_scheme.memory import (
    Record,
    State,
    open_state,
    state_after_forgetting,
    state_after_loss,
)
from tacit.designs.standard_scheme.messages import DAY, MICRO, WEEK, MessageError

NOW = 1_700_000_000
ids = st.integers(-(2**60), 2**60) | st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
whole = st.integers(0, 2**40)
digests = st.text("0123456789abcdef", min_size=16, max_size=16)
records = st.builds(Record, st.integers(0, 4 * MICRO) | st.none(), digests, whole) | st.builds(
    Record, st.integers(0, 4 * MICRO), digests, whole, st.just(True)
)
states = st.builds(
    State,
    created=whole,
    binding=digests,
    records=st.dictionaries(ids, records, max_size=5),
    frozen=st.sets(ids, max_size=5),
    arrivals=st.dictionaries(ids, whole, max_size=5),
    last_epoch=st.integers(-1, 3000),
    letter=st.none() | st.text(st.characters(exclude_categories=["Cs"])).map(str.encode),
    spoken=st.integers(-1, 3000),
    log=st.lists(st.tuples(whole, digests), max_size=3).map(tuple),
    aliases=st.lists(st.tuples(ids, ids), max_size=3).map(tuple),
    epoch_length=whole,
    closed=st.booleans(),
    values=st.lists(st.tuples(digests, st.lists(digests, max_size=3).map(tuple)), max_size=3).map(
        tuple
    ),
)


@given(states)
def test_round_trip(state):
    """A state comes back from its bytes, and equal states have equal bytes."""
    again = State.decode(state.encode())
    assert again == state
    again.records = dict(reversed(again.records.items()))
    assert again.encode() == state.encode()


@pytest.mark.parametrize(
    "change",
    [
        {"version": 1},
        {"created": -1},
        {"created": None},
        {"binding": 7},
        {"records": [["a", 1, "x", 0]]},
        {"records": [["a", 1.0, "x", 0, False]]},
        {"records": [["a", 1, "x", -1, False]]},
        {"records": [["a", None, "x", 0, True]]},
        {"records": [["a", 1, "x", 0, 1]]},
        {"records": [[None, 1, "x", 0, False]]},
        {"records": [["b", 1, "x", 0, False], ["a", 1, "x", 0, False]]},
        {"records": [["a", 1, "x", 0, False], ["a", None, "x", 0, False]]},
        {"frozen": ["a", "a"]},
        {"frozen": [1.5]},
        {"arrivals": [["a", "now"]]},
        {"arrivals": {"a": 1}},
        {"last_epoch": -2},
        {"spoken": None},
        {"letter": 7},
        {"log": [[1, 2]]},
        {"log": [[-1, "x"]]},
        {"aliases": [["a"]]},
        {"aliases": [["a", None]]},
        {"epoch_length": -1},
        {"closed": 0},
        {"values": None},
        {"values": []},
        {"values": "ab"},
        {"values": [["a"]]},
        {"values": [["a", "FM"]]},
        {"values": [["a", ["F", 1]]]},
        {"values": [[1, ["F"]]]},
        {"more": 1},
    ],
    ids=str,
)
def test_other_content_is_refused(change):
    """A memory that this version does not write is refused, and not half read."""
    content = json.loads(State(created=NOW).encode()) | change
    with pytest.raises(MessageError):
        State.decode(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())


def test_a_memory_of_no_device_is_written_without_values():
    """So a memory that was made before lists of values were stored can be read."""
    data = State(created=NOW).encode()
    assert "values" not in json.loads(data)
    assert State.decode(data).values == ()


def test_no_star_and_no_die_is_kept():
    """A record has four fields, and they are these."""
    assert set(Record.__dataclass_fields__) == {"level", "digest", "epoch", "withdrawn"}


def test_a_fresh_secret_begins_anew():
    """A secret made here that never spoke has nothing to lose."""
    state = open_state(None, -1, ["a"], NOW, WEEK)
    assert state == State(created=NOW)


@pytest.mark.parametrize("spoken", [None, 5, 2810])
def test_a_lost_memory_freezes_what_is_rated(spoken):
    """A secret that spoke and has no memory decides nothing of before, one of elsewhere nothing."""
    state = open_state(None, spoken, ["a", 7], NOW, WEEK)
    assert state.frozen == {"a", 7}
    assert not state.is_undecided("a")
    assert state.is_undecided("b")
    assert state.records == {}
    assert state.closed == (spoken is None)
    assert state.letter is None
    assert state.spoken == (-1 if spoken is None else spoken)
    assert state.last_epoch == max(latest_ended_epoch(NOW - DAY, NOW, WEEK), state.spoken)


def test_a_backup_freezes_what_was_rated_since():
    """A memory older than the secret's last letter decides nothing that it has no record of."""
    backup = State(
        created=NOW - 9 * WEEK,
        records={"a": Record(0, "", 5), "b": Record(None, "", 5)},
        arrivals={"c": NOW - WEEK},
        letter=b"x",
        last_epoch=2700,
        spoken=2700,
    )
    backup.aliases = (("old a", "a"), ("old e", "e"))
    state = open_state(backup, 2801, ["old a", "b", "d", "old e"], NOW, WEEK)
    assert state.frozen == {"c", "d", "e"}
    assert set(state.records) == {"a", "b"}
    assert (state.letter, state.arrivals, state.spoken) == (None, {}, 2801)
    assert state.last_epoch == latest_ended_epoch(NOW - 9 * WEEK, NOW, WEEK) >= 2801


@pytest.mark.parametrize("spoken", [None, -1, 2700])
def test_a_present_memory_is_not_lost(spoken):
    """A memory that knows the last letter goes on as it is."""
    state = State(created=NOW, arrivals={"c": NOW}, last_epoch=2700, spoken=2700)
    before = state.encode()
    assert open_state(state, spoken, ["a"], NOW, WEEK).encode() == before


def test_forget_me_keeps_ids_alone():
    """After "forget me" every item that may have been decided stays frozen; no level is left."""
    state = State(
        created=5,
        binding="x",
        records={"a": Record(MICRO, "", 1), "b": Record(None, "", 1)},
        frozen={"f"},
        arrivals={"c": 9},
        letter=b"x",
        last_epoch=7,
        spoken=7,
        log=((1, "x"),),
        aliases=(("old d", "d"),),
    )
    after = state_after_forgetting(state, ["old d"], NOW)
    frozen = {"a", "b", "c", "d", "f"}
    assert after == State(created=NOW, frozen=frozen, log=((1, "x"),), aliases=(("old d", "d"),))
    assert after.shown_levels() == {}


def test_aliases_move_everything():
    """Records, frozen items and arrivals follow, once; of two arrivals the earlier counts."""
    state = State(
        created=0,
        records={"a": Record(1, "", 0), "b": Record(2, "", 0)},
        frozen={"c"},
        arrivals={"d": 5, "e": 3},
    )
    names = (("a", "A"), ("b", "A"), ("c", "C"), ("d", "D"), ("e", "D"))
    state.follow(names)
    assert state.records == {"A": Record(1, "", 0)}
    assert (state.frozen, state.arrivals) == ({"C"}, {"D": 3})
    before = state.encode()
    state.follow(names)
    assert state.encode() == before


def test_a_deep_copy_shares_nothing_that_changes():
    """Every dictionary and set is a copy; a field of another kind that changes would show here."""
    state = State(created=0, records={"a": Record(1, "", 0)}, frozen={"b"}, arrivals={"c": 5})
    copied = copy.deepcopy(state)
    assert copied == state
    shared = [field.name for field in fields(State) if is_mutable(getattr(state, field.name))]
    assert shared == ["records", "frozen", "arrivals", "merged"]
    for name in shared:
        assert getattr(copied, name) is not getattr(state, name)


def is_mutable(value):
    return not isinstance(value, int | str | bytes | tuple | None)


def test_of_two_held_back_records_the_one_of_the_new_id_is_kept():
    """Both say that no letter shows the item; they differ in when that was decided."""
    state = State(created=0, records={"old": Record(None, "", 1), "new": Record(None, "", 2)})
    state.follow((("old", "new"),))
    assert state.records == {"new": Record(None, "", 2)}


def test_lost_at_the_beginning_of_time():
    """A clock near 1970 makes no negative second."""
    assert state_after_loss([], 5, WEEK).created == 0
