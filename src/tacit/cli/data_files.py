"""`tacit data import`, `generate`, `films`: one clean folder of any files; generated people."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit import terminal
from tacit.errors import ConfigError
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.data.tables import Role
    from tacit.data.tables.importing import Plan

_MEANS: dict[Role, str] = {
    "user": "the person", "item": "the item", "rating": "the stars", "plays": "how often",
    "time": "when", "domain": "the item's domain",
}  # fmt: skip
_ASKED: tuple[Role, ...] = ("user", "item", "rating", "plays", "time")
_WHY = {"asked": "you said so", "name": "its name", "content": "what stands in it"}
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same ratings.")]


@terminal.reads_ratings
def import_(
    source: terminal.Source,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")],
    more: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="More ratings, items or people. Each is CSV, JSON lines, Parquet, Arrow, SQLite, "
            "DuckDB, or a folder of RecBole or LensKit.",
        ),
    ] = None,
    catalogue: Annotated[
        Path | None,
        typer.Option(help="Public list of items, from elsewhere. Ratings of others are dropped."),
    ] = None,
    public_items: Annotated[
        bool, typer.Option("--public-items", help="Everybody may know which items were rated.")
    ] = False,
    on_bad: Annotated[
        str | None,
        typer.Option(help="refuse or drop bad rows; left out: drop, if they are not most rows."),
    ] = None,
    dates: Annotated[
        str | None, typer.Option(help="dayfirst or monthfirst, where no date tells.")
    ] = None,
    decimal: Annotated[str | None, typer.Option(help="Decimal sign, , or .")] = None,
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
    rule, is reported. A scale that is given is then public.
    """
    from tacit.data.ratings import RatingScale
    from tacit.data.tables.cleaning import Rules
    from tacit.data.tables.folder import check_folder, write_folder
    from tacit.data.tables.importing import carry_out, plan

    check_folder(out)
    given = source.columns
    rules = Rules(
        on_bad=on_bad or "drop",  # type: ignore[arg-type]
        scale=None if given["scale"] is None else RatingScale.parse(given["scale"]),
        least_plays=1 if given["least_plays"] is None else given["least_plays"],
        dates=dates,  # type: ignore[arg-type]
        decimal=decimal,
        guessing=True,
    )
    asked = {role: given[role] for role in _MEANS}
    events = bool(given["events"])

    def planned() -> Plan:
        return plan([source.path, *(more or [])], asked, events=events, encoding=encoding,
                    delimiter=given["delimiter"], header=header, table=table)  # fmt: skip

    made = planned()
    if not as_json:
        _show_guess(made)
    if made.ratings and not (as_json or yes) and sys.stdin.isatty() and sys.stdout.isatty():
        complete = all({"user", "item"} <= {*found.places} for found in made.ratings)
        if not complete or not typer.confirm("Is this right?", default=True):
            events = _ask(made, asked) or events
            made = planned()
    done = carry_out(
        made, rules, on_bad=on_bad, events=events, users=given["users"],  # type: ignore[arg-type]
        items=given["items"], catalogue=catalogue, public_items=public_items,
        domain=given["domain"],
    )  # fmt: skip
    ratings = done.ratings
    if source.per_item > 1:
        ratings = ratings.at_least(per_item=source.per_item)
    write_folder(ratings, out)
    result = {
        "read": done.read,
        "kept": len(ratings),
        "dropped": [{"rule": rule, "rows": rows} for rule, rows in done.dropped.items()],
        "columns": done.columns,
        "folder": str(out),
    }
    terminal.emit(result, as_json=as_json, render=lambda it: _show_import(it, ratings))


def _ask(made: Plan, asked: dict[Role, str | None]) -> bool:
    """Ask for each column; whether there are neither stars nor plays."""
    found = made.ratings[0]
    for role in _ASKED:
        usual = found.table.headers[found.places[role]] if role in found.places else "-"
        answer = typer.prompt(f"Column of {_MEANS[role]}, - for none", default=usual).strip()
        asked[role] = None if answer == "-" else answer
    none = asked["rating"] is None and asked["plays"] is None
    for role in _ASKED[2:]:  # what is not asked for is not guessed either
        if asked[role] is None:
            del asked[role]
    return none


def _show_guess(made: Plan) -> None:
    for found in made.ratings:
        table = found.table
        rows = [
            (_MEANS[role], table.headers[at], _WHY[found.why[role]])
            for role, at in found.places.items()
        ]
        if not {"rating", "plays"} & set(found.places):
            rows.append(("the stars", "none: every row is an event", "no column has ratings"))
        title = made.title(found)
        if title is not None:
            rows.append(("the item's title", table.headers[title], _WHY["name"]))
        terminal.table(str(table.path), ("", "column", "because of"), rows)
        read = {*found.places.values(), title}
        if left := [name for at, name in enumerate(table.headers) if at not in read]:
            terminal.say(f"Not read: {', '.join(left)}")
    for what, tables in (("Items", made.items), ("People", made.users)):
        for table in tables:
            terminal.say(f"{what}: {table.path}")


