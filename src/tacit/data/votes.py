"""Rounds of votes from a table, and what clients like: a row for each vote or like.

Votes     round, voter, candidate. A row without a voter names a candidate, so that the list of
          candidates is public. With such rows every round needs its list; without any, candidates
          are those that have votes, which no guarantee covers.
Likes     client, round, candidate and, if wanted, liked (1, 0, yes, no, true or false; 1 if there
          is no such column). A client takes part in the rounds that have a row of theirs.
Order     Rounds that are whole numbers ascend; others are sorted as text, such as 2026-03-01.
Ids       as in `tables.cells`: whole numbers if all of a column are written so, else text.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column
from tacit.data.tables.cells import ids_of
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
    """Rounds in order. listed: whether the file names the candidates apart from the votes."""

    rounds: tuple[VoteRound, ...]
    listed: bool

    @property
    def objects(self) -> int:
        """Candidates of the largest round."""
        return max(len(each.candidates) for each in self.rounds)


Likes = Mapping[Id, Mapping[int, frozenset[Id]]]
"""Client, number of the round from 0, the candidates they like."""


def read_votes(path: str | Path) -> VoteRounds:
    """Read every round of a file; DataError with file and row for what cannot be meant."""
    table = _Rows(Path(path), ("round", "voter", "candidate"))
    cast = np.array([text != "" for text in table.texts["voter"]])  # rows that are votes
    if not cast.any():
        raise DataError("the file has no votes", path=path, expected="rows with a voter")
    rounds, candidates = table.ids("round"), table.ids("candidate")
    ids = table.ids("voter", cast)
    voters = np.zeros(len(cast), dtype=ids.dtype)
    voters[cast] = ids
    order = np.argsort(rounds, kind="stable")
    names, starts = np.unique(rounds[order], return_index=True)
    made = []
    for name, rows in zip(names.tolist(), np.split(order, starts[1:]), strict=True):
        votes = rows[cast[rows]]
        listing = rows[~cast[rows]]
        table.refuse_repeats("voter", voters, votes, "votes twice in this round")
        table.refuse_repeats("candidate", candidates, listing, "is listed twice")
        allowed = np.unique(candidates[votes]) if cast.all() else candidates[listing]
        if not len(allowed):
            what = "the candidates of this round are not listed"
            expected = "a row without a voter for each candidate, as in other rounds"
            raise table.cell_error(votes[0], what, found=name, expected=expected)
        unlisted = votes[~np.isin(candidates[votes], allowed)]
        if len(unlisted):
            what = "a vote for what is no candidate of this round"
            found = table.texts["candidate"][unlisted[0]]
            expected = "one of those listed in rows without a voter"
            raise table.cell_error(unlisted[0], what, found=found, expected=expected)
        made.append(VoteRound(name, tuple(allowed.tolist()), voters[votes], candidates[votes]))
    return VoteRounds(tuple(made), listed=not cast.all())


def read_likes(path: str | Path, votes: VoteRounds) -> Likes:
    """Read the likes of each client of a file; rounds and candidates are those of the votes."""
    table = _Rows(Path(path), ("client", "round", "candidate"), ("liked",))
    rounds = {str(each.name): number for number, each in enumerate(votes.rounds)}
    candidates = [_names_as_texts(each.candidates) for each in votes.rounds]
    clients = table.ids("client").tolist()
    answers = table.texts.get("liked", ["1"] * len(clients))
    table.texts["liked"] = [text.lower() for text in answers]
    likes: dict[Id, dict[int, frozenset[Id]]] = {}
    for at, client in enumerate(clients):
        number = table.look_up(rounds, at, "round", "the votes have no such round")
        candidate = table.look_up(candidates[number], at, "candidate", "no candidate of this round")
        liked = table.look_up(_ANSWERS, at, "liked", "neither liked nor disliked")
        own = likes.setdefault(client, {})
        own[number] = own.get(number, frozenset()) | ({candidate} if liked else frozenset())
    return likes


def _names_as_texts(names: Iterable[Id]) -> dict[str, Id]:
    """Map each name as it is written in a file to the name itself."""
    return {str(name): name for name in names}


class _Rows:
    """Columns of a file as stripped texts, by role; no cell but a voter's is empty.

    Roles in `optional` may have no column.
    """

    def __init__(self, path: Path, needed: Sequence[str], optional: Sequence[str] = ()) -> None:
        known = itertools.chain.from_iterable(_HEADERS[role] for role in needed)
        self._table = open_table(path, header=True, asked=[*known]).require_whole()
        headers = [header.strip().lower().split(":")[0] for header in self._table.headers]
        self.texts: dict[str, list[str]] = {}
        for role in (*needed, *optional):
            place = next((headers.index(name) for name in _HEADERS[role] if name in headers), None)
            if place is not None:
                cells = self._table.frame[:, place]
                self.texts[role] = ["" if cell is None else str(cell).strip() for cell in cells]
            elif role in needed:
                what = f"no {role} column"
                found = ", ".join(self._table.headers)
                expected = f"one of {', '.join(_HEADERS[role])}"
                fix = "Name the columns in the file's first line, such as  " + ",".join(needed)
                raise DataError(what, path=path, found=found, expected=expected, fix=fix)
        for role in needed:
            if role != "voter" and "" in self.texts[role]:
                at = self.texts[role].index("")
                raise self.cell_error(at, f"the {role} is missing", role, expected="an id")

    def ids(self, role: str, rows: NDArray[np.bool_] | None = None) -> Column:
        """Whole numbers if all are written as one, below 2**63; else text as objects."""
        texts = np.array(self.texts[role], dtype=object)
        ids = ids_of((texts if rows is None else texts[rows]).tolist())
        return ids if isinstance(ids, np.ndarray) else np.array(ids, dtype=object)

    def look_up(self, known: Mapping[str, Any], at: int, column: str, what: str) -> Any:
        """Look up what the cell stands for; DataError if it is not known."""
        text = self.texts[column][at]
        if text not in known:
            expected = f"one of {', '.join(list(known)[:6])}"
            raise self.cell_error(at, what, column, found=text, expected=expected)
        return known[text]

    def refuse_repeats(self, column: str, ids: Column, rows: NDArray[Any], what: str) -> None:
        """DataError for an id that stands in two of these rows."""
        again = np.delete(rows, np.unique(ids[rows], return_index=True)[1])
        if len(again):
            what = f"this {column} {what}"
            raise self.cell_error(again[0], what, column, found=ids.item(again[0]), expected="once")

    def cell_error(self, at: int, what: str, column: str | None = None, **more: Any) -> DataError:
        """Make the error for a cell. more: what was found and expected."""
        line = self._table.line(int(at))
        return DataError(what, path=self._table.path, row=line, column=column, **more)
