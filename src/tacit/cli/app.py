"""The command `tacit`: the table of its commands, their help, and how errors are reported.

A command NAME is the `typer.Typer` called `app` in the module `tacit.cli.NAME`, or the object that
`PLACES` names. Its module is imported only when the command or its help is called, so that
`tacit --help` is fast.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pkgutil import resolve_name
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from tacit.cli.first_use import announce_compilation
from tacit.errors import TacitError

COMMANDS = {
    "demo": "See a design work from end to end on generated data.",
    "fit": "Fit a recommender to ratings and write its model file.",
    "recommend": "Recommend items to one person from a model file.",
    "evaluate": "Measure accuracy and attacks, release by release.",
    "reproduce": "Make the tables, figures and bounds of the papers again.",
    "compare": "Compare all designs and baselines on the same ratings.",
    "attack": "Attack any recommender, or what a design releases.",
    "audit": "Look for violations of what the mechanisms claim.",
    "guarantee": "Show what a model guarantees, to whom, and on what evidence.",
    "plan": "Compute how many people a design needs.",
    "simulate": "Try a design on generated people.",
    "replay": "Run a design on recorded data.",
    "device": "Show what a device sends, and what it means.",
    "sketches": "Count reports of sketches.",
    "data": "Import, describe, download or generate ratings.",
    "init": "Make a folder that a service starts from, with its first model.",
    "refit": "Fit a service's folder again, under its lifetime.",
    "serve": "Serve recommendations over HTTP, with stored budgets.",
    "keys": "Issue and revoke the keys of a service.",
    "ledger": "Set privacy budgets, and show what was spent.",
    "doctor": "Check that everything tacit needs works on this machine.",
}
"""All commands, each with the line that `tacit --help` shows of it."""

PARTS = ("fit", "evaluate", "plan", "simulate", "replay")
"""Commands with a sub-command for each design that has a part of the command's name. See
`tacit.design` for the parts."""
PLACES = {part: f"groups:{part}" for part in PARTS} | {
    "reproduce": "reproduce:app",
    "sketches": "device:sketches_app",
    "init": "serve:init_app",
    "keys": "serve:keys_app",
}
"""For each command that is not `app` in a module of its own name, where it is: "MODULE:OBJECT"."""

EXIT_CODES = (  # the last lines of `tacit --help`
    "Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 3 bad data, 4 bad model file, "
    "5 refused, to protect privacy, 6 optional package missing, 7 download failed, "
    "70 a bug in tacit, 130 interrupted."
)
HOW_TO_REPORT = (
    "Run the command again with --debug and report what it prints, without private data."
)
"""Advice after an error that is a bug in tacit."""
_TOO_LARGE = "Maximum allowed dimension exceeded"
"""NumPy's message for an array that needs more memory than any machine has."""
BUG = 70
"""Exit code of an error that is a bug in tacit."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""


class LazyGroup(TyperGroup):
    """Group that lists every command and imports only the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, line in COMMANDS.items():
            self.add_command(TyperCommand(name=name, help=line))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that is called, and return its name, itself and its arguments."""
        name, listed_command, arguments = super().resolve_command(ctx, args)
        if name not in COMMANDS:
            return name, listed_command, arguments
        place = PLACES.get(name, f"{name}:app")
        command = get_command(resolve_name(f"tacit.cli.{place}"))
        return name, set_up_command(command), arguments


HELP_NAMES = ("-h", "--help")
"""Options that ask for help."""
_OPTIONS_NOT_SPLIT = ("about", "edges", "setting", "values", "where")
"""Repeated options whose values, such as NAME=VALUE, may hold commas. The values of other repeated
options are split at commas."""


def set_up_command(command: Any) -> Any:
    """Set up plain help and the splitting of lists at commas, for a command and its sub-commands.

    Plain help has no boxes, which would cut names and values on a narrow terminal. Typer's options
    for shell completion are removed. A repeated option, unless it is one of
    `_OPTIONS_NOT_SPLIT`, reads `--name a,b` as `--name a --name b`.

    Returns:
        The same command, which is changed.
    """
    command.rich_markup_mode = None
    own_parameters = []
    for parameter in command.params:
        is_completion = (parameter.name or "").endswith("_completion")
        if not is_completion:
            own_parameters.append(parameter)
    command.params = own_parameters
    for parameter in own_parameters:
        takes_texts = parameter.type_descriptor.is_list and parameter.bare_type() == "list[str]"
        if takes_texts and parameter.name not in _OPTIONS_NOT_SPLIT:
            parameter.callback = _make_comma_callback(parameter.callback)
    for sub_command in getattr(command, "commands", {}).values():
        set_up_command(sub_command)
    return command


def _make_comma_callback(callback: Callable[..., Any] | None) -> Callable[..., Any]:
    """Make a callback of typer that reads `--name a,b` as `--name a --name b`.

    A value @FILE is not split.

    Args:
        callback: Callback that the option has already, which is called first; None: it has none.
    """

    def split_values(ctx: Any, param: Any, value: Any) -> Any:
        """Split the typed values at their commas; None and an empty list are returned as such."""
        if callback is not None:
            value = callback(ctx, param, value)
        if not value:
            return value
        parts: list[str] = []
        for text in value:
            if text.startswith("@"):
                parts.append(text)
            else:
                parts += text.split(",")
        return parts

    return split_values


app = typer.Typer(
    name="tacit",
    cls=LazyGroup,
    rich_markup_mode=None,
    help="Private recommendation: fit, serve, attack and audit recommenders.",
    epilog=EXIT_CODES,
    context_settings={"help_option_names": list(HELP_NAMES)},
)


def _print_version(is_given: bool) -> None:
    """Print the version and exit, if `--version` was typed."""
    if is_given:
        from tacit import __version__

        typer.echo(f"tacit {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error (or set TACIT_DEBUG=1).")
    ] = False,
) -> None:
    """Declare the options of `tacit` itself, for its help. `main` handles `--debug`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line. An `Exception` or Ctrl-C is printed, not raised.

    Args:
        arguments: Words after `tacit`; None: those of this process. If there are none, or only
            `--debug`, the help is printed.

    Returns:
        The exit code.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words or os.environ.get("TACIT_DEBUG", "") not in ("", "0")
    words = [word for word in words if word != "--debug"]  # it may also follow the command
    words = words or ["--help"]
    argv_before = sys.argv
    try:
        # Manifests and the commands that are suggested next show this command line.
        sys.argv = ["tacit", *words]
        announce_compilation(words)
        if words[-1] in HELP_NAMES and _print_help(words[:-1]):
            return 0
        code = get_command(app)(words, prog_name="tacit", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        # The reader of a pipe, such as `head`, stopped reading. At its end the interpreter flushes
        # stdout, which would raise the error again. So stdout is redirected to the null device.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        return INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exception(error)
        return _print_error(error, as_json="--json" in words)
    finally:
        sys.argv = argv_before


def _print_help(names: Sequence[str]) -> bool:
    """Print the help of a command. Parsing a whole command line would take longer.

    Args:
        names: Names of the groups that the command is in, then that of the command; empty: `tacit`.

    Returns:
        Whether there is such a command. If not, nothing was printed.
    """
    command: Any = get_command(app)
    context = typer.Context(command, info_name="tacit", **command.context_settings)
    for name in names:
        if not isinstance(command, TyperGroup) or command.get_command(context, name) is None:
            return False
        _, command, _ = command.resolve_command(context, [name])
        context = typer.Context(command, info_name=name, parent=context)
    typer.echo(command.get_help(context))
    return True


def _print_error(error: Exception, *, as_json: bool) -> int:
    """Print an error to standard error, as a paragraph or as JSON, and return its exit code.

    As a paragraph, an error without a message prints nothing.
    """
    message, code = _describe_error(error)
    if as_json:
        body = error.details() if isinstance(error, TacitError) else {}
        body |= {"type": type(error).__name__, "message": message, "exit_code": code}
        typer.echo(json.dumps({"error": body}, default=str), err=True)
    elif message:
        from tacit.terminal import print_error

        print_error(message)
    return code


def _describe_error(error: Exception) -> tuple[str, int]:
    """Return the paragraph that is printed for an error, and its exit code."""
    if isinstance(error, TacitError):
        return str(error), error.exit_code
    if isinstance(error, typer.TyperException):
        message = error.format_message().strip()
        context = getattr(error, "ctx", None)
        if message and message[-1] not in ".?!":
            message += "."
        if message and context:
            message += f" See:  {context.command_path} --help"
        return message, error.exit_code
    if isinstance(error, typer.Abort):
        return "Stopped, nothing was changed.", 1
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}. Check the path and its permissions.", 1
    if isinstance(error, MemoryError) or str(error) == _TOO_LARGE:
        return "There is not enough memory for this. Try fewer ratings.", 1
    return f"This is a bug in tacit ({type(error).__name__}: {error}). {HOW_TO_REPORT}", BUG


if __name__ == "__main__":
    sys.exit(main())
