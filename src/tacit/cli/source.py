"""Ratings that a command reads: the options that name them, and how they are opened."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from tacit import terminal
from tacit.design import ExecutionOptions, option
from tacit.errors import ConfigError, DataError

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings, RatingScale
    from tacit.data.stored_ratings import StoredRatings
    from tacit.data.tables.forms import Layout
    from tacit.data.tables.names import Role

USER = option("Column of the person's id.")
ITEM = option("Column of the item's id.")
STARS = option("Column of the stars.")
DELIMITER = option("One character, 'tab' or '::'; detected if left out.")
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


@dataclass(frozen=True)
class RatingsOptions:
    """Options that say where ratings are and how their file is read."""

    path: Path = option(
        "A file of ratings, or a folder of  tacit data import  or of MovieLens.", argument="RATINGS"
    )
    user: str | None = USER
    item: str | None = ITEM
    rating: str | None = STARS
    plays: str | None = option("Column of numbers of plays, read in place of stars.")
    least_plays: float | None = option("This many plays or more are a like; 1 if left out.")
    events: bool | None = option(
        "Every row is an event, and so a like; no stars are read.", flag="--events"
    )
    time: str | None = option("Column of the time.")
    domain: str | None = option(
        "Column of the item's domain, here or in --items.", flag="--domain-column"
    )
    delimiter: str | None = DELIMITER
    encoding: str | None = option("Such as cp1251; UTF-8, or else cp1252, if left out.")
    scale: str | None = option("MIN:MAX:STEP, such as 1:5:1; detected if left out.")
    written: Path | None = option(
        "How the rows are written, as  tacit data import  describes it in the data.json of its "
        "folder: each row is read by itself, and nothing is guessed.",
        flag="--format",
    )
    layout: str | None = option(
        "Several ratings in a row: wide, with a column for each item, or baskets, with lists of "
        "items in a cell or in a line."
    )
    where: list[str] | None = option(
        "Rows that count, such as 'Status!=Storno', 'quantity>0' or 'event in view|buy'; all of "
        "several conditions have to hold."
    )
    users: Path | None = option("File of user attributes.")
    items: Path | None = option("File of item metadata: titles, genres, prices and so on.")
    items_from_ratings: bool | None = option(
        "Titles that stand beside the ratings are public: models publish them.",
        flag="--items-from-ratings",
    )
    per_item: int = option("Leave out items with fewer ratings.", default=1, least=1)
    per_user: int = option("Leave out people with fewer ratings.", default=1, least=1)

    def describe(self) -> dict[str, object]:
        """Every option but the path, as JSON values; those left out are not there."""
        described: dict[str, object] = {}
        for name, value in asdict(self).items():
            if name != "path" and value is not None:
                described[name] = str(value.absolute()) if isinstance(value, Path) else value
        return described

    @property
    def rating_scale(self) -> RatingScale | None:
        """The scale that was typed; None where it is to be detected."""
        from tacit.data.ratings import RatingScale

        return None if self.scale is None else RatingScale.parse(self.scale)

    @property
    def row_layout(self) -> Layout | None:
        """The layout that was typed."""
        if self.layout in (None, "wide", "baskets"):
            return self.layout  # type: ignore[return-value]
        raise ConfigError(f"--layout is wide or baskets; got {self.layout!r}.")

    def read(self, *, catalogue: Path | None = None, domains: bool = True) -> Ratings:
        """Read the ratings into memory.

        Args:
            catalogue: File of the only items that count; what is known of items is then from it
                and from `items`.
            domains: Whether the catalogue must have the items' domains.

        Raises:
            DataError: A row cannot be read; with its file, row and column.
        """
        self.name_items_beside(catalogue)
        if catalogue is None:
            ratings = self._load(domain=self.domain, items=self.items)
        else:
            ratings = self._put_on_catalogue(
                self._load(domain=None, items=None), catalogue, domains
            )
        if max(self.per_item, self.per_user) > 1:
            return ratings.drop_rare(per_item=self.per_item, per_user=self.per_user)
        return ratings

    def items_unnamed(self, catalogue: Path | None) -> Path | None:
        """Find a file of items beside the ratings, unless --items or the catalogue names it."""
        from tacit.data.tabular import items_beside

        items_file = items_beside(self.path) if self.items is None else None
        if items_file is None or catalogue is None or not catalogue.exists():
            return items_file
        return None if items_file.samefile(catalogue) else items_file

    def name_items_beside(self, catalogue: Path | None) -> None:
        """Say it where a file of items is read that nobody named."""
        items_file = self.items_unnamed(catalogue)
        if items_file is not None:
            terminal.note(
                f"Read without being named: {items_file}, which says what is known of items. "
                f"Name it with --items {items_file}, or move it elsewhere."
            )

    def _load(self, *, domain: str | None, items: Path | None) -> Ratings:
        from tacit.data.tabular import load

        return load(
            self.path,
            user=self.user,
            item=self.item,
            rating=self.rating,
            plays=self.plays,
            least_plays=self.least_plays,
            events=self.events,
            time=self.time,
            domain=domain,
            delimiter=self.delimiter,
            encoding=self.encoding,
            scale=self.rating_scale,
            written=self.written,
            where=self.where or None,
            layout=self.row_layout,
            users=self.users,
            items=items,
            items_from_ratings=self.items_from_ratings,
        )

    def _put_on_catalogue(self, ratings: Ratings, path: Path, domains: bool) -> Ratings:
        """Leave out items that the catalogue does not list, and add those that nobody rated."""
        from tacit.data.domains import DOMAIN, on_catalogue
        from tacit.data.tabular import read_catalogue, with_items

        columns = read_catalogue(path, item=self.item, domain=self.domain, domains=domains)
        try:
            listed = on_catalogue(ratings, columns.pop(DOMAIN), metadata=columns)
        except DataError as error:
            raise error.with_place(path=error.path or path) from None
        if self.items is not None:
            return with_items(listed, self.items, item=self.item, encoding=self.encoding)
        items_file = self.items_unnamed(path)
        if items_file is None:
            return listed
        with_beside = with_items(listed, items_file, item=self.item, encoding=self.encoding)
        return with_beside.with_guess("items")

    def require_stored(self) -> None:
        """Refuse options that need the ratings in memory.

        Raises:
            ConfigError: Such an option was typed.
        """
        typed = {
            "--plays": self.plays is not None,
            "--least-plays": self.least_plays is not None,
            "--delimiter": self.delimiter is not None,
            "--encoding": self.encoding is not None,
            "--users": self.users is not None,
            "--format": self.written is not None,
            "--where": bool(self.where),
            "--layout": self.layout is not None,
            "--items-from-ratings": bool(self.items_from_ratings),
            "--per-item": self.per_item > 1,
            "--per-user": self.per_user > 1,
        }
        for flag, is_typed in typed.items():
            if is_typed:
                raise ConfigError(
                    f"{flag} is for ratings in memory, and not for --engine spark or --memory."
                )

    @property
    def columns(self) -> dict[Role, str | None]:
        """Columns that stored ratings are read from, as far as they were typed."""
        return {"user": self.user, "item": self.item, "rating": self.rating, "time": self.time}


@contextmanager
def open_ratings(
    source: RatingsOptions, execution: ExecutionOptions, *, catalogue: Path | None, domains: bool
) -> Iterator[Ratings | StoredRatings]:
    """Open ratings in memory, streamed from disk or on a cluster; they are closed at the end.

    Args:
        source: Options that name the ratings.
        execution: Options that say where sums over them are made.
        catalogue: File of the only items that count.
        domains: Whether the catalogue must have the items' domains.

    Raises:
        ConfigError: Options that need the ratings in memory, where they are not.
        DataError: A row cannot be read.
    """
    if execution.in_memory:
        yield source.read(catalogue=catalogue, domains=domains)
        return
    from tacit.data.stored_ratings import PublicInputs
    from tacit.data.tabular import items_beside

    source.require_stored()
    source.name_items_beside(catalogue)
    public = PublicInputs(
        scale=source.rating_scale,
        catalogue=catalogue,
        items=source.items or items_beside(source.path),
        items_named=source.items_unnamed(catalogue) is None,
        item=source.item,
        domain=source.domain,
        domains=domains,
    )
    columns = source.columns
    events = bool(source.events)
    if execution.remote is not None:
        from tacit.engine.spark import open_spark

        path = str(source.path)
        tasks = execution.tasks
        with open_spark(
            path, execution.remote, columns, public, events=events, tasks=tasks
        ) as remote:
            yield remote
    elif execution.memory is not None:
        from tacit.data.tables.buckets import open_parquet

        memory = parse_bytes(execution.memory)
        with (
            exit_on_signals(),
            open_parquet(source.path, columns, public, memory, events=events) as streamed,
        ):
            yield streamed


def split_names(text: str | None) -> tuple[str, ...] | None:
    """Split names at commas; None where nothing was typed, () for an empty text."""
    if text is None:
        return None
    return tuple(part.strip() for part in text.split(",") if part.strip())


def parse_bytes(text: str) -> int:
    """Read a number of bytes such as "4GiB" or "500MB".

    Raises:
        ConfigError: The text is none.
    """
    parts = re.fullmatch(r"(\d+(?:\.\d+)?) *([KMG]I?B)?", text.strip().upper())
    if parts is None:
        raise ConfigError(f"--memory is written as 4GiB or 500MB; got {text!r}.")
    return int(float(parts[1]) * _UNITS[parts[2] or ""])


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the work as an error does, so that files on disk are removed."""

    def leave(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    earlier = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    handled = [number for number, handler in earlier.items() if handler is not signal.SIG_IGN]
    try:
        for number in handled:
            signal.signal(number, leave)
        yield
    finally:
        for number in handled:
            signal.signal(number, earlier[number])
