"""What a p-REC simulation shows, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.designs.prec.experiment.simulation import Point
from tacit.evaluation.result import Verdict


def verdict(standing: Sequence[Point]) -> Verdict:
    """Of one setting, every method in it: p-REC against the exponential mechanism."""
    by_method = {point.row.method: point for point in standing}
    ours, other = by_method.get("p-rec"), by_method.get("exponential")
    if ours is None:
        best = min(standing, key=lambda point: point.loss.mean)
        said = f"{best.loss.mean:.1f} of {best.row.rounds:,} recommendations were disliked"
        return Verdict("none", f"{best.row.method} errs least", f"{said}. No gate hides the votes.")
    lost = f"{ours.loss.mean:.1f} of {ours.row.rounds:,} recommendations were disliked"
    if ours.row.world == "victim":
        return _of_the_victim(ours, by_method.get("p-rec-no-gate"))
    if ours.stopped > 0.5:
        gate = ours.row.threshold
        what = f"from about {gate:,} survivors on" if gate else "for more voters than there are"
        return Verdict(
            "worse",
            "Too few voters agree with the client",
            f"The gate is open {what}. In {ours.stopped:.0%} of the runs it shut, and what came "
            f"then was any object: {lost}.",
        )
    said = f"With its gate {lost}" + _bounded(ours)
    if other is None:
        return Verdict("none", "p-REC by itself", f"{said}.")
    against = f"{said}; with the exponential mechanism, at equal epsilon and delta, "
    against += f"it was {other.loss.mean:.1f}."
    if ours.loss.high < other.loss.low:
        return Verdict("hidden", "p-REC errs less than the exponential mechanism", against)
    if other.loss.high < ours.loss.low:
        return Verdict("worse", "The exponential mechanism errs less", against)
    return Verdict("weakened", "The two are not told apart", against)


def _bounded(point: Point) -> str:
    bound = point.row.loss_bound
    if bound is None:
        return ""
    side = "within" if point.loss.mean <= bound else "above"
    return f", {side} the bound of {bound:.1f}"


def _of_the_victim(ours: Point, bare: Point | None) -> Verdict:
    """The client guesses one voter's votes: the client likes what the voter voted for."""
    share = 1 - ours.joint_loss.mean / ours.row.rounds
    said = f"With the gate {share:.0%} of what the client is given is their victim’s vote"
    if bare is not None:
        read = 1 - bare.joint_loss.mean / bare.row.rounds
        said += f"; without it {read:.0%}"
    by_chance = 1 / ours.row.objects
    state = "hidden" if share < by_chance + 0.05 else "open"
    head = "The victim’s votes stay hidden" if state == "hidden" else "The victim’s votes are read"
    return Verdict(state, head, f"{said}; a guess would be right in {by_chance:.0%}.")
