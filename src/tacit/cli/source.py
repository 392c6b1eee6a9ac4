"""Options that name the ratings of a command, and the reading of these ratings.

Ratings are read into memory (`RatingsOptions.read`), or opened on disk or on a cluster
(`open_ratings`).
"""

from __future__ import annotations

import re
import shlex
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

# Options that other commands also have.
USER = option("Column of the person's id.")
ITEM = option("Column of the item's id.")
STARS = option("Column of the stars.")
DELIMITER = option("One character, 'tab' or '::'; detected if left out.")
_BYTES_OF_UNIT = {
    "": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
}
"""Number of bytes of each unit that --memory may have; "" is a number without unit."""


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
    least_plays: float | None = option("So many plays or more are a like; 1 if left out.")
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
        "A file that says how rows are written, such as the data.json of a folder of  tacit data "
        "import: each row is read by itself, and nothing is guessed.",
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
    per_item: int = option("Leave out items with fewer ratings than this.", default=1, least=1)
    per_user: int = option("Leave out people with fewer ratings than this.", default=1, least=1)

    def describe(self) -> dict[str, object]:
        """Return the options that have a value, except for the path, as JSON by name.

        Paths are absolute.
        """
        options: dict[str, object] = {}
        for name, value in asdict(self).items():
            if name != "path" and value is not None:
                options[name] = str(value.absolute()) if isinstance(value, Path) else value
        return options

    @property
    def rating_scale(self) -> RatingScale | None:
        """The scale that was typed; None: it is to be detected.

        Raises:
            DataError: The text is not of the form MIN:MAX:STEP, or is no scale.
        """
        from tacit.data.ratings import RatingScale

        return None if self.scale is None else RatingScale.parse(self.scale)

    @property
    def row_layout(self) -> Layout | None:
        """The layout that was typed; None: one rating in each row.

        Raises:
            ConfigError: There is no layout of this name.
        """
        if self.layout in (None, "wide", "baskets"):
            return self.layout  # type: ignore[return-value]
        raise ConfigError(f"--layout is wide or baskets; got {self.layout!r}.")

    def read(self, *, catalogue: Path | None = None, domains: bool = True) -> Ratings:
        """Read the ratings into memory.

        Args:
            catalogue: Public list of items; ratings of other items are dropped. Metadata is then
                read from this file and from `items`, or else from a file of items beside the
                ratings, but not from the file of ratings. None: no list.
            domains: Whether the catalogue must have the items' domains.

        Raises:
            DataError: A file cannot be read, or --scale has another form. For a bad row, the error
                names its file, row and column.
            ConfigError: Another option has a value that is not allowed.
        """
        self.announce_items_beside(catalogue)
        if catalogue is None:
            ratings = self._load(domain=self.domain, items=self.items)
        else:
            all_ratings = self._load(domain=None, items=None)
            ratings = self._put_on_catalogue(all_ratings, catalogue, domains)
        if max(self.per_item, self.per_user) > 1:
            return ratings.drop_rare(per_item=self.per_item, per_user=self.per_user)
        return ratings

    def find_unnamed_items(self, catalogue: Path | None) -> Path | None:
        """Find a file of items beside the ratings that is read although no option names it.

        Args:
            catalogue: File of the catalogue; None: none was named.

        Returns:
            The file; None if there is none beside the ratings, if --items names a file, or if the
            file beside the ratings is the catalogue.
        """
        from tacit.data.tabular import items_beside

        if self.items is not None:
            return None
        items_file = items_beside(self.path)
        if items_file is None:
            return None
        if catalogue is not None and catalogue.exists() and items_file.samefile(catalogue):
            return None
        return items_file

    def announce_items_beside(self, catalogue: Path | None) -> None:
        """Print a note if a file of items is read that no option names."""
        items_file = self.find_unnamed_items(catalogue)
        if items_file is not None:
            terminal.note(
                f"Also read, though no option names it: {items_file}, with metadata of items. Name "
                f"it with --items {shlex.quote(str(items_file))}, or move it elsewhere."
            )

    def _load(self, *, domain: str | None, items: Path | None) -> Ratings:
        """Load the ratings with these options, except for the two that are passed.

        Args:
            domain: Column of the item's domain; None: domains are not read.
            items: File of item metadata; None: none is named.
        """
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
        """Drop ratings of items that a catalogue does not list, and add its unrated items.

        Metadata of items is added, too: see `read`.

        Args:
            ratings: The ratings.
            path: File of the catalogue.
            domains: Whether the catalogue must have the items' domains.

        Raises:
            DataError: The catalogue cannot be read, or does not fit the ratings.
        """
        from tacit.data.domains import DOMAIN, on_catalogue
        from tacit.data.tabular import read_catalogue, with_items

        columns = read_catalogue(path, item=self.item, domain=self.domain, domains=domains)
        try:
            listed = on_catalogue(ratings, columns.pop(DOMAIN), metadata=columns)
        except DataError as error:
            raise error.with_place(path=error.path or path) from None
        if self.items is not None:
            return with_items(listed, self.items, item=self.item, encoding=self.encoding)
        items_file = self.find_unnamed_items(path)
        if items_file is None:
            return listed
        with_metadata = with_items(listed, items_file, item=self.item, encoding=self.encoding)
        return with_metadata.with_guess("items")  # no option named the file

    def refuse_in_memory_options(self) -> None:
        """Check that no option was typed that only works on ratings in memory.

        Raises:
            ConfigError: Such an option was typed.
        """
        is_typed_by_flag = {
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
        for flag, is_typed in is_typed_by_flag.items():
            if is_typed:
                raise ConfigError(
                    f"{flag} is for ratings in memory, and not for --engine spark or --memory."
                )

    @property
    def columns(self) -> dict[Role, str | None]:
        """Names of the columns that were typed, by role; None for one that is to be found."""
        return {"user": self.user, "item": self.item, "rating": self.rating, "time": self.time}


@contextmanager
def open_ratings(
    source: RatingsOptions, execution: ExecutionOptions, *, catalogue: Path | None, domains: bool
) -> Iterator[Ratings | StoredRatings]:
    """Read ratings into memory, or open them on disk or on a cluster until the end of the block.

    Args:
        source: Options that name the ratings.
        execution: Options that say where sums over the ratings are computed.
        catalogue: Public list of items; ratings of other items are dropped. None: no list.
        domains: Whether the catalogue must have the items' domains.

    Raises:
        ConfigError: The ratings are not read into memory, and an option was typed that only works
            there; or an option has a value that is not allowed.
        DataError: A file cannot be read, or --scale has another form.
    """
    if execution.in_memory:
        yield source.read(catalogue=catalogue, domains=domains)
        return
    from tacit.data.stored_ratings import PublicInputs
    from tacit.data.tabular import items_beside

    source.refuse_in_memory_options()
    source.announce_items_beside(catalogue)
    public = PublicInputs(
        scale=source.rating_scale,
        catalogue=catalogue,
        items=source.items or items_beside(source.path),
        items_named=source.find_unnamed_items(catalogue) is None,
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
        ) as on_cluster:
            yield on_cluster
    elif execution.memory is not None:
        from tacit.data.tables.buckets import open_parquet

        memory_bytes = parse_bytes(execution.memory)
        with (
            exit_on_signals(),
            open_parquet(source.path, columns, public, memory_bytes, events=events) as on_disk,
        ):
            yield on_disk


def split_names(text: str | None) -> tuple[str, ...] | None:
    """Split a text at its commas into names. Spaces around names and empty names are dropped.

    None is returned for None.
    """
    if text is None:
        return None
    return tuple(part.strip() for part in text.split(",") if part.strip())


def parse_bytes(text: str) -> int:
    """Read the number of bytes in a value of --memory, such as "4GiB" or "500MB".

    Raises:
        ConfigError: The text has another form.
    """
    parts = re.fullmatch(r"(\d+(?:\.\d+)?) *([KMG]I?B)?", text.strip().upper())
    if parts is None:
        raise ConfigError(f"--memory is written as 4GiB or 500MB; got {text!r}.")
    return int(float(parts[1]) * _BYTES_OF_UNIT[parts[2] or ""])


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Raise SystemExit in the block on SIGTERM and SIGHUP, so that temporary files are removed.

    A signal that the process ignored before stays ignored.
    """

    def exit_with_signal(number: int, _: object) -> NoReturn:
        # The exit code that a shell reports for a process that a signal ended.
        raise SystemExit(128 + number)

    earlier_handlers = {}
    for number in (signal.SIGTERM, signal.SIGHUP):
        handler = signal.getsignal(number)
        if handler is not signal.SIG_IGN:
            earlier_handlers[number] = handler
    try:
        for number in earlier_handlers:
            signal.signal(number, exit_with_signal)
        yield
    finally:
        for number, handler in earlier_handlers.items():
            signal.signal(number, handler)
