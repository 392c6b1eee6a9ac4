"""The officer's card: one page about guarantees, for a person who decides about using a model.

The verdict is one word, given by a rule that the page states. A part of the page that opens on a
click has the cards' costs, assumptions, limits, sources and measurements, with technical terms.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Literal

from tacit.privacy.guarantee import Basis, Guarantee, Trust
from tacit.privacy.measurements import Measurement
from tacit.privacy.printed_bounds import format_upper_bound

Verdict = Literal["strong", "moderate", "weak", "none"]
STRONG = 0.5
"""Largest epsilon, of all releases about a person, for which the verdict may be "strong"."""
MODERATE = 1.0
"""Largest such epsilon for which the verdict may be "moderate"."""
WEAK = 5.0
"""Largest such epsilon with the verdict "weak"."""
MODERATE_AUC = 0.55
"""For a measured card: the largest upper end of attackers' AUC intervals for "moderate"."""
WEAK_AUC = 0.65
"""For a measured card: the largest upper end of attackers' AUC intervals for "weak"."""
RULE = (
    "Strong: all that is ever released about one person costs epsilon 0.5 or less together. "
    "Moderate: 1 or less. Weak: 5 or less. None: more, no epsilon, or a claim that is refuted, or "
    "neither proved nor measured. A claim under a condition that was not checked, or about one "
    "visit or rating instead of a person, is at most moderate. Where attackers were measured and "
    "nothing is proved, it is at most moderate: up to an AUC of 0.55 at the highest upper end of "
    "the attackers' intervals; weak up to 0.65. Where nothing limits further releases, the verdict "
    "is about those until now."
)
_VERDICTS: tuple[Verdict, ...] = ("none", "weak", "moderate", "strong")
"""All verdicts, the worst first."""
_PERSON_WORDS = ("user", "person")
"""If the adjacency's unit contains one of these words, it is a person, not one visit or rating."""


@dataclass(frozen=True)
class FitCount:
    """How many fits to the data of the same people were made, and how many are left."""

    made: int
    """Number of fits that were made."""
    left: int | None
    """Number of fits that may follow; None if nothing limits it."""
    lifetime: float | None
    """Epsilon of all fits together; None if nothing limits it."""


@dataclass(frozen=True)
class CardFacts:
    """Facts that the page shows in addition to the guarantee."""

    about: str
    """The model or the service, in words."""
    date_made: date
    """The day on which the model file was made."""
    written_on: date
    """The day on which the page is written."""
    fits: FitCount | None
    """The fits under one budget; None if the design does not count fits."""


def judge(card: Guarantee) -> Verdict:
    """Give the verdict of a card, by `RULE`."""
    if card.basis in (Basis.REFUTED, Basis.NONE, Basis.UNMEASURED):
        return "none"
    if card.basis is Basis.MEASURED:
        return _judge_measurements(card.measurements)
    epsilon = _total_epsilon(card)
    if epsilon is None or epsilon > WEAK:
        return "none"
    if epsilon > MODERATE:
        return "weak"
    protects_person = any(word in str(card.adjacency.unit) for word in _PERSON_WORDS)
    if epsilon > STRONG or card.basis is Basis.CONDITIONAL or not protects_person:
        return "moderate"
    return "strong"


def judge_all(cards: Sequence[Guarantee]) -> Verdict:
    """Give the verdict of several cards: that of the weakest card; "none" if there is no card."""
    return judge(_weakest_card(cards)) if cards else "none"


def _weakest_card(cards: Sequence[Guarantee]) -> Guarantee:
    """Return the card with the worst verdict; of several, the one with the largest epsilon.

    A card without an epsilon counts as one with an infinite epsilon.
    """

    def strength(card: Guarantee) -> tuple[int, float]:
        """Return a sort key, which is lower for a weaker card."""
        epsilon = _total_epsilon(card)
        return _VERDICTS.index(judge(card)), -(math.inf if epsilon is None else epsilon)

    return min(cards, key=strength)


def _total_epsilon(card: Guarantee) -> float | None:
    """Return the epsilon of all releases; if nothing bounds it, the card's own `epsilon`."""
    return card.epsilon if card.lifetime_epsilon is None else card.lifetime_epsilon


def _total_delta(card: Guarantee) -> float:
    """Return the delta that belongs to the card's `_total_epsilon`; 0 if it has none."""
    delta = card.delta if card.lifetime_epsilon is None else card.lifetime_delta
    return delta or 0.0


