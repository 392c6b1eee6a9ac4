"""Commands of the terminal, made from the settings of designs and the parameters of functions."""

from __future__ import annotations

import inspect
import math
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import MISSING, Field, replace
from datetime import UTC, datetime
from functools import partial, update_wrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer

from tacit import terminal
from tacit.cli.source import RatingsOptions, open_ratings
from tacit.design import Command, ExecutionOptions, option, options_of
from tacit.errors import ConfigError, OutputError

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.data.stored_ratings import StoredRatings
    from tacit.evaluation import Result

Body = TypeVar("Body", bound="Callable[..., Result | None]")


class TerminalRun:
    """`tacit.design.Run` of a command that was typed in this terminal.

    Args:
        source: Options that name the ratings; None for a command that reads none.
        quiet: Whether no progress is shown.
    """

    def __init__(self, source: RatingsOptions | None, *, quiet: bool) -> None:
        self.command = terminal.command_line()
        self.per_item = 1 if source is None else source.per_item
        self.per_user = 1 if source is None else source.per_user
        self._source = source
        self._quiet = quiet

    def read(self, *, catalogue: Path | None = None, domains: bool = True) -> Ratings:
        """Read the ratings into memory; see `tacit.design.Run`."""
        assert self._source is not None  # a command that reads says so
        return self._source.read(catalogue=catalogue, domains=domains)

    def open(
        self, execution: ExecutionOptions, *, catalogue: Path | None = None, domains: bool = True
    ) -> AbstractContextManager[Ratings | StoredRatings]:
        """Open the ratings where the options say; see `tacit.design.Run`."""
        assert self._source is not None
        return open_ratings(self._source, execution, catalogue=catalogue, domains=domains)

    def progress(
        self, description: str, total: int | None
    ) -> AbstractContextManager[Callable[[float], None]]:
        """Show a bar; see `tacit.design.Run`."""
        return terminal.progress(description, total, quiet=self._quiet)


FORCE: Any = option("Replace what lies where --out is by default.", flag="--force", default=False)
_DELTA_OF_NOTHING, _LARGE_DELTA, _LARGE_EPSILON = 0.5, 1e-3, 100.0


def command(app: typer.Typer, name: str | None = None) -> Callable[[Body], Body]:
    """Add a function to an app as a command, and show the result that it returns.

    A parameter whose default is an `option` becomes an option; one without a default of its own is
    None or False where its type allows that. A parameter of the type `RatingsOptions` becomes the
    options of that class.

    Args:
        app: App of typer.
        name: Name of the command; the function's name where it is None.
    """

    def add(run: Body) -> Body:
        parameters = inspect.signature(run, eval_str=True).parameters.values()
        app.command(name)(with_typer_signature(run, parameters))
        return run

    return add


def function_with_options(command: Command) -> Callable[..., None]:
    """Make a function for typer that has an option for each field of a command's settings."""
    run: Callable[..., Result] = partial(_run_command, command)
    run.__doc__ = command.run.__doc__
    source = [parameter("source", RatingsOptions)] if command.ratings else []
    fields: list[inspect.Parameter] = []
    for name, kind, field in _option_parameters(command.settings):
        if name == "out" and command.ratings and field.default is MISSING:
            kind = Path | None  # beside the ratings, unless it is named
            fields.append(parameter("force", bool, FORCE))
        fields.append(parameter(name, kind, field))
    as_json = parameter("as_json", terminal.JSON, False)
    return with_typer_signature(run, [*source, *fields, as_json])


@contextmanager
def keep_finished(command_name: str, resume: Path | None) -> Iterator[Path]:
    """Yield the file of finished tasks; one is left in the current folder if Ctrl-C is typed.

    Args:
        command_name: Name of the command, for the file's name.
        resume: File that the reader named; None for one that is deleted when all is done.
    """
    if resume is not None:
        try:
            yield resume
        except KeyboardInterrupt:
            terminal.note(f"The same command goes on from {resume}.")
            raise
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "finished.jsonl"
        try:
            yield path
        except KeyboardInterrupt:
            if path.exists():
                left = Path(f"tacit-{command_name}-{datetime.now(UTC):%Y%m%d-%H%M%S}.jsonl")
                shutil.copyfile(path, left)
                terminal.note(f"Finished parts are in {left}: add  --resume {left}  to go on.")
            raise


