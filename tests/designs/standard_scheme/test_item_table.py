"""The published table, and the list a device makes with it from true stars."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.designs.standard_scheme import messages as module
from tacit.designs.standard_scheme.messages import ItemTable, MessageError

ITEMS = ("a", "b", 3, "d", "e")
TABLE = ItemTable(
    "0123456789abcdef",
    (3, 3, 3, 10, 10),
    (((1, 2), (100, -50)), ((0,), (100,)), ((0, 1), (20, 7)), ((0,), (20,)), ((), ())),
)


def test_by_hand():
    """A preference is the sum of weights times what the level counts for; seen items are gone."""
    assert TABLE.rank(ITEMS, {"b": 4, 3: 0}) == [("a", 850), ("d", 0), ("e", 0)]


def test_ties_stand_in_item_order():
    """Equal preferences keep the order of the disclosure."""
    assert TABLE.rank(ITEMS, {"a": 4}) == [("b", 1000), (3, 200), ("d", 200), ("e", 0)]


def test_left_out_items_come_last():
    """An item without weights stands below one with a negative preference."""
    assert TABLE.rank(ITEMS, {3: 4, "b": 0, "d": 0})[-2:] == [("a", -200), ("e", 0)]


def test_no_history():
    """Without ratings every preference is 0 and items stand in their order, those left out last."""
    assert TABLE.rank(ITEMS, {}) == [(item, 0) for item in ITEMS]


def test_unknown_items():
    """An item that the disclosure does not have counts for nothing."""
    assert TABLE.rank(ITEMS, {"a": 4, "elsewhere": 4}) == TABLE.rank(ITEMS, {"a": 4})


def test_a_rare_item_changes_nothing():
    """A rating of an item that the table leaves out moves no preference."""
    with_rare = TABLE.rank(ITEMS, {"a": 4, "e": 4})
    assert with_rare == TABLE.rank(ITEMS, {"a": 4})[:-1]


@pytest.mark.parametrize("level", [-1, 5, 2.0, True, 1 << 60])
def test_levels_off_the_scale(level):
    """A level off the scale is refused, and the refusal does not repeat it."""
    with pytest.raises(ValueError, match="off the scale") as refused:
        TABLE.rank(ITEMS, {"a": level})
    assert str(level) not in str(refused.value)


def test_other_items():
    """A table made for another list of items is refused."""
    with pytest.raises(ValueError, match="another disclosure"):
        TABLE.rank(ITEMS[:3], {})


def test_canonical():
    """The bytes are read back as the same table, and are the same again."""
    assert ItemTable.decode(TABLE.encode()) == TABLE


@pytest.mark.parametrize(
    "change",
    [
        {"disclosure": 1},
        {"liked": (3,)},
        {"liked": (3, 11)},
        {"columns": (((0,), (1,)), ((), ()))},
        {"columns": (((2,), (1,)), ((), ()))},
        {"columns": (((1, 1), (1, 1)), ((), ()))},
        {"columns": (((1,), (1, 1)), ((), ()))},
        {"columns": (((1,), (0,)), ((), ()))},
        {"columns": (((1,), (1.0,)), ((), ()))},
        {"columns": (((1,), (10**9 + 1,)), ((), ()))},
    ],
)
def test_malformed(change):
    """What no recommender writes is refused."""
    with pytest.raises(MessageError):
        replace(TABLE, **change)


def test_too_many_weights():
    """A column longer than the bound is refused."""
    wide = ((), ()), *[((), ())] * 300
    with pytest.raises(MessageError, match="too many"):
        replace(TABLE, columns=(((*range(1, 258),), (1,) * 257), *wide))


@given(st.dictionaries(st.sampled_from(ITEMS), st.integers(0, 4)))
def test_every_unseen_item_once(levels):
    """A list holds every item that was not rated, once, and best first among those with weights."""
    ranked = TABLE.rank(ITEMS, levels)
    assert sorted(map(str, dict(ranked))) == sorted(str(i) for i in ITEMS if i not in levels)
    inside = [preference for item, preference in ranked if item != "e"]
    assert inside == sorted(inside, reverse=True)


def test_integers_only():
    """The device half holds no float and no division: two languages cannot differ in rounding."""
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    assert not any(isinstance(node, ast.Div) for node in ast.walk(tree))
    numbers = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    assert not any(isinstance(value, float) for value in numbers)
