"""The command `tacit`: one table of commands, and the one place where errors meet the person.

A command NAME is `app`, a `typer.Typer`, of the module `tacit.cli.NAME`, or what `PLACES` says; it
is imported only when it is called, so that `tacit --help` answers at once.
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

PARTS = ("fit", "evaluate", "plan", "simulate", "replay")
"""Commands that have a sub-command for each design with this part."""
PLACES = {part: f"groups:{part}" for part in PARTS} | {
    "reproduce": "reproduce:app",
    "sketches": "device:counting",
    "init": "serve:making",
    "keys": "serve:keys",
}
"""Modules of commands that do not lie in one of their own name."""

EXIT_CODES = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 3 bad data, 4 bad model file, "
    "5 refused to protect privacy, 6 optional package missing, 7 download failed, "
    "70 a bug in tacit, 130 interrupted."
)
HOW_TO_REPORT = (
    "Run the command again with --debug and report what it prints, without private data."
)
_TOO_LARGE = "Maximum allowed dimension exceeded"
"""What NumPy says of an array that no machine has the memory for."""
BUG = 70
INTERRUPTED = 130


class LazyGroup(TyperGroup):
    """Group that lists every command and imports only the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, line in COMMANDS.items():
            self.add_command(TyperCommand(name=name, help=line))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the module of a command once it is asked for."""
        name, listed, rest = super().resolve_command(ctx, args)
        if name not in COMMANDS:
            return name, listed, rest
        command = get_command(resolve_name(f"tacit.cli.{PLACES.get(name, f'{name}:app')}"))
        return name, plain_help(command), rest


_PAIRS = ("about", "edges", "setting", "values", "where")
"""Options that take NAME=VALUE, once for each; all other lists may have commas."""


def plain_help(command: Any) -> Any:
    """Show help without boxes, which cut names and values where a terminal is narrow."""
    command.rich_markup_mode = None
    shown = [each for each in command.params if not (each.name or "").endswith("_completion")]
    command.params = shown
    for parameter in shown:
        takes_texts = parameter.type_descriptor.is_list and parameter.bare_type() == "list[str]"
        if takes_texts and parameter.name not in _PAIRS:
            parameter.callback = _with_commas(parameter.callback)
    for inner in getattr(command, "commands", {}).values():
        plain_help(inner)
    return command


def _with_commas(callback: Callable[..., Any] | None) -> Callable[..., Any]:
    """Read `--name a,b` as `--name a --name b`; @FILE stays as it is.

    Args:
        callback: Callback that the option has already.
    """

    def split(ctx: Any, param: Any, value: Any) -> Any:
        if callback is not None:
            value = callback(ctx, param, value)
        if not value:
            return value
        parts: list[str] = []
        for text in value:
            parts += [text] if text.startswith("@") else text.split(",")
        return parts

    return split


app = typer.Typer(
    name="tacit",
    cls=LazyGroup,
    rich_markup_mode=None,
    help="Private recommendation: fit, serve, attack and audit recommenders.",
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from tacit import __version__

        typer.echo(f"tacit {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error (or set TACIT_DEBUG=1).")
    ] = False,
) -> None:
    """Declare the options of `tacit` itself; `main` reads `--debug` before a command starts."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; every error becomes one readable paragraph."""
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    debug = "--debug" in words or os.environ.get("TACIT_DEBUG", "") not in ("", "0")
    words = [word for word in words if word != "--debug"]  # it may stand after the command too
    typed = sys.argv
    try:
        sys.argv = ["tacit", *words]  # what manifests and next steps repeat
        announce_compilation(words)
        code = get_command(app)(words, prog_name="tacit", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        # The reader (`| head`) has enough. Point stdout elsewhere, or the interpreter's last flush
        # would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        return INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exception(error)
        return _report(error, as_json="--json" in words)
    finally:
        sys.argv = typed


def _report(error: Exception, *, as_json: bool) -> int:
    message, code = _explain(error)
    if as_json:
        body = error.details() if isinstance(error, TacitError) else {}
        body |= {"type": type(error).__name__, "message": message, "exit_code": code}
        typer.echo(json.dumps({"error": body}, default=str), err=True)
    elif message:
        from tacit.terminal import print_error

        print_error(message)
    return code


def _explain(error: Exception) -> tuple[str, int]:
    """Return the paragraph and the exit code of an error."""
    if isinstance(error, TacitError):
        return str(error), error.exit_code
    if isinstance(error, typer.TyperException):
        message = error.format_message().strip()
        context = getattr(error, "ctx", None)
        if message and message[-1] not in ".?!":
            message += "."
        help_line = f" See:  {context.command_path} --help" if context and message else ""
        return message + help_line, error.exit_code
    if isinstance(error, typer.Abort):
        return "Stopped, nothing was changed.", 1
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}. Check the path and its permissions.", 1
    if isinstance(error, MemoryError) or str(error) == _TOO_LARGE:
        return "There is not enough memory for this. Try fewer ratings.", 1
    what = f"{type(error).__name__}: {error}"
    return f"This is a bug in tacit ({what}). {HOW_TO_REPORT}", BUG


if __name__ == "__main__":
    sys.exit(main())
