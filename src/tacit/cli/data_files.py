"""`tacit data import`, `generate`, `films`: one clean folder of any files; generated people."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit import terminal
from tacit.cli.commands import FORCE, command, name_beside
from tacit.cli.source import RatingsOptions
from tacit.design import option
from tacit.errors import ConfigError, DataError
from tacit.evaluation import Result, Table
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.data.tables.import_plan import Plan
    from tacit.data.tables.names import Role

app = typer.Typer(
    help="Import, export, describe, download, generate or cut ratings.", no_args_is_help=True
)

_MEANS: dict[Role, str] = {
    "user": "the person",
    "item": "the item",
    "rating": "the stars",
    "plays": "how often",
    "time": "when",
    "domain": "the item's domain",
}
"""Columns that are read, in words."""
_ASKED: tuple[Role, ...] = ("user", "item", "rating", "plays", "time")
_WHY = {"asked": "you said so", "name": "its name", "content": "what stands in it"}
Out = Annotated[Path, typer.Argument(help="File to write: .csv, .tsv or .parquet.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same ratings.")]


@command(app, "import")
def import_(
    source: RatingsOptions,
    out: Path | None = option("Folder to write; orders beside orders.csv.", flag="--out -o"),
    more: list[Path] | None = option(
        "More ratings, items or people. Each is CSV, JSON lines, Parquet, Arrow, SQLite, "
        "DuckDB, or a folder of RecBole or LensKit.",
        argument="FILE",
    ),
    catalogue: Path | None = option("Public list of items. Ratings of others are dropped."),
    public_items: bool = option("Everybody may know which items were rated."),
    on_bad: str | None = option("refuse or drop bad rows; left out: drop a minority."),
    dates: str | None = option("dayfirst or monthfirst, where no date tells."),
    decimal: str | None = option("Decimal sign, , or ."),
    header: bool | None = option("Whether the first line has names.", flag="--header/--no-header"),
    table: str | None = option("Table of a database."),
    ids: str | None = option("integer or text, of people and items; found if left out."),
    most_per_person: int | None = option(
        "Keep this many rows of a person at most: the latest, or a random choice without times.",
        least=1,
    ),
    no_time: bool = option("Read no times.", flag="--no-time"),
    force: bool = FORCE,
    yes: bool = option("Ask nothing.", flag="--yes -y"),
    as_json: JSON = False,
) -> Result:
    """Write the files you have as one clean folder that commands read.

    Columns are guessed by their names and contents. On a terminal the guess is shown and asked
    about; with --json, or without a terminal, nothing is asked. What was dropped, and by which
    rule, is reported. A scale that is given is then public.
    """
    import numpy as np

    from tacit.data.columns import EVENTS
    from tacit.data.tables.cells import Rules
    from tacit.data.tables.folder import check_folder, write_folder
    from tacit.data.tables.import_plan import (
        carry_out_plan,
        plan_import,
        plan_written,
        warnings_about,
    )
    from tacit.data.tables.written_format import read_format

    if out is None:
        ending = "-imported" if source.path.is_dir() else ""
        out = name_beside(source.path, ending=ending, force=force)
    check_folder(out)
    rules = Rules(
        on_bad=on_bad or "drop",  # type: ignore[arg-type]
        scale=source.rating_scale,
        least_plays=1 if source.least_plays is None else source.least_plays,
        dates=dates,  # type: ignore[arg-type]
        decimal=decimal,
        guessing=True,
        ids={"user": ids, "item": ids} if ids else {},  # type: ignore[dict-item]
    )
    typed = source.columns | {"plays": source.plays, "domain": source.domain}
    asked = {role: typed[role] for role in _MEANS}
    if no_time:
        del asked["time"]
    events = bool(source.events)
    written = None if source.written is None else read_format(source.written)
    reading_flags = (
        *asked.values(),
        source.delimiter,
        source.encoding,
        header,
        dates,
        decimal,
        ids,
        table,
        source.layout,
    )
    if written is not None and any(flag is not None for flag in reading_flags):
        raise ConfigError(
            "--format says how the rows are written: leave out flags that say it too."
        )
    if written is not None and source.items_from_ratings:
        raise ConfigError("With --format no text of rows is read: give titles with --items FILE.")
    if written is not None and source.rating_scale is not None:
        written = written.with_scale(source.rating_scale)

    def make_plan() -> Plan:
        """Plan to read the columns that were asked for; others are guessed."""
        files = [source.path, *(more or [])]
        if written is not None:
            return plan_written(files, written)
        return plan_import(
            files,
            asked,
            events=events,
            encoding=source.encoding,
            delimiter=source.delimiter,
            header=header,
            table=table,
            where=source.where or (),
            layout=source.row_layout,
        )

    may_ask = not (as_json or yes) and sys.stdin.isatty() and sys.stdout.isatty()
    try:
        plan = make_plan()
    except DataError as question:
        if not may_ask:
            raise
        terminal.say(str(question))
        events = _ask_for_columns(asked, {}) or events
        plan = make_plan()
    if not as_json:
        _show_guess(plan)
    if plan.ratings and may_ask:
        first = plan.ratings[0]
        guessed_headers = {role: first.table.headers[at] for role, at in first.positions.items()}
        complete = all({"user", "item"} <= set(columns.positions) for columns in plan.ratings)
        if not complete or not typer.confirm("Is this right?", default=True):
            events = _ask_for_columns(asked, guessed_headers) or events
            plan = make_plan()
    done = carry_out_plan(
        plan,
        rules,
        on_bad=on_bad,  # type: ignore[arg-type]
        events=events,
        users=source.users,
        items=source.items,
        catalogue=catalogue,
        public_items=public_items,
        items_from_ratings=bool(source.items_from_ratings),
        domain=source.domain,
        encoding=source.encoding,
    )
    ratings, warnings = done.ratings, plan.warnings
    del plan  # the text of all rows, which takes more memory than the ratings
    if max(source.per_item, source.per_user) > 1:
        ratings = ratings.drop_rare(per_item=source.per_item, per_user=source.per_user)
    if most_per_person is not None:
        before = len(ratings)
        ratings = ratings.limit_per_person(most_per_person)
        if before > len(ratings):
            done.dropped["a person has more rows than --most-per-person"] = before - len(ratings)
    write_folder(ratings, out, done.written)
    has_stars = ratings.scale != EVENTS or "rating" in done.columns
    result = {
        "read": done.read,
        "kept": len(ratings),
        "dropped": [{"rule": rule, "rows": rows} for rule, rows in done.dropped.items()],
        "people": int(np.count_nonzero(np.bincount(ratings.users))),
        "items": int(np.count_nonzero(np.bincount(ratings.items))),
        "likes": int(ratings.likes.sum()),
        "scale": str(ratings.scale) if has_stars else None,
        "columns": done.columns,
        "guesses": list(ratings.guesses),
        "warnings": warnings + warnings_about(ratings, done.read, done.dropped),
        "folder": str(out),
    }
    fit = f"tacit fit private {shlex.quote(str(out))} --epsilon 1 -o model.tacit"
    after = f"{fit}  makes private lists."
    is_described = done.written is not None
    return Result(result, list(_describe_import(result, ratings, is_described)), after)


def _ask_for_columns(asked: dict[Role, str | None], usual: Mapping[Role, str]) -> bool:
    """Ask for each column and write the answers into `asked`.

    Returns:
        Whether there are neither stars nor plays.
    """
    roles = [role for role in _ASKED if role in asked]
    for role in roles:
        default = usual.get(role, "-")
        answer = typer.prompt(f"Column of {_MEANS[role]}, - for none", default=default).strip()
        asked[role] = None if answer == "-" else answer
    has_neither = asked["rating"] is None and asked["plays"] is None
    for role in roles:  # what is not asked for is not guessed either
        if role not in ("user", "item") and asked[role] is None:
            del asked[role]
    return has_neither


def _show_guess(plan: Plan) -> None:
    """Show what the columns of each table are taken for, and which are not read."""
    for columns in plan.ratings:
        headers = columns.table.headers
        rows = [
            (_MEANS[role], headers[position], _WHY[columns.reasons[role]])
            for role, position in columns.positions.items()
        ]
        if not {"rating", "plays"} & set(columns.positions):
            rows.append(("the stars", "none: every row is an event", "no column has ratings"))
        terminal.table(str(columns.table.path), ("", "column", "because of"), rows)
        read = set(columns.positions.values())
        not_read = [name for position, name in enumerate(headers) if position not in read]
        if not_read:
            terminal.say(f"Not read: {', '.join(not_read)}")
    for what, tables in (("Items", plan.items), ("People", plan.users)):
        for table in tables:
            terminal.say(f"{what}: {table.path}")


def _describe_import(
    result: dict[str, Any], ratings: Ratings, is_described: bool
) -> Iterator[Table | str]:
    """Say what was read. is_described: whether data.json says how each row is written."""
    from tacit.data.columns import EVENTS

    if result["dropped"]:
        yield Table("Dropped", ("rule", "rows"), [[*each.values()] for each in result["dropped"]])
    kind = "events" if ratings.scale == EVENTS else f"ratings on {ratings.scale}"
    yield (
        f"Read {result['read']:,} rows and kept {result['kept']:,} {kind}: "
        f"{ratings.n_users:,} people, {ratings.n_items:,} items. They are in {result['folder']}."
    )
    yield from result["warnings"]
    if ratings.guesses:
        found = ", ".join(ratings.guesses)
        remedy = "To fix it beforehand, write the ratings as one file with a row for each."
        if is_described:
            remedy = (
                "To fix it beforehand, read the file by a written description: --format "
                f"{result['folder']}/data.json"
            )
        decides = "Found in the rows, so that one row may decide how others are read"
        yield f"{decides}: {found}. {remedy}"
    if ratings.row_texts:
        yield (
            f"The {', '.join(ratings.row_texts)} beside the ratings stays with them: it is text "
            "of people, which no model publishes without --items-from-ratings. Better give titles "
            "with --items FILE."
        )
    private = []
    if not ratings.catalogue_given:
        private.append("the list of items (public with --catalogue FILE or --public-items)")
    if not ratings.scale_given:
        private.append("the scale (public with --scale MIN:MAX:STEP)")
    if private:
        yield (
            f"Read off the ratings, and so not public: {' and '.join(private)}. Claims of private "
            "models then are conditional."
        )


@command(app)
def generate(
    out: Out,
    seed: Seed,
    users: int = option("How many people.", default=1000),
    items: int = option("How many items.", default=500),
    ratings: int = option("How many ratings in total.", default=60_000),
    share: float = option("Part of the people with 'F', 0 to 1.", default=0.3),
    which: float = option("How much the attribute decides what is rated; 0: none.", default=1.0),
    how: float = option("Spread of half the gap in stars over the items; 0: none.", default=0.1),
    labels: int = option("Kinds of genres, in OUT-items.csv. 0: none.", default=0, least=0),
    domains: bool = option("Two domains, 'source' and 'target', in OUT-items.csv; no attribute."),
) -> Result:
    """Write generated ratings and a user attribute that affects them.

    The attribute, in OUT-users.csv, affects which items are rated, and how. With --domains: two
    domains instead.
    """
    from tacit.data import synthetic
    from tacit.data.synthetic_worlds import generate_domains
    from tacit.data.tables.folder import write_users

    if domains:
        if items < 2 or users < 1:
            raise ConfigError("--domains needs 2 items and a person.")
        check_files(out, file_beside(out, "items"))
        halves = (items // 2, items - items // 2)
        made = generate_domains(users, halves, ratings / users, pull=0.35, labels=labels, seed=seed)
        return _write_domains(made, out, seed)
    people = file_beside(out, "users")
    about_items = file_beside(out, "items") if labels else None
    check_files(out, people, about_items)
    made = synthetic.generate(
        users=users,
        items=items,
        ratings=ratings,
        share=share,
        which=which,
        how=how,
        labels=labels,
        seed=seed,
    )
    write_users(made, people)
    facts = {"seed": seed, "users_file": str(people), "attribute": "gender"}
    also = f"their gender in {people}"
    return _write(made, out, about_items, facts, also, f"--users {people}")


@command(app)
def films(
    out: Out, users: int = option("How many people.", default=6000), seed: Seed = 1
) -> Result:
    """Write generated ratings in two domains, with genres.

    The domains are 'source' and 'target', of 1,500 items each, and a person gives 80 ratings. The
    file OUT-items.csv has the genres of each item, which say something about tastes.
    """
    from tacit.data import synthetic_worlds

    check_files(out, file_beside(out, "items"))
    return _write_domains(synthetic_worlds.films(users, seed=seed), out, seed)


def _write_domains(made: Ratings, out: Path, seed: int) -> Result:
    import numpy as np

    about = file_beside(out, "items")
    titles = np.array([f"Item {key}" for key in made.item_ids.tolist()], dtype=object)
    made = replace(made, item_metadata={"title": titles, **made.item_metadata})
    also = f"what is known of {made.n_items:,} items in {about}"
    return _write(made, out, about, {"seed": seed}, also, f"--items {about}")


def file_beside(out: Path, what: str) -> Path:
    """Name a file beside another: OUT-WHAT.csv beside OUT.csv."""
    return out.with_name(f"{out.stem}-{what}{out.suffix}")


def check_files(*paths: Path | None) -> None:
    """Check that all files can be written, before any is.

    Raises:
        ConfigError: A file has an ending that is not written.
        OutputError: A file cannot be written.
    """
    from tacit.atomic_writes import check_writable
    from tacit.data.tables.folder import check_ending

    for path in filter(None, paths):
        check_writable(path)
        check_ending(path)


def _write(
    made: Ratings, out: Path, about_items: Path | None, facts: dict[str, Any], also: str, flag: str
) -> Result:
    """Write generated ratings, and describe them.

    Args:
        made: The ratings.
        out: File of the ratings.
        about_items: File of what is known of items; None for none.
        facts: Further facts of the result.
        also: Words for what else was written.
        flag: Option that reads it.
    """
    from tacit.data.tables.folder import describe_written, write_format, write_items, write_ratings

    write_ratings(made, out)
    form = out.with_name(f"{out.stem}-format.json")
    write_format(describe_written(made, out), form)
    if about_items is not None:
        write_items(made, about_items)
    files = {
        "ratings_file": str(out),
        "items_file": about_items and str(about_items),
        "format_file": str(form),
    }
    sizes = {"users": made.n_users, "items": made.n_items, "ratings": len(made)}
    sentence = f"{len(made):,} ratings of {made.n_users:,} people are in {out}, {also}."
    data = {**files, **sizes, "digest": made.digest, **facts}
    described = f"tacit data describe {shlex.quote(str(out))} {flag}"
    return Result(data, (sentence,), f"{described}  shows what is in it.")
