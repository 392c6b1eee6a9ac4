"""Commands of the terminal, made from settings of designs and from parameters of functions.

Also here is what several commands do before or while they run: `TerminalRun` reads ratings and
shows progress, `keep_finished_tasks` keeps work that was interrupted, `name_output_beside` names
output files, and `warn_of_weak_privacy` looks at epsilon and delta.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import MISSING, Field, replace
from datetime import UTC, datetime
from functools import partial, update_wrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer

from tacit import terminal
from tacit.atomic_writes import append_secret
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

    def read_ratings(self, *, catalogue: Path | None = None, domains: bool = True) -> Ratings:
        """Read the ratings into memory; see `tacit.design.Run`."""
        assert self._source is not None  # a command that reads has `ratings=True`
        return self._source.read(catalogue=catalogue, domains=domains)

    def open_ratings(
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


FORCE: Any = option(
    "Where --out is left out: replace the file of the default name.", flag="--force", default=False
)
"""Option of commands that name their output file themselves where --out is left out."""
_USELESS_DELTA = 0.5
"""Smallest delta that is refused, since the guarantee would promise nothing."""
_LARGE_DELTA = 1e-3
"""Delta above which a warning is printed."""
_LARGE_EPSILON = 100.0
"""Epsilon above which a warning is printed."""


def command(app: typer.Typer, name: str | None = None) -> Callable[[Body], Body]:
    """Make a decorator that adds a function to an app as a command, which shows its result.

    A parameter whose default is an `option` becomes an option. An option without a default is None
    or False where its type allows that, and is required otherwise. A parameter of the type
    `RatingsOptions` becomes the options of that class.

    Args:
        app: App of typer.
        name: Name of the command; None: that of the function.
    """

    def add(run: Body) -> Body:
        parameters = inspect.signature(run, eval_str=True).parameters.values()
        app.command(name)(with_typer_signature(run, parameters))
        return run

    return add


def function_with_options(command: Command) -> Callable[..., None]:
    """Make a function for typer that runs a command, with an option for each of its settings.

    A command that reads ratings also has the options of `RatingsOptions`. Its option --out, if it
    has no default, may be left out: the file is then named after that of the ratings.
    """
    run: Callable[..., Result] = partial(_run_command, command)
    run.__doc__ = command.run.__doc__
    source_parameters = [make_parameter("source", RatingsOptions)] if command.ratings else []
    setting_parameters: list[inspect.Parameter] = []
    for name, kind, field in _list_options(command.settings):
        if name == "out" and command.ratings and field.default is MISSING:
            kind = Path | None
            setting_parameters.append(make_parameter("force", bool, FORCE))
        setting_parameters.append(make_parameter(name, kind, field))
    as_json = make_parameter("as_json", terminal.JSON, False)
    return with_typer_signature(run, [*source_parameters, *setting_parameters, as_json])


@contextmanager
def keep_finished_tasks(command_name: str, resume: Path | None) -> Iterator[Path]:
    """Yield the file to which the block adds finished tasks.

    If Ctrl-C is typed, the file is kept, and a note says how to go on from it.

    Args:
        command_name: Name of the command, for the name of the copy.
        resume: File that the user named, which is kept in any case. None: a temporary file, which
            is copied to the current folder only when Ctrl-C is typed. Only its owner can read the
            copy.
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
                copy = Path(f"tacit-{command_name}-{datetime.now(UTC):%Y%m%d-%H%M%S}.jsonl")
                append_secret(copy, path.read_text("utf-8", errors="replace"))
                terminal.note(f"Finished parts are in {copy}: add  --resume {copy}  to go on.")
            raise


def name_output_beside(path: Path, *, ending: str = ".tacit", force: bool) -> Path:
    """Name the file or folder that a command makes from a file: orders.tacit beside orders.csv.

    Args:
        path: File or folder that the command reads. If there is none, as for a pipe or a database,
            the output is in the current folder. A file's name that begins with a dot gives
            "ratings".
        ending: Ending of the new name. It follows the name of `path`, which is cut at its first dot
            unless it is a folder's.
        force: Whether a file of the new name may be replaced.

    Raises:
        OutputError: There is a file of the new name, and it may not be replaced.
    """
    stem = path.name if path.is_dir() else path.name.partition(".")[0]
    output = path.parent / f"{stem or 'ratings'}{ending}"
    if not (path.is_file() or path.is_dir()):
        output = Path(output.name)
    if output.exists() and not force:
        raise OutputError(
            f"{output}: is there already. Name another place with --out, or replace it with "
            "--force."
        )
    return output


