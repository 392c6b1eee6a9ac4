"""Commands of designs, made from the settings that the registry names."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, Field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup
from typer.main import get_command

from tacit import terminal
from tacit.design import BUILT_IN, Command, Design, Where, design, names, options_of
from tacit.errors import ConfigError
from tacit.terminal import JSON, Source, reads_ratings

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.data.stored import StoredRatings

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_LISTS: dict[type, Callable[[str, str], tuple[Any, ...]]] = {
    int: terminal.integers,
    float: terminal.decimals,
}


class Terminal:
    """`tacit.design.Run` on this terminal."""

    def __init__(self, source: Source | None, *, quiet: bool) -> None:
        self.command = terminal.command_line()
        self.per_item = 1 if source is None else source.per_item
        self._source, self._quiet = source, quiet

    def read(self, *, catalogue: Path | None = None, domains: bool = True) -> Ratings:
        assert self._source is not None  # a command that reads says so
        return self._source.read(catalogue=catalogue, domains=domains)

    def open(
        self, where: Where, *, catalogue: Path | None = None, domains: bool = True
    ) -> AbstractContextManager[Ratings | StoredRatings]:
        if where.in_memory:
            return nullcontext(self.read(catalogue=catalogue, domains=domains))
        from tacit.cli.stored import opened

        assert self._source is not None
        return opened(self._source, where, catalogue=catalogue, domains=domains)

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
        return list(dict.fromkeys([*own, *self._baselines(), *super().list_commands(ctx)]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        known = cmd_name in BUILT_IN or cmd_name in names()
        if known and _has(found := design(cmd_name), self.part):
            return _made(cmd_name, _command_of(found, self.part))
        if cmd_name in (fits := self._baselines()):
            return _made(cmd_name, fits[cmd_name])
        return super().get_command(ctx, cmd_name)

    def _baselines(self) -> Mapping[str, Command]:
        """Imported when a design was not meant."""
        if self.part != "fit":
            return {}
        from tacit.cli.baselines import FITS

        return FITS


def group(part: str, about: str, *, otherwise: str = "") -> typer.Typer:
    """`tacit PART`: a sub-command for each design that has this part."""
    kind = type(part, (_Group,), {"part": part, "otherwise": otherwise})
    app = typer.Typer(help=about, no_args_is_help=True, cls=kind)
    app.callback()(lambda: None)  # without it, typer makes no group of fewer than two commands
    return app


fit = group("fit", "Fit a recommender to ratings and write its model file.")
evaluate = group("evaluate", "Measure accuracy and attacks, release by release.")
plan = group("plan", "Compute how many people a design needs.")
simulate = group("simulate", "Try a design on generated people.")
replay = group("replay", "Run a design on recorded data.")


def _has(found: Design, part: str) -> bool:
    """A design with a model need not have commands of its own to be fitted and evaluated."""
    return part in found.parts or (bool(found.models) and part in ("fit", "evaluate"))


def _command_of(found: Design, part: str) -> Command:
    if part in found.parts:
        made: Command = found.part(part)
        return made
    from tacit.evaluation.any_design import commands

    return commands(found)[part]


def _made(name: str, command: Command) -> Any:
    from tacit.cli.app import plain_help

    app = typer.Typer(rich_markup_mode=None)
    app.command(name)(declared(command))
    return plain_help(get_command(app))


def declared(command: Command) -> Callable[..., None]:
    """A function whose signature has an option for each field of the settings."""
    run: Callable[..., None] = partial(_perform, command)
    json = inspect.Parameter("as_json", _KEYWORD, default=False, annotation=JSON)
    source = inspect.Parameter("source", _KEYWORD, annotation=Source)
    own = [_parameter(*each) for each in _fields(command.settings)]
    parameters = [*([source] if command.ratings else []), *own, json]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__doc__ = command.run.__doc__
    return reads_ratings(run) if command.ratings else run


def _perform(
    command: Command, *, as_json: bool, source: Source | None = None, **given: Any
) -> None:
    from tacit.container import check_writable

    fields = _fields(command.settings)
    writes = [given[name] for name, field, _ in fields if field.metadata["writes"] and given[name]]
    for path in writes:
        check_writable(path)  # before the hours of work, not after
    read = {name: _read(given[name], name, field, kind) for name, field, kind in fields}
    result = command.run(command.settings(**read), Terminal(source, quiet=as_json))
    wrote = [f"Wrote {path}" for path in writes]
    terminal.show(replace(result, shown=[*result.shown, *wrote]), as_json=as_json)


def _fields(settings: type[Any]) -> list[tuple[str, Field[Any], Any]]:
    hints = get_type_hints(settings)
    return [(name, field, hints[name]) for name, field in options_of(settings).items()]


def _parameter(name: str, field: Field[Any], kind: Any) -> inspect.Parameter:
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
    return inspect.Parameter(
        name,
        _KEYWORD,
        annotation=Annotated[kind, about],
        default=inspect.Parameter.empty if default is MISSING else default,
    )


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
        return tuple(dict.fromkeys(terminal.names_in(value)))
    return _LISTS[entries](value, flag) if value else ()
