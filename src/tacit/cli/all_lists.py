"""`tacit recommend MODEL --all RATINGS`: writes a list for each person to a file or a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit import terminal
from tacit.design import ExecutionOptions
from tacit.errors import ConfigError
from tacit.evaluation import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.ratings import Ratings
    from tacit.data.tables.names import Role
    from tacit.profile_sums.batch_lists import Lists
    from tacit.profile_sums.model import PrivateLists

PEOPLE_AT_ONCE = 20_000
"""Number of people whose lists are made between two steps of the progress bar."""


def write_all_lists(
    model: Any,
    ratings: Path,
    destination: str,
    execution: ExecutionOptions,
    columns: Mapping[Role, str | None],
    n: int,
) -> Result:
    """Write a list for each person, from their own ratings.

    The model is released already, so lists spend no privacy budget.

    Args:
        model: A model of private lists, or an X-Map. Of an X-Map the sound variant is needed, which
            holds a model of private lists.
        ratings: File of the people's ratings.
        destination: File or address of a database to write; on a cluster a folder of Parquet.
        execution: Whether lists are made here or on a cluster.
        columns: Columns of the ratings' file, by role; None for one that is to be found.
        n: Most items of a list.

    Raises:
        ConfigError: The model is of another kind, or no lists can be written to a destination of
            this form.
        MissingExtra: Lists go to PostgreSQL or to a cluster, and its package is not installed.
        OutputError: The destination cannot be written.
        DataError: The ratings cannot be read.
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
        people = _write_lists_here(private, ratings, destination, columns, make_lists)
    else:
        from tacit.engine.spark import write_lists

        path = str(ratings)
        tasks = execution.tasks
        write_lists(path, execution.remote, columns, private, make_lists, destination, tasks=tasks)
    subject = "Lists" if people is None else f"Lists of {people:,} people"
    written_to = strip_credentials(destination)
    sentence = (
        f"{subject} are in {written_to}: user, rank, item, score. Each person's list is theirs "
        "alone: it says what they like."
    )
    return Result({"lists": written_to, "people": people, "n": n}, (sentence,))


def strip_credentials(destination: str) -> str:
    """Return a destination as it may be shown: an address without user, password and options.

    A password may stand before an @ and after a question mark. Where both signs leave open which
    part of an address is the password, only the scheme is shown.
    """
    from tacit.data.list_stores import DATABASES

    scheme, separator, address = destination.partition("://")
    if not separator:
        return destination
    location, _, options = address.partition("?")
    before_at, _, after_at = location.rpartition("@")
    is_database = scheme in DATABASES
    has_two_signs = ":" in before_at and "@" in before_at and not is_database
    if "@" in options or has_two_signs:
        return f"{scheme}://..."
    if is_database or ":" in before_at:  # a password may hold a slash
        return f"{scheme}://{after_at}"
    host, slash, path = location.partition("/")  # the path may have an @ of its own
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _write_lists_here(
    model: PrivateLists,
    path: Path,
    destination: str,
    columns: Mapping[Role, str | None],
    make_lists: Callable[[Ratings], Lists],
) -> int:
    """Make the lists of all people in a file on this machine, and write them.

    Args:
        model: The model.
        path: File of the people's ratings.
        destination: File or address of a database to write.
        columns: Columns of the ratings' file, by role; None for one that is to be found.
        make_lists: Function that takes the ratings of some people, and returns their lists.

    Returns:
        Number of people in the file.

    Raises:
        ConfigError: No lists can be written to a destination of this form.
        MissingExtra: The destination is PostgreSQL, and psycopg is not installed.
        OutputError: The destination cannot be written.
        DataError: The ratings cannot be read.
    """
    from tacit.atomic_writes import check_writable
    from tacit.data.columns import EVENTS
    from tacit.data.domains import on_catalogue
    from tacit.data.list_stores import ListTable, check_place, write_lists
    from tacit.data.tabular import load

    check_place(destination)
    if "://" not in destination:
        check_writable(destination)
    options: dict[str, Any] = dict(columns.items())
    if model.scale_ == EVENTS:
        options["events"] = True
    else:
        options["scale"] = model.scale_
    ratings = on_catalogue(load(path, **options), dict.fromkeys(model.history_ids_.tolist()))
    users: list[NDArray[Any]] = []
    ranks: list[NDArray[Any]] = []
    items: list[NDArray[Any]] = []
    scores: list[NDArray[Any]] = []
    with terminal.progress("Lists", ratings.n_users, quiet=False) as advance:
        for start in range(0, ratings.n_users, PEOPLE_AT_ONCE):
            stop = min(start + PEOPLE_AT_ONCE, ratings.n_users)
            # `lists` numbers these people from 0, and items by their positions in `item_ids_`.
            lists = make_lists(ratings.of_users(np.arange(start, stop)))
            users.append(ratings.user_ids[start + lists.people])
            ranks.append(lists.ranks)
            items.append(model.item_ids_[lists.items])
            scores.append(lists.scores)
            advance(stop - start)
    table = ListTable(
        np.concatenate(users),
        np.concatenate(ranks),
        np.concatenate(items),
        np.concatenate(scores),
    )
    with terminal.progress(f"Writing {len(table.ranks):,} rows", None, quiet=False):
        write_lists(table, destination)
    return ratings.n_users