def warn_of_weak_privacy(arguments: dict[str, Any]) -> None:
    """Print a warning where an epsilon or a delta promises hardly anything.

    An infinite epsilon gets no warning: it is typed to ask for no privacy.

    Args:
        arguments: Options by name. Only "epsilon" and "delta" are looked at, if they are floats.

    Raises:
        ConfigError: The delta is a half or more, which promises nothing.
    """
    delta = arguments.get("delta")
    if isinstance(delta, float) and delta >= _USELESS_DELTA:
        raise ConfigError(
            "--delta is the probability by which any event may exceed the bound of epsilon: "
            f"{delta:g} promises nothing. Give one far below 1 divided by the number of people, "
            "such as 1e-6."
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


def make_parameter(
    name: str, kind: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    """Make a keyword-only parameter of a function; without a default it is required."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def with_typer_signature(
    run: Callable[..., Result | None], parameters: Iterable[inspect.Parameter]
) -> Callable[..., None]:
    """Make the function of a command, with the signature that typer reads.

    The function names an output file that was left out, checks files and privacy parameters with
    `_prepare_outputs`, calls `run`, and shows its result.

    Args:
        run: Function that returns a result, or None where it has shown everything.
        parameters: Parameters of `run`; those whose default is an `option` become options.

    Returns:
        The function; it also has the option --json.
    """
    declared = list(parameters)
    takes_json = any(declared_parameter.name == "as_json" for declared_parameter in declared)
    if not takes_json:
        declared.append(make_parameter("as_json", terminal.JSON, False))
    source_class = _find_source_class(declared)
    if source_class is not None:
        declared = _replace_ratings_options(declared, source_class)
    option_fields = {
        declared_parameter.name: declared_parameter.default
        for declared_parameter in declared
        if isinstance(declared_parameter.default, Field)
    }

    def run_and_show(*, as_json: bool, **arguments: Any) -> None:
        _prepare_outputs(arguments, option_fields)
        if source_class is not None:
            names = list(options_of(source_class))
            options_of_source = {name: arguments.pop(name) for name in names}
            arguments["source"] = source_class(**options_of_source)
        if takes_json:
            arguments["as_json"] = as_json
        result = run(**arguments)
        if result is not None:
            terminal.show(result, as_json=as_json)

    update_wrapper(run_and_show, run)
    typer_parameters = []
    for declared_parameter in declared:
        typer_parameter = declared_parameter
        if declared_parameter.name in option_fields:
            typer_parameter = _make_typer_parameter(declared_parameter)
        typer_parameters.append(typer_parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    run_and_show.__signature__ = inspect.Signature(typer_parameters)  # type: ignore[attr-defined]
    run_and_show.__annotations__ = {
        typer_parameter.name: typer_parameter.annotation for typer_parameter in typer_parameters
    }
    return run_and_show


def _prepare_outputs(arguments: dict[str, Any], option_fields: Mapping[str, Field[Any]]) -> None:
    """Name the output file if it was left out, and check privacy parameters and files to write.

    Args:
        arguments: Values of the options, by name. If --out is marked with `writes`, "out" is set
            where it was left out, and "force", which says whether that file may be replaced, is
            taken out. Other commands do both themselves.
        option_fields: Fields of all options, by name.

    Raises:
        ConfigError: A delta promises nothing.
        OutputError: A file cannot be written, or may not be replaced.
        MissingExtra: A report is asked for, and a package that draws plots is missing.
    """
    from tacit.atomic_writes import check_writable

    if "force" in arguments and option_fields["out"].metadata["writes"]:
        force = arguments.pop("force")
        if not arguments["out"]:
            arguments["out"] = name_output_beside(arguments["path"], force=force)
    warn_of_weak_privacy(arguments)
    for name, field in option_fields.items():
        if field.metadata["writes"] and arguments[name] is not None:
            check_writable(arguments[name])
    if arguments.get("report") is not None:
        from tacit.evaluation.figures import check_plots

        check_plots()


def _find_source_class(parameters: list[inspect.Parameter]) -> type[RatingsOptions] | None:
    """Find the class of the parameter that names the ratings; None where no ratings are read."""
    for annotation in (declared_parameter.annotation for declared_parameter in parameters):
        if isinstance(annotation, type) and issubclass(annotation, RatingsOptions):
            return annotation
    return None


def _replace_ratings_options(
    parameters: list[inspect.Parameter], source_class: type[RatingsOptions]
) -> list[inspect.Parameter]:
    """Replace the parameter of type `source_class` by one for each option of this class.

    The path of the ratings stands where the parameter was. The other options follow at the end.
    """
    path, *other_options = (make_parameter(*field) for field in _list_options(source_class))
    annotations = [declared_parameter.annotation for declared_parameter in parameters]
    with_path = list(parameters)
    with_path[annotations.index(source_class)] = path
    return [*with_path, *other_options]


def _make_typer_parameter(declared: inspect.Parameter) -> inspect.Parameter:
    """Convert a parameter whose default is an `option` to a parameter that typer reads."""
    field = declared.default
    kind, default = _find_typer_type(declared.annotation, field.default)
    metadata = field.metadata
    flags = metadata["flag"].split()
    if kind is bool and not flags:
        flags = [_find_flag(declared.name, field)]
    if metadata["argument"]:
        typer_info = typer.Argument(metavar=metadata["argument"], help=metadata["help"])
    else:
        typer_info = typer.Option(*flags, help=metadata["help"], min=metadata["least"])
    if default is MISSING:
        default = _find_missing_default(declared.annotation)
    return make_parameter(declared.name, Annotated[kind, typer_info], default)


def _find_typer_type(kind: Any, default: Any) -> tuple[Any, Any]:
    """Return the type as which typer reads an option, and the default as a value of that type.

    A tuple of texts is read as a list of texts, and a tuple of numbers as one text with commas.
    Another type is returned with its default unchanged.

    Args:
        kind: Type of the field.
        default: Default of the field; MISSING: it has none.
    """
    entry_type = _find_entry_type(kind)
    if entry_type is None:
        return kind, default
    if entry_type is str:
        if not default:
            return list[str] | None, None
        return list[str], list(default) if isinstance(default, tuple) else default
    if isinstance(default, tuple):
        form = "g" if entry_type is float else ""
        default = ",".join(format(entry, form) for entry in default)
    return str | None, default


def _find_missing_default(kind: Any) -> Any:
    """Return what typer uses for an option without a default.

    Returns:
        None if the type allows it; False for a bool; otherwise the mark of a required option.
    """
    if type(None) in get_args(kind):
        return None
    return False if kind is bool else inspect.Parameter.empty


def _run_command(
    command: Command, *, as_json: bool, source: RatingsOptions | None = None, **arguments: Any
) -> Result:
    """Run a command with the settings that were typed.

    Args:
        command: The command.
        as_json: Whether the result is shown as JSON. Progress is then hidden.
        source: Options that name the ratings; None for a command that reads none.
        arguments: Values of the command's options, by name.

    Returns:
        The command's result, with a sentence about each file that it wrote.
    """
    settings = {}
    sentences = []
    for name, kind, field in _list_options(command.settings):
        settings[name] = _read_setting(arguments[name], name, field, kind)
        if field.metadata["writes"] and arguments[name]:
            sentences.append(f"Wrote {arguments[name]}")
    result = command.run(command.settings(**settings), TerminalRun(source, quiet=as_json))
    return replace(result, shown=[*result.shown, *sentences])


def _list_options(settings: type[Any]) -> list[tuple[str, Any, Field[Any]]]:
    """List the name, the type and the field of each option of a settings class."""
    types = get_type_hints(settings)
    return [(name, types[name], field) for name, field in options_of(settings).items()]


def _find_entry_type(kind: Any) -> Any:
    """Return the type of a tuple's entries; None for a type that is no tuple."""
    for alternative in (kind, *get_args(kind)):
        if get_origin(alternative) is tuple:
            return get_args(alternative)[0]
    return None


def _find_flag(name: str, field: Field[Any]) -> str:
    """Return an option's first flag, such as "--least-plays"."""
    flags: list[str] = field.metadata["flag"].split()
    return flags[0] if flags else f"--{name.replace('_', '-')}"


def _read_setting(value: Any, name: str, field: Field[Any], kind: Any) -> Any:
    """Convert what typer read to the type of a setting.

    Args:
        value: Value as typer read it; see `_find_typer_type`.
        name: Name of the setting.
        field: Field of the setting.
        kind: Type of the setting.

    Raises:
        ConfigError: The option has a least value, and the number is not finite; or a text is not a
            list of numbers.
    """
    flag = _find_flag(name, field)
    entry_type = _find_entry_type(kind)
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
    if not value and field.default == ():
        return ()
    return terminal.parse_numbers(value, flag, entry_type)
