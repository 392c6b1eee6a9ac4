"""`tacit recommend MODEL --all RATINGS`: a list for each person, as a table in Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.design import ExecutionOptions
from tacit.errors import ConfigError
from tacit.evaluation import Result

if TYPE_CHECKING:
    from tacit.data.tables.names import Role
    from tacit.profile_sums.model import PrivateLists


def write_all_lists(
    model: Any,
    ratings: Path,
    out: Path,
    execution: ExecutionOptions,
    columns: Mapping[Role, str | None],
    n: int,
) -> Result:
    """Write a list for each person from their own rows. The model was released: nothing is spent.

    Args:
        model: A model of private lists.
        ratings: File of the people's ratings.
        out: Parquet file or folder to write.
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
        people = _write_lists_here(private, ratings, out, columns, make_lists)
    else:
        from tacit.engine.spark import write_lists

        path, tasks = str(ratings), execution.tasks
        write_lists(path, execution.remote, columns, private, make_lists, str(out), tasks=tasks)
    subject = "Lists" if people is None else f"Lists of {people:,} people"
    sentence = (
        f"{subject} are in {out}: columns user, rank, item, score. Each person's list is theirs "
        "alone: it says what they like."
    )
    return Result({"lists": str(out), "people": people, "n": n}, (sentence,))


def _write_lists_here(
    model: PrivateLists,
    path: Path,
    out: Path,
    columns: Mapping[Role, str | None],
    make_lists: Any,
) -> int:
    """Write the lists of a file's people, and return how many people there are."""
    from tacit.atomic_writes import check_writable
    from tacit.data.columns import EVENTS
    from tacit.data.domains import on_catalogue
    from tacit.data.tables.folder import write_columns
    from tacit.data.tabular import load

    check_writable(out)
    options: dict[str, Any] = dict(columns.items())
    if model.scale_ == EVENTS:
        options["events"] = True
    else:
        options["scale"] = model.scale_
    ratings = on_catalogue(load(path, **options), dict.fromkeys(model.history_ids_.tolist()))
    lists = make_lists(ratings)
    table = {
        "user": ratings.user_ids[lists.people],
        "rank": lists.ranks,
        "item": model.item_ids_[lists.items],
        "score": lists.scores,
    }
    write_columns(table, out)
    return ratings.n_users
