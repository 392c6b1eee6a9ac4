"""`tacit data`: describe ratings, cut them into domains, download MovieLens, generate people."""

from __future__ import annotations

import shlex
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit import terminal
from tacit.cli.data_files import beside, check_files, films, generate, import_
from tacit.errors import ConfigError
from tacit.terminal import JSON

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.ratings import Column, Ratings

app = typer.Typer(help="Import, describe, download, generate or cut ratings.", no_args_is_help=True)
app.command("import")(import_)
app.command()(generate)
app.command()(films)

_QUANTILES = {"minimum": 0.0, "lower quarter": 0.25, "median": 0.5, "upper quarter": 0.75}
_MOST_VALUES = 12  # of one attribute or of the stars, in the table for people


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="Such as ml-100k, ml-1m or ml-latest-small.")],
    to: Annotated[Path, typer.Option(help="Folder for the archive and its unpacked folder.")],
    as_json: JSON = False,
) -> None:
    """Download, check and unpack an official MovieLens archive."""
    from tacit.data import movielens

    with terminal.progress(f"Downloading {name}", None, quiet=as_json):
        folder = movielens.get(name, to)
    sha256, licence = movielens.ARCHIVES[name], movielens.LICENCE
    terminal.answer(
        {"name": name, "folder": str(folder), "sha256": sha256, "licence": licence},
        f"{name} lies in {folder}",
        licence,
        after=f"Next:  tacit data describe {folder}",
        as_json=as_json,
    )


@app.command()
@terminal.reads_ratings
def domains(
    source: terminal.Source,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File to write: .csv, .tsv or .parquet.")
    ],
    genres: Annotated[
        str, typer.Option(help="Column of the genres, joined by '|', in --items.")
    ] = "genres",
    names: Annotated[str, typer.Option(help="Names of the two domains.")] = "D1,D2",
    as_json: JSON = False,
) -> None:
    """Cut a catalogue into two domains by genre.

    OUT-items has the catalogue: of each item its domain, title and the rest. A MovieLens folder
    brings genres; for a file name them with --items. Items of unknown genre are left out.
    """
    from tacit.data.domains import split_by_genre
    from tacit.data.tables.folder import write_items, write_ratings

    catalogue = beside(out, "items")
    check_files(out, catalogue)
    first, comma, second = (part.strip() for part in names.partition(","))
    if not comma:
        raise ConfigError(f"--names is written FIRST,SECOND; got {names!r}.")
    ratings = source.read()
    made = split_by_genre(ratings, column=genres, names=(first, second))
    write_ratings(made, out)
    write_items(made, catalogue)
    left = {"items": ratings.n_items - made.n_items, "ratings": len(ratings) - len(made)}
    result = {
        "ratings_file": str(out),
        "items_file": str(catalogue),
        "domains": _domains(made),
        "left_out": left,
        "digest": made.digest,
    }
    terminal.emit(result, as_json=as_json, render=_show_cut)


def _show_cut(result: dict[str, Any]) -> None:
    _show_domains(result["domains"])
    left, out = result["left_out"], result["ratings_file"]
    terminal.say(
        f"Written to {out}, the items to {result['items_file']}; "
        f"{left['items']:,} items of unknown genre with {left['ratings']:,} ratings are left out."
    )
    first, second = map(shlex.quote, result["domains"])
    terminal.next_step(
        f"Next:  tacit fit xmap {out} --domain-column domain --source {first} "
        f"--target {second} --epsilon 1 --delta 1e-6 -o model.tacit"
    )


@app.command()
@terminal.reads_ratings
def describe(source: terminal.Source, as_json: JSON = False) -> None:
    """Summarise a set of ratings, without showing a single one."""
    ratings = source.read()
    result = {"path": str(source.path), **_summary(ratings)}
    if source.columns["domain"] is not None:
        result["domains"] = _domains(ratings)
    terminal.emit(result, as_json=as_json, render=_show)


