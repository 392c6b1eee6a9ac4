"""`tacit data import`: files of any form to one clean folder."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import output
from tacit.cli.output import JSON
from tacit.errors import ConfigError

if TYPE_CHECKING:
    from tacit.data.tables.columns import Role
    from tacit.data.tables.importing import Plan

_ROLES: tuple[Role, ...] = ("user", "item", "rating", "plays", "time")
_MEANS = {
    "user": "the person", "item": "the item", "rating": "the stars", "plays": "how often",
    "time": "when", "domain": "the item's domain",
}  # fmt: skip
_WHY = {"asked": "you said so", "name": "its name", "content": "what stands in it"}


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="CSV, JSON lines, Parquet, SQLite, DuckDB, RecBole, or a folder of MovieLens, "
            "RecBole or LensKit; files of items or people beside the ratings.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")],
    user: Annotated[str | None, typer.Option(help="Column of the person's id.")] = None,
    item: Annotated[str | None, typer.Option(help="Column of the item's id.")] = None,
    rating: Annotated[str | None, typer.Option(help="Column of the stars.")] = None,
    plays: Annotated[
        str | None, typer.Option(help="Column of numbers of plays, read in place of stars.")
    ] = None,
    time: Annotated[str | None, typer.Option(help="Column of the time.")] = None,
    domain: Annotated[
        str | None, typer.Option("--domain-column", help="Column of the item's domain.")
    ] = None,
    events: Annotated[
        bool, typer.Option("--events", help="Every row is an event, and so a like.")
    ] = False,
    least_plays: Annotated[float, typer.Option(help="This many plays or more are a like.")] = 1,
    scale: Annotated[
        str | None, typer.Option(help="MIN:MAX:STEP, which is then public; else detected.")
    ] = None,
    catalogue: Annotated[
        Path | None,
        typer.Option(help="Public list of items, from elsewhere. Ratings of others are dropped."),
    ] = None,
    public_items: Annotated[
        bool,
        typer.Option("--public-items", help="Everybody may know which items were rated."),
    ] = False,
    items: Annotated[
        Path | None, typer.Option(help="File of item metadata: titles, genres, prices and so on.")
    ] = None,
    users: Annotated[Path | None, typer.Option(help="File of user attributes.")] = None,
    on_bad: Annotated[
        str | None,
        typer.Option(help="refuse or drop bad rows; left out: drop, if they are not most rows."),
    ] = None,
    dates: Annotated[
        str | None, typer.Option(help="dayfirst or monthfirst, where no date tells.")
    ] = None,
    decimal: Annotated[str | None, typer.Option(help="Decimal sign, , or .")] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="One sign, 'tab' or '::'; sniffed if left out.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Such as cp1252; UTF-8, else cp1252, if left out.")
    ] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line has names.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="Table of a database.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")] = False,
    as_json: JSON = False,
) -> None:
    """Write the files you have as one clean folder that commands read.

    Columns are guessed by their names and contents. On a terminal the guess is shown and asked
    about; with --json, or without a terminal, nothing is asked. What was dropped, and by which
    rule, is reported.
    """
    from tacit.data import RatingScale
    from tacit.data.tables.cleaning import Rules
    from tacit.data.tables.folder import check_folder, write_folder
    from tacit.data.tables.importing import carry_out, plan

    check_folder(out)
    given = None if scale is None else RatingScale.parse(scale)
    if given is not None and (events or plays is not None):
        raise ConfigError("Events and plays have no stars, so --scale has no meaning for them.")
    rules = Rules(on_bad or "drop", given, least_plays, decimal, dates, guessing=True)  # type: ignore[arg-type]
    asked: dict[Role, str | None] = dict(
        zip((*_ROLES, "domain"), (user, item, rating, plays, time, domain), strict=True)
    )

    def planned() -> Plan:
        return plan(files, asked, events=events, delimiter=delimiter, encoding=encoding,
                    header=header, table=table)  # fmt: skip

    made = planned()
    if not (as_json or yes) and sys.stdin.isatty() and sys.stdout.isatty() and made.tables:
        _show_guess(made)
        if not _complete(made) or not typer.confirm("Is this right?", default=True):
            events = _ask(made, asked) or events
            made = planned()
    elif not as_json:
        _show_guess(made)
    _check(made, given is not None, events=events)
    done = carry_out(
        made, rules, on_bad=on_bad, users=users, items=items, catalogue=catalogue,  # type: ignore[arg-type]
        public_items=public_items, domain=domain,
    )  # fmt: skip
    ratings = done.ratings
    write_folder(ratings, out)
    result = {
        "read": done.reading.read,
        "kept": len(ratings),
        "dropped": [{"rule": rule, "rows": rows} for rule, rows in done.dropped.items()],
        "columns": done.reading.columns,
        "folder": str(out),
    }
    output.emit(result, as_json=as_json, render=lambda found: _show(found, ratings))


def _complete(made: Plan) -> bool:
    return all({"user", "item"} <= set(found.places) for found in made.guesses)


def _ask(made: Plan, asked: dict[Role, str | None]) -> bool:
    """Ask for each column; whether there are neither stars nor plays."""
    table, found = made.tables[0], made.guesses[0]
    for role in _ROLES:
        usual = table.headers[found.places[role]] if role in found.places else "-"
        answer = typer.prompt(f"Column of {_MEANS[role]}, - for none", default=usual).strip()
        asked[role] = None if answer == "-" else answer
    none = asked["rating"] is None and asked["plays"] is None
    for role in ("rating", "plays", "time"):  # what is not asked for is not guessed either
        if asked[role] is None:
            del asked[role]
    return none


def _check(made: Plan, scaled: bool, *, events: bool) -> None:
    """DataError where people or items have no column, or stars that were asked for."""
    from tacit.data.tables.columns import missing

    for table, found in zip(made.tables, made.guesses, strict=True):
        for role in ("user", "item", *(["rating"] if scaled and not events else [])):
            if role not in found.places:
                raise missing(role, table.headers, None, table.path)  # type: ignore[arg-type]


def _show_guess(made: Plan) -> None:
    for table, found in zip(made.tables, made.guesses, strict=True):
        rows = [
            (_MEANS[role], table.headers[at], _WHY[found.why[role]])
            for role, at in found.places.items()
        ]
        if not {"rating", "plays"} & set(found.places):
            rows.append(("the stars", "none: every row is an event", "no column has ratings"))
        title = made.title(table, found)
        if title is not None:
            rows.append(("the item's title", table.headers[title], _WHY["name"]))
        output.table(str(table.path), ("", "column", "because of"), rows)
        read = {*found.places.values(), title}
        left = [name for at, name in enumerate(table.headers) if at not in read]
        if left:
            output.console.print(f"Not read: {', '.join(left)}", soft_wrap=True, markup=False)
    for what, tables in (("Items", made.items), ("People", made.users)):
        for table in tables:
            output.console.print(f"{what}: {table.path}", soft_wrap=True, markup=False)


def _show(result: dict[str, Any], ratings: Any) -> None:
    from tacit.data.scales import EVENTS

    if result["dropped"]:
        rows = [(each["rule"], each["rows"]) for each in result["dropped"]]
        output.table("Dropped", ("rule", "rows"), rows)
    kind = "events" if ratings.scale == EVENTS else f"ratings on {ratings.scale}"
    output.console.print(
        f"Read {result['read']:,} rows and kept {result['kept']:,} {kind}: "
        f"{ratings.n_users:,} people, {ratings.n_items:,} items. They are in {result['folder']}.",
        soft_wrap=True,
        markup=False,
    )
    private = []
    if not ratings.catalogue_given:
        private.append("the list of items (public with --catalogue FILE or --public-items)")
    if not ratings.scale_given:
        private.append("the scale (public with --scale MIN:MAX:STEP)")
    if private:
        output.console.print(
            f"Read off the ratings, and so not public: {' and '.join(private)}. Claims of private "
            "models then are conditional.",
            soft_wrap=True,
        )
    folder = shlex.quote(result["folder"])
    output.next_step(f"Next:  tacit fit private {folder} --epsilon 1 -o model.tacit")
