"""`tacit fit` and `tacit evaluate` of a design that names a model and no commands of its own.

Its card settings are the model's, too: their fields are the constructor's parameters.
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
    """Options of `tacit fit NAME` beside the design's own."""

    out: Path = option(OUT, flag="--out -o", writes=True)


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """Options of `tacit evaluate NAME` beside the design's own."""

    seeds: int = option("How many splits.", default=LEAST_SEEDS, least=1)
    seed: int = option(SEED, default=0, least=0)
    workers: int = option(WORKERS, default=1, least=0)
    report: Path | None = option(REPORT, default=None, writes=True)


def make_commands(design: Design) -> dict[str, Command]:
    """Make the commands "fit" and "evaluate" of a design that has models."""
    return {"fit": _fit(design), "evaluate": _evaluate(design)}


def _fit(design: Design) -> Command:
    kind = next(iter(design.models))

    def run(settings: Any, terminal: Run) -> Result:
        make_model = model_class(kind)
        assert make_model is not None  # the design has models
        model = make_model(**_model_settings(design, settings))
        ratings = terminal.read()
        with terminal.progress("Fitting", None):
            model.fit(ratings).save(settings.out)
        card = model.guarantees()[0]
        useful = usefulness(model)
        data = private_fit_summary(kind, settings.out, len(model.item_ids_)) | card_summary(card)
        fitted = f"Fitted {design.title}. {card.first_line} {card.sentence} {useful or ''}"
        after = guarantee_command(settings.out)
        return Result(data | {"useful": useful}, (fitted.strip(),), after)

    return _command(design, run, f"Fit {design.title}: {design.citation}.", FitOptions)


def _evaluate(design: Design) -> Command:
    kind = next(iter(design.models))

    def run(settings: Any, terminal: Run) -> Result:
        from tacit.evaluation.lists import Contender, evaluate_lists
        from tacit.evaluation.lists_page import make_lists_page

        own = _model_settings(design, settings)
        contender = Contender(kind, own, own.get("epsilon"))
        ratings = terminal.read()
        with terminal.progress("Evaluating", 3 * settings.seeds) as advance:
            rows = evaluate_lists(
                ratings,
                [contender],
                seeds=range(settings.seed, settings.seed + settings.seeds),
                workers=settings.workers,
                progress=advance,
            )
        made_with = manifest(
            ratings, seed=settings.seed, command=terminal.command, seeds=settings.seeds, **own
        )
        table = table_of_lists(rows)
        if settings.report is not None:
            make_lists_page(design.title, rows, table, made_with).write(settings.report)
        return Result(
            {"rows": [row.to_dict() for row in rows], "manifest": made_with},
            (table,),
            design.after_cards,
        )

    about = f"Measure how well {design.title} finds held-out likes, beside baselines."
    return _command(design, run, about, EvaluateOptions)


def table_of_lists(rows: Sequence[ListRow]) -> Table:
    """Make a table of the figures that recommenders of lists reached."""
    columns: dict[str, Callable[[ListRow], object]] = {
        "model": lambda row: row.model,
        "epsilon": lambda row: None if row.epsilon is None else f"{row.epsilon:g}",
        "NDCG": lambda row: f"{row.ndcg:.3f}",
        "95 % interval": lambda row: f"{row.low:.3f} to {row.high:.3f}",
        "recall": lambda row: f"{row.recall:.3f}",
        "kept": lambda row: None if row.kept is None else f"{row.kept:.2f}",
    }
    return Table.from_rows("Lists of ten", columns, rows)


def _model_settings(design: Design, settings: Any) -> dict[str, Any]:
    """Pick the options that are the model's own."""
    chosen = asdict(settings)
    return {name: chosen[name] for name in options_of(design.card_settings)}


def _command(
    design: Design, run: Callable[[Any, Run], Result], about: str, options: type[Any]
) -> Command:
    """Make a command whose settings are its own options and those of the design's cards."""
    run.__doc__ = about
    settings = type(f"{design.name}-settings", (options, design.card_settings), {})
    return Command(dataclass(frozen=True, kw_only=True)(settings), run, ratings=True)
