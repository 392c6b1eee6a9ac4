"""`tacit attack`: what a design releases, or any recommender's answers, give away.

With --model any recommender, one's own or tacit's, is attacked on one's own ratings.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit import terminal
from tacit.cli.commands import group
from tacit.errors import ConfigError, DataError, TacitError
from tacit.terminal import JSON

HELP = (
    "FILE.py:NAME, MODULE:NAME or a recommender of tacit, such as private: a class, an object, a "
    "function that makes one, or a function history -> list."
)


@terminal.reads_ratings
def model(
    source: terminal.Source,
    model: Annotated[str, typer.Option("--model", help=HELP)],
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE for the class; repeat.")
    ] = None,
    attack: Annotated[
        list[str] | None,
        typer.Option(help="Only membership, audit, reconstruction or attribute; repeat."),
    ] = None,
    attribute: Annotated[
        str | None, typer.Option(help="To infer; default: the first of two values.")
    ] = None,
    panel: terminal.Panel = "quick",
    scores: Annotated[
        bool | None,
        typer.Option(
            "--scores/--lists-only", help="Membership by predictions, too; default: if stars."
        ),
    ] = None,
    claim: Annotated[
        float | None, typer.Option(help="Epsilon it claims for a whole profile; default: its card.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="Delta of the claim; default 1e-6.")] = None,
    members: Annotated[
        list[str] | None,
        typer.Option(help="For a function: ids it learned from, with commas, or @FILE."),
    ] = None,
    targets: Annotated[
        int, typer.Option(min=10, help="People who are in with probability 1/2.")
    ] = 300,
    shadows: Annotated[int, typer.Option(min=4, help="Fits that the attacker learns from.")] = 16,
    victims: Annotated[int, typer.Option(min=1, help="Fits that are attacked.")] = 8,
    canaries: Annotated[int, typer.Option(min=8, help="Made-up people of each kind.")] = 400,
    seed: terminal.Seed = 0,
    as_json: JSON = False,
) -> None:
    """Attack any recommender.

    Was a person among those it learned from? What does it prove of an epsilon? What did a person
    rate lately? Which value has an attribute? It is fitted to these ratings again and again.
    """
    from tacit.auditing.attacks import any_model
    from tacit.evaluation import manifest

    made = named(model, setting or [])
    any_model.adapt(made)  # refuses what is no recommender before the file is read
    ratings = source.read()
    settings: dict[str, Any] = {
        "attacks": tuple(attack or any_model.ATTACKS),
        "attribute": attribute,
        "panel": panel,
        "sees_scores": scores,
        "claim": claim,
        "delta": delta,
        "targets": targets,
        "shadows": shadows,
        "victims": victims,
        "canaries": canaries,
    }
    people = terminal.ids_in(members) if members else None
    with terminal.progress("Attacking", None, quiet=as_json) as advance:
        found = any_model.attack(
            made, ratings, members=people, progress=advance, seed=seed, **settings
        )
    command = terminal.command_line()
    made_with = manifest(ratings, seed=seed, command=command, model=model, **settings)
    terminal.emit(found.to_dict() | {"manifest": made_with}, as_json=as_json, render=_show)


def named(text: str, settings: list[str]) -> Any:
    """The class, object or function that `--model` names."""
    from tacit.recommenders.inputs import model_kinds, model_reader

    home, colon, name = text.rpartition(":")
    found = getattr(_module(home), name, None) if colon else model_reader(text)
    if found is None:
        known = f"It has no '{name}'." if colon else f"Known: {', '.join(model_kinds())}."
        raise ConfigError(f"--model {text}: no such recommender. {known}")
    given = {key: _value(value) for key, value in terminal.pairs(settings, "--set").items()}
    if not given and (colon or not isinstance(found, type)):
        return found
    try:
        found(**given)
    except TacitError:
        raise
    except Exception as error:
        raise ConfigError(f"--model {text}: {error}. Give it with --set NAME=VALUE.") from None
    return lambda: found(**given)


def _module(home: str) -> Any:
    if home.endswith(".py") and not Path(home).is_file():
        raise DataError("there is no such file", path=home)
    try:
        if not home.endswith(".py"):
            return importlib.import_module(home)
        spec = importlib.util.spec_from_file_location("model_to_attack", home)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    except Exception as error:
        raise ConfigError(
            f"--model {home} cannot be imported ({type(error).__name__}: {error}). Correct it, or "
            "install what it needs."
        ) from error
    return module


def _value(text: str) -> Any:
    """A number, true, false or null as JSON has it, infinity, else the text."""
    try:
        return float("inf") if text == "inf" else json.loads(text)
    except json.JSONDecodeError:
        return text


def _show(result: dict[str, Any]) -> None:
    columns = ("attack", "AUC", "95 % interval", "TPR at 0.1 %", "at 1 %", "epsilon at least")
    more = ("tpr_at_fpr_0.001", "tpr_at_fpr_0.01", "epsilon_lower_bound")
    rows = [
        (row["attack"], row["auc"], f"{row['low']:.3f} to {row['high']:.3f}",
         *(None if row[name] is None else f"{row[name]:.3f}" for name in more))
        for row in result["rows"]
    ]  # fmt: skip
    terminal.table(f"Attacks on {result['model']}", columns, rows)
    for line in result["left_out"]:
        terminal.say(f"Not made: {line}.")
    bound = f"epsilon at least {result['epsilon_lower_bound']:.3f} (all bounds: 95 %)"
    unit = f"delta {result['delta']:g}, {result['adjacency']}"
    said = "nothing is claimed"
    if result["claim"] is not None:
        said = f"claimed {result['claim']:.3g}: {result['verdict']}"
    terminal.say(f"{bound}, {unit}; {said}.")
    terminal.next_step("Next:  docs/attacks.md says what each row means;  --json has all digits.")


app = group(
    "attack",
    "Attack a design's releases, or any recommender: tacit attack --model M RATINGS.",
    otherwise="model",
)
app.command("model")(model)