def name_beside(path: Path, *, ending: str = ".tacit", force: bool) -> Path:
    """Name what a command makes of a file: orders.tacit beside orders.csv.

    Raises:
        OutputError: It is there already, and `force` does not say that it may be replaced.
    """
    name = path.name if path.is_dir() else path.name.partition(".")[0]
    named = path.parent / f"{name or 'ratings'}{ending}"
    if not (path.is_file() or path.is_dir()):  # a pipe: in the current folder
        named = Path(named.name)
    if named.exists() and not force:
        raise OutputError(
            f"{named}: is there already. Name another place with --out, or replace it with --force."
        )
    return named


def warn_of_weak_privacy(arguments: dict[str, Any]) -> None:
    """Say it where a typed epsilon or delta promises hardly anything.

    Raises:
        ConfigError: A delta of a half or more, which promises nothing.
    """
    delta = arguments.get("delta")
    if isinstance(delta, float) and delta >= _DELTA_OF_NOTHING:
        raise ConfigError(
            f"--delta is the chance that the bound of epsilon fails: {delta:g} promises nothing. "
            "Give one far below 1 divided by the number of people, such as 1e-6."
        )
    if isinstance(delta, float) and delta > _LARGE_DELTA:
        terminal.note(
            f"A delta of {delta:g} allows that one whole profile in {1 / delta:,.0f} gets out. "
            "Give one far below 1 divided by the number of people."
        )
    epsilon = arguments.get("epsilon")
    if isinstance(epsilon, float) and _LARGE_EPSILON < epsilon < math.inf:
        terminal.note(
            f"An epsilon of {epsilon:g} promises next to nothing: values of 1 to 10 are usual."
        )


