"""One page of a p-REC simulation: what was seen, in words and in the command's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.designs.prec.experiment.worlds import WORLDS, Game
from tacit.evaluation import Table, Verdict
from tacit.evaluation.page import Page, Section

_LEAD = (
    "World: {world}. {said} {rounds:,} rounds of {objects} objects, {voters:,} voters, {peers:,} "
    "of them peers, diversity {diversity}, radius {radius}; clients: {clients}. Private methods "
    "spend epsilon {epsilon:g} and delta {delta:g} on one voter’s whole history, for what "
    "{together} of the clients see together."
)
_LIMITS = (
    "Generated voters agree with the client as configured; on real ratings peers are rare. A "
    "simulation finds no epsilon: tacit plan prec computes it, audits look for violations. Only "
    "the gate’s noise is the system’s; all other draws repeat with the seed."
)


def page_of(
    base: Game, standing: Sequence[Any], table: Table, notes: str, manifest: Mapping[str, Any]
) -> Page:
    """standing: a `Point` of every method at the base, of which the verdict is."""
    about = " ".join((WORLDS[base.world].__doc__ or "").partition("\n\n")[0].split())
    lead = _LEAD.format(said=about, **vars(base))
    sections = [Section("Side by side", [table], notes=[notes, _LIMITS])]
    said = verdict(standing)
    return Page("p-REC, simulated", sections, manifest, said, lead=lead, design="p-REC")


def verdict(standing: Sequence[Any]) -> Verdict:
    """p-REC against the exponential mechanism; in the victim's world, whether votes are read."""
    by_method = {point.row.method: point for point in reversed(standing)}
    ours, other = by_method.get("p-rec"), by_method.get("exponential")
    if ours is None:
        best = min(standing, key=lambda point: float(point.loss.mean))
        said = f"{best.loss.mean:.1f} of {best.row.rounds:,} recommendations were disliked. "
        said += "No gate hides the votes."
        return Verdict("none", f"{best.row.method} errs least", said)
    if ours.row.world == "victim":
        return _of_the_victim(ours, by_method.get("p-rec-no-gate"))
    said = f"{ours.loss.mean:.1f} of {ours.row.rounds:,} recommendations were disliked"
    if ours.stopped > 0.5:
        least = ours.row.threshold
        opens = f"from about {least:,} survivors on" if least else "for more voters than there are"
        said += f". The gate is open {opens}; it shut in {ours.stopped:.0%} of the runs."
        return Verdict("open", "Too few voters agree with the client", said)
    if (bound := ours.row.loss_bound) is not None:
        side = "within" if ours.loss.mean <= bound else "above"
        said += f", {side} the bound of {bound:.1f}"
    if other is None:
        return Verdict("none", "p-REC by itself", f"{said}.")
    said += f"; with the exponential mechanism, at equal epsilon and delta, {other.loss.mean:.1f}."
    if ours.loss.high < other.loss.low:
        return Verdict("hidden", "p-REC errs less than the exponential mechanism", said)
    if other.loss.high < ours.loss.low:
        return Verdict("open", "The exponential mechanism errs less", said)
    return Verdict("weakened", "The two cannot be distinguished", said)


def _of_the_victim(ours: Any, bare: Any | None) -> Verdict:
    """The client likes what one voter votes for: what most clients are given is a guess of it."""
    share, chance = 1 - ours.joint.mean / ours.row.rounds, 1 / ours.row.objects
    said = f"With the gate {share:.0%} of what most clients are given is the victim’s vote"
    if bare is not None:
        said += f"; without it {1 - bare.joint.mean / bare.row.rounds:.0%}"
    said += f"; a guess would be right in {chance:.0%}."
    if share < chance + 0.05:
        return Verdict("hidden", "The victim’s votes stay hidden", said)
    return Verdict("open", "The victim’s votes are read", said)
