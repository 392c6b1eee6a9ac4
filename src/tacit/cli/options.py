"""Options that several commands share, and what they mean together."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.errors import ConfigError, DataError

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same folds and releases.")]
Workers = Annotated[int, typer.Option(min=0, help="Processes; 0 for all cores.")]
Panel = Annotated[
    str, typer.Option(help="Attackers: 'quick', or 'full' for all eleven and those of packages.")
]


@dataclass(frozen=True)
class Source:
    """Where ratings are and how their file is to be read, as the person typed it."""

    path: Path
    columns: Mapping[str, Any]
    per_item: int = 1

    def read(self, *, catalogue: Path | None = None, domains: bool = True) -> Ratings:
        """The ratings; raises DataError with file, row and column.

        catalogue: a file of the only items that count; what is known of items comes from it and
        from the items file. domains: whether it must have them.
        """
        from tacit.data import load
        from tacit.data.ratings import RatingScale

        scale = self.columns["scale"]
        given = {**self.columns, "scale": None if scale is None else RatingScale.parse(scale)}
        if catalogue is not None:
            given |= {"domain": None, "items": None}
        ratings = load(self.path, **given)
        if catalogue is not None:
            ratings = self._listed(ratings, catalogue, domains)
        return ratings.at_least(per_item=self.per_item) if self.per_item > 1 else ratings

    def _listed(self, ratings: Ratings, path: Path, domains: bool) -> Ratings:
        from tacit.data import on_catalogue, read_catalogue, with_items
        from tacit.data.assembly import located
        from tacit.data.domains import DOMAIN
        from tacit.data.loading import items_beside

        item, domain = self.columns["item"], self.columns["domain"]
        columns = read_catalogue(path, item=item, domain=domain, domains=domains)
        try:
            made = on_catalogue(ratings, columns.pop(DOMAIN), metadata=columns)
        except DataError as error:
            raise located(error, path) from None
        items = self.columns["items"] or items_beside(self.path)
        return made if items is None else with_items(made, items, item=item)


_PATH = Annotated[
    Path,
    typer.Argument(
        metavar="RATINGS",
        help="A file of ratings, or a folder of  tacit data import  or of MovieLens.",
    ),
]
_COLUMNS = {
    "user": Annotated[str | None, typer.Option(help="Column of the person's id.")],
    "item": Annotated[str | None, typer.Option(help="Column of the item's id.")],
    "rating": Annotated[str | None, typer.Option(help="Column of the stars.")],
    "plays": Annotated[
        str | None, typer.Option(help="Column of numbers of plays, read in place of stars.")
    ],
    "least_plays": Annotated[
        float | None, typer.Option(help="This many plays or more are a like; 1 if left out.")
    ],
    "events": Annotated[
        bool | None,
        typer.Option("--events", help="Every row is an event, and so a like; no stars are read."),
    ],
    "time": Annotated[str | None, typer.Option(help="Column of the time.")],
    "domain": Annotated[
        str | None,
        typer.Option("--domain-column", help="Column of the item's domain, here or in --items."),
    ],
    "delimiter": Annotated[
        str | None, typer.Option(help="One sign, 'tab' or '::'; sniffed if left out.")
    ],
    "scale": Annotated[
        str | None, typer.Option(help="MIN:MAX:STEP, such as 1:5:1; detected if left out.")
    ],
    "users": Annotated[Path | None, typer.Option(help="File of user attributes.")],
    "items": Annotated[
        Path | None, typer.Option(help="File of item metadata: titles, genres, prices and so on.")
    ],
}
_PER_ITEM = Annotated[int, typer.Option(min=1, help="Leave out items with fewer ratings.")]


def reads_ratings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the arguments that describe ratings; it receives them as `source`."""

    @wraps(command)
    def with_source(**given: Any) -> None:
        columns = {name: given.pop(name) for name in _COLUMNS}
        source = Source(given.pop("path"), columns, given.pop("per_item"))
        command(source=source, **given)

    own = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [
        *(
            _parameter("path", _PATH) if each.name == "source" else each.replace(kind=_KEYWORD)
            for each in own
        ),
        *(_parameter(name, kind, None) for name, kind in _COLUMNS.items()),
        _parameter("per_item", _PER_ITEM, 1),
    ]
    # Typer reads a command's options from its signature.
    with_source.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return with_source


def _parameter(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, _KEYWORD, annotation=kind, default=default)


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


def names_in(texts: Sequence[str]) -> tuple[str, ...]:
    """`["a,b", "c"]` as `("a", "b", "c")`: names given one by one or separated by commas."""
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())


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