def officer_page(cards: Sequence[Guarantee], facts: CardFacts) -> str:
    """Make the page as HTML that needs no other file and can be printed."""
    verdict = judge_all(cards)
    parts = [_HEAD.format(title=html.escape(facts.about))]
    parts.append(f"<h1>{html.escape(facts.about)}</h1>")
    parts.append(f'<p class="verdict {verdict}">Protection: <strong>{verdict}</strong></p>')
    parts += [_html_paragraph(sentence) for sentence in _promise(cards, verdict)]
    rows = [
        ("Who must be trusted", _describe_trust(cards)),
        ("Valid for", _describe_validity(facts)),
        ("Fits left", _describe_fits(facts.fits)),
        ("What breaks it", _html_list(_limits(cards))),
        ("If a person asks to be erased", _describe_erasure(facts.fits)),
        ("Evidence", _html_list(_evidence(cards, facts))),
    ]
    parts.append("<dl>")
    for name, content in rows:
        parts.append(f"<dt>{name}</dt><dd>{content}</dd>")
    parts.append("</dl>")
    parts.append(f'<p class="rule"><strong>How the verdict is found.</strong> {RULE}</p>')
    parts.append(_full_cards(cards))
    parts.append("</main></body></html>\n")
    return "\n".join(parts)


def _promise(cards: Sequence[Guarantee], verdict: Verdict) -> tuple[str, str]:
    """Say in two plain sentences what the cards promise together.

    If one of them is only measured, nothing is proved of all that is published.
    """
    if not cards or verdict == "none":
        return (
            "Nothing here limits in a useful way what others can learn about one person.",
            "Treat what is published as if the data of each person were published.",
        )
    if any(card.basis is Basis.MEASURED for card in cards):
        first_sentence = (
            "What leaves a person's device was changed so that others guess one fact about them "
            "worse than before."
        )
        return (
            first_sentence,
            "How much worse was measured with today's attackers; nothing is proved.",
        )
    card = _weakest_card(cards)
    epsilon = _total_epsilon(card)
    assert epsilon is not None  # `judge` gives a card without one the verdict "none"
    first_sentence = (
        "Anyone who sees all that is published cannot find out with certainty whether a person is "
        "in the data, or what they did."
    )
    second_sentence = (
        "Someone who thought it as likely as not can be at most "
        f"{_largest_belief(epsilon)} in 100 sure afterwards, whatever else they know"
        f"{_describe_failure(_total_delta(card))}."
    )
    return first_sentence, second_sentence


def _largest_belief(epsilon: float) -> int:
    """Return the largest belief, in percent, to which a belief of 50 percent can grow at delta 0.

    It is e^epsilon / (1 + e^epsilon), rounded up to a whole percent. `_describe_failure` says what
    a delta above 0 adds.
    """
    odds = math.exp(epsilon)
    return math.ceil(100 * odds / (1 + odds))


def _describe_failure(delta: float) -> str:
    """Say with which chance the largest belief does not hold; "" at delta 0.

    Releases at epsilon and delta show no more than a mechanism that shows everything with chance
    delta, and has a delta of 0 otherwise (Kairouz, Oh, Viswanath, 2015). The chance is rounded up.
    """
    if delta == 0:
        return ""
    one_in = math.floor(1 / Fraction(str(delta)))
    return f", unless the protection fails, which has a chance of at most 1 in {one_in:,}"


def _describe_trust(cards: Sequence[Guarantee]) -> str:
    """Say who must be trusted: a sentence for each different answer of the cards."""
    sentences = {
        Trust.NOBODY: "Nobody but the person's own device.",
        Trust.READERS_GUESS: "The person's own device; who reads what it sends can still guess.",
        Trust.PLATFORM: "The platform, which has everyone's data.",
        Trust.OWN_VENDOR: "The vendor that a person visits, and no other.",
    }
    if not cards:
        return "Everyone who sees what is published."
    answers = dict.fromkeys(sentences[card.trust] for card in cards)  # each once, in order
    return html.escape(" ".join(answers))


def _describe_validity(facts: CardFacts) -> str:
    """Say for which data the guarantee holds, and for how long."""
    text = f"The data that the model of {facts.date_made:%d %B %Y} was fitted to"
    if facts.fits is None or facts.fits.lifetime is None:
        return text + ", for as long as no further model of the same people is published."
    return text + ", and all later fits of the same people within their lifetime."


def _describe_fits(fits: FitCount | None) -> str:
    """Say how many fits were made and how many are left."""
    if fits is None:
        return "Fits are not counted for this design."
    if fits.left is None:
        return f"{fits.made} made; nothing limits how many follow, and each weakens the promise."
    if fits.left == 0:
        return f"{fits.made} made, none left: the next one is refused."
    return f"{fits.made} made, {fits.left} left; after that the next one is refused."


def _limits(cards: Sequence[Guarantee]) -> list[str]:
    """List the assumptions and limits of all cards, without those that use technical terms."""
    lines = []
    for card in cards:
        lines += [f"It fails if this is not so: {assumption}." for assumption in card.assumptions]
        lines += [f"It does not cover: {limit}." for limit in card.not_covered]
    plain_lines = [line for line in dict.fromkeys(lines) if not _TECHNICAL.search(line)]
    return plain_lines or ["The conditions are in the full card below."]


