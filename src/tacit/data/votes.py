"""Rounds of votes, and what clients like, read from tables with a row for each vote or like.

Votes     have the columns round, voter, candidate. A row without a voter lists a candidate, so that
          the candidates are public. If one round has such rows, every round needs them. If none
          has, the candidates of a round are those that received votes, and no guarantee covers
          which they are.
Likes     have the columns client, round, candidate and perhaps liked: 1, 0, yes, no, true or false.
          Without this column every row is a like. A client takes part in the rounds for which they
          have a row.
Order     Rounds are sorted as numbers if all are whole numbers, else as text, such as 2026-03-01.
Ids       are whole numbers if all ids of a column are written as whole numbers, else text; see
          `tables.cells`.
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
from tacit.data.tables.cell_texts import text_of_cell
from tacit.data.tables.cells import to_ids
from tacit.data.tables.sources import open_table
from tacit.errors import DataError

Id = int | str
"""The id of a round, voter, candidate or client."""
_HEADERS = {
    "round": ("round", "day", "date", "time", "timestamp"),
    "voter": ("voter", "voter_id", "user", "user_id", "userid"),
    "candidate": ("candidate", "candidate_id", "object", "object_id", "item", "item_id", "itemid"),
    "client": ("client", "client_id"),
    "liked": ("liked", "like"),
}
"""Role to the headers that its column may have, in lower case; the first that is found is used."""
_ANSWERS = {"1": True, "yes": True, "true": True, "0": False, "no": False, "false": False}
"""What the texts of the column 'liked' mean."""


@dataclass(frozen=True, eq=False, repr=False)
class VoteRound:
    """The votes of one round."""

    name: Id
    """Name of the round: a whole number, or text as the file has it."""
    candidates: tuple[Id, ...]
    """The candidates of this round."""
    voters: Column
    """(votes,) the voter of each vote."""
    chosen: Column
    """(votes,) the candidate of each vote."""

    def __repr__(self) -> str:
        """Show the sizes: no voter and no vote."""
        return f"VoteRound({len(self.voters):,} votes for {len(self.candidates)} candidates)"


@dataclass(frozen=True, eq=False)
class VoteRounds:
    """The rounds of a file."""

    rounds: tuple[VoteRound, ...]
    """The rounds in their order."""
    listed: bool
    """Whether the file lists the candidates in rows of their own, apart from the votes."""

    @property
    def objects(self) -> int:
        """Number of candidates in the round with most of them."""
        return max(len(vote_round.candidates) for vote_round in self.rounds)


Likes = Mapping[Id, Mapping[int, frozenset[Id]]]
"""Maps a client, then the number of a round from 0, to the candidates that the client likes."""


def read_votes(path: str | Path) -> VoteRounds:
    """Read every round of a file of votes.

    Raises:
        DataError: A column, a cell or all voters are missing, someone votes twice in a round, a
            candidate is listed twice in a round, only some rounds list their candidates, or a vote
            is for no candidate of its round. The error has the file and, if one row is to blame,
            the row.
    """
    table = _Rows(Path(path), ("round", "voter", "candidate"))
    is_vote = np.array([text != "" for text in table.texts["voter"]])
    if not is_vote.any():
        raise DataError("the file has no votes", path=path, expected="rows with a voter")
    is_listed = not is_vote.all()
    round_names = table.ids("round")
    candidates = table.ids("candidate")
    voter_ids = table.ids("voter", is_vote)
    voters = np.zeros(len(is_vote), dtype=voter_ids.dtype)
    voters[is_vote] = voter_ids
    order = np.argsort(round_names, kind="stable")
    names, starts = np.unique(round_names[order], return_index=True)
    rounds = []
    for name, rows in zip(names.tolist(), np.split(order, starts[1:]), strict=True):
        votes = rows[is_vote[rows]]
        list_rows = rows[~is_vote[rows]]
        table.refuse_repeats("voter", voters, votes, "votes twice in this round")
        table.refuse_repeats("candidate", candidates, list_rows, "is listed twice")
        allowed = candidates[list_rows] if is_listed else np.unique(candidates[votes])
        if not len(allowed):
            what = "the candidates of this round are not listed"
            expected = "a row without a voter for each candidate, as in other rounds"
            raise table.cell_error(votes[0], what, found=name, expected=expected)
        unlisted = votes[~np.isin(candidates[votes], allowed)]
        if len(unlisted):
            what = "the vote is for no candidate of this round"
            found = table.texts["candidate"][unlisted[0]]
            expected = "one of those listed in rows without a voter"
            raise table.cell_error(unlisted[0], what, found=found, expected=expected)
        rounds.append(VoteRound(name, tuple(allowed.tolist()), voters[votes], candidates[votes]))
    return VoteRounds(tuple(rounds), listed=is_listed)


def read_likes(path: str | Path, votes: VoteRounds) -> Likes:
    """Read the likes of each client.

    Args:
        path: The file of likes.
        votes: The rounds and candidates that the file may name.

    Raises:
        DataError: A column is missing, a round or candidate is not in `votes`, or a cell cannot be
            read.
    """
    table = _Rows(Path(path), ("client", "round", "candidate"), ("liked",))
    round_numbers = {str(vote_round.name): number for number, vote_round in enumerate(votes.rounds)}
    candidates = [_names_as_texts(vote_round.candidates) for vote_round in votes.rounds]
    clients = table.ids("client").tolist()
    answers = table.texts.get("liked", ["1"] * len(clients))
    table.texts["liked"] = [text.lower() for text in answers]
    likes: dict[Id, dict[int, set[Id]]] = {}
    for row, client in enumerate(clients):
        number = table.look_up(round_numbers, row, "round", "the votes have no such round")
        candidate = table.look_up(
            candidates[number], row, "candidate", "no candidate of this round"
        )
        is_liked = table.look_up(_ANSWERS, row, "liked", "neither liked nor disliked")
        # A client who dislikes all candidates takes part too, with no likes.
        liked_in_round = likes.setdefault(client, {}).setdefault(number, set())
        if is_liked:
            liked_in_round.add(candidate)
    answers_of_clients = {}
    for client, by_round in likes.items():
        answers_of_clients[client] = {n: frozenset(liked) for n, liked in by_round.items()}
    return answers_of_clients


def _names_as_texts(names: Iterable[Id]) -> dict[str, Id]:
    """Map each name as it is written in a file to the name itself."""
    return {str(name): name for name in names}


class _Rows:
    """The columns of a file as stripped texts, by their roles, such as 'round'.

    Args:
        path: A table with a line of headers.
        needed: Roles that must have a column. Its cells may not be empty, except those of voters.
        optional: Roles that may have a column.

    Raises:
        DataError: A needed column or a cell of it is missing.
    """

    def __init__(self, path: Path, needed: Sequence[str], optional: Sequence[str] = ()) -> None:
        usual_headers = itertools.chain.from_iterable(_HEADERS[role] for role in needed)
        self._table = open_table(path, header=True, column_names=[*usual_headers]).require_whole()
        # A header such as user_id:token has a type after the colon.
        headers = [header.strip().lower().split(":")[0] for header in self._table.headers]
        self.texts: dict[str, list[str]] = {}
        for role in (*needed, *optional):
            matching = [headers.index(name) for name in _HEADERS[role] if name in headers]
            if matching:
                cells = self._table.frame[:, matching[0]]
                self.texts[role] = [text_of_cell(cell) or "" for cell in cells]
            elif role in needed:
                what = f"no {role} column"
                found = ", ".join(self._table.headers)
                expected = f"one of {', '.join(_HEADERS[role])}"
                fix = "Name the columns in the file's first line, such as  " + ",".join(needed)
                raise DataError(what, path=path, found=found, expected=expected, fix=fix)
        for role in needed:
            if role != "voter" and "" in self.texts[role]:
                row = self.texts[role].index("")
                raise self.cell_error(row, f"the {role} is missing", role, expected="an id")

    def ids(self, role: str, mask: NDArray[np.bool_] | None = None) -> Column:
        """Read ids: int64 if all are whole numbers below 2**63, else texts as objects.

        Args:
            role: The column's role.
            mask: (rows,) which rows to read; None: all.
        """
        texts = np.array(self.texts[role], dtype=object)
        if mask is not None:
            texts = texts[mask]
        ids = to_ids(texts.tolist())
        return ids if isinstance(ids, np.ndarray) else np.array(ids, dtype=object)

    def look_up(self, meanings: Mapping[str, Any], row: int, role: str, what: str) -> Any:
        """Look up what the text of a cell means.

        Args:
            meanings: Text to its meaning.
            row: Row of the cell, from 0.
            role: Role of its column.
            what: Message of the error for another text.

        Raises:
            DataError: The text is not in `meanings`.
        """
        text = self.texts[role][row]
        if text not in meanings:
            expected = f"for example {', '.join(list(meanings)[:6])}"
            raise self.cell_error(row, what, role, found=text, expected=expected)
        return meanings[text]

    def refuse_repeats(self, role: str, ids: Column, rows: NDArray[Any], what: str) -> None:
        """Raise DataError if two of some rows have the same id.

        Args:
            role: Role of the column of the ids.
            ids: (all rows,) ids.
            rows: (k,) the rows that are compared, from 0.
            what: What the message says of an id that repeats.
        """
        first_rows = np.unique(ids[rows], return_index=True)[1]
        repeats = np.delete(rows, first_rows)
        if len(repeats):
            row = repeats[0]
            what = f"this {role} {what}"
            raise self.cell_error(row, what, role, found=ids.item(row), expected="once")

    def cell_error(self, row: int, what: str, role: str | None = None, **more: Any) -> DataError:
        """Make the error for a cell, or for a row if `role` is None.

        Args:
            row: The row, from 0.
            what: Message of the error.
            role: Role of the cell's column.
            **more: Other arguments of `DataError`.
        """
        line = self._table.line(int(row))
        return DataError(what, path=self._table.path, row=line, column=role, **more)
