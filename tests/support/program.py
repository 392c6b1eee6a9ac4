"""The commands of the program, as its groups list them."""

from __future__ import annotations

from collections.abc import Iterator
from pkgutil import resolve_name
from typing import Any

import typer
from typer.main import get_command

from tacit.cli.app import COMMANDS, PLACES


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
