"""`tacit data get`, `domains`, `export` and `describe`; `data_files` has the other sub-commands."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit import terminal
from tacit.cli.commands import FORCE, command, name_output_beside
from tacit.cli.data_files import app, check_files, file_beside
from tacit.cli.source import RatingsOptions
from tacit.design import option
from tacit.errors import ConfigError
from tacit.evaluation import Result, Table
from tacit.terminal import JSON

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.ratings import Column, Ratings

_QUANTILES = {"minimum": 0.0, "lower quarter": 0.25, "median": 0.5, "upper quarter": 0.75}
"""Name of each quantile of counts, with the share of the counts that are at most as large."""
_MOST_VALUES = 12
"""A table has at most this many rows with one value each, of an attribute or of the stars. One more
row is for all other values."""


@command(app)
def get(
    name: str = option("Such as ml-100k, ml-1m or ml-latest-small.", argument="name"),
    out: Path = option(
        "Folder for the archive and its unpacked folder; the current one if left out.",
        flag="--out -o",
        default=Path(),
    ),
    as_json: JSON = False,
) -> Result:
    """Download, check and unpack an official MovieLens archive."""
    from tacit.data import movielens

    with terminal.progress(f"Downloading {name}", None, quiet=as_json):
        folder = movielens.get(name, out)
    sha256 = movielens.ARCHIVES[name]
    licence = movielens.LICENCE
    return Result(
        {"name": name, "folder": str(folder), "sha256": sha256, "licence": licence},
        (f"{name} lies in {folder}", licence),
        f"tacit data describe {shlex.quote(str(folder))}  shows what is in it.",
    )


@command(app)
def domains(
    source: RatingsOptions,
    out: Path | None = option(
        "File to write: .csv, .tsv or .parquet; orders-domains.csv beside orders.csv.",
        flag="--out -o",
    ),
    genres: str = option("Column of the genres, joined by '|', in --items.", default="genres"),
    names: str = option("Names of the two domains, FIRST,SECOND.", default="D1,D2"),
    force: bool = FORCE,
) -> Result:
    """Cut a catalogue into two domains by genre.

    A second file, OUT-items, has the catalogue: each item with its domain, title and other
    metadata. A folder of MovieLens has genres. For a file of ratings, name a file of genres with
    --items. Items of unknown genre are left out.
    """
    from tacit.data.domains import split_by_genre
    from tacit.data.tables.folder import write_items, write_ratings

    out = out or name_output_beside(source.path, ending="-domains.csv", force=force)
    catalogue = file_beside(out, "items")
    check_files(out, catalogue)
    first_name, comma, second_name = (part.strip() for part in names.partition(","))
    if not comma:
        raise ConfigError(f"--names is written FIRST,SECOND; got {names!r}.")
    ratings = source.read()
    two_domains = split_by_genre(ratings, column=genres, names=(first_name, second_name))
    write_ratings(two_domains, out)
    write_items(two_domains, catalogue)
    left_out = {
        "items": ratings.n_items - two_domains.n_items,
        "ratings": len(ratings) - len(two_domains),
    }
    sizes = _count_domains(two_domains)
    result = {
        "ratings_file": str(out),
        "items_file": str(catalogue),
        "domains": sizes,
        "left_out": left_out,
        "digest": two_domains.digest,
    }
    sentence = (
        f"Written to {out}, the items to {catalogue}; {left_out['items']:,} items of unknown genre "
        f"with {left_out['ratings']:,} ratings are left out."
    )
    domain_options = f"--source {shlex.quote(first_name)} --target {shlex.quote(second_name)}"
    after = (
        f"tacit fit xmap {shlex.quote(str(out))} --domain-column domain {domain_options} "
        "--epsilon 1 --delta 1e-6 -o model.tacit  makes lists in the second domain."
    )
    shown = (_make_domain_table(sizes), sentence)
    return Result(result, shown, after)


@command(app)
def export(
    source: RatingsOptions,
    to: str = option("recbole or lenskit."),
    out: Path | None = option(
        "New folder; by default orders-recbole for the input orders.csv.",
        flag="--out -o",
    ),
) -> Result:
    """Write the ratings as a folder that RecBole or LensKit reads.

    `tacit data import` reads the folder back. For RecBole, the folder's name is that of the data
    set, and values joined by '|' become sequences. Texts of single ratings, such as reviews,
    are not written.
    """
    from tacit.data.tables.research_folders import write_research_folder

    folder = out or source.path.parent / f"{source.path.stem or 'ratings'}-{to}"
    ratings = source.read()
    files = write_research_folder(ratings, to, folder)
    counts = f"{ratings.n_users:,} people, {ratings.n_items:,} items, {len(ratings):,} ratings"
    return Result(
        {"folder": str(folder), "files": files, "digest": ratings.digest},
        (f"{counts} written to {folder}: {', '.join(files)}.",),
    )


@command(app)
def describe(source: RatingsOptions) -> Result:
    """Summarise a set of ratings, without showing a single one."""
    ratings = source.read()
    result = {"path": str(source.path), **_summarise(ratings)}
    if source.domain is not None:
        result["domains"] = _count_domains(ratings)
    return Result(result, list(_describe_summary(result)))


def _count_domains(ratings: Ratings) -> dict[str, dict[str, int]]:
    """Count the items, ratings and people with a rating in each domain; the key is its name."""
    import numpy as np

    from tacit.data.domains import domain_names, ratings_in_domain

    sizes = {}
    for name in domain_names(ratings):
        in_domain = ratings_in_domain(ratings, name)
        n_people = len(np.unique(in_domain.users))
        sizes[name] = {"items": in_domain.n_items, "ratings": len(in_domain), "people": n_people}
    return sizes


def _summarise(ratings: Ratings) -> dict[str, Any]:
    """Summarise ratings in the values that --json prints."""
    import numpy as np

    stars, counts = np.unique(ratings.values, return_counts=True)
    times = ratings.timestamps
    attributes = {name: _count_values(column) for name, column in ratings.user_attributes.items()}
    return {
        "users": ratings.n_users,
        "items": ratings.n_items,
        "ratings": len(ratings),
        "density": ratings.density,
        "scale": str(ratings.scale),
        "mean": float(ratings.values.mean()),
        "stars": {f"{value:g}": int(n) for value, n in zip(stars, counts, strict=True)},
        "ratings_per_user": _summarise_counts(np.diff(ratings.offsets)),
        "ratings_per_item": _summarise_counts(
            np.bincount(ratings.items, minlength=ratings.n_items)
        ),
        "first": None if times is None else _format_date(times.min()),
        "last": None if times is None else _format_date(times.max()),
        "user_attributes": attributes,
        "item_metadata": list(ratings.item_metadata),
        "digest": ratings.digest,
    }


def _summarise_counts(counts: NDArray[Any]) -> dict[str, float]:
    """Summarise counts, shape (n,), by quantiles, maximum and mean."""
    import numpy as np

    quantiles = {name: float(np.quantile(counts, share)) for name, share in _QUANTILES.items()}
    return {**quantiles, "maximum": float(counts.max()), "mean": float(counts.mean())}


def _format_date(seconds: float) -> str:
    """Format a time in Unix seconds as date and time in UTC."""
    return datetime.fromtimestamp(int(seconds), UTC).isoformat()


def _count_values(column: Column) -> dict[str, int]:
    """Count the people with each value of an attribute, the most frequent value first.

    People without a value are counted as "unknown". Values of the same count are in the order of
    their texts.
    """
    counts = Counter("unknown" if value is None else str(value) for value in column.tolist())
    values = sorted(counts, key=lambda value: (-counts[value], value))
    return {value: counts[value] for value in values}


def _describe_summary(result: dict[str, Any]) -> Iterator[Table | str]:
    """Yield tables and sentences for a summary that `_summarise` made.

    Args:
        result: The summary, with the "path" of the ratings, and with "domains" or without.
    """
    from tacit.data.columns import EVENTS

    facts = [
        ("people", f"{result['users']:,}"),
        ("items", f"{result['items']:,}"),
        ("ratings", f"{result['ratings']:,}"),
        ("density", f"{result['density']:.3%}"),
        ("scale", "events" if result["scale"] == str(EVENTS) else result["scale"]),
        ("mean", f"{result['mean']:.3f}"),
        ("from", result["first"] or "no times"),
        ("to", result["last"] or "no times"),
        ("item metadata", ", ".join(result["item_metadata"]) or "none"),
    ]
    yield Table(result["path"], ("", ""), facts)
    yield f"digest {result['digest']}"
    yield _tabulate_shares(
        "Stars", ("stars", "ratings", "share"), result["stars"], result["ratings"]
    )
    spreads = {"person": result["ratings_per_user"], "item": result["ratings_per_item"]}
    rows = []
    for name, spread in spreads.items():
        numbers = [f"{number:g}" for number in spread.values()]
        rows.append((name, *numbers))
    yield Table("Ratings per", ("", *spreads["person"]), rows)
    if "domains" in result:
        yield _make_domain_table(result["domains"])
    for name, values in result["user_attributes"].items():
        yield _tabulate_shares(name, ("value", "people", "share"), values, result["users"])
    if not result["user_attributes"]:
        yield "No user attributes: name a file of them with --users FILE."


def _make_domain_table(domains: dict[str, dict[str, int]]) -> Table:
    """Make a table of the counts of `_count_domains`."""
    rows = []
    for name, counts in domains.items():
        numbers = [f"{count:,}" for count in counts.values()]
        rows.append((name, *numbers))
    return Table("Domains", ("domain", "items", "ratings", "people"), rows)


def _tabulate_shares(
    title: str, columns: Sequence[str], counts: dict[str, int], total: int
) -> Table:
    """Make a table of counts and their shares of a total.

    Counts after the first _MOST_VALUES are added up in the last row.

    Args:
        title: Title of the table.
        columns: Headings of the columns: value, count, share.
        counts: Counts by value, in the order of the rows.
        total: The number that counts as 100 %.
    """
    all_counts = list(counts.items())
    shown_counts = all_counts[:_MOST_VALUES]
    other_counts = [count for _, count in all_counts[_MOST_VALUES:]]
    if other_counts:
        shown_counts.append((f"{len(other_counts)} more", sum(other_counts)))
    rows = [(value, count, f"{count / total:.1%}") for value, count in shown_counts]
    return Table(title, columns, rows)
