"""Votes and likes from files: read, or refused by file and row."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.data.votes import read_likes, read_votes
from tacit.errors import DataError


def written(tmp_path: Path, text: str, name: str = "votes.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_rounds_that_are_numbers_ascend(tmp_path: Path) -> None:
    """Round 10 comes after round 9, in whatever order rows stand."""
    path = written(tmp_path, "round,voter,candidate\n10,1,5\n9,1,7\n9,2,8\n")
    read = read_votes(path)
    assert [each.name for each in read.rounds] == [9, 10]
    assert read.rounds[0].voters.tolist() == [1, 2]
    assert read.rounds[0].chosen.tolist() == [7, 8]


def test_a_row_without_a_voter_lists_a_candidate(tmp_path: Path) -> None:
    """A listed candidate that nobody votes for is a candidate, and no voter."""
    path = written(tmp_path, "round\tvoter\tcandidate\n1\t\ta\n1\t\tb\n1\t7\ta\n")
    read = read_votes(path)
    assert read.listed
    assert read.rounds[0].candidates == ("a", "b")
    assert read.rounds[0].voters.tolist() == [7]


def test_without_a_list_candidates_are_those_with_votes(tmp_path: Path) -> None:
    """And the file says that it has no list."""
    read = read_votes(written(tmp_path, "day,user_id,item\n2026-03-01,u,b\n2026-03-01,v,a\n"))
    assert not read.listed
    assert read.rounds[0].candidates == ("a", "b")
    assert read.objects == 2


@pytest.mark.parametrize(
    ("text", "row", "says"),
    [
        ("day,person,candidate\n1,a,b\n", None, "no voter column"),
        ("round,voter,candidate\n", None, "no rows"),
        ("round,voter,candidate\n1,,a\n", None, "no votes"),
        ("round,voter,candidate\n,a,b\n", 2, "round is missing"),
        ("round,voter,candidate\n1,a,\n", 2, "candidate is missing"),
        ("round,voter,candidate\n1,a,b\n1,a,c\n", 3, "votes twice"),
        ("round,voter,candidate\n1,,b\n1,a,b\n1,,b\n", 4, "listed twice"),
        ("round,voter,candidate\n1,,b\n1,a,c\n", 3, "no candidate of this round"),
        ("round,voter,candidate\n1,,b\n1,a,b\n2,a,b\n", 4, "not listed"),
        ("round,voter,candidate\n1,a\n", 2, "too short"),
    ],
)
def test_a_fault_is_named_with_its_row(
    tmp_path: Path, text: str, row: int | None, says: str
) -> None:
    """What cannot be meant is refused by file, row and a sentence."""
    with pytest.raises(DataError, match=says) as caught:
        read_votes(written(tmp_path, text))
    assert caught.value.row == row
    assert "votes.csv" in str(caught.value)


def test_a_repeated_number_is_named_as_it_is_written(tmp_path: Path) -> None:
    """Not as NumPy shows it."""
    with pytest.raises(DataError, match="found 7;"):
        read_votes(written(tmp_path, "round,voter,candidate\n1,7,a\n1,7,b\n"))


@pytest.mark.parametrize("digits", ["9" * 19, "9" * 20, "9" * 5000])
def test_a_number_beyond_64_bits_is_text(tmp_path: Path, digits: str) -> None:
    """Also where Python itself does not read so many digits."""
    read = read_votes(written(tmp_path, f"round,voter,candidate\n1,{digits},a\n1,8,a\n"))
    assert read.rounds[0].voters.tolist() == [digits, "8"]


def test_a_parquet_file_is_refused_as_such(tmp_path: Path) -> None:
    """Not as text in another encoding."""
    path = tmp_path / "votes.parquet"
    path.write_bytes(b"PAR1 and more")
    with pytest.raises(DataError, match="Parquet"):
        read_votes(path)


VOTES = "round,voter,candidate\n1,,a\n1,,b\n1,7,a\n2,,c\n2,,d\n2,7,d\n"


def test_likes_are_by_client_and_round(tmp_path: Path) -> None:
    """A round without a row is one she takes no part in; a disliked row is one she does."""
    votes = read_votes(written(tmp_path, VOTES))
    text = "client,round,candidate,liked\nann,1,a,yes\nann,2,c,no\nbob,2,d,1\n"
    likes = read_likes(written(tmp_path, text, "likes.csv"), votes)
    assert likes == {
        "ann": {0: frozenset({"a"}), 1: frozenset()},
        "bob": {1: frozenset({"d"})},
    }


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("ann,3,a,1", "no such round"),
        ("ann,1,c,1", "no candidate of this round"),
        ("ann,1,a,perhaps", "neither liked nor disliked"),
        ("ann,1,,1", "candidate is missing"),
    ],
)
def test_a_like_of_nothing_is_named_with_its_row(tmp_path: Path, row: str, says: str) -> None:
    """Likes speak of rounds and candidates of the votes."""
    votes = read_votes(written(tmp_path, VOTES))
    path = written(tmp_path, f"client,round,candidate,liked\n{row}\n", "likes.csv")
    with pytest.raises(DataError, match=says) as caught:
        read_likes(path, votes)
    assert caught.value.row == 2
