"""Ratings that are streamed from files, or on a cluster.

And `tacit recommend MODEL --all RATINGS`: a list for each of their people, as a table in Parquet.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tacit.design import ExecutionOptions
from tacit.errors import ConfigError
from tacit.evaluation import Result

if TYPE_CHECKING:
    from tacit.cli.commands import Source
    from tacit.data.stored import StoredRatings
    from tacit.data.tables import Role
    from tacit.profile_sums.model import PrivateLists

_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_NOT_STORED = ("plays", "least_plays", "delimiter", "users")


def bytes_in(text: str) -> int:
    """`"4GiB"` as a number of bytes."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?) *([KMG]I?B)?", text.strip().upper())
    if parts is None:
        raise ConfigError(f"--memory is written as 4GiB or 500MB; got {text!r}.")
    return int(float(parts[1]) * _UNITS[parts[2] or ""])


@contextmanager
def ending() -> Iterator[None]:
    """SIGTERM and SIGHUP end the work as an error does, so that what lies on disk is removed."""

    def end(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)}
    heard = {each: old for each, old in before.items() if old is not signal.SIG_IGN}
    try:
        for each in heard:
            signal.signal(each, end)
        yield
    finally:
        for each, old in heard.items():
            signal.signal(each, old)


@contextmanager
def opened(
    source: Source, execution: ExecutionOptions, *, catalogue: Path | None, domains: bool
) -> Iterator[StoredRatings]:
    """What `Source.read` reads, streamed or on a cluster. Closed at the end."""
    from tacit.data.stored import Public
    from tacit.data.tabular import items_beside

    odd = [name for name in _NOT_STORED if getattr(source, name) is not None]
    filters = [name for name in ("per_item", "per_user") if getattr(source, name) > 1]
    for name in (*odd, *filters):
        raise ConfigError(
            f"--{name.replace('_', '-')} is for ratings in memory, and not for --engine spark "
            "or --memory."
        )
    public = Public(
        scale=source.rating_scale,
        catalogue=catalogue,
        items=source.items or items_beside(source.path),
        item=source.item,
        domain=source.domain,
        domains=domains,
    )
    roles: tuple[Role, ...] = ("user", "item", "rating", "time")
    asked: dict[Role, str | None] = {role: getattr(source, role) for role in roles}
    events = bool(source.events)
    if execution.remote is not None:
        from tacit.engine.spark import open_spark

        with open_spark(
            str(source.path), execution.remote, asked, public, events=events, tasks=execution.tasks
        ) as remote:
            yield remote
    elif execution.memory is not None:
        from tacit.data.tables.buckets import open_parquet

        memory = bytes_in(execution.memory)
        with ending(), open_parquet(source.path, asked, public, memory, events=events) as streamed:
            yield streamed


def for_all(
    model: Any,
    ratings: Path,
    out: Path | None,
    execution: ExecutionOptions,
    asked: Mapping[Role, str | None],
    n: int,
) -> Result:
    """Lists from each person's own rows. It spends nothing: the model was released."""
    from tacit.designs.xmap.model import XMap
    from tacit.profile_sums.batch_lists import list_people
    from tacit.profile_sums.model import PrivateLists

    lists = model.sound_ if isinstance(model, XMap) else model
    if not isinstance(lists, PrivateLists):
        raise ConfigError("--all is for models of  tacit fit private  and of the sound X-Map.")
    if out is None:
        raise ConfigError("--all writes many lists: name a Parquet file, or folder, with --out.")
    make, people = partial(list_people, fitted=lists.fitted_, n=n), None
    if execution.remote is None:
        people = _here(lists, ratings, out, asked, make)
    else:
        from tacit.engine.spark import write_lists

        write_lists(
            str(ratings), execution.remote, asked, lists, make, str(out), tasks=execution.tasks
        )
    lists_of = "Lists" if people is None else f"Lists of {people:,} people"
    sentence = (
        f"{lists_of} are in {out}: columns user, rank, item, score. Each person's list is theirs "
        "alone: it says what they like."
    )
    return Result({"lists": str(out), "people": people, "n": n}, (sentence,))


def _here(
    model: PrivateLists, path: Path, out: Path, asked: Mapping[Role, str | None], make: Any
) -> int:
    from tacit.atomic_writes import check_writable
    from tacit.data.columns import EVENTS
    from tacit.data.domains import on_catalogue
    from tacit.data.tables.folder import write_columns
    from tacit.data.tabular import load

    check_writable(out)
    options: dict[str, Any] = dict(asked.items())
    options |= {"events": True} if model.scale_ == EVENTS else {"scale": model.scale_}
    read = load(path, **options)
    ratings = on_catalogue(read, dict.fromkeys(model.history_ids_.tolist()))
    lists = make(ratings)
    columns = {
        "user": ratings.user_ids[lists.people],
        "rank": lists.ranks,
        "item": model.item_ids_[lists.items],
        "score": lists.scores,
    }
    write_columns(columns, out)
    return ratings.n_users
