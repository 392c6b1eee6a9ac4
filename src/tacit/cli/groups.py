"""Groups of commands, such as `tacit fit`. A group has one sub-command for each suitable design.

A part of a design, such as "fit", holds the design's sub-command of `tacit fit`. The groups are
`tacit fit`, `evaluate`, `plan`, `simulate` and `replay`; `tacit.cli.attack` makes one more. `tacit
fit` also has a sub-command for each baseline, and "fit" and "evaluate" are made for every design
that has models.
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
    """The sub-commands of one part. One is made only when it is called, or when all are listed."""

    part: str
    """The part of a design, such as "fit"."""
    fallback: str
    """Sub-command that is run if the first word names no sub-command; "": none is run."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words after the group's name.

        If the first one is neither a sub-command nor an option for help, the fallback, if there is
        one, is put before it.
        """
        if self.fallback and args:
            first_words = (*self.list_commands(ctx), *ctx.help_option_names)
            if args[0] not in first_words:
                args = [self.fallback, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """List the sub-commands: designs with this part, baselines for "fit", and added commands.

        Added commands are those of typer, such as `tacit attack model`.
        """
        designs = [name for name in names() if _has_command(design(name), self.part)]
        baselines = BASELINES if self.part == "fit" else ()
        return list(dict.fromkeys([*designs, *baselines, *super().list_commands(ctx)]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Make the sub-command of a name; None: there is none.

        The sub-command of a baseline has no options here, only the line that the group's help
        shows: see `resolve_command`.
        """
        command = _find_command(cmd_name, self.part)
        if command is not None:
            return _make_click_command(cmd_name, command)
        if self.part == "fit" and cmd_name in BASELINES:
            return TyperCommand(name=cmd_name, help=BASELINES[cmd_name])
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the called command. A baseline's command is made here: this imports its class.

        Returns:
            The command's name, the command and its arguments.
        """
        name, command, arguments = super().resolve_command(ctx, args)
        if name is None or self.part != "fit" or name not in BASELINES:
            return name, command, arguments
        if _find_command(name, self.part) is None:
            from tacit.cli.baselines import make_command

            command = _make_click_command(name, make_command(name))
        return name, command, arguments


def make_group(part: str, summary: str, *, fallback: str = "") -> typer.Typer:
    """Make `tacit PART`, with a sub-command for each design that has this part.

    Args:
        part: Part of a design, such as "fit".
        summary: First sentence of the help.
        fallback: Sub-command that is run if the first word names no sub-command; "": none is run.
    """
    group_class = type(part, (_Group,), {"part": part, "fallback": fallback})
    app = typer.Typer(help=summary, no_args_is_help=True, cls=group_class)
    app.callback()(lambda: None)  # without it, typer makes no group of fewer than two commands
    return app


fit, evaluate, plan, simulate, replay = (make_group(part, COMMANDS[part]) for part in PARTS)


def _has_command(owner: Design, part: str) -> bool:
    """Say whether `tacit PART` has a sub-command for a design.

    A design that has models, but not the part "fit" or "evaluate", gets the command that
    `tacit.evaluation.any_design` makes for every design.
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
    # `names` searches the installed packages, which is slow. BUILT_IN spares this for tacit's own.
    owner = design(name) if name in BUILT_IN or name in names() else None
    if owner is None or not _has_command(owner, part):
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
