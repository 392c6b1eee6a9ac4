"""`tacit fit` and `tacit evaluate` for a design that has a model, but not these commands.

The class of the design's card settings also describes the model: each of its fields is a parameter
of the model's constructor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.design import (
    Command,
    Design,
    Run,
    card_summary,
    guarantee_command,
    model_class,
    option,
    options_of,
    private_fit_summary,
    usefulness,
)
from tacit.evaluation import LEAST_SEEDS, OUT, REPORT, SEED, WORKERS, Result, Table, manifest

if TYPE_CHECKING:
    from tacit.evaluation.lists import ListRow


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Options of `tacit fit NAME` in addition to the design's card settings."""

    out: Path = option(OUT, flag="--out -o", writes=True)


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """Options of `tacit evaluate NAME` in addition to the design's card settings."""

    seeds: int = option("How many splits.", default=LEAST_SEEDS, least=1)
    seed: int = option(SEED, default=0, least=0)
    workers: int = option(WORKERS, default=1, least=0)
    report: Path | None = option(REPORT, default=None, writes=True)


def make_commands(design: Design) -> dict[str, Command]:
    """Make the commands "fit" and "evaluate" of a design that has models."""
    return {"fit": _make_fit_command(design), "evaluate": _make_evaluate_command(design)}


def _make_fit_command(design: Design) -> Command:
    """Make the command that fits the design's first model and saves it."""
    kind = next(iter(design.models))

    def fit(settings: Any, command_run: Run) -> Result:
        make_model = model_class(kind)
        assert make_model is not None  # the design has models
        model = make_model(**_pick_model_settings(design, settings))
        ratings = command_run.read_ratings()
        with command_run.progress("Fitting", None):
            model.fit(ratings).save(settings.out)
        card = model.guarantees()[0]
        usefulness_sentence = usefulness(model)
        data = private_fit_summary(kind, settings.out, len(model.item_ids_)) | card_summary(card)
        data["useful"] = usefulness_sentence
        sentences = [f"Fitted {design.title}.", card.first_line, card.sentence]
        if usefulness_sentence:
            sentences.append(usefulness_sentence)
        return Result(data, (" ".join(sentences),), guarantee_command(settings.out))

    return _make_command(design, fit, f"Fit {design.title}: {design.citation}.", FitOptions)


def _make_evaluate_command(design: Design) -> Command:
    """Make the command that judges lists of the design's first model and of baselines."""
    kind = next(iter(design.models))

    def evaluate(settings: Any, command_run: Run) -> Result:
        from tacit.evaluation.lists import Contender, evaluate_lists
        from tacit.evaluation.lists_page import make_lists_page

        model_settings = _pick_model_settings(design, settings)
        contender = Contender(kind, model_settings, model_settings.get("epsilon"))
        ratings = command_run.read_ratings()
        n_recommenders = 3  # popularity, EASE, and this design
        with command_run.progress("Evaluating", n_recommenders * settings.seeds) as advance:
            rows = evaluate_lists(
                ratings,
                [contender],
                seeds=range(settings.seed, settings.seed + settings.seeds),
                workers=settings.workers,
                progress=advance,
            )
        made_with = manifest(
            ratings,
            seed=settings.seed,
            command=command_run.command,
            seeds=settings.seeds,
            **model_settings,
        )
        table = table_of_lists(rows)
        if settings.report is not None:
            make_lists_page(design.title, rows, table, made_with).write(settings.report)
        return Result(
            {"rows": [row.to_dict() for row in rows], "manifest": made_with},
            (table,),
            design.after_cards,
        )

    summary = f"Measure how well {design.title} finds held-out likes, beside baselines."
    return _make_command(design, evaluate, summary, EvaluateOptions)


def table_of_lists(rows: Sequence[ListRow]) -> Table:
    """Make a table of the figures of recommenders, with a row for each."""
    columns: dict[str, Callable[[ListRow], object]] = {
        "model": lambda row: row.model,
        "epsilon": lambda row: None if row.epsilon is None else f"{row.epsilon:g}",
        "NDCG": lambda row: f"{row.ndcg:.3f}",
        "95 % interval": lambda row: f"{row.low:.3f} to {row.high:.3f}",
        "recall": lambda row: f"{row.recall:.3f}",
        "kept": lambda row: None if row.kept is None else f"{row.kept:.2f}",
    }
    return Table.from_rows("Lists of ten", columns, rows)


def _pick_model_settings(design: Design, settings: Any) -> dict[str, Any]:
    """Pick the options that are settings of the model, by their names."""
    all_options = asdict(settings)
    return {name: all_options[name] for name in options_of(design.card_settings)}


def _make_command(
    design: Design, run: Callable[[Any, Run], Result], summary: str, options: type[Any]
) -> Command:
    """Make a command.

    Args:
        design: The design.
        run: Does the work; it is called with the settings and the run of the command.
        summary: First line of the command's help.
        options: Dataclass of the command's own options, to which the design's card settings are
            added.
    """
    run.__doc__ = summary  # the command line reads help texts from docstrings
    settings = type(f"{design.name}-settings", (options, design.card_settings), {})
    return Command(dataclass(frozen=True, kw_only=True)(settings), run, ratings=True)
