"""Commands, made from the settings of designs and from the parameters of functions."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, Field, dataclass, replace
from functools import partial, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup
from typer.main import get_command

from tacit import terminal
from tacit.cli.app import COMMANDS, PARTS, plain_help
from tacit.design import (
    BUILT_IN,
    Command,
    Design,
    ExecutionOptions,
    design,
    names,
    option,
    options_of,
)
from tacit.errors import ConfigError, DataError

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings, RatingScale
    from tacit.data.stored import StoredRatings
    from tacit.evaluation import Result

Body = TypeVar("Body", bound="Callable[..., Result | None]")

USER = option("Column of the person's id.")
ITEM = option("Column of the item's id.")
STARS = option("Column of the stars.")
DELIMITER = option("One character, 'tab' or '::'; detected if left out.")
_RATINGS = "A file of ratings, or a folder of  tacit data import  or of MovieLens."
_EVENTS = "Every row is an event, and so a like; no stars are read."
_DOMAIN = "Column of the item's domain, here or in --items."
_LEAST = "This many plays or more are a like; 1 if left out."
_ITEMS = "File of item metadata: titles, genres, prices and so on."


@dataclass(frozen=True)
class Source:
    """Where ratings are and how their file is to be read, as the person typed it."""

    path: Path = option(_RATINGS, argument="RATINGS")
    user: str | None = USER
    item: str | None = ITEM
    rating: str | None = STARS
    plays: str | None = option("Column of numbers of plays, read in place of stars.")
    least_plays: float | None = option(_LEAST)
    events: bool | None = option(_EVENTS, flag="--events")
    time: str | None = option("Column of the time.")
    domain: str | None = option(_DOMAIN, flag="--domain-column")
    delimiter: str | None = DELIMITER
    scale: str | None = option("MIN:MAX:STEP, such as 1:5:1; detected if left out.")
    users: Path | None = option("File of user attributes.")
    items: Path | None = option(_ITEMS)
    per_item: int = option("Leave out items with fewer ratings.", default=1, least=1)
    per_user: int = option("Leave out people with fewer ratings.", default=1, least=1)

    @property
    def rating_scale(self) -> RatingScale | None:
        """The scale that was typed."""
        from tacit.data.ratings import RatingScale

        return None if self.scale is None else RatingScale.parse(self.scale)

    def read(self, *, catalogue: Path | None = None, domains: bool = True) -> Ratings:
        """As of `tacit.design.Run`; what is known of items is from the catalogue and --items."""
        from tacit.data.tabular import load

        columns = {**vars(self), "scale": self.rating_scale}
        path = columns.pop("path")
        fewest = {name: columns.pop(name) for name in ("per_item", "per_user")}
        if catalogue is None:
            ratings = load(path, **columns)
        else:
            ratings = load(path, **columns | {"domain": None, "items": None})
            ratings = self._listed(ratings, catalogue, domains)
        return ratings.at_least(**fewest) if max(fewest.values()) > 1 else ratings

    def _listed(self, ratings: Ratings, path: Path, domains: bool) -> Ratings:
        from tacit.data.domains import DOMAIN, on_catalogue
        from tacit.data.tabular import items_beside, read_catalogue, with_items

        columns = read_catalogue(path, item=self.item, domain=self.domain, domains=domains)
        try:
            made = on_catalogue(ratings, columns.pop(DOMAIN), metadata=columns)
        except DataError as error:
            raise error.with_place(path=error.path or path) from None
        items = self.items or items_beside(self.path)
        return made if items is None else with_items(made, items, item=self.item)


class Terminal:
    """`tacit.design.Run` on this terminal."""

    def __init__(self, source: Source | None, *, quiet: bool) -> None:
        self.command = terminal.command_line()
        self.per_item = 1 if source is None else source.per_item
        self.per_user = 1 if source is None else source.per_user
        self._source, self._quiet = source, quiet

    def read(self, *, catalogue: Path | None = None, domains: bool = True) -> Ratings:
        assert self._source is not None  # a command that reads says so
        return self._source.read(catalogue=catalogue, domains=domains)

    def open(
        self, execution: ExecutionOptions, *, catalogue: Path | None = None, domains: bool = True
    ) -> AbstractContextManager[Ratings | StoredRatings]:
        if execution.in_memory:
            return nullcontext(self.read(catalogue=catalogue, domains=domains))
        from tacit.cli.stored import opened

        assert self._source is not None
        return opened(self._source, execution, catalogue=catalogue, domains=domains)

    def progress(
        self, description: str, total: int | None
    ) -> AbstractContextManager[Callable[[float], None]]:
        return terminal.progress(description, total, quiet=self._quiet)


class _Group(TyperGroup):
    """Imports a design's command only when it is called, or listed.

    otherwise: what is meant where no command is named.
    """

    part: str
    otherwise: str

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if self.otherwise and args:
            known = (*self.list_commands(ctx), *ctx.help_option_names)
            args = args if args[0] in known else [self.otherwise, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        own = (name for name in names() if _has(design(name), self.part))
        return list(dict.fromkeys([*own, *_baselines(self.part), *super().list_commands(ctx)]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        named = _named(cmd_name, self.part)
        return super().get_command(ctx, cmd_name) if named is None else _made(cmd_name, named)


def group(part: str, about: str, *, otherwise: str = "") -> typer.Typer:
    """`tacit PART`: a sub-command for each design that has this part."""
    kind = type(part, (_Group,), {"part": part, "otherwise": otherwise})
    app = typer.Typer(help=about, no_args_is_help=True, cls=kind)
    app.callback()(lambda: None)  # without it, typer makes no group of fewer than two commands
    return app


fit, evaluate, plan, simulate, replay = (group(part, COMMANDS[part]) for part in PARTS)


def _has(owner: Design, part: str) -> bool:
    """A design with a model need not have commands of its own to be fitted and evaluated."""
    return part in owner.parts or (bool(owner.models) and part in ("fit", "evaluate"))


def _named(name: str, part: str) -> Command | None:
    """The command of a design, else of a baseline, which is imported only then."""
    owner = design(name) if name in BUILT_IN or name in names() else None
    if owner is None or not _has(owner, part):
        return _baselines(part).get(name)
    if part in owner.parts:
        made: Command = owner.part(part)
        return made
    from tacit.evaluation.any_design import commands

    return commands(owner)[part]


def _baselines(part: str) -> Mapping[str, Command]:
    if part != "fit":
        return {}
    from tacit.cli.baselines import FITS

    return FITS


def _made(name: str, made: Command) -> Any:
    app = typer.Typer(rich_markup_mode=None)
    app.command(name)(declared(made))
    return plain_help(get_command(app))


def declared(made: Command) -> Callable[..., None]:
    """A function with an option for each field of the settings."""
    run: Callable[..., Result] = partial(_perform, made)
    run.__doc__ = made.run.__doc__
    source = [parameter("source", Source)] if made.ratings else []
    fields = [parameter(name, kind, field) for name, field, kind in _fields(made.settings)]
    return typed(run, [*source, *fields, parameter("as_json", terminal.JSON, False)])


def command(app: typer.Typer, name: str | None = None) -> Callable[[Body], Body]:
    """Add a function to `app`, and show the result that it returns.

    A parameter whose default is an `option` becomes one; without a default of its own it is None or
    False where its type allows that. A `Source` becomes the options of that class.
    """

    def added(run: Body) -> Body:
        parameters = inspect.signature(run, eval_str=True).parameters.values()
        app.command(name)(typed(run, parameters))
        return run

    return added


def parameter(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def typed(
    run: Callable[..., Result | None], parameters: Iterable[inspect.Parameter]
) -> Callable[..., None]:
    """A function with the signature that typer reads: it checks that files can be written, runs
    `run`, and shows its result."""
    own = list(parameters)
    takes_json = any(each.name == "as_json" for each in own)
    own += [] if takes_json else [parameter("as_json", terminal.JSON, False)]
    reads = any(each.annotation is Source for each in own)
    if reads:
        path, *columns = (parameter(name, kind, field) for name, field, kind in _fields(Source))
        own = [*(path if each.annotation is Source else each for each in own), *columns]
    options = {each.name: each.default for each in own if isinstance(each.default, Field)}

    def perform(*, as_json: bool, **given: Any) -> None:
        from tacit.atomic_writes import check_writable

        for name, field in options.items():
            if field.metadata["writes"] and given[name] is not None:
                check_writable(given[name])  # before the hours of work, not after
        if reads:
            given["source"] = Source(**{name: given.pop(name) for name in options_of(Source)})
        result = run(as_json=as_json, **given) if takes_json else run(**given)
        if result is not None:
            terminal.show(result, as_json=as_json)

    update_wrapper(perform, run)
    shown = [_shown(each) if each.name in options else each for each in own]
    perform.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in shown]
    )
    perform.__annotations__ = {each.name: each.annotation for each in shown}
    return perform


def _shown(declared: inspect.Parameter) -> inspect.Parameter:
    """As typer has it: a tuple is one text with commas, or a list of texts."""
    name, kind, field = declared.name, declared.annotation, declared.default
    meant, default = field.metadata, field.default
    if (of := _entries(kind)) is str:
        kind = list[str] if default else list[str] | None
        default = list(default) if isinstance(default, tuple) and default else default or None
    elif of is not None:
        kind = str | None
        if isinstance(default, tuple):
            default = ",".join(f"{one:g}" if of is float else str(one) for one in default)
    flags = meant["flag"].split()
    if kind is bool and not flags:
        flags = [f"--{name.replace('_', '-')}"]
    about = (
        typer.Argument(metavar=meant["argument"], help=meant["help"])
        if meant["argument"]
        else typer.Option(*flags, help=meant["help"], min=meant["least"])
    )
    if default is MISSING and type(None) in get_args(declared.annotation):
        default = None
    elif default is MISSING:
        default = False if kind is bool else inspect.Parameter.empty
    return parameter(name, Annotated[kind, about], default)


def _perform(made: Command, *, as_json: bool, source: Source | None = None, **given: Any) -> Result:
    fields = _fields(made.settings)
    settings = {name: _read(given[name], name, field, kind) for name, field, kind in fields}
    result = made.run(made.settings(**settings), Terminal(source, quiet=as_json))
    writes = [given[name] for name, field, _ in fields if field.metadata["writes"] and given[name]]
    return replace(result, shown=[*result.shown, *(f"Wrote {path}" for path in writes)])


def _fields(settings: type[Any]) -> list[tuple[str, Field[Any], Any]]:
    hints = get_type_hints(settings)
    return [(name, field, hints[name]) for name, field in options_of(settings).items()]


def _entries(kind: Any) -> Any:
    """The type of a tuple's entries; None of what is no tuple."""
    for one in (kind, *get_args(kind)):
        if get_origin(one) is tuple:
            return get_args(one)[0]
    return None


def _read(value: Any, name: str, field: Field[Any], kind: Any) -> Any:
    entries = _entries(kind)
    flag = (field.metadata["flag"] or f"--{name.replace('_', '-')}").split()[0]
    if entries is None:
        bounded = field.metadata["least"] is not None and isinstance(value, float)
        if bounded and not math.isfinite(value):
            raise ConfigError(f"{flag} is a finite number; got {value}.")
        return value
    if value is None:
        return field.default
    if field.metadata["repeat"]:
        return tuple(value)
    if entries is str:
        return tuple(dict.fromkeys(name.strip() for name in value if name.strip()))
    return terminal.numbers(value, flag, entries) if value else ()
