"""The commands of the program: as its groups list them, and typed in a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from tacit.cli.app import COMMANDS, PLACES, app


def _walk(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield each command below a command or group, with its words."""
    if not hasattr(command, "list_commands"):
        yield name, command
        return
    context = typer.Context(command)
    for inner in command.list_commands(context):
        yield from _walk(command.get_command(context, inner), f"{name} {inner}")


def all_commands() -> dict[str, Any]:
    """Return every command of the program by its words."""
    found: dict[str, Any] = {}
    for name in COMMANDS:
        top = get_command(resolve_name(f"tacit.cli.{PLACES.get(name, f'{name}:app')}"))
        found |= dict(_walk(top, name))
    return found


def type_commands(folder: Path, lines: Sequence[str]) -> None:
    """Run commands in a folder, one after the other; each has to succeed.

    Args:
        folder: Where they are typed.
        lines: Their words, without `tacit`.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in lines:
            result = CliRunner().invoke(app, line.split())
            assert result.exit_code == 0, result.output
