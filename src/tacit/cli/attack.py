"""`tacit attack`: attacks the releases of a design, or any recommender on any ratings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit import terminal
from tacit.cli.commands import function_with_options, keep_finished_tasks
from tacit.cli.groups import make_group
from tacit.design import Command, Run, option
from tacit.evaluation import SEED, Result, Table, manifest

HELP = (
    "FILE.py:NAME, MODULE:NAME or a recommender of tacit, such as private: a class, an object, a "
    "function that makes one, or a function history -> list; or a saved model's file."
)
"""Help of --model, here and in `tacit compare`."""
# Helps of the other options that do not fit one line.
_ATTACKS = "Only these attacks: membership, audit, reconstruction, attribute; all if left out."
_PANEL = "Attackers: 'quick', or 'full' for all eleven and those of installed packages."
_SCORES = "Attack membership by predictions, too; default: if they are stars."

app = make_group(
    "attack",
    "Attack a design's releases, or any recommender: tacit attack --model M RATINGS.",
    fallback="model",
)


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The options of `attack model`. Most are parameters of `any_model.attack`."""

    model: str = option(HELP)
    setting: list[str] | None = option("NAME=VALUE for the class; may be repeated.", flag="--set")
    attacks: list[str] | None = option(_ATTACKS, flag="--attack")
    attribute: str | None = option("Attribute to guess; default: the first with two values.")
    panel: str = option(_PANEL, default="quick")
    sees_scores: bool | None = option(_SCORES, flag="--scores/--lists-only")
    claim: float | None = option(
        "Epsilon that the recommender claims for a whole profile; default: its card's."
    )
    delta: float | None = option("Delta of the claim; default: its card's, else 1e-6.")
    members: list[str] | None = option(
        "For a function history -> list: ids of the people it learned from, or @FILE."
    )
    targets: int = option(
        "People of whom each is in a fit with probability 1/2.", default=300, least=10
    )
    shadows: int = option("Fits that the attacker learns from.", default=16, least=4)
    victims: int = option("Fits that are attacked.", default=8, least=1)
    canaries: int = option("Made-up people of each kind.", default=400, least=8)
    resume: Path | None = option(
        "Add finished fits of the membership attack here, and go on from them.", writes=True
    )
    seed: int = option(SEED, default=0, least=0)


def attack_model(options: ModelSettings, run: Run) -> Result:
    """Attack any recommender.

    The attacks try to tell whether the recommender learned from a person, what a person rated
    lately, and the value of a person's attribute. The audit bounds the recommender's epsilon from
    below. A recommender that can be fitted is fitted to parts of the ratings again and again.
    """
    from tacit.auditing.attacks import any_model
    from tacit.auditing.attacks.any_model.named_models import digest_of_code, find_model

    model = find_model(options.model, read_arguments(options.setting or []))
    any_model.adapt(model)  # raises if this is no recommender, before the ratings are read
    ratings = run.read_ratings()
    members = terminal.parse_ids(options.members) if options.members else None
    settings: dict[str, Any] = {
        "attacks": tuple(options.attacks or any_model.ATTACKS),
        "attribute": options.attribute,
        "panel": options.panel,
        "sees_scores": options.sees_scores,
        "claim": options.claim,
        "delta": options.delta,
        "targets": options.targets,
        "shadows": options.shadows,
        "victims": options.victims,
        "canaries": options.canaries,
        "seed": options.seed,
    }
    steps = any_model.count_steps(settings["attacks"], options.shadows, options.victims)
    identity = f"{options.model} {sorted(options.setting or [])} {digest_of_code(options.model)}"
    with (
        keep_finished_tasks("attack", options.resume) as finished,
        run.progress("Attacking", steps) as advance,
    ):
        result = any_model.attack(
            model,
            ratings,
            members=members,
            progress=advance,
            resume=finished,
            identity=identity,
            **settings,
        ).to_dict()
    made_with = manifest(ratings, command=run.command, model=options.model, **settings)
    after = f"{run.command} --json  has all digits."
    shown = [*_describe_attacks(result), "docs/attacks.md says what each row means."]
    return Result(result | {"manifest": made_with}, shown, after)


app.command("model")(function_with_options(Command(ModelSettings, attack_model, ratings=True)))


def read_arguments(settings: Sequence[str]) -> dict[str, Any]:
    """Read texts NAME=VALUE of the option --set as values by name.

    The names are those of a class's arguments, in `tacit compare` also CLASS.NAME.

    Raises:
        ConfigError: A text has another form.
    """
    text_by_name = terminal.parse_name_values(settings, "--set")
    return {name: _read_value(text) for name, text in text_by_name.items()}


def _read_value(text: str) -> Any:
    """Read a value as JSON, or "inf" as infinity; any other text is returned as it is."""
    if text == "inf":
        return float("inf")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _describe_attacks(result: dict[str, Any]) -> Iterator[Table | str]:
    """Yield the table of attacks, a line for each that was left out, and the bound of epsilon.

    Args:
        result: Result of the attacks as JSON.
    """
    columns = ("attack", "AUC", "95 % interval", "TPR at 0.1 %", "at 1 %", "epsilon at least")
    optional_figures = ("tpr_at_fpr_0.001", "tpr_at_fpr_0.01", "epsilon_lower_bound")
    rows = []
    for row in result["rows"]:
        figures = [None if row[name] is None else f"{row[name]:.3f}" for name in optional_figures]
        interval = f"{row['low']:.3f} to {row['high']:.3f}"
        rows.append((row["attack"], row["auc"], interval, *figures))
    yield Table(f"Attacks on {result['model']}", columns, rows)
    for line in result["left_out"]:
        yield f"Not made: {line}."
    bound = f"epsilon at least {result['epsilon_lower_bound']:.3f} (all bounds: 95 %)"
    unit = f"delta {result['delta']:g}, {result['adjacency']}"
    claim = "nothing is claimed"
    if result["claim"] is not None:
        claim = f"claimed {result['claim']:.3g}: {result['verdict']}"
    yield f"{bound}, {unit}; {claim}."
