"""Ratings where they are: in memory, in files that are streamed, or on a cluster."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from tacit.design import Where
from tacit.errors import ConfigError
from tacit.terminal import Source

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.data.stored import StoredRatings
    from tacit.data.tables.table import Role

_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_NOT_STORED = ("plays", "least_plays", "delimiter", "users")


def bytes_in(text: str) -> int:
    """`"4GiB"` as a number of bytes."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) *([KMG]I?B)?", text.strip().upper())
    if found is None:
        raise ConfigError(f"--memory is written as 4GiB or 500MB; got {text!r}.")
    return int(float(found[1]) * _UNITS[found[2] or ""])


@contextmanager
def ending() -> Iterator[None]:
    """SIGTERM and SIGHUP end the work as an error does, so that what lies on disk is removed."""

    def end(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    heard = [each for each in (signal.SIGTERM, signal.SIGHUP)
             if signal.getsignal(each) is not signal.SIG_IGN]  # fmt: skip
    before = {each: signal.signal(each, end) for each in heard}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def opened(
    source: Source, where: Where, *, catalogue: Path | None, domains: bool
) -> Iterator[Ratings | StoredRatings]:
    """What `Source.read` reads, where it is. Closed at the end."""
    if where.engine == "local" and where.memory is None:
        yield source.read(catalogue=catalogue, domains=domains)
        return
    from tacit.data.ratings import RatingScale
    from tacit.data.stored import Public
    from tacit.data.tabular import items_beside

    given = source.columns
    for name in _NOT_STORED:
        if given[name] is not None:
            raise ConfigError(
                f"--{name.replace('_', '-')} is for ratings in memory, and not for --engine spark "
                "or --memory."
            )
    if source.per_item > 1:
        raise ConfigError("--per-item is for ratings in memory.")
    scale, path = given["scale"], source.path
    public = Public(
        scale=None if scale is None else RatingScale.parse(scale),
        catalogue=catalogue,
        items=given["items"] or items_beside(path),
        item=given["item"],
        domain=given["domain"],
        domains=domains,
    )
    roles: tuple[Role, ...] = ("user", "item", "rating", "time")
    asked: dict[Role, str | None] = {role: given[role] for role in roles}
    events = bool(given["events"])
    if where.remote is not None:
        from tacit.engine.spark import open_spark

        with open_spark(
            str(path), where.remote, asked, public, events=events, tasks=where.tasks
        ) as found:
            yield found
        return
    from tacit.data.tables.buckets import open_parquet

    assert where.memory is not None
    memory = bytes_in(where.memory)
    with ending(), open_parquet(path, asked, public, memory, events=events) as streamed:
        yield streamed
