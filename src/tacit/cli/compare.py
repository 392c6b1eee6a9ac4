"""`tacit compare`: compares designs, baselines and own models on the same ratings."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tacit import terminal
from tacit.cli.attack import HELP as MODEL_HELP
from tacit.cli.attack import read_arguments
from tacit.cli.commands import command, keep_finished_tasks
from tacit.cli.source import RatingsOptions, split_names
from tacit.design import Comparison, names, option
from tacit.design import design as design_of
from tacit.errors import ConfigError
from tacit.evaluation import LEAST_SEEDS, SEED, WORKERS, Result, Table, manifest
from tacit.profile_sums.options import FEATURES_HELP
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.evaluation.comparison_result import ComparisonResult, UnitTable

app = typer.Typer()
SPLIT_HELP = (
    "What is held out. random: a part of each person's likes; time: all ratings after one moment; "
    "last: each person's latest like; people: likes of people not learned from; folds: a fold."
)
"""Help of --split."""
SHOWN = {"ndcg@10": "NDCG", "recall@10": "recall", "rmse": "RMSE", "membership_auc": "AUC"}
"""Metrics that the terminal's tables show, each with its heading."""


@command(app)
def compare(
    source: RatingsOptions,
    epsilon: str = option(
        "With commas, each in the design's own unit; inf: no noise.", default="0.5,1,3,inf"
    ),
    delta: float = option("Delta of the designs that have one.", default=1e-6),
    from_domain: str | None = option("Domain that people have rated in.", flag="--source"),
    to_domain: str | None = option("Domain of the items in lists.", flag="--target"),
    features: str | None = option(FEATURES_HELP),
    design: list[str] | None = option("Only these designs and the baselines, with commas."),
    model: list[str] | None = option(
        f"Also compare this, and attack it; may be repeated. {MODEL_HELP}"
    ),
    setting: list[str] | None = option(
        "NAME=VALUE for the class of a single --model, CLASS.NAME=VALUE for one of several; may be "
        "repeated.",
        flag="--set",
    ),
    attacks: bool = option(
        "Attack each recommender by membership.", default=True, flag="--attacks/--no-attacks"
    ),
    seeds: int = option("How many splits.", default=LEAST_SEEDS, least=1),
    split: str = option(SPLIT_HELP, default="random"),
    share: float = option("Share that is held out.", default=0.2),
    folds: int = option("With --split folds: how many; a seed holds out one of them.", default=5),
    sampled: int | None = option(
        "Candidates drawn beside the held-out likes; default: all unseen items."
    ),
    report: Path | None = option("Write one self-contained page.", writes=True),
    csv: Path | None = option("Write the rows.", writes=True),
    latex: Path | None = option("Write a LaTeX table with booktabs.", writes=True),
    metrics: str = option("Metrics of the LaTeX table, with commas.", default="ndcg@10"),
    figures: Path | None = option("Write each figure here, as SVG and PNG.", writes=True),
    resume: Path | None = option("Add finished parts here, and go on from them.", writes=True),
    seed: int = option(SEED, default=0, least=0),
    workers: int = option(WORKERS, default=0, least=0),
    as_json: JSON = False,
) -> Result:
    """Compare all designs on the same people, splits, metrics and seeds.

    The tables show accuracy and what a membership attack finds. Epsilons can be compared only for
    the same unit and adversary: each pair of these has a table of its own. For each design that
    does not suit the data, the reason is shown.
    """
    from tacit.evaluation import compare as comparing
    from tacit.evaluation.entries import baselines, entries_of_designs, entries_of_models
    from tacit.evaluation.protocols import Protocol

    if (from_domain is None) != (to_domain is None):
        raise ConfigError("Name both --source and --target, or neither.")
    latex_metrics = [metric.strip() for metric in metrics.split(",") if metric.strip()]
    protocol = Protocol(split, share, folds, sampled)
    epsilons = terminal.parse_numbers(epsilon, "--epsilon", float)
    designs = [design_of(name) for name in (design or names())]  # raises for an unknown name
    arguments = find_model_arguments(model or [], setting or [])
    own_models = entries_of_models(model or [], arguments)
    ratings = source.read()
    names_of_features = split_names(features)
    question = Comparison(
        ratings, epsilons, delta, from_domain, to_domain, features=names_of_features
    )
    entrants = entries_of_designs([chosen.name for chosen in designs], question)
    entries = [*baselines(ratings, from_domain, to_domain), *entrants.entries, *own_models]
    n_steps = comparing.count_steps(entries, seeds, attacks)
    with (
        keep_finished_tasks("compare", resume) as finished,
        terminal.progress("Comparing", n_steps, quiet=as_json) as advance,
    ):
        result = comparing.compare_entries(
            ratings,
            entries,
            left_out=entrants.left_out,
            source=from_domain,
            target=to_domain,
            seeds=range(seed, seed + seeds),
            protocol=protocol,
            attacks=attacks,
            workers=workers,
            resume=finished,
            progress=advance,
        )
    made_with = manifest(
        ratings,
        seed=seed,
        command=terminal.command_line(),
        epsilon=epsilon,
        delta=delta,
        seeds=seeds,
        source=from_domain,
        target=to_domain,
        features=features,
        attacks=attacks,
        protocol=result.data["protocol"],
        models=model or [],
    )
    _write_files(result, csv=csv, latex=latex, latex_metrics=latex_metrics, figures=figures)
    next_command = ""
    if report is None:
        typed = terminal.command_line()
        page_contents = "draws one page, with intervals and groups"
        next_command = f"{typed} --report comparison.html  {page_contents}."
    else:
        result.page(made_with).write(report)
    return _make_shown_result(result, made_with, ratings, names_of_features, next_command)


