"""`tacit data import`, which reads files of many formats and writes one clean folder of ratings.

Also `tacit data generate` and `tacit data films`, which write generated ratings. `tacit.cli.data`
adds further sub-commands to the same `app`.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit import terminal
from tacit.cli.commands import FORCE, command, name_output_beside
from tacit.cli.source import RatingsOptions
from tacit.design import option
from tacit.errors import ConfigError, DataError
from tacit.evaluation import Result, Table
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.data.tables.import_plan import Plan
    from tacit.data.tables.names import Role
    from tacit.data.tables.ratings_tables import TableReading
    from tacit.data.tables.written_format import WrittenFormat

app = typer.Typer(
    help="Import, export, describe, download, generate or cut ratings.", no_args_is_help=True
)

_MEANINGS: dict[Role, str] = {
    "user": "the person",
    "item": "the item",
    "rating": "the stars",
    "plays": "how often",
    "time": "when",
    "domain": "the item's domain",
}
"""What the column of each role holds, in the words that the terminal shows."""
_PROMPTED_ROLES: tuple[Role, ...] = ("user", "item", "rating", "plays", "time")
"""Roles of the columns that are asked for on a terminal, in the order of the questions."""
_REASONS = {"asked": "you said so", "name": "its name", "content": "what stands in it"}
"""Words for the reasons why a column was chosen."""
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
    catalogue: Path | None = option("Public list of items. Ratings of other items are dropped."),
    public_items: bool = option("Everybody may know which items were rated."),
    on_bad: str | None = option(
        "'refuse' or 'drop' bad rows; if left out, drop them unless they are more than half."
    ),
    dates: str | None = option("dayfirst or monthfirst, if the dates do not show which."),
    decimal: str | None = option("Decimal sign, , or ."),
    header: bool | None = option("Whether the first line has names.", flag="--header/--no-header"),
    table: str | None = option("Table of a database."),
    ids: str | None = option(
        "Type of the ids of people and items, 'integer' or 'text'; found if left out."
    ),
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

    Columns that no option names are guessed by their names and contents. The guess is shown (with
    --json, it is part of the result), and a person at a terminal is asked whether it is right. With
    --yes or --json, or without a terminal, nothing is asked. How many rows were dropped, and by
    which rule, is reported. A scale that is typed with --scale counts as public.
    """
    from tacit.data.tables.cells import Rules
    from tacit.data.tables.folder import check_folder, write_folder
    from tacit.data.tables.import_plan import carry_out_plan, plan_import, plan_written

    if out is None:
        ending = "-imported" if source.path.is_dir() else ""
        out = name_output_beside(source.path, ending=ending, force=force)
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
    typed_columns = source.columns | {"plays": source.plays, "domain": source.domain}
    columns = {role: typed_columns[role] for role in _MEANINGS}
    if no_time:
        del columns["time"]
    written = _read_written_format(source, [*columns.values(), header, dates, decimal, ids, table])

    def make_plan(events: bool) -> Plan:
        """Make a plan with the columns that `columns` names at this call; guess the others.

        With --format, the plan follows the written format instead.
        """
        files = [source.path, *(more or [])]
        if written is not None:
            return plan_written(files, written)
        return plan_import(
            files,
            columns,
            events=events,
            encoding=source.encoding,
            delimiter=source.delimiter,
            header=header,
            table=table,
            where=source.where or (),
            layout=source.row_layout,
        )

    may_ask = not (as_json or yes) and sys.stdin.isatty() and sys.stdout.isatty()
    plan, events = _agree_on_plan(
        make_plan, columns, events=bool(source.events), may_ask=may_ask, is_shown=not as_json
    )
    imported = carry_out_plan(
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
    warnings = plan.warnings
    del plan  # it holds the text of all rows, which takes more memory than the ratings
    ratings = _limit_ratings(imported, source, most_per_person)
    write_folder(ratings, out, imported.written)
    result = _summarise_import(imported, ratings, warnings, out)
    fit_command = f"tacit fit private {shlex.quote(str(out))} --epsilon 1 -o model.tacit"
    after = f"{fit_command}  makes private lists."
    has_format = imported.written is not None
    return Result(result, list(_describe_import(result, ratings, has_format)), after)


def _agree_on_plan(
    make_plan: Callable[[bool], Plan],
    columns: dict[Role, str | None],
    *,
    events: bool,
    may_ask: bool,
    is_shown: bool,
) -> tuple[Plan, bool]:
    """Make the plan of an import, and let a person at the terminal correct the guessed columns.

    Args:
        make_plan: Function that makes the plan from `columns` as they are then, and from whether
            every row is an event.
        columns: Name of the column of each role; None for one that is to be guessed. Answers are
            written into it.
        events: Whether it was typed that every row is an event.
        may_ask: Whether questions may be asked on the terminal.
        is_shown: Whether the guess is printed.

    Returns:
        The plan, and whether every row is an event.

    Raises:
        DataError: A column cannot be guessed, and nobody can be asked or the answers do not help.
    """
    try:
        plan = make_plan(events)
    except DataError as error:
        if not may_ask:
            raise
        terminal.say(str(error))
        events = _ask_for_columns(columns, {}) or events
        plan = make_plan(events)
    if is_shown:
        _show_guess(plan)
    if plan.ratings and may_ask and not _confirm_guess(plan):
        first_guess = plan.ratings[0]
        guessed_headers = {}
        for role, position in first_guess.positions.items():
            guessed_headers[role] = first_guess.table.headers[position]
        events = _ask_for_columns(columns, guessed_headers) or events
        plan = make_plan(events)
    return plan, events


def _limit_ratings(
    imported: TableReading, source: RatingsOptions, most_per_person: int | None
) -> Ratings:
    """Leave out rare people and items, and then the rows of a person above a limit.

    Args:
        imported: The imported ratings. The number of rows above the limit is added to `dropped`.
        source: Options with the fewest ratings of an item and of a person.
        most_per_person: Most ratings of a person; None: there is no limit.
    """
    ratings = imported.ratings
    if max(source.per_item, source.per_user) > 1:
        ratings = ratings.drop_rare(per_item=source.per_item, per_user=source.per_user)
    if most_per_person is None:
        return ratings
    limited_ratings = ratings.limit_per_person(most_per_person)
    n_dropped = len(ratings) - len(limited_ratings)
    if n_dropped:
        imported.dropped["a person has more rows than --most-per-person"] = n_dropped
    return limited_ratings


def _summarise_import(
    imported: TableReading, ratings: Ratings, warnings: list[str], out: Path
) -> dict[str, Any]:
    """Summarise an import in the values that --json prints.

    Args:
        imported: What was read.
        ratings: The ratings that were kept.
        warnings: The plan's warnings.
        out: Folder that was written.
    """
    import numpy as np

    from tacit.data.columns import EVENTS
    from tacit.data.tables.import_plan import warnings_about

    has_stars = ratings.scale != EVENTS or "rating" in imported.columns
    return {
        "read": imported.read,
        "kept": len(ratings),
        "dropped": [{"rule": rule, "rows": rows} for rule, rows in imported.dropped.items()],
        "people": int(np.count_nonzero(np.bincount(ratings.users))),
        "items": int(np.count_nonzero(np.bincount(ratings.items))),
        "likes": int(ratings.likes.sum()),
        "scale": str(ratings.scale) if has_stars else None,
        "columns": imported.columns,
        "guesses": list(ratings.guesses),
        "warnings": warnings + warnings_about(ratings, imported.read, imported.dropped),
        "folder": str(out),
    }


def _read_written_format(
    source: RatingsOptions, further_values: Sequence[object]
) -> WrittenFormat | None:
    """Read the file of --format, which describes how each row is written; None without --format.

    Args:
        source: Options that name the ratings.
        further_values: Values of the options that name columns, and of options outside of `source`
            that say how rows are written; None for an option that was not typed.

    Raises:
        ConfigError: An option that says how rows are written was typed, too, or one that names
            columns, or --items-from-ratings; or the described format contradicts itself.
        DataError: The file describes no format.
    """
    from tacit.data.tables.written_format import read_format

    if source.written is None:
        return None
    written = read_format(source.written)
    values = (*further_values, source.delimiter, source.encoding, source.layout)
    if any(value is not None for value in values):
        raise ConfigError(
            "--format says how the rows are written: leave out flags that say it too."
        )
    if source.items_from_ratings:
        raise ConfigError("With --format no text of rows is read: give titles with --items FILE.")
    if source.rating_scale is not None:
        return written.with_scale(source.rating_scale)
    return written


def _confirm_guess(plan: Plan) -> bool:
    """Ask whether the guessed columns are right. If a table lacks people or items, return False."""
    is_complete = all({"user", "item"} <= set(guess.positions) for guess in plan.ratings)
    return is_complete and typer.confirm("Is this right?", default=True)


def _ask_for_columns(columns: dict[Role, str | None], guesses: Mapping[Role, str]) -> bool:
    """Ask on the terminal for the columns of `_PROMPTED_ROLES`, and write them into `columns`.

    Args:
        columns: Name of the column of each role; None for one that is to be guessed. A role that is
            not in it is not asked for. The answer "-" takes a role out, so that its column is not
            guessed; but the roles of people and items stay with None, and are guessed.
        guesses: Name of the suggested column by role; "-" is suggested for other roles.

    Returns:
        True if no column of stars and no column of plays was named: then every row is an event.
    """
    roles = [role for role in _PROMPTED_ROLES if role in columns]
    for role in roles:
        default = guesses.get(role, "-")
        answer = typer.prompt(f"Column of {_MEANINGS[role]}, - for none", default=default).strip()
        columns[role] = None if answer == "-" else answer
    # A role that an earlier round of questions took out is not in `columns`.
    has_neither = columns.get("rating") is None and columns.get("plays") is None
    for role in roles:
        if role not in ("user", "item") and columns[role] is None:
            del columns[role]
    return has_neither


def _show_guess(plan: Plan) -> None:
    """Print which columns are read from each file of ratings, and why; and name other files."""
    for guess in plan.ratings:
        table = guess.table
        rows = []
        for role, position in guess.positions.items():
            rows.append((_MEANINGS[role], table.headers[position], _REASONS[guess.reasons[role]]))
        if not {"rating", "plays"} & set(guess.positions):
            rows.append(("the stars", "none: every row is an event", "no column has ratings"))
        terminal.table(str(table.path), ("", "column", "because of"), rows)
        read_positions = set(guess.positions.values())
        not_read = []
        for position, header in enumerate(table.headers):
            if position not in read_positions:
                not_read.append(header)
        if not_read:
            terminal.say(f"Not read: {', '.join(not_read)}")
    for table in plan.items:
        terminal.say(f"Items: {table.path}")
    for table in plan.users:
        terminal.say(f"People: {table.path}")


def _describe_import(
    result: dict[str, Any], ratings: Ratings, has_format: bool
) -> Iterator[Table | str]:
    """Yield what was dropped, read and kept, the warnings, and what is not public.

    Args:
        result: The summary of `_summarise_import`.
        ratings: The imported ratings.
        has_format: Whether the folder's data.json says how each row is written.
    """
    from tacit.data.columns import EVENTS

    if result["dropped"]:
        rows = [(dropped["rule"], dropped["rows"]) for dropped in result["dropped"]]
        yield Table("Dropped", ("rule", "rows"), rows)
    kind = "events" if ratings.scale == EVENTS else f"ratings on {ratings.scale}"
    yield (
        f"Read {result['read']:,} rows and kept {result['kept']:,} {kind}: "
        f"{ratings.n_users:,} people, {ratings.n_items:,} items. They are in {result['folder']}."
    )
    yield from result["warnings"]
    if ratings.guesses:
        guesses = ", ".join(ratings.guesses)
        remedy = "To fix it beforehand, write the ratings as one file with a row for each."
        if has_format:
            remedy = (
                "To fix it beforehand, read the file by a written description: --format "
                f"{result['folder']}/data.json"
            )
        guessed = "Guessed from the rows, so that one row may decide how others are read"
        yield f"{guessed}: {guesses}. {remedy}"
    if ratings.row_texts:
        yield (
            f"The {', '.join(ratings.row_texts)} beside the ratings stays with them: it is text "
            "of people, which no model publishes without --items-from-ratings. Better give titles "
            "with --items FILE."
        )
    not_public = []
    if not ratings.catalogue_given:
        not_public.append("the list of items (public with --catalogue FILE or --public-items)")
    if not ratings.scale_given:
        not_public.append("the scale (public with --scale MIN:MAX:STEP)")
    if not_public:
        yield (
            f"Read off the ratings, and so not public: {' and '.join(not_public)}. Claims of "
            "private models then are conditional."
        )


@command(app)
def generate(
    out: Out,
    seed: Seed,
    users: int = option("How many people.", default=1000),
    items: int = option("How many items.", default=500),
    ratings: int = option("How many ratings in total.", default=60_000),
    share: float = option("Part of the people with 'F', 0 to 1.", default=0.3),
    which: float = option(
        "How much the attribute affects which items are rated: 0 not at all, 1 as in ml-100k.",
        default=1.0,
    ),
    how: float = option(
        "How much the attribute affects stars: the standard deviation, over items, of half the gap "
        "between its two values; 0: not at all.",
        default=0.1,
    ),
    labels: int = option(
        "Number of different genres, in OUT-items.csv; 0: no such file.", default=0, least=0
    ),
    domains: bool = option("Two domains, 'source' and 'target', in OUT-items.csv; no attribute."),
) -> Result:
    """Write generated ratings and a user attribute that affects them.

    The attribute, in OUT-users.csv, affects which items are rated, and how. With --domains the
    items are of two domains, and there is no attribute.
    """
    from tacit.data import synthetic
    from tacit.data.synthetic_worlds import generate_domains
    from tacit.data.tables.folder import write_users

    if domains:
        if items < 2 or users < 1:
            raise ConfigError("--domains needs at least 2 items and 1 person.")
        check_files(out, file_beside(out, "items"))
        domain_sizes = (items // 2, items - items // 2)
        generated = generate_domains(
            users, domain_sizes, ratings / users, pull=0.35, labels=labels, seed=seed
        )
        return _write_domains(generated, out, seed)
    users_file = file_beside(out, "users")
    items_file = file_beside(out, "items") if labels else None
    check_files(out, users_file, items_file)
    generated = synthetic.generate(
        users=users,
        items=items,
        ratings=ratings,
        share=share,
        which=which,
        how=how,
        labels=labels,
        seed=seed,
    )
    write_users(generated, users_file)
    facts = {"seed": seed, "users_file": str(users_file), "attribute": "gender"}
    genders = f"their gender in {users_file}"
    flag = f"--users {shlex.quote(str(users_file))}"
    return _write_generated(generated, out, items_file, facts, genders, flag)


@command(app)
def films(
    out: Out, users: int = option("How many people.", default=6000), seed: Seed = 1
) -> Result:
    """Write generated ratings in two domains, with genres.

    The domains are 'source' and 'target', of 1,500 items each. A person gives 80 ratings on
    average. The file OUT-items.csv has the genres of each item. They are correlated with tastes.
    """
    from tacit.data import synthetic_worlds

    check_files(out, file_beside(out, "items"))
    return _write_domains(synthetic_worlds.films(users, seed=seed), out, seed)


def _write_domains(generated: Ratings, out: Path, seed: int) -> Result:
    """Write generated ratings of two domains, and a file of the items with made-up titles."""
    import numpy as np

    items_file = file_beside(out, "items")
    titles = np.array([f"Item {key}" for key in generated.item_ids.tolist()], dtype=object)
    generated = replace(generated, item_metadata={"title": titles, **generated.item_metadata})
    items = f"what is known of {generated.n_items:,} items in {items_file}"
    flag = f"--items {shlex.quote(str(items_file))}"
    return _write_generated(generated, out, items_file, {"seed": seed}, items, flag)


def file_beside(out: Path, content: str) -> Path:
    """Name a file beside another after its content: OUT-CONTENT.csv beside OUT.csv.

    Raises:
        ConfigError: The other file's ending is none of those that can be written.
    """
    from tacit.data.tables.folder import check_ending

    check_ending(out)
    return out.with_name(f"{out.stem}-{content}{out.suffix}")


def check_files(*paths: Path | None) -> None:
    """Check that files can be written, and that their endings are those of tables.

    Args:
        paths: The files; None is skipped.

    Raises:
        ConfigError: A file's ending is none of those that can be written.
        OutputError: A file cannot be written.
    """
    from tacit.atomic_writes import check_writable
    from tacit.data.tables.folder import check_ending

    for path in filter(None, paths):
        check_writable(path)
        check_ending(path)


def _write_generated(
    generated: Ratings,
    out: Path,
    items_file: Path | None,
    facts: dict[str, Any],
    other_file: str,
    flag: str,
) -> Result:
    """Write generated ratings and a description of their format, and make the command's result.

    Args:
        generated: The ratings.
        out: File of the ratings.
        items_file: File of item metadata to write; None: it is not written.
        facts: Further values of the result, by name.
        other_file: Words for the second file that was written, of people or of items: what it
            holds, and its name.
        flag: Option with which a command reads the second file.
    """
    from tacit.data.tables.folder import describe_written, write_format, write_items, write_ratings

    write_ratings(generated, out)
    format_file = out.with_name(f"{out.stem}-format.json")
    write_format(describe_written(generated, out), format_file)
    if items_file is not None:
        write_items(generated, items_file)
    data = {
        "ratings_file": str(out),
        "items_file": None if items_file is None else str(items_file),
        "format_file": str(format_file),
        "users": generated.n_users,
        "items": generated.n_items,
        "ratings": len(generated),
        "digest": generated.digest,
        **facts,
    }
    counts = f"{len(generated):,} ratings of {generated.n_users:,} people"
    sentence = f"{counts} are in {out}, {other_file}."
    describe_command = f"tacit data describe {shlex.quote(str(out))} {flag}"
    return Result(data, (sentence,), f"{describe_command}  shows what is in it.")
