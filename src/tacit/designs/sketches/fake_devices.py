"""Crafted reports: how far fake devices can move scores, and tests for their traces in the counts.

Threat   A fake device sends any bits with any ticket. Because of local privacy a single crafted
         report looks like an honest one. But many crafted reports, made to move scores most, leave
         traces in the counts.
Tests    Whatever people like, honest reports have these properties, each of which is tested:
         - the number of answers about an item is binomial, since tickets are random;
         - each answer is 1 with at most the probability `truth`, which limits the ones of an item;
         - each answer is 1 with a probability from 1 - `truth` to `truth`, so among all answers
           there are neither too few nor too many ones;
         - few reports have unusually many ones, so the number of such reports is limited.
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
"""Default of the probability of a false alarm in `inspect`."""


@dataclass(frozen=True, eq=False)
class Findings:
    """Traces of crafted reports in a campaign's counts."""

    asked: Ints
    """(k,) numbers of items with too many answers: devices chose their tickets."""
    answered: Ints
    """(k,) numbers of items with more ones than noise explains if everybody's true answer is 1."""
    reports: int
    """Number of unusual reports, which have more than `most_ones` ones."""
    most_ones: int
    """Largest number of ones of a report that is not unusual."""
    most_reports: int
    """Largest number of unusual reports that honest people may send."""
    share: bool
    """Whether there are too many or too few ones among all answers."""

    @property
    def suspicious(self) -> bool:
        """Whether at least one of the four tests failed."""
        has_suspicious_items = len(self.asked) > 0 or len(self.answered) > 0
        return has_suspicious_items or self.reports > self.most_reports or self.share


def inspect(server: Server, false_alarm: float = FALSE_ALARM) -> Findings:
    """Look for traces of crafted reports in the counts of a campaign that senses sets.

    Args:
        server: The server that counted the reports.
        false_alarm: Upper bound of the probability that, although all people are honest, any of
            the three tests of counts (`asked`, `answered`, `share`) fails. The test of unusual
            reports has a probability of its own, with the same bound.

    Raises:
        ConfigError: The campaign asks about pairs, or the probability is out of range.
    """
    _check_false_alarm(false_alarm)
    campaign = server.campaign
    counts = item_counts(server)
    truth = campaign.truth / WHOLE
    answers = server.reports * campaign.questions
    # Each of the three tests of counts gets a third of `false_alarm`. The two tests of items divide
    # it among the items, the test of all answers between too many and too few ones.
    false_alarm_of_item = false_alarm / (3 * campaign.n_items)
    false_alarm_of_side = false_alarm / 6
    most_asked = binom.isf(false_alarm_of_item, server.reports, campaign.asked_share)
    most_answered = binom.isf(false_alarm_of_item, np.maximum(counts.asked, 1), truth)
    most_ones = int(binom.isf(false_alarm, campaign.questions, truth))
    unusual_share = binom.sf(most_ones, campaign.questions, truth)
    ones_in_all = int(server.ones @ np.arange(campaign.questions + 1))
    fewest_ones_in_all = binom.ppf(false_alarm_of_side, answers, 1 - truth)
    most_ones_in_all = binom.isf(false_alarm_of_side, answers, truth)
    return Findings(
        asked=np.flatnonzero(counts.asked > most_asked),
        answered=np.flatnonzero(counts.ones > most_answered),
        reports=int(server.ones[most_ones + 1 :].sum()),
        most_ones=most_ones,
        most_reports=int(binom.isf(false_alarm, server.reports, unusual_share)),
        share=bool(ones_in_all < fewest_ones_in_all or ones_in_all > most_ones_in_all),
    )


def _check_false_alarm(false_alarm: float) -> None:
    """Raise ConfigError unless the probability of a false alarm is above 0 and below 1."""
    if not 0 < false_alarm < 1:
        raise ConfigError(f"A chance of a false alarm lies between 0 and 1; got {false_alarm}.")


@dataclass(frozen=True)
class Bound:
    """How far, at most, fake devices move one item's expected score, which is between 0 and 1."""

    assigned: float
    """Distance if tickets are assigned, so that a fake device is asked about the item as often as
    an honest one."""
    chosen: float
    """Distance if fakes choose tickets whose questions are about the item, and no test notices."""
    unnoticed: float
    """Distance if fakes choose so few tickets about the item that `Findings.asked` stays empty."""
    gap: float
    """Largest possible distance between the expected scores of two clusters. An item gets another
    label if its score moves by half of the distance between its cluster and the other."""


def manipulation(
    campaign: Campaign, *, people: int, fakes: float, false_alarm: float = FALSE_ALARM
) -> Bound:
    """Bound how far fake devices can move the expected score of an item.

    Args:
        campaign: A campaign that senses sets.
        people: Number of all reports.
        fakes: Share of the reports that are crafted, from 0 to below 1.
        false_alarm: See `inspect`.

    Raises:
        ConfigError: The campaign asks about pairs, or a number is out of range.
    """
    _check_false_alarm(false_alarm)
    if not 0 <= fakes < 1 or people < 1:
        raise ConfigError(
            f"fakes is a share from 0 to below 1, and people is 1 or more; got {fakes} and "
            f"{people}."
        )
    if not campaign.asks_about_sets:
        raise ConfigError("This bound is for campaigns that sense sets.")
    truth = campaign.truth / WHOLE
    asked_share = campaign.asked_share
    honest_answers = (1 - fakes) * people * asked_share
    fake_reports = fakes * people
    deviations = norm.isf(false_alarm / (3 * campaign.n_items))
    # The test allows half of this number of answers above the mean of honest reports. The honest
    # answers may be as many below their mean, which leaves twice as many for fakes.
    unnoticed_answers = 2 * deviations * np.sqrt(people * asked_share * (1 - asked_share))

    def shift(fake_answers: float) -> float:
        """Bound how far the score moves by this number of fake answers, which are all 1.

        It moves farthest if the honest answers have the smallest share of ones, 1 - truth.
        """
        return float(truth * fake_answers / (honest_answers + fake_answers))

    assigned_answers = fake_reports * asked_share
    return Bound(
        assigned=shift(assigned_answers),
        chosen=shift(fake_reports),
        unnoticed=shift(min(fake_reports, assigned_answers + unnoticed_answers)),
        gap=(2 * truth - 1) * campaign.rated / campaign.n_items,
    )