def _show_import(result: dict[str, Any], ratings: Ratings) -> None:
    from tacit.data.columns import EVENTS

    if result["dropped"]:
        rows = [(each["rule"], each["rows"]) for each in result["dropped"]]
        terminal.table("Dropped", ("rule", "rows"), rows)
    kind = "events" if ratings.scale == EVENTS else f"ratings on {ratings.scale}"
    terminal.say(
        f"Read {result['read']:,} rows and kept {result['kept']:,} {kind}: "
        f"{ratings.n_users:,} people, {ratings.n_items:,} items. They are in {result['folder']}."
    )
    private = []
    if not ratings.catalogue_given:
        private.append("the list of items (public with --catalogue FILE or --public-items)")
    if not ratings.scale_given:
        private.append("the scale (public with --scale MIN:MAX:STEP)")
    if private:
        terminal.say(
            f"Read off the ratings, and so not public: {' and '.join(private)}. Claims of private "
            "models then are conditional."
        )
    folder = shlex.quote(result["folder"])
    terminal.next_step(f"Next:  tacit fit private {folder} --epsilon 1 -o model.tacit")


def generate(
    out: terminal.Out,
    seed: Seed,
    users: Annotated[int, typer.Option(help="How many people.")] = 1000,
    items: Annotated[int, typer.Option(help="How many items.")] = 500,
    ratings: Annotated[int, typer.Option(help="How many ratings in total.")] = 60_000,
    share: Annotated[float, typer.Option(help="Part of the people with 'F', 0 to 1.")] = 0.3,
    which: Annotated[
        float, typer.Option(help="How much the attribute decides which items are rated; 0: none.")
    ] = 1.0,
    how: Annotated[
        float, typer.Option(help="Spread of half the gap in stars over the items; 0: none.")
    ] = 0.1,
    labels: Annotated[
        int, typer.Option(min=0, help="Kinds of genres; their file is OUT-items.csv. 0: none.")
    ] = 0,
    domains: Annotated[
        bool,
        typer.Option(
            "--domains",
            help="Two domains of items, 'source' and 'target', in OUT-items.csv; no attribute.",
        ),
    ] = False,
    as_json: JSON = False,
) -> None:
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
        check_files(out, beside(out, "items"))
        halves = (items // 2, items - items // 2)
        made = generate_domains(users, halves, ratings / users, pull=0.35, labels=labels, seed=seed)
        _write_domains(made, out, seed, as_json)
        return
    people, about_items = beside(out, "users"), beside(out, "items") if labels else None
    check_files(out, people, about_items)
    made = synthetic.generate(
        users=users, items=items, ratings=ratings, share=share, which=which, how=how,
        labels=labels, seed=seed,
    )  # fmt: skip
    write_users(made, people)
    facts = {"seed": seed, "users_file": str(people), "attribute": "gender"}
    said = (f"their gender in {people}", f"--users {people}")
    _write(made, out, about_items, facts, said, as_json)


def films(
    out: terminal.Out,
    users: Annotated[int, typer.Option(help="How many people.")] = 6000,
    seed: Seed = 1,
    as_json: JSON = False,
) -> None:
    """Write generated ratings in two domains, with genres.

    The domains are 'source' and 'target', of 1,500 items each, and a person gives 80 ratings. The
    file OUT-items.csv has the genres of each item, which say something about tastes.
    """
    from tacit.data import synthetic_worlds

    check_files(out, beside(out, "items"))
    _write_domains(synthetic_worlds.films(users, seed=seed), out, seed, as_json)


def _write_domains(made: Ratings, out: Path, seed: int, as_json: bool) -> None:
    import numpy as np

    about = beside(out, "items")
    titles = np.array([f"Item {key}" for key in made.item_ids.tolist()], dtype=object)
    made = replace(made, item_metadata={"title": titles, **made.item_metadata})
    said = (f"what is known of {made.n_items:,} items in {about}", f"--items {about}")
    _write(made, out, about, {"seed": seed}, said, as_json)


def beside(out: Path, what: str) -> Path:
    return out.with_name(f"{out.stem}-{what}{out.suffix}")


def check_files(*paths: Path | None) -> None:
    """All can be written, or nothing is."""
    from tacit.container import check_writable
    from tacit.data.tables.folder import check_ending

    for path in filter(None, paths):
        check_writable(path)
        check_ending(path)


def _write(
    made: Ratings, out: Path, about_items: Path | None, facts: dict[str, Any],
    said: tuple[str, str], as_json: bool,
) -> None:  # fmt: skip
    """said: what else was written, and the option that reads it."""
    from tacit.data.tables.folder import write_items, write_ratings

    write_ratings(made, out)
    if about_items is not None:
        write_items(made, about_items)
    files = {"ratings_file": str(out), "items_file": about_items and str(about_items)}
    sizes = {"users": made.n_users, "items": made.n_items, "ratings": len(made)}
    terminal.answer(
        {**files, **sizes, "digest": made.digest, **facts},
        f"{len(made):,} ratings of {made.n_users:,} people are in {out}, {said[0]}.",
        after=f"Next:  tacit data describe {out} {said[1]}",
        as_json=as_json,
    )
