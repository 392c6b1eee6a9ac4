"""`tacit replay prec`: votes from a file, served as they would have been."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacit.cli.app import main

ROUNDS = 30


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    """400 voters, of whom 300 always vote for the first of two candidates."""
    rows = ["round,voter,candidate"]
    for number in range(1, ROUNDS + 1):
        rows += [f"{number},,a{number}", f"{number},,b{number}"]
        rows += [f"{number},{v},{'a' if v < 300 else 'b'}{number}" for v in range(400)]
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


@pytest.fixture
def likes(tmp_path: Path) -> Path:
    """Ann likes the first candidate always, bob the second in rounds 2 and 3."""
    rows = ["client,round,candidate", *(f"ann,{n},a{n}" for n in range(1, ROUNDS + 1))]
    path = tmp_path / "likes.csv"
    path.write_text("\n".join([*rows, "bob,2,b2", "bob,3,b3"]), encoding="utf-8")
    return path


def asked(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, Any]:
    assert main(["replay", "prec", *map(str, words), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_client_with_peers_is_served_well(
    votes: Path, likes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """300 peers of 400 voters: hardly a disliked recommendation, and the gate stays open."""
    found = asked(capsys, votes, "--likes", likes, "--voters", "500")
    ann = found["clients"][0]
    assert len(ann["recommendations"]) == ROUNDS
    assert ann["loss"] < ROUNDS / 3
    assert ann["gate_closed"] is None
    assert found["guarantees"][0]["epsilon"] <= 1


def test_a_client_is_asked_only_in_her_rounds(
    votes: Path, likes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rounds without a row of hers cost her nothing and show her nothing."""
    found = asked(capsys, votes, "--likes", likes, "--voters", "500")
    assert [one["client"] for one in found["clients"]] == ["ann", "bob"]
    assert [r["round"] for r in found["clients"][1]["recommendations"]] == [2, 3]


def test_following_a_voter_without_a_gate_reads_her_votes(
    votes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without privacy whoever likes what one voter votes for is soon given just that."""
    words = ("--follow", "5", "--voters", "500", "--epsilon", "inf")
    found = asked(capsys, votes, *words)
    assert found["clients"][0]["loss"] < ROUNDS / 3
    assert found["guarantees"][0]["epsilon"] is None


def test_epsilon_follows_from_peers(
    votes: Path, likes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sound: a gate is planned for so many; published: the paper's conditional promise."""
    words = ("--likes", likes, "--voters", "500", "--peers", "100")
    sound = asked(capsys, votes, *words)
    assert sound["plan"]["peers"] == 100
    assert sound["guarantees"][0]["epsilon"] < 1
    printed = asked(capsys, votes, *words, "--variant", "published")
    assert printed["plan"] is None
    assert printed["guarantees"][0]["basis"] == "conditional"


def test_clients_priced_together_share_epsilon(
    votes: Path, likes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The card that comes first is for one client, the last for all of the file."""
    words = ("--likes", likes, "--voters", "500", "--epsilon", "3", "--together", "2")
    cards = asked(capsys, votes, *words)["guarantees"]
    assert cards[-1]["epsilon"] <= 3
    assert cards[0]["epsilon"] == pytest.approx(cards[-1]["epsilon"] / 2)


def test_a_person_reads_the_guarantee_and_what_to_type_next(
    votes: Path, likes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence of what holds."""
    assert main(["replay", "prec", str(votes), "--likes", str(likes), "--voters", "500"]) == 0
    said = capsys.readouterr().out
    assert "differentially private for each voter's whole history" in said
    assert "has no rows of candidates" not in said


def test_candidates_read_off_the_votes_are_owned_up_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a list of candidates the votes decide what there is to recommend."""
    path = tmp_path / "votes.csv"
    rows = [f"{number},{voter},{voter % 2}" for number in range(1, 9) for voter in range(4)]
    path.write_text("\n".join(["round,voter,candidate", *rows]), encoding="utf-8")
    assert main(f"replay prec {path} --follow 1 --voters 9 --epsilon inf".split()) == 0
    assert "has no rows of candidates" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--voters", "500"), "Say what the clients like"),
        (("--voters", "500", "--follow", "nobody"), "No voter 'nobody'"),
        (("--voters", "20", "--follow", "5"), "at most 20"),
        (("--voters", "399", "--follow", "5"), "more voters than the run was set up for"),
        (("--voters", "500", "--follow", "5", "--radius", "20"), "too few"),
        (("--voters", "500", "--follow", "5", "--epsilon", "1,2"), "valid number"),
    ],
)
def test_what_makes_no_sense_is_refused(
    votes: Path, words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One paragraph, no traceback."""
    assert main(["replay", "prec", str(votes), *words]) in (2, 3)
    assert says in capsys.readouterr().err
