"""`tacit fit`, `evaluate`, `plan`, `simulate`, `replay`: a sub-command for each design."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from tacit.cli.app import COMMANDS, PARTS, plain_help
from tacit.cli.commands import function_with_options
from tacit.design import BUILT_IN, Command, Design, design, names


class _Group(TyperGroup):
    """Commands of one part, which import a design only when they are called, or listed."""

    part: str
    """Part of a design that the group is for, such as "fit"."""
    fallback: str
    """Command that is meant where the first word names none; "" for none."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if self.fallback and args:
            known = (*self.list_commands(ctx), *ctx.help_option_names)
            if args[0] not in known:
                args = [self.fallback, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        designs = [name for name in names() if _has_part(design(name), self.part)]
        commands = [*designs, *_baseline_commands(self.part), *super().list_commands(ctx)]
        return list(dict.fromkeys(commands))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = _find_command(cmd_name, self.part)
        if found is None:
            return super().get_command(ctx, cmd_name)
        return _make_click_command(cmd_name, found)


def make_group(part: str, about: str, *, fallback: str = "") -> typer.Typer:
    """Make `tacit PART`, with a sub-command for each design that has this part.

    Args:
        part: Part of a design, such as "fit".
        about: Sentence of the help.
        fallback: Command that is meant where the first word names none.
    """
    kind = type(part, (_Group,), {"part": part, "fallback": fallback})
    app = typer.Typer(help=about, no_args_is_help=True, cls=kind)
    app.callback()(lambda: None)  # without it, typer makes no group of fewer than two commands
    return app


fit, evaluate, plan, simulate, replay = (make_group(part, COMMANDS[part]) for part in PARTS)


def _has_part(owner: Design, part: str) -> bool:
    """Say whether `tacit PART` has the design; one with a model is fitted and evaluated anyway."""
    return part in owner.parts or (bool(owner.models) and part in ("fit", "evaluate"))


def _find_command(name: str, part: str) -> Command | None:
    """Find the command of a design, else of a baseline, which is imported only then."""
    owner = design(name) if name in BUILT_IN or name in names() else None
    if owner is None or not _has_part(owner, part):
        return _baseline_commands(part).get(name)
    if part in owner.parts:
        own: Command = owner.part(part)
        return own
    from tacit.evaluation.any_design import make_commands

    return make_commands(owner)[part]


def _baseline_commands(part: str) -> Mapping[str, Command]:
    if part != "fit":
        return {}
    from tacit.cli.baselines import FITS

    return FITS


def _make_click_command(name: str, command: Command) -> Any:
    app = typer.Typer(rich_markup_mode=None)
    app.command(name)(function_with_options(command))
    return plain_help(get_command(app))
