"""Options that several commands share, and what they mean together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import ConfigError, DataError

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings

RatingsPath = Annotated[Path, typer.Argument(help="A file of ratings or a MovieLens folder.")]
User = Annotated[str | None, typer.Option(help="Column of the person's id.")]
Item = Annotated[str | None, typer.Option(help="Column of the item's id.")]
Rating = Annotated[str | None, typer.Option(help="Column of the stars.")]
Time = Annotated[str | None, typer.Option(help="Column of the time.")]
Delimiter = Annotated[str | None, typer.Option(help="One sign, 'tab' or '::'; sniffed otherwise.")]
Scale = Annotated[str | None, typer.Option(help="MIN:MAX:STEP, such as 1:5:1; detected otherwise.")]
Users = Annotated[Path | None, typer.Option(help="File of user attributes.")]
Items = Annotated[Path | None, typer.Option(help="File of item metadata (titles).")]
Attribute = Annotated[str, typer.Option(help="The user attribute to hide.")]
Folds = Annotated[int, typer.Option(min=3, help="Folds by person.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same folds and simulations.")]
Workers = Annotated[int, typer.Option(min=0, help="Processes; 0 for all cores.")]
Variant = Annotated[str, typer.Option(help="'sound', or 'published' as the paper prints it.")]
PerItem = Annotated[int, typer.Option(min=1, help="Leave out items with fewer ratings.")]


def read(
    path: Path,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    time: str | None = None,
    delimiter: str | None = None,
    scale: str | None = None,
    users: Path | None = None,
    items: Path | None = None,
    per_item: int = 1,
) -> Ratings:
    """The ratings that the shared options describe."""
    from tacit.data import load
    from tacit.data.ratings import RatingScale

    ratings = load(
        path,
        user=user,
        item=item,
        rating=rating,
        time=time,
        delimiter=delimiter,
        scale=None if scale is None else RatingScale.parse(scale),
        users=users,
        items=items,
    )
    return ratings.at_least(per_item=per_item) if per_item > 1 else ratings


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """`["gender=F"]` as `{"gender": "F"}`."""
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip() or not value.strip():
            raise ConfigError(
                f"{option} is written NAME=VALUE, for example gender=F; got {text!r}."
            )
        found[name.strip()] = value.strip()
    return found


def ids_in(texts: Sequence[str]) -> list[str]:
    """Ids given one by one, separated by commas, or as @FILE with one id a line."""
    found: list[str] = []
    for text in texts:
        if text.startswith("@"):
            found += _lines(Path(text[1:]))
        else:
            found += text.split(",")
    return [entry.strip() for entry in found if entry.strip()]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise DataError("cannot be read as a list of ids, one a line", path=path) from None
