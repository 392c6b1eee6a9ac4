"""`tacit recommend MODEL --all RATINGS`: a list for each person, to a file or a database."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit import terminal
from tacit.design import ExecutionOptions
from tacit.errors import ConfigError
from tacit.evaluation import Result

PEOPLE_AT_ONCE = 20_000
"""People whose lists are made between two steps of the progress bar."""

if TYPE_CHECKING:
    from tacit.data.tables.names import Role
    from tacit.profile_sums.model import PrivateLists


def write_all_lists(
    model: Any,
    ratings: Path,
    place: str,
    execution: ExecutionOptions,
    columns: Mapping[Role, str | None],
    n: int,
) -> Result:
    """Write a list for each person from their own rows. The model was released: nothing is spent.

    Args:
        model: A model of private lists.
        ratings: File of the people's ratings.
        place: File or database to write; on a cluster a folder of Parquet.
        execution: Whether lists are made here or on a cluster.
        columns: Columns of the ratings' file.
        n: Length of the lists.

    Raises:
        ConfigError: Another model.
    """
    from tacit.designs.xmap.model import XMap
    from tacit.profile_sums.batch_lists import list_people
    from tacit.profile_sums.model import PrivateLists

    private = model.sound_ if isinstance(model, XMap) else model
    if not isinstance(private, PrivateLists):
        raise ConfigError("--all is for models of  tacit fit private  and of the sound X-Map.")
    make_lists = partial(list_people, fitted=private.fitted_, n=n)
    people: int | None = None
    if execution.remote is None:
        people = _write_lists_here(private, ratings, place, columns, make_lists)
    else:
        from tacit.engine.spark import write_lists

        path = str(ratings)
        tasks = execution.tasks
        write_lists(path, execution.remote, columns, private, make_lists, place, tasks=tasks)
    subject = "Lists" if people is None else f"Lists of {people:,} people"
    sentence = (
        f"{subject} are in {_without_password(place)}: user, rank, item, score. Each person's list "
        "is theirs alone: it says what they like."
    )
    return Result({"lists": _without_password(place), "people": people, "n": n}, (sentence,))


def _without_password(place: str) -> str:
    """Write the place as it may be shown."""
    scheme, separator, rest = place.partition("://")
    if not separator:
        return place
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _write_lists_here(
    model: PrivateLists,
    path: Path,
    place: str,
    columns: Mapping[Role, str | None],
    make_lists: Any,
) -> int:
    """Write the lists of a file's people, and return how many people there are."""
    from tacit.atomic_writes import check_writable
    from tacit.data.columns import EVENTS
    from tacit.data.domains import on_catalogue
    from tacit.data.list_stores import ListTable, check_place, write_lists
    from tacit.data.tabular import load

    check_place(place)
    if "://" not in place:
        check_writable(place)
    options: dict[str, Any] = dict(columns.items())
    if model.scale_ == EVENTS:
        options["events"] = True
    else:
        options["scale"] = model.scale_
    ratings = on_catalogue(load(path, **options), dict.fromkeys(model.history_ids_.tolist()))
    blocks = []
    with terminal.progress("Lists", ratings.n_users, quiet=False) as advance:
        for start in range(0, ratings.n_users, PEOPLE_AT_ONCE):
            stop = min(start + PEOPLE_AT_ONCE, ratings.n_users)
            lists = make_lists(ratings.of_users(np.arange(start, stop)))
            blocks.append((lists.people + start, lists.ranks, lists.items, lists.scores))
            advance(stop - start)
    people, ranks, items, scores = map(np.concatenate, zip(*blocks, strict=True))
    table = ListTable(ratings.user_ids[people], ranks, model.item_ids_[items], scores)
    with terminal.progress(f"Writing {len(people):,} rows", None, quiet=False):
        write_lists(table, place)
    return ratings.n_users
