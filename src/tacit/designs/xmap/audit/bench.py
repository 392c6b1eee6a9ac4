"""X-Map on the audit's bench: what the paper claims, and what this library claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacit.auditing.claims import Advance, Bench, Line, Study
from tacit.designs.xmap.audit import membership, sums
from tacit.designs.xmap.audit.draws import (
    all_images,
    constant_fit,
    constant_images,
    constant_noise,
    constant_selection,
    one_image,
    published_fit,
    published_noise,
    published_selection,
)

BENCH: tuple[Callable[[], Line], ...] = (
    one_image,
    all_images,
    published_selection,
    published_noise,
    published_fit,
    constant_images,
    constant_selection,
    constant_noise,
    constant_fit,
    sums.sums,
)
"""The published lines first."""


def audit() -> Bench:
    """The lines, and who was in the ratings, guessed."""
    return Bench(
        {"": BENCH},
        sums.BUGS,
        studies=(Study("membership", _COLUMNS, _steps, _guessed),),
        conclusion="The paper's claims are refuted. No violation of the library's was found, and "
        "that is no proof.",
        after="tacit guarantee xmap --epsilon 1  reads what each variant promises.",
    )


_COLUMNS: dict[str, Callable[[Any], object]] = {
    "recommender": lambda row: row.method,
    "attack": lambda row: row.attack,
    "claim": lambda row: row.epsilon,
    "AUC": lambda row: row.auc,
    "95 %": lambda row: f"{row.low:.3f} to {row.high:.3f}",
    "bound": lambda row: row.lower_bound,
    "verdict": lambda row: row.verdict,
}


def _fits(short: bool) -> int:
    return 2 if short else membership.FITS


def _steps(_: str | None, short: bool) -> int:
    return len(membership.GAMES) * _fits(short)


def _guessed(_: str | None, short: bool, advance: Advance) -> tuple[list[Any], list[str]]:
    rows = [
        row
        for game in membership.GAMES
        for row in membership.play(game, fits=_fits(short), progress=advance)
    ]
    wrong = [
        f"{row.method}, {row.attack}: membership guessed beyond the claim"
        for row in rows
        if row.verdict == "violation"
    ]
    if not (short or membership.control_works(rows)):
        wrong.append("no attack works on the control, so that it fails elsewhere says nothing")
    return rows, wrong