def _domains(ratings: Ratings) -> dict[str, dict[str, int]]:
    """Items, ratings and people of each domain."""
    import numpy as np

    from tacit.data.domains import domain_names, within

    parts = {name: within(ratings, name) for name in domain_names(ratings)}
    return {
        name: {
            "items": part.n_items,
            "ratings": len(part),
            "people": int((np.diff(part.offsets) > 0).sum()),
        }
        for name, part in parts.items()
    }


def _summary(ratings: Ratings) -> dict[str, Any]:
    """Counts and quantiles, ready for JSON."""
    import numpy as np

    def spread(counts: NDArray[Any]) -> dict[str, float]:
        found = {name: float(np.quantile(counts, at)) for name, at in _QUANTILES.items()}
        return {**found, "maximum": float(counts.max()), "mean": float(counts.mean())}

    def date(seconds: float) -> str:
        return datetime.fromtimestamp(int(seconds), UTC).isoformat()

    stars, counts = np.unique(ratings.values, return_counts=True)
    times = ratings.timestamps
    return {
        "users": ratings.n_users,
        "items": ratings.n_items,
        "ratings": len(ratings),
        "density": ratings.density,
        "scale": str(ratings.scale),
        "mean": float(ratings.values.mean()),
        "stars": {f"{value:g}": int(n) for value, n in zip(stars, counts, strict=True)},
        "ratings_per_user": spread(np.diff(ratings.offsets)),
        "ratings_per_item": spread(np.bincount(ratings.items, minlength=ratings.n_items)),
        "first": None if times is None else date(times.min()),
        "last": None if times is None else date(times.max()),
        "user_attributes": {
            name: _values(column) for name, column in ratings.user_attributes.items()
        },
        "item_metadata": list(ratings.item_metadata),
        "digest": ratings.digest,
    }


def _values(column: Column) -> dict[str, int]:
    """How many people have each value, the most frequent first; 'unknown' stands for none."""
    counted = Counter("unknown" if value is None else str(value) for value in column.tolist())
    return dict(sorted(counted.items(), key=lambda entry: (-entry[1], entry[0])))


def _show(found: dict[str, Any]) -> None:
    from tacit.data.columns import EVENTS

    facts = [
        ("people", f"{found['users']:,}"),
        ("items", f"{found['items']:,}"),
        ("ratings", f"{found['ratings']:,}"),
        ("density", f"{found['density']:.3%}"),
        ("scale", "events" if found["scale"] == str(EVENTS) else found["scale"]),
        ("mean", f"{found['mean']:.3f}"),
        ("from", found["first"] or "no times"),
        ("to", found["last"] or "no times"),
        ("item metadata", ", ".join(found["item_metadata"]) or "none"),
    ]
    terminal.table(found["path"], ("", ""), facts)
    terminal.say(f"digest {found['digest']}")
    terminal.table(
        "Stars", ("stars", "ratings", "share"), _shares(found["stars"], found["ratings"])
    )
    spreads = (("person", found["ratings_per_user"]), ("item", found["ratings_per_item"]))
    terminal.table(
        "Ratings per",
        ("", *found["ratings_per_user"]),
        [(name, *(f"{value:g}" for value in spread.values())) for name, spread in spreads],
    )
    if "domains" in found:
        _show_domains(found["domains"])
    for name, values in found["user_attributes"].items():
        terminal.table(name, ("value", "people", "share"), _shares(values, found["users"]))
    if not found["user_attributes"]:
        terminal.next_step("No user attributes: name a file of them with --users FILE.")


def _show_domains(found: dict[str, dict[str, int]]) -> None:
    rows = [(name, *(f"{count:,}" for count in counts.values())) for name, counts in found.items()]
    terminal.table("Domains", ("domain", "items", "ratings", "people"), rows)


def _shares(counts: dict[str, int], total: int) -> list[tuple[str, int, str]]:
    rows = list(counts.items())
    if rest := rows[_MOST_VALUES:]:
        rows[_MOST_VALUES:] = [(f"{len(rest)} more", sum(n for _, n in rest))]
    return [(name, n, f"{n / total:.1%}") for name, n in rows]
