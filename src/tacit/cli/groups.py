"""`tacit fit`, `evaluate`, `plan`, `simulate` and `replay`, with a sub-command for each design.

A design has parts, such as "fit". A part is the command of this name.
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from tacit.cli.app import COMMANDS, PARTS, set_up_command
from tacit.cli.baseline_names import BASELINES
from tacit.cli.commands import function_with_options
from tacit.design import BUILT_IN, Command, Design, design, names


class _Group(TyperGroup):
    """The sub-commands of one part. They are made only when one is called or all are listed."""

    part: str
    """The part of a design, such as "fit"."""
    fallback: str
    """Sub-command that is run if the first word names none; "": there is no such one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words after the group's name, after the fallback is put before them."""
        if self.fallback and args:
            known = (*self.list_commands(ctx), *ctx.help_option_names)
            if args[0] not in known:
                args = [self.fallback, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """List the names of designs with this part, baselines that can be fitted, and others."""
        designs = [name for name in names() if _has_part(design(name), self.part)]
        baselines = BASELINES if self.part == "fit" else ()
        return list(dict.fromkeys([*designs, *baselines, *super().list_commands(ctx)]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Make the sub-command of a name; that of a baseline has only the line that help shows."""
        command = _find_command(cmd_name, self.part)
        if command is not None:
            return _make_click_command(cmd_name, command)
        if self.part == "fit" and cmd_name in BASELINES:
            return TyperCommand(name=cmd_name, help=BASELINES[cmd_name])
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the called command; that of a baseline is made here, with the import of its class.

        Returns:
            The command's name, the command and its arguments.
        """
        name, command, arguments = super().resolve_command(ctx, args)
        if name is None or self.part != "fit" or name not in BASELINES:
            return name, command, arguments
        if _find_command(name, self.part) is None:
            from tacit.cli.baselines import find_command

            command = _make_click_command(name, find_command(name))
        return name, command, arguments


def make_group(part: str, summary: str, *, fallback: str = "") -> typer.Typer:
    """Make `tacit PART`, with a sub-command for each design that has this part.

    Args:
        part: Part of a design, such as "fit".
        summary: First sentence of the help.
        fallback: Sub-command that is run if the first word names none; "": there is no such one.
    """
    group_class = type(part, (_Group,), {"part": part, "fallback": fallback})
    app = typer.Typer(help=summary, no_args_is_help=True, cls=group_class)
    app.callback()(lambda: None)  # without it, typer makes no group of fewer than two commands
    return app


fit, evaluate, plan, simulate, replay = (make_group(part, COMMANDS[part]) for part in PARTS)


def _has_part(owner: Design, part: str) -> bool:
    """Say whether `tacit PART` has a sub-command for a design.

    A design without the part "fit" or "evaluate" has a common one, if it has models: see
    `tacit.evaluation.any_design`.
    """
    if part in ("fit", "evaluate") and owner.models:
        return True
    return part in owner.parts


def _find_command(name: str, part: str) -> Command | None:
    """Find the command of a design for a part; None if it has none, or there is no such design.

    Args:
        name: Name of the design.
        part: Part of a design, such as "fit".
    """
    # `names` searches installed packages, which takes time that tacit's own designs do not need.
    owner = design(name) if name in BUILT_IN or name in names() else None
    if owner is None or not _has_part(owner, part):
        return None
    if part in owner.parts:
        command: Command = owner.part(part)
        return command
    from tacit.evaluation.any_design import make_commands

    return make_commands(owner)[part]


def _make_click_command(name: str, command: Command) -> Any:
    """Make the object that typer runs, with the options of a command's settings."""
    app = typer.Typer(rich_markup_mode=None)
    app.command(name)(function_with_options(command))
    return set_up_command(get_command(app))