def _write_files(
    result: ComparisonResult,
    *,
    csv: Path | None,
    latex: Path | None,
    latex_metrics: list[str],
    figures: Path | None,
) -> None:
    """Write a comparison's rows, LaTeX table and figures, each where its path is not None.

    Args:
        result: The comparison.
        csv: File of the rows.
        latex: File of the LaTeX table.
        latex_metrics: Metrics of the LaTeX table, in the order of its columns.
        figures: Folder of the figures.
    """
    from tacit.atomic_writes import write_whole

    if csv is not None:
        write_whole(csv, result.to_csv().encode())
    if latex is not None:
        write_whole(latex, result.to_latex(latex_metrics).encode())
    if figures is not None:
        result.write_figures(figures)


def _make_shown_result(
    result: ComparisonResult,
    made_with: dict[str, Any],
    ratings: Ratings,
    features: tuple[str, ...] | None,
    next_command: str,
) -> Result:
    """Make the command's result: the values that --json prints, and what the terminal shows.

    Args:
        result: The comparison.
        made_with: The manifest.
        ratings: The ratings.
        features: Columns of item metadata that designs make features of; None: their defaults.
        next_command: Command to suggest, with what it does; "": none.
    """
    from tacit.data.domains import describe_features
    from tacit.evaluation.compare import sentences_by_reason

    tables = [_make_terminal_table(table) for table in result.tables()]
    return Result(
        {
            "rows": [_replace_infinity(row) for row in result.rows],
            "differences": [_replace_infinity(row) for row in result.data["differences"]],
            "short_lists": result.short_lists,
            "left_out": result.excluded_designs,
            "manifest": made_with,
        },
        [
            *tables,
            *result.short_lists,
            *sentences_by_reason(result.excluded_designs),
            describe_features(ratings, features),
        ],
        next_command,
    )


def find_model_arguments(models: list[str], settings: list[str]) -> list[dict[str, Any]]:
    """Find for each --model the arguments that --set gives to its class.

    Args:
        models: Values of --model.
        settings: Values of --set. NAME=VALUE is allowed for a single model. CLASS.NAME=VALUE is for
            every model of this class.

    Returns:
        For each model, in the order of `models`, its arguments by name.

    Raises:
        ConfigError: A value of --set has another form, or it is not clear for which model it is.
    """
    from tacit.evaluation.own_models import name_of_model

    names_of_models = [name_of_model(model) for model in models]
    arguments: list[dict[str, Any]] = [{} for _ in models]
    for key, value in read_arguments(settings).items():
        class_name, dot, name = key.rpartition(".")
        if dot and class_name in names_of_models:
            for index, model_name in enumerate(names_of_models):
                if model_name == class_name:
                    arguments[index][name] = value
        elif len(models) == 1 and not dot:
            arguments[0][key] = value
        else:
            problem = f"--set {key}: for which --model is it?"
            if not models:
                raise ConfigError(f"{problem} Write a --model, too.")
            examples = " or ".join(f"{model_name}.{name}={value}" for model_name in names_of_models)
            raise ConfigError(f"{problem} Write {examples}.")
    return arguments


def _make_terminal_table(table: UnitTable) -> Table:
    """Make a table of the means of the metrics in SHOWN.

    Their intervals are left out, so that the table fits a terminal.
    """
    metrics = [metric for metric in table.metrics if metric in SHOWN]
    lines = []
    for design, variant, epsilon, *cells in table.lines:
        means = []
        for metric in metrics:
            cell = cells[table.metrics.index(metric)]
            mean, _, _interval = cell.partition(" ")
            means.append(mean)
        lines.append([design, variant, epsilon, *means])
    title = f"{table.unit}; against {table.against}" if table.against != "–" else table.unit
    headings = [SHOWN[metric] for metric in metrics]
    return Table(title, ("design", "variant", "epsilon", *headings), lines)


def _replace_infinity(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row in which an infinite epsilon is the text "inf", since JSON has no infinity."""
    epsilon = row["epsilon"]
    if epsilon is None or not math.isinf(epsilon):
        return row
    return row | {"epsilon": "inf"}
