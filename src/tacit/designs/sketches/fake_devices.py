"""Crafted reports: what fake devices can do to scores, and the counts that give them away.

Threat   A fake device sends any bits under any ticket. Local privacy cannot tell one of its reports
         from an honest one; many of them together leave a trace where they gain most.
Tests    Three facts hold for honest reports whatever people like: how often an item is asked about
         is binomial, for tickets are random; of any item's answers at most the share `truth` is 1
         in the mean; and so of all answers. A single report of many ones happens in a large
         population; more of them than chance allows do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from tacit.designs.sketches.counting import item_counts
from tacit.designs.sketches.messages import WHOLE, Campaign
from tacit.designs.sketches.server import Server
from tacit.errors import ConfigError

Ints = NDArray[np.int64]
FALSE_ALARM = 1e-6
"""Chance, at most, that honest people alone set off the tests of counts; and again, of reports."""


@dataclass(frozen=True, eq=False)
class Findings:
    """Traces of crafted reports in a campaign's counts."""

    asked: Ints
    """(k,) items asked about too often: tickets were chosen."""
    answered: Ints
    """(k,) items with more ones than lies can make of the truth."""
    reports: int
    """How many reports have more than `most_ones` ones."""
    most_ones: int
    """Ones above which a report is noted."""
    most_reports: int
    """How many such reports honest people send at most."""
    share: bool
    """Whether ones among all answers are too many or too few."""

    @property
    def suspicious(self) -> bool:
        """Whether any trace is there."""
        too_many = self.reports > self.most_reports
        return bool(len(self.asked) or len(self.answered) or too_many or self.share)


def inspect(server: Server, false_alarm: float = FALSE_ALARM) -> Findings:
    """Test the counts of a campaign that senses sets for crafted reports.

    Args:
        server: Its counts.
        false_alarm: Chance, at most, that honest people set off the tests of counts; and again, of
            reports.

    Raises:
        ConfigError: The campaign asks about pairs, or the chance is out of range.
    """
    if not 0 < false_alarm < 1:
        raise ConfigError(f"A chance of a false alarm lies between 0 and 1; got {false_alarm}.")
    campaign = server.campaign
    counts = item_counts(server)
    truth = campaign.truth / WHOLE
    answers = server.reports * campaign.questions
    # Three tests that can be set off in the mean by chance, shared among all items.
    false_alarm_of_item = false_alarm / (3 * campaign.items)
    most_asked = binom.isf(false_alarm_of_item, server.reports, campaign.asked_share)
    most_answered = binom.isf(false_alarm_of_item, np.maximum(counts.asked, 1), truth)
    most_ones = int(binom.isf(false_alarm, campaign.questions, truth))
    share_beyond = binom.sf(most_ones, campaign.questions, truth)
    ones = int(server.ones @ np.arange(campaign.questions + 1))
    fewest_ones_in_all = binom.ppf(false_alarm / 6, answers, 1 - truth)
    most_ones_in_all = binom.isf(false_alarm / 6, answers, truth)
    return Findings(
        asked=np.flatnonzero(counts.asked > most_asked),
        answered=np.flatnonzero(counts.ones > most_answered),
        reports=int(server.ones[most_ones + 1 :].sum()),
        most_ones=most_ones,
        most_reports=int(binom.isf(false_alarm, server.reports, share_beyond)),
        share=bool(ones < fewest_ones_in_all or ones > most_ones_in_all),
    )


@dataclass(frozen=True)
class Bound:
    """Distance by which fake devices can move one item's normalised score; 1 is all the way."""

    assigned: float
    """If tickets are given to them: they are asked about the item as seldom as everybody."""
    chosen: float
    """If they choose their tickets and nobody tests."""
    unnoticed: float
    """If they choose so few tickets that the test of `asked` does not see it."""
    gap: float
    """Distance of two clusters' scores, at most: an item changes its label when it is moved by half
    of it."""


def manipulation(
    campaign: Campaign, *, people: int, fakes: float, false_alarm: float = FALSE_ALARM
) -> Bound:
    """Bound how far fake devices can move a score.

    Args:
        campaign: Senses sets.
        people: Reports in all.
        fakes: Share of them that are crafted, below 1.
        false_alarm: As of `inspect`.

    Raises:
        ConfigError: The campaign asks about pairs, or a number is out of range.
    """
    if not 0 <= fakes < 1 or people < 1:
        raise ConfigError(f"Fakes are a share below 1 of 1 or more people; got {fakes}, {people}.")
    if not campaign.senses:
        raise ConfigError("This bound is for campaigns that sense sets.")
    truth = campaign.truth / WHOLE
    asked = campaign.asked_share
    honest = (1 - fakes) * people * asked
    fake = fakes * people
    threshold = norm.isf(false_alarm / (3 * campaign.items))
    # Beyond the mean by as much as chance could be, in both directions.
    room = 2 * threshold * np.sqrt(people * asked * (1 - asked))

    def shift(extra: float) -> float:
        """Compute how far a score moves by so many further answers that are all 1."""
        return float(truth * extra / (honest + extra))

    return Bound(
        assigned=shift(fake * asked),
        chosen=shift(fake),
        unnoticed=shift(min(fake, fake * asked + room)),
        gap=(2 * truth - 1) * campaign.rated / campaign.items,
    )
