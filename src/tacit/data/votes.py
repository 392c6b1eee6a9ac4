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
from itertools import compress
from pathlib import Path

import numpy as np

from tacit.data.ratings import Column
from tacit.data.tables import plain
from tacit.data.tables.cleaning import ids_of
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
    table = _Rows(Path(path), ("round", "voter", "candidate"), filled=("round", "candidate"))
    cast = [bool(text) for text in table.texts["voter"]]
    if not any(cast):
        raise DataError("the file has no votes", path=path, expected="rows with a voter")
    rounds, candidates = table.ids("round"), table.ids("candidate")
    found = table.ids("voter", cast)
    voters = np.zeros(len(cast), dtype=found.dtype)  # of the rows that are votes
    voters[cast] = found
    order: dict[Id, tuple[list[int], list[int]]] = {
        name: ([], []) for name in sorted(set(rounds.tolist()))
    }
    for at, name in enumerate(rounds.tolist()):
        order[name][0 if cast[at] else 1].append(at)
    made = []
    for name, (votes, listing) in order.items():
        table.refuse_repeats(voters, votes, "voter", "votes twice in this round")
        table.refuse_repeats(candidates, listing, "candidate", "is listed twice")
        allowed = tuple(candidates[listing].tolist())
        if all(cast):
            allowed = tuple(sorted(set(candidates[votes].tolist())))
        elif not listing:
            raise table.wrong(
                votes[0],
                "the candidates of this round are not listed",
                found=name,
                expected="a row without a voter for each candidate, as in other rounds",
            )
        known = set(allowed)
        for at in votes:
            if candidates[at] not in known:
                raise table.wrong(
                    at,
                    "a vote for what is no candidate of this round",
                    found=table.texts["candidate"][at],
                    expected="one of those listed in rows without a voter",
                )
        made.append(VoteRound(name, allowed, voters[votes], candidates[votes]))
    return VoteRounds(tuple(made), not all(cast))


def read_likes(path: str | Path, votes: VoteRounds) -> Likes:
    """What each client of a file likes; rounds and candidates are those of the votes."""
    needed = ("client", "round", "candidate")
    table = _Rows(Path(path), needed, ("liked",), filled=needed)
    rounds = {str(each.name): number for number, each in enumerate(votes.rounds)}
    known = [{str(name): name for name in each.candidates} for each in votes.rounds]
    clients = table.ids("client").tolist()
    answers = table.texts.get("liked", ["1"] * len(clients))
    found: dict[Id, dict[int, frozenset[Id]]] = {}
    for at, client in enumerate(clients):
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


class _Rows:
    """Columns of a file as stripped texts. filled: those in which no cell is empty."""

    def __init__(
        self, path: Path, needed: Sequence[str], also: Sequence[str] = (), *, filled: Sequence[str]
    ) -> None:
        asked = [name for role in needed for name in _HEADERS[role]]
        self._opened = open_table(path, header=True, asked=asked)
        headers = [plain(header) for header in self._opened.headers]
        self.texts: dict[str, list[str]] = {}
        for role in (*needed, *also):
            place = next((headers.index(name) for name in _HEADERS[role] if name in headers), None)
            if place is not None:
                cells = self._opened.whole().frame[:, place]
                self.texts[role] = ["" if cell is None else str(cell).strip() for cell in cells]
            elif role in needed:
                raise DataError(
                    f"no {role} column",
                    path=path,
                    found=", ".join(self._opened.headers),
                    expected=f"one of {', '.join(_HEADERS[role])}",
                    fix="Name the columns in the file's first line, such as  " + ",".join(needed),
                )
        for role in filled:
            if "" in self.texts[role]:
                at = self.texts[role].index("")
                raise self.wrong(at, f"the {role} is missing", role, expected="an id")

    def ids(self, role: str, rows: Sequence[bool] | None = None) -> Column:
        """Whole numbers if all are written as one, below 2**63; else text as objects."""
        texts = self.texts[role] if rows is None else [*compress(self.texts[role], rows)]
        found = ids_of(texts)
        return found if isinstance(found, np.ndarray) else np.array(found, dtype=object)

    def wrong(
        self, at: int, what: str, column: str | None = None, *, found: object = None, expected: str
    ) -> DataError:
        """found: by default what stands in the column."""
        if found is None and column is not None:
            found = self.texts[column][at] or None
        return DataError(
            what, path=self._opened.path, row=self._opened.line(at), column=column, found=found,
            expected=expected,
        )  # fmt: skip

    def refuse_repeats(self, ids: Column, places: Sequence[int], column: str, what: str) -> None:
        """DataError for an id that stands in two of these rows."""
        seen: set[Id] = set()
        for at, name in zip(places, ids[places].tolist(), strict=True):
            if name in seen:
                raise self.wrong(at, f"this {column} {what}", column, found=name, expected="once")
            seen.add(name)
