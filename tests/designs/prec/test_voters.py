"""Voters: which ids they may have, and how they vote where they do not vote themselves."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.designs.prec.voters import IdIndex, Voters, read_id, read_ids, read_votes
from tacit.errors import DataError

WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def splitmix(word):
    """The reference's last steps (Steele, Lea and Flood, 2014), in Python's whole numbers."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & WORD
    return word ^ (word >> 31)


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1])
def test_the_ends_of_64_bits_are_ids(value):
    """The smallest and the largest whole number of 64 bits."""
    assert read_id(value) == value


@pytest.mark.parametrize("value", [-(2**63) - 1, 2**63, True, 1.0])
def test_what_64_bits_do_not_hold_is_no_id(value):
    """Nor is a truth value or a fraction."""
    with pytest.raises(DataError, match="neither a whole number nor text"):
        read_id(value)


def test_default_votes_are_those_of_splitmix64():
    """The id's word and the round's, each mixed, mixed together, and reduced to the objects."""
    voters = Voters(10)
    voters.join([3, 8, 77])
    run, number, size = 12345, 6, 1000
    round_word = splitmix((run + number * GOLDEN) & WORD)
    expected = [
        splitmix(splitmix((voter + GOLDEN) & WORD) ^ round_word) % size for voter in (3, 8, 77)
    ]
    assert voters.default_votes(run, number, size).tolist() == expected


def test_a_vote_for_no_candidate_is_named_with_its_row():
    """Rows are counted from one: the second of three voters votes for what is none."""
    with pytest.raises(DataError, match="for no candidate") as refused:
        read_votes({1: "a", 2: "c", 3: "a"}, IdIndex(read_ids(["a", "b"])))
    assert refused.value.row == 2


def test_a_table_of_numbers_is_no_list_of_ids():
    """An array of two dimensions is refused, where one of them is read."""
    assert read_ids(np.array([3, 8])).tolist() == [3, 8]
    with pytest.raises(DataError, match="neither a whole number nor text"):
        read_ids(np.array([[3, 8], [9, 1]]))


@pytest.mark.parametrize("value", [5, np.array(5), np.array("ann"), "ann", b"ann", None])
def test_one_value_is_no_list_of_ids(value):
    """Also not if it is an array without dimensions, which NumPy makes of a single value."""
    with pytest.raises(DataError, match="no list of ids"):
        read_ids(value)


def test_as_many_voters_join_as_the_run_is_set_up_for():
    """Three of three at once; then nobody else."""
    voters = Voters(3)
    voters.join([5, 8, 9])
    with pytest.raises(DataError, match="more voters than the run was set up for"):
        voters.join([1])


def test_there_is_no_row_before_someone_joins():
    """No id, nobody present; the first who joins gets row 0."""
    voters = Voters(3)
    assert len(voters.ids) == len(voters.present) == 0
    voters.join([7])
    assert voters.ids.tolist() == [7]
    assert voters.present.tolist() == [True]


def test_votes_in_another_order_find_their_rows():
    """All rows come as one slice in their own order only; who left and comes back has a new row."""
    voters = Voters(4)
    voters.join([5, 8, 9])
    assert voters.find_or_add_rows(np.array([5, 8, 9])) == slice(None)
    assert voters.find_or_add_rows(np.array([9, 5, 8])).tolist() == [2, 0, 1]
    voters.leave([8])
    assert voters.find_or_add_rows(np.array([5, 8, 9])).tolist() == [0, 3, 2]