def _describe_erasure(fits: FitCount | None) -> str:
    """Say what happens if a person asks to be erased."""
    text = (
        "Their rows are left out of the next fit. Models that were published stay: they do not "
        "show, beyond the limit above, that the person was in the data."
    )
    if fits is not None:
        text += " What was spent of the budget stays spent: a release cannot be taken back."
    return text


def _evidence(cards: Sequence[Guarantee], facts: CardFacts) -> list[str]:
    """List the evidence: dates of model and page, the basis of each card, commands for more."""
    date_made = facts.date_made.isoformat()
    written_on = facts.written_on.isoformat()
    lines = [f"Model file of {date_made}; page written {written_on}."]
    lines += [card.first_line for card in cards]
    lines.append("Tests of this version: tacit audit. What is spent: tacit ledger.")
    return list(dict.fromkeys(lines))


def _full_cards(cards: Sequence[Guarantee]) -> str:
    """Format the cards with technical terms, as a part of the page that opens on a click.

    It has each card's cost, assumptions, limits, sources and measurements.
    """
    parts = ["<details><summary>The full cards, in the words of the field</summary>"]
    for card in cards:
        parts.append(f"<h2>{html.escape(card.name)}</h2>{_html_paragraph(card.sentence)}")
        costs = []
        if card.epsilon is not None:
            costs.append(f"One release: {_format_cost(card.epsilon, card.delta or 0.0)}.")
        if card.lifetime_epsilon is not None:
            lifetime_cost = _format_cost(card.lifetime_epsilon, card.lifetime_delta or 0.0)
            costs.append(f"All releases: {lifetime_cost}.")
        costs.append(f"Over a lifetime: {card.lifetime}")
        parts += [_html_paragraph(cost) for cost in costs]
        measurements = [str(measurement) for measurement in card.measurements]
        parts.append(_titled_html_list("It holds if:", card.assumptions))
        parts.append(_titled_html_list("It does not cover:", card.not_covered))
        parts.append(_titled_html_list("Sources:", card.sources))
        parts.append(_titled_html_list("Measured:", measurements))
    parts.append("</details>")
    return "\n".join(parts)


def _format_cost(epsilon: float, delta: float) -> str:
    """Format a cost with few digits, rounded up: the page never promises more than the card."""
    epsilon_text = format_upper_bound(epsilon, digits=3)
    return f"epsilon {epsilon_text} at delta {format_upper_bound(delta, digits=2)}"


def _judge_measurements(measurements: Sequence[Measurement]) -> Verdict:
    """Give the verdict of a measured card, by the highest upper end of the AUC intervals.

    Attackers who saw no release (`release` is "none") do not count. Without any other attacker,
    the verdict is "none".
    """
    upper_ends = [measurement.high for measurement in measurements if measurement.release != "none"]
    highest = max(upper_ends, default=1.0)
    if highest <= MODERATE_AUC:
        return "moderate"
    return "weak" if highest <= WEAK_AUC else "none"


def _html_paragraph(text: str) -> str:
    """Format an HTML paragraph of plain text."""
    return f"<p>{html.escape(text)}</p>"


def _html_list(lines: Sequence[str]) -> str:
    """Format an HTML list of plain lines; "" for no lines."""
    if not lines:
        return ""
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>"


def _titled_html_list(title: str, lines: Sequence[str]) -> str:
    """Format an HTML list of plain lines below a title; "" for no lines."""
    return _html_paragraph(title) + _html_list(lines) if lines else ""


_TECHNICAL = re.compile(
    r"\bmu\b|sigma|clipped|\bmode\b|zCDP|--[a-z]|\d{7}|[0-9]e-[0-9]", re.IGNORECASE
)
"""A line with a match is shown only in the part that `_full_cards` formats."""
_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #1c2426; background: #fffdf9; margin: 0; }}
main {{ max-width: 44rem; margin: 0 auto; padding: 2rem 1.25rem; }}
h1 {{ font-size: 1.6rem; overflow-wrap: anywhere; }}
.verdict {{ font-size: 1.3rem; border-left: 6px solid #566063; padding: .4rem 1rem; }}
.strong, .moderate {{ border-color: #1d5a54; }}
.weak {{ border-color: #a8560c; }}
.none {{ border-color: #a3281f; }}
dt {{ font-weight: 600; margin-top: .9rem; }}
dd {{ margin: .2rem 0 0; }}
ul {{ margin: .2rem 0; padding-left: 1.2rem; }}
.rule {{ font-size: .9rem; color: #465053; }}
@media print {{ main {{ padding: 0; }} details {{ break-before: page; }} }}
</style></head><body><main>"""