def parameter(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """Make a parameter that is given by its name."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def with_typer_signature(
    run: Callable[..., Result | None], parameters: Iterable[inspect.Parameter]
) -> Callable[..., None]:
    """Make a function with the signature that typer reads.

    It checks that files can be written, calls `run`, and shows its result.

    Args:
        run: Function that returns a result, or None where it has shown everything.
        parameters: Parameters of `run`; those whose default is an `option` become options.
    """
    all_parameters = list(parameters)
    takes_json = any(each.name == "as_json" for each in all_parameters)
    if not takes_json:
        all_parameters.append(parameter("as_json", terminal.JSON, False))
    source_class = _find_source_class(all_parameters)
    if source_class is not None:
        all_parameters = _with_ratings_options(all_parameters, source_class)
    options = {
        each.name: each.default for each in all_parameters if isinstance(each.default, Field)
    }

    def perform(*, as_json: bool, **arguments: Any) -> None:
        from tacit.atomic_writes import check_writable

        if "force" in arguments and options["out"].metadata["writes"]:
            force = arguments.pop("force")
            arguments["out"] = arguments["out"] or name_beside(arguments["path"], force=force)
        warn_of_weak_privacy(arguments)
        for name, field in options.items():
            if field.metadata["writes"] and arguments[name] is not None:
                check_writable(arguments[name])  # before the hours of work, not after
        if arguments.get("report") is not None:
            from tacit.evaluation.figures import check_plots

            check_plots()
        if source_class is not None:
            names = list(options_of(source_class))
            own_options = {name: arguments.pop(name) for name in names}
            arguments["source"] = source_class(**own_options)
        if takes_json:
            arguments["as_json"] = as_json
        result = run(**arguments)
        if result is not None:
            terminal.show(result, as_json=as_json)

    update_wrapper(perform, run)
    typer_parameters = []
    for each in all_parameters:
        shown = _typer_parameter(each) if each.name in options else each
        typer_parameters.append(shown.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    perform.__signature__ = inspect.Signature(typer_parameters)  # type: ignore[attr-defined]
    perform.__annotations__ = {each.name: each.annotation for each in typer_parameters}
    return perform


def _find_source_class(parameters: list[inspect.Parameter]) -> type[RatingsOptions] | None:
    """Find the class of options that says where ratings are; None where no ratings are read."""
    for each in parameters:
        kind = each.annotation
        if isinstance(kind, type) and issubclass(kind, RatingsOptions):
            return kind
    return None


def _with_ratings_options(
    parameters: list[inspect.Parameter], source_class: type[RatingsOptions]
) -> list[inspect.Parameter]:
    """Put the file of ratings in the place of the `RatingsOptions`, and its options at the end."""
    path, *others = (parameter(*field) for field in _option_parameters(source_class))
    placed = [path if each.annotation is source_class else each for each in parameters]
    return [*placed, *others]


def _typer_parameter(declared: inspect.Parameter) -> inspect.Parameter:
    """Declare a parameter to typer: a tuple is one text with commas, or a list of texts."""
    field = declared.default
    kind, default = _typer_type(declared.annotation, field.default)
    meant = field.metadata
    flags = meant["flag"].split()
    if kind is bool and not flags:
        flags = [_flag(declared.name, field)]
    if meant["argument"]:
        about = typer.Argument(metavar=meant["argument"], help=meant["help"])
    else:
        about = typer.Option(*flags, help=meant["help"], min=meant["least"])
    if default is MISSING:
        default = _missing_default(declared.annotation)
    return parameter(declared.name, Annotated[kind, about], default)


def _typer_type(kind: Any, default: Any) -> tuple[Any, Any]:
    """Return the type that typer reads for a field's type, and the default in that type."""
    entry_type = _entry_type(kind)
    if entry_type is None:
        return kind, default
    if entry_type is str:
        texts = list(default) if isinstance(default, tuple) and default else default or None
        return (list[str] if default else list[str] | None), texts
    if isinstance(default, tuple):
        form = "g" if entry_type is float else ""
        default = ",".join(format(entry, form) for entry in default)
    return str | None, default


def _missing_default(kind: Any) -> Any:
    """Return the default of an option that declares none."""
    if type(None) in get_args(kind):
        return None
    return False if kind is bool else inspect.Parameter.empty


def _run_command(
    command: Command, *, as_json: bool, source: RatingsOptions | None = None, **arguments: Any
) -> Result:
    """Make a command's settings of what was typed, run it, and say what it wrote."""
    settings = {}
    written = []
    for name, kind, field in _option_parameters(command.settings):
        settings[name] = _read_setting(arguments[name], name, field, kind)
        if field.metadata["writes"] and arguments[name]:
            written.append(f"Wrote {arguments[name]}")
    result = command.run(command.settings(**settings), TerminalRun(source, quiet=as_json))
    return replace(result, shown=[*result.shown, *written])


def _option_parameters(settings: type[Any]) -> list[tuple[str, Any, Field[Any]]]:
    """List the options of a settings class: name, type and field."""
    types = get_type_hints(settings)
    return [(name, types[name], field) for name, field in options_of(settings).items()]


def _entry_type(kind: Any) -> Any:
    """Return the type of a tuple's entries; None for a type that is no tuple."""
    for alternative in (kind, *get_args(kind)):
        if get_origin(alternative) is tuple:
            return get_args(alternative)[0]
    return None


def _flag(name: str, field: Field[Any]) -> str:
    """Return how an option is typed."""
    flags: list[str] = field.metadata["flag"].split()
    return flags[0] if flags else f"--{name.replace('_', '-')}"


def _read_setting(value: Any, name: str, field: Field[Any], kind: Any) -> Any:
    """Make a setting of what typer read.

    Raises:
        ConfigError: A number that is not finite, or a text that is no list of numbers.
    """
    flag = _flag(name, field)
    entry_type = _entry_type(kind)
    if entry_type is None:
        is_bounded = field.metadata["least"] is not None and isinstance(value, float)
        if is_bounded and not math.isfinite(value):
            raise ConfigError(f"{flag} is a finite number; got {value}.")
        return value
    if value is None:
        return field.default
    if field.metadata["repeat"]:
        return tuple(value)
    if entry_type is str:
        return tuple(dict.fromkeys(text.strip() for text in value if text.strip()))
    return terminal.parse_numbers(value, flag, entry_type) if value else ()
