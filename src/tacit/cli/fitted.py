"""What every `tacit fit` has in common: where the model goes, and what was learned from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import output
from tacit.cli.options import Source
from tacit.writing import check_writable

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings


def _writable(out: Path) -> Path:
    check_writable(out)  # before the hours of work, not after
    return out


Out = Annotated[Path, typer.Option("--out", "-o", callback=_writable, help="Model file to write.")]


def summary(name: str, out: Path, ratings: Ratings) -> dict[str, Any]:
    return {
        "recommender": name,
        "model": str(out),
        "people": ratings.n_users,
        "items": ratings.n_items,
        "ratings": len(ratings),
        "data": ratings.digest,
    }


def fit_baseline(name: str, model: Any, source: Source, out: Path, as_json: bool) -> None:
    """Fit, save and show a model that promises no privacy."""
    ratings = source.read()
    with output.progress("Fitting", None, quiet=as_json):
        model.fit(ratings).save(out)
    output.emit(summary(name, out, ratings), as_json=as_json, render=_show)


def _show(result: dict[str, Any]) -> None:
    output.console.print(
        f"Fitted {result['recommender']} to {result['ratings']:,} ratings of {result['people']:,} "
        f"people; wrote {result['model']}. It promises no privacy.",
        soft_wrap=True,
        markup=False,
    )
    output.next_step(f"Next:  tacit recommend {result['model']} --history my_ratings.csv")
