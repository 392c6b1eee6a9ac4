"""`tacit demo`: the whole story of a design on generated data, offline, in a minute."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from tacit.cli import output
from tacit.cli.demos import DEMOS, demo
from tacit.cli.output import JSON
from tacit.errors import ConfigError

app = typer.Typer()


@app.command("demo")
def run(
    name: Annotated[str, typer.Argument(help="Which design, one of: " + ", ".join(DEMOS))] = DEMOS[
        0
    ],
    as_json: JSON = False,
) -> None:
    """Run a design on generated data: ratings, recommendations, and an attack on what is sent."""
    if name not in DEMOS:
        raise ConfigError(f"No demo '{name}'. There is: {', '.join(DEMOS)}.")
    shown = demo(name)
    started = time.monotonic()
    with output.progress(shown.LINE, shown.STEPS, quiet=as_json) as advance:
        result = shown.run(advance)
    result["seconds"] = round(time.monotonic() - started, 1)
    output.emit(result, as_json=as_json, render=shown.show)
