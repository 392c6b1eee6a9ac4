"""Rounds of votes from a table, and what clients like: a row for each vote or like.

Votes     round, voter, candidate. A row without a voter names a candidate, so that the list of
          candidates is public. With such rows every round needs its list; without any, the
          candidates of a round are those that have votes, which no guarantee covers.
Likes     client, round, candidate and, if wanted, liked (1, 0, yes, no, true or false; 1 if there
          is no such column). A client takes part in the rounds that have a row of theirs.
Order     Rounds that are whole numbers ascend; others are sorted as text, such as 2026-03-01.
Ids       as in `tables.cleaning`: whole numbers if all of a column are written so, else text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.data.ratings import Column
from tacit.data.tables.columns import plain
from tacit.data.tables.sources import open_table
from tacit.errors import DataError

Id = int | str
_HEADERS = {
    "round": ("round", "day", "date", "time", "timestamp"),
    "voter": ("voter", "voter_id", "user", "user_id", "userid"),
    "candidate": ("candidate", "candidate_id", "object", "object_id", "item", "item_id", "itemid"),
    "client": ("client", "client_id"),
    "liked": ("liked", "like"),
}
_ANSWERS = {"1": True, "yes": True, "true": True, "0": False, "no": False, "false": False}


@dataclass(frozen=True, eq=False, repr=False)
class VoteRound:
    """name: as the file has it. voters, chosen: aligned, who votes for which of the candidates."""

    name: Id
    candidates: tuple[Id, ...]
    voters: Column
    chosen: Column

    def __repr__(self) -> str:
        """Sizes. No voter, no vote."""
        return f"VoteRound({len(self.voters):,} votes for {len(self.candidates)} candidates)"


@dataclass(frozen=True, eq=False)
class VoteRounds:
    """In order. listed: whether the file names the candidates apart from the votes."""

    rounds: tuple[VoteRound, ...]
    listed: bool

    @property
    def objects(self) -> int:
        """Candidates of the largest round."""
        return max(len(each.candidates) for each in self.rounds)


Likes = Mapping[Id, Mapping[int, frozenset[Id]]]
"""Client, number of the round from 0, the candidates they like."""


def read_votes(path: str | Path) -> VoteRounds:
    """Every round of a file; DataError with file and row for what cannot be meant."""
    path = Path(path)
    lines, table = _read(path, ("round", "voter", "candidate"))
    named = [at for at, voter in enumerate(table["voter"]) if not voter]
    for column in ("round", "candidate"):
        _refuse_empty(path, lines, table[column], column)
    if len(named) == len(lines):
        raise DataError("the file has no votes", path=path, expected="rows with a voter")
    rounds, candidates, voters = (_ids(table[name]) for name in ("round", "candidate", "voter"))
    order: dict[Id, tuple[list[int], list[int]]] = {
        name: ([], []) for name in sorted(set(rounds.tolist()))
    }
    for at, name in enumerate(rounds.tolist()):
        order[name][0 if table["voter"][at] else 1].append(at)
    made = []
    for name, (cast, listing) in order.items():
        _refuse_repeats(path, lines, voters, cast, "voter", "votes twice in this round")
        _refuse_repeats(path, lines, candidates, listing, "candidate", "is listed twice")
        allowed = tuple(candidates[listing].tolist())
        if not named:
            allowed = tuple(sorted(set(candidates[cast].tolist())))
        elif not listing:
            raise DataError(
                "the candidates of this round are not listed",
                path=path,
                row=lines[cast[0]],
                found=name,
                expected="a row without a voter for each candidate, as in other rounds",
            )
        known = set(allowed)
        for at in cast:
            if candidates[at] not in known:
                raise DataError(
                    "a vote for what is no candidate of this round",
                    path=path,
                    row=lines[at],
                    found=table["candidate"][at],
                    expected="one of those listed in rows without a voter",
                )
        made.append(VoteRound(name, allowed, voters[cast], candidates[cast]))
    return VoteRounds(tuple(made), bool(named))


def read_likes(path: str | Path, votes: VoteRounds) -> Likes:
    """What each client of a file likes; rounds and candidates are those of the votes."""
    path = Path(path)
    lines, table = _read(path, ("client", "round", "candidate"), ("liked",))
    for column in ("client", "round", "candidate"):
        _refuse_empty(path, lines, table[column], column)
    rounds = {str(each.name): number for number, each in enumerate(votes.rounds)}
    known = [{str(name): name for name in each.candidates} for each in votes.rounds]
    answers = table.get("liked", ["1"] * len(lines))
    found: dict[Id, dict[int, frozenset[Id]]] = {}
    for at, client in enumerate(_ids(table["client"]).tolist()):
        number = rounds.get(table["round"][at])
        if number is None:
            raise DataError(
                "the votes have no such round",
                path=path,
                row=lines[at],
                column="round",
                found=table["round"][at],
                expected="a round as it is written in the file of votes",
            )
        candidate = known[number].get(table["candidate"][at])
        if candidate is None:
            raise DataError(
                "no candidate of this round",
                path=path,
                row=lines[at],
                column="candidate",
                found=table["candidate"][at],
                expected=f"one of {', '.join(list(known[number])[:6])}",
            )
        answer = _ANSWERS.get(answers[at].lower())
        if answer is None:
            raise DataError(
                "neither liked nor disliked",
                path=path,
                row=lines[at],
                column="liked",
                found=answers[at],
                expected=f"one of {', '.join(_ANSWERS)}",
            )
        mine = found.setdefault(client, {})
        mine[number] = mine.get(number, frozenset()) | ({candidate} if answer else frozenset())
    return found


def _read(
    path: Path, needed: Sequence[str], also: Sequence[str] = ()
) -> tuple[list[int], dict[str, list[str]]]:
    """Line numbers and the columns that are there, as stripped text."""
    opened = open_table(
        path, header=True, asked=[name for role in needed for name in _HEADERS[role]]
    )
    headers = [plain(header) for header in opened.headers]
    places: dict[str, int] = {}
    for role in (*needed, *also):
        place = next((headers.index(name) for name in _HEADERS[role] if name in headers), None)
        if place is not None:
            places[role] = place
        elif role in needed:
            raise DataError(
                f"no {role} column",
                path=path,
                found=", ".join(opened.headers),
                expected=f"one of {', '.join(_HEADERS[role])}",
                fix="Name the columns in the file's first line, such as  " + ",".join(needed),
            )
    if opened.torn:
        raise opened.torn[0].complaint(path)
    columns = {role: opened.frame[:, place].to_list() for role, place in places.items()}
    texts = {role: ["" if cell is None else str(cell).strip() for cell in column]
             for role, column in columns.items()}  # fmt: skip
    return list(opened.lines()), texts


def _ids(texts: Sequence[str]) -> Column:
    """Whole numbers if all that is there is written as one, below 2**63; else text as objects."""
    if all(not text or _is_number(text) for text in texts):
        return np.array([int(text) if text else -1 for text in texts], dtype=np.int64)
    column = np.empty(len(texts), dtype=object)
    column[:] = texts
    return column


def _is_number(text: str) -> bool:
    digits = text.isascii() and text.isdigit() and len(text) < 20  # Python refuses thousands
    return digits and str(int(text)) == text and int(text) < 1 << 63


def _refuse_empty(path: Path, lines: Sequence[int], texts: Sequence[str], column: str) -> None:
    for line, text in zip(lines, texts, strict=True):
        if not text:
            raise DataError(
                f"the {column} is missing", path=path, row=line, column=column, expected="an id"
            )


def _refuse_repeats(
    path: Path, lines: Sequence[int], ids: Column, places: Sequence[int], column: str, what: str
) -> None:
    seen: set[Id] = set()
    for at, name in zip(places, ids[places].tolist(), strict=True):
        if name in seen:
            raise DataError(
                f"this {column} {what}",
                path=path,
                row=lines[at],
                column=column,
                found=name,
                expected="once",
            )
        seen.add(name)
