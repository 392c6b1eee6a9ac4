"""`tacit fit` and `tacit evaluate` of a design that names a model and no commands of its own.

Its card settings are the model's, too: their fields are the constructor's parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.design import (
    Command,
    Design,
    Run,
    card_summary,
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
    out: Path = option(OUT, flag="--out -o", writes=True)


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    seeds: int = option("How many splits.", default=LEAST_SEEDS, least=1)
    seed: int = option(SEED, default=0, least=0)
    workers: int = option(WORKERS, default=1, least=0)
    report: Path | None = option(REPORT, default=None, writes=True)


def commands(design: Design) -> dict[str, Command]:
    """By the part of a design whose place each of them takes; it has models."""
    return {"fit": _fit(design), "evaluate": _evaluate(design)}


def _fit(design: Design) -> Command:
    kind = next(iter(design.models))

    def run(settings: Any, terminal: Run) -> Result:
        model = model_class(kind)(**_own(design, settings))  # type: ignore[misc]  # it is there
        ratings = terminal.read()
        with terminal.progress("Fitting", None):
            model.fit(ratings).save(settings.out)
        card, useful = model.guarantees()[0], usefulness(model)
        data = private_fit_summary(kind, settings.out, len(model.item_ids_)) | card_summary(card)
        fitted = f"Fitted {design.title}. {card.first_line} {card.sentence} {useful or ''}"
        after = f"tacit guarantee {settings.out}"
        return Result(data | {"useful": useful}, (fitted.strip(),), after)

    return _command(design, run, f"Fit {design.title}: {design.citation}.", FitOptions)


def _evaluate(design: Design) -> Command:
    kind = next(iter(design.models))

    def run(settings: Any, terminal: Run) -> Result:
        from tacit.evaluation.lists import Contender, evaluate_lists
        from tacit.evaluation.page import Page, Section

        given = _own(design, settings)
        contender = Contender(kind, given, given.get("epsilon"))
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
            ratings, seed=settings.seed, command=terminal.command, seeds=settings.seeds, **given
        )
        table = lists(rows)
        if settings.report is not None:
            page = Page(design.title, [Section(table.title, [table])], made_with)
            page.write(settings.report)
        return Result(
            {"rows": [row.to_dict() for row in rows], "manifest": made_with},
            (table,),
            design.after_cards,
        )

    about = f"Find held-out likes with {design.title}, and without."
    return _command(design, run, about, EvaluateOptions)


def lists(rows: Sequence[ListRow]) -> Table:
    """What each recommender of lists reached."""
    columns: dict[str, Callable[[ListRow], object]] = {
        "model": lambda row: row.model,
        "epsilon": lambda row: None if row.epsilon is None else f"{row.epsilon:g}",
        "NDCG": lambda row: f"{row.ndcg:.3f}",
        "95 % interval": lambda row: f"{row.low:.3f} to {row.high:.3f}",
        "recall": lambda row: f"{row.recall:.3f}",
        "kept": lambda row: None if row.kept is None else f"{row.kept:.2f}",
    }
    return Table.of("Lists of ten", columns, rows)


def _own(design: Design, settings: Any) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in options_of(design.card_settings)}


def _command(
    design: Design, run: Callable[[Any, Run], Result], about: str, options: type[Any]
) -> Command:
    run.__doc__ = about
    settings = type(f"{design.name}-settings", (options, design.card_settings), {})
    return Command(dataclass(frozen=True, kw_only=True)(settings), run, ratings=True)
