"""`tacit recommend MODEL --all RATINGS`: a list for each person, as a table in Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit import terminal
from tacit.design import Where
from tacit.errors import ConfigError

if TYPE_CHECKING:
    from tacit.data.tables.table import Role
    from tacit.designs.private import Private


def for_all(
    model: Any,
    ratings: Path,
    out: Path | None,
    where: Where,
    asked: Mapping[Role, str | None],
    n: int,
    *,
    as_json: bool,
) -> None:
    """Lists from each person's own rows. It spends nothing: the model was released."""
    from tacit.designs.private import Private
    from tacit.designs.private.batches import lists_for
    from tacit.designs.xmap import XMap

    lists = model.sound_ if isinstance(model, XMap) else model
    if not isinstance(lists, Private):
        raise ConfigError("--all is for models of  tacit fit private  and of the sound X-Map.")
    if out is None:
        raise ConfigError("--all writes many lists: name a Parquet file, or folder, with --out.")
    make = partial(lists_for, model=lists, n=n)
    if where.remote is None:
        people: int | None = _here(lists, ratings, out, asked, make)
    else:
        from tacit.engine.spark import write_lists

        people = None
        write_lists(str(ratings), where.remote, asked, lists, make, str(out), tasks=where.tasks)
    said = "Lists" if people is None else f"Lists of {people:,} people"
    terminal.answer(
        {"lists": str(out), "people": people, "n": n},
        f"{said} are in {out}: columns user, rank, item, score. Each person's list is theirs "
        "alone: it says what they like.",
        as_json=as_json,
    )


def _here(
    model: Private, path: Path, out: Path, asked: Mapping[Role, str | None], make: Any
) -> int:
    from tacit.data import load, on_catalogue
    from tacit.data.scales import EVENTS
    from tacit.data.tables.folder import write_columns
    from tacit.writing import check_writable

    check_writable(out)
    ids = dict.fromkeys(model.history_ids_.tolist())
    events = model.scale_ == EVENTS
    scale = None if events else model.scale_
    named: dict[str, Any] = dict(asked.items())
    ratings = on_catalogue(load(path, scale=scale, events=events or None, **named), ids)
    found = make(ratings)
    columns = {
        "user": ratings.user_ids[found.people],
        "rank": found.ranks,
        "item": model.item_ids_[found.items],
        "score": found.scores,
    }
    write_columns(columns, out)
    return ratings.n_users
