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
from tacit.data.tables import plain
from tacit.data.tables.reading import open_table
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
    table = _read(path, ("round", "voter", "candidate"), filled=("round", "candidate"))
    named = not all(table.texts["voter"])
    if not any(table.texts["voter"]):
        raise DataError("the file has no votes", path=path, expected="rows with a voter")
    rounds, candidates, voters = (
        _ids(table.texts[name]) for name in ("round", "candidate", "voter")
    )
    order: dict[Id, tuple[list[int], list[int]]] = {
        name: ([], []) for name in sorted(set(rounds.tolist()))
    }
    for at, name in enumerate(rounds.tolist()):
        order[name][0 if table.texts["voter"][at] else 1].append(at)
    made = []
    for name, (cast, listing) in order.items():
        table.refuse_repeats(voters, cast, "voter", "votes twice in this round")
        table.refuse_repeats(candidates, listing, "candidate", "is listed twice")
        allowed = tuple(candidates[listing].tolist())
        if not named:
            allowed = tuple(sorted(set(candidates[cast].tolist())))
        elif not listing:
            raise table.wrong(
                cast[0],
                "the candidates of this round are not listed",
                found=name,
                expected="a row without a voter for each candidate, as in other rounds",
            )
        known = set(allowed)
        for at in cast:
            if candidates[at] not in known:
                raise table.wrong(
                    at,
                    "a vote for what is no candidate of this round",
                    found=table.texts["candidate"][at],
                    expected="one of those listed in rows without a voter",
                )
        made.append(VoteRound(name, allowed, voters[cast], candidates[cast]))
    return VoteRounds(tuple(made), named)


def read_likes(path: str | Path, votes: VoteRounds) -> Likes:
    """What each client of a file likes; rounds and candidates are those of the votes."""
    path = Path(path)
    needed = ("client", "round", "candidate")
    table = _read(path, needed, ("liked",), filled=needed)
    rounds = {str(each.name): number for number, each in enumerate(votes.rounds)}
    known = [{str(name): name for name in each.candidates} for each in votes.rounds]
    answers = table.texts.get("liked", ["1"] * len(table.lines))
    found: dict[Id, dict[int, frozenset[Id]]] = {}
    for at, client in enumerate(_ids(table.texts["client"]).tolist()):
        number = rounds.get(table.texts["round"][at])
        if number is None:
            said = "a round as it is written in the file of votes"
            raise table.wrong(at, "the votes have no such round", "round", expected=said)
        candidate = known[number].get(table.texts["candidate"][at])
        if candidate is None:
            said = f"one of {', '.join(list(known[number])[:6])}"
            raise table.wrong(at, "no candidate of this round", "candidate", expected=said)
        answer = _ANSWERS.get(answers[at].lower())
        if answer is None:
            said = f"one of {', '.join(_ANSWERS)}"
            raise table.wrong(at, "neither liked nor disliked", "liked", expected=said)
        mine = found.setdefault(client, {})
        mine[number] = mine.get(number, frozenset()) | ({candidate} if answer else frozenset())
    return found


@dataclass(frozen=True, eq=False)
class _Rows:
    """lines: of the file, one for each row. texts: the columns that are there, stripped."""

    path: Path
    lines: list[int]
    texts: dict[str, list[str]]

    def wrong(
        self, at: int, what: str, column: str | None = None, *, found: object = None, expected: str
    ) -> DataError:
        """found: by default what stands in the column."""
        if found is None and column is not None:
            found = self.texts[column][at]
        row = self.lines[at]
        return DataError(
            what, path=self.path, row=row, column=column, found=found, expected=expected
        )

    def refuse_repeats(self, ids: Column, places: Sequence[int], column: str, what: str) -> None:
        """DataError for an id that stands in two of these rows."""
        seen: set[Id] = set()
        for at, name in zip(places, ids[places].tolist(), strict=True):
            if name in seen:
                raise self.wrong(at, f"this {column} {what}", column, found=name, expected="once")
            seen.add(name)


def _read(
    path: Path, needed: Sequence[str], also: Sequence[str] = (), *, filled: Sequence[str]
) -> _Rows:
    """filled: columns in which no cell is empty."""
    asked = [name for role in needed for name in _HEADERS[role]]
    opened = open_table(path, header=True, asked=asked)
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
    rows = _Rows(path, list(opened.lines()), texts)
    for column in filled:
        if "" in texts[column]:
            raise DataError(
                f"the {column} is missing",
                path=path,
                row=rows.lines[texts[column].index("")],
                column=column,
                expected="an id",
            )
    return rows


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
