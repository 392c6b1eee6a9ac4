"""`tacit data generate` and `tacit data films`: ratings of generated people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import output
from tacit.cli.output import JSON
from tacit.errors import ConfigError

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings


def generate(
    out: Annotated[Path, typer.Argument(help="File to write: .csv, .tsv or .parquet.")],
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same ratings.")],
    users: Annotated[int, typer.Option(help="How many people.")] = 1000,
    items: Annotated[int, typer.Option(help="How many items.")] = 500,
    ratings: Annotated[int, typer.Option(help="How many ratings in total.")] = 60_000,
    users_file: Annotated[
        Path | None, typer.Option(help="File for the attribute; OUT-users.csv if left out.")
    ] = None,
    attribute: Annotated[str, typer.Option(help="Name of the attribute's column.")] = "gender",
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
    telling: Annotated[
        float, typer.Option(help="How much genres say about tastes: 0, nothing, to 1.")
    ] = 0.8,
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

    It affects which items are rated, and how. With --domains, ratings in two domains instead.
    """
    from tacit.data import synthetic, write_items, write_ratings, write_users
    from tacit.data.synthetic_domains import generate_domains

    if domains:
        if users_file is not None or items < 2 or users < 1:
            raise ConfigError("--domains needs 2 items and a person, and has no --users-file.")
        halves = (items // 2, items - items // 2)
        _two_domains(
            lambda: generate_domains(
                users, halves, ratings / users, pull=0.35, labels=labels, telling=telling, seed=seed
            ),
            out,
            seed,
            as_json,
        )
        return
    people = users_file or beside(out, "users")
    if people.absolute() == out.absolute():
        raise ConfigError(f"--users-file {people}: the ratings go there. Name another file.")
    about_items = beside(out, "items") if labels else None
    check_files(out, people, about_items)
    made = synthetic.generate(
        users=users,
        items=items,
        ratings=ratings,
        attribute=attribute,
        share=share,
        which=which,
        how=how,
        labels=labels,
        telling=telling,
        seed=seed,
    )
    write_ratings(made, out)
    write_users(made, people)
    if about_items is not None:
        write_items(made, about_items)
    told = {"users_file": str(people), "attribute": attribute}
    output.emit(_written(made, out, about_items, seed) | told, as_json=as_json, render=_show_files)


def films(
    out: Annotated[Path, typer.Argument(help="File to write: .csv, .tsv or .parquet.")],
    users: Annotated[int, typer.Option(help="How many people.")] = 6000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same ratings.")] = 1,
    as_json: JSON = False,
) -> None:
    """Write generated ratings in two domains, with genres.

    The domains are 'source' and 'target', of 1,500 items each, and a person gives 80 ratings. The
    file OUT-items.csv has the genres of each item, which say something about tastes.
    """
    from tacit.data import synthetic_domains

    _two_domains(lambda: synthetic_domains.films(users, seed=seed), out, seed, as_json)


def _two_domains(make: Callable[[], Ratings], out: Path, seed: int, as_json: bool) -> None:
    import numpy as np

    from tacit.data import write_items, write_ratings

    about_items = beside(out, "items")
    check_files(out, about_items)
    made = make()
    titles = np.array([f"Item {key}" for key in made.item_ids.tolist()], dtype=object)
    made = replace(made, item_metadata={"title": titles, **made.item_metadata})
    write_ratings(made, out)
    write_items(made, about_items)
    output.emit(_written(made, out, about_items, seed), as_json=as_json, render=_show_films)


def beside(out: Path, what: str) -> Path:
    return out.with_name(f"{out.stem}-{what}{out.suffix}")


def check_files(*paths: Path | None) -> None:
    """All can be written, or nothing is."""
    from tacit.data.tables.writing import check_ending
    from tacit.writing import check_writable

    for path in filter(None, paths):
        check_writable(path)
        check_ending(path)


def _written(made: Ratings, out: Path, about_items: Path | None, seed: int) -> dict[str, Any]:
    return {
        "ratings_file": str(out),
        "items_file": None if about_items is None else str(about_items),
        "users": made.n_users,
        "items": made.n_items,
        "ratings": len(made),
        "seed": seed,
        "digest": made.digest,
    }


def _show_files(result: dict[str, Any]) -> None:
    ratings, people = result["ratings_file"], result["users_file"]
    output.console.print(
        f"{result['ratings']:,} ratings of {result['users']:,} people are in {ratings}, "
        f"their {result['attribute']} in {people}.",
        soft_wrap=True,
        markup=False,
    )
    output.next_step(f"Next:  tacit data describe {ratings} --users {people}")


def _show_films(result: dict[str, Any]) -> None:
    ratings, items = result["ratings_file"], result["items_file"]
    output.console.print(
        f"{result['ratings']:,} ratings of {result['users']:,} people are in {ratings}, "
        f"what is known of {result['items']:,} items in {items}.",
        soft_wrap=True,
        markup=False,
    )
    output.next_step(f"Next:  tacit data describe {ratings} --items {items}")
