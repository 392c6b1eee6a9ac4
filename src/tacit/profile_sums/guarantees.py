"""Guarantee cards of fits, computed from the noise of their releases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tacit.privacy import Adjacency, Basis, Guarantee, Trust, format_upper_bound
from tacit.profile_sums.fits import Fit, list_assumed_public, total_epsilon
from tacit.profile_sums.settings import Settings
from tacit.recommenders.fits_in_process import UNCOUNTED_FITS
from tacit.recommenders.public_facts import (
    ONE_ID_EACH,
    REFUSALS_ARE_SEEN,
    TYPES_ARE_PUBLIC,
    describe_assumptions,
    describe_condition,
)

_UNIT = Adjacency("user", "add or remove")
_NAME = "Private lists from noisy sums over people"
_SOURCES = (
    "docs/private-proof.md, for the sums and the proof",
    "Canonne, Kamath, Steinke: The discrete Gaussian (NeurIPS 2020), for the noise",
    "Dong, Roth, Su: Gaussian differential privacy (2022), for epsilon and delta",
    "Smith, Thakurta: Fully adaptive composition for GDP (2022), for several fits",
    "Kearns, Pai, Roth, Ullman: Mechanism design in large games (2014), for joint privacy",
)
_CONTINUED_ONCE = (
    "each model file is continued at most once: two fits that continue the same file cost more "
    "than the card of either says; a ledger refuses this, and nothing else checks it"
)
"""Assumption of the card of several fits, made or planned."""
_LIFETIME = "each further fit on the same people costs more: 1 / sigma^2 adds up over fits"
"""Beginning of the lifetime of a card."""
_PAIRS_SHARE_CHARGE = (
    "pairs of likes are a second table that shares the charge of the last sum of lists: each of "
    "the two tables has twice the noise variance of a table with a whole charge"
)
"""Assumption of the card of a fit that released pairs of likes."""


def card_before_fit(settings: Settings) -> Guarantee:
    """Return the card of one future fit whose catalogue and scale are public."""
    return card_of_fits((Fit.with_random_name(settings),), settings.delta)


def card_of_fits(
    fits: Sequence[Fit],
    delta: float,
    *,
    usefulness: str = "",
    planned: Sequence[Fit] = (),
    consenting: int = 0,
    lifetime: float | None = None,
    has_pairs: bool = False,
) -> Guarantee:
    """Return the card of all fits of some people, including the planned ones.

    Args:
        fits: All fits that were made, the newest last.
        delta: Delta of the guarantee.
        usefulness: Sentences on how useful the lists are, added to the card's sentence; "": none.
        planned: Fits that are still to come in the last fit's plan.
        consenting: Number of people who agreed not to be protected and were learned from.
        lifetime: Epsilon that all fits may cost together; None: no limit was set.
        has_pairs: Whether the last fit released pairs of likes, also if its lists do not use them.
    """
    has_noise = all(all(fit.noises) for fit in fits)
    if not has_noise and all(fits[-1].noises):
        return card_after_fit_without_noise()
    if not has_noise:
        return card_without_noise()
    card = _card_with_noise(fits, delta, usefulness, planned, lifetime)
    if has_pairs:
        card = replace(card, assumptions=(*card.assumptions, _PAIRS_SHARE_CHARGE))
    return card if not consenting else _add_consenting(card, consenting)


def _add_consenting(card: Guarantee, consenting: int) -> Guarantee:
    """Restrict a card to the people who never agreed to give up the protection.

    Args:
        card: The card of a fit with noise.
        consenting: Number of people who agreed not to be protected and were learned from.
    """
    return replace(
        card,
        sentence=(
            f"For everybody who never agreed to give up the protection: {card.sentence} "
            f"{consenting} people agreed not to be protected: they have no claim, and their likes "
            "can be read out of the model file."
        ),
        protects=f"{card.protects}, of everybody who never agreed to give up the protection",
        basis=Basis.CONDITIONAL,
        assumptions=(
            *card.assumptions,
            (
                "whether a person agreed did not depend on other people's rows, other than through "
                "releases and the person's own lists"
            ),
            "each id in the list of those who agreed is that of one person, who agreed",
        ),
        not_covered=(
            *card.not_covered,
            (
                f"the {consenting} people who agreed not to be protected; one who withdraws is "
                "left out of the next file, but stays in files already given out and in backups of "
                "a ledger"
            ),
        ),
    )


def card_without_noise() -> Guarantee:
    """Return the card of a fit at epsilon inf, which protects nobody."""
    return Guarantee(
        name=f"{_NAME}, without noise",
        sentence="Nobody is protected: lists depend on everybody's rows without any noise.",
        protects="nobody",
        adjacency=_UNIT,
        against="other people, who see their lists and may have the model file",
        trust=Trust.PLATFORM,
        basis=Basis.NONE,
        epsilon=None,
        delta=None,
        lifetime=f"per fit: {_LIFETIME}",
        assumptions=(),
        not_covered=("everything: this is the non-private variant, for comparison",),
        sources=_SOURCES,
    )


def card_after_fit_without_noise() -> Guarantee:
    """Return the card of a fit with noise after one without noise; it protects nobody either."""
    return replace(
        card_without_noise(),
        name=f"{_NAME}, after a fit without noise",
        sentence=(
            "Nobody is protected: an earlier fit of these people, counted here, had no noise. If "
            "that earlier fit was never published, fit a new object."
        ),
        not_covered=("everything: an earlier fit of these people had no noise",),
    )


def _describe_lifetime(fits: Sequence[Fit], delta: float, lifetime: float | None) -> str:
    """Describe the limit of all fits together; without a limit, the epsilon after one more fit.

    Args:
        fits: Fits that were made or are planned.
        delta: Delta of the guarantee.
        lifetime: Epsilon that all fits may cost together; None or inf: no limit.
    """
    if lifetime is not None and math.isfinite(lifetime):
        limit = format_upper_bound(lifetime, digits=4)
        return f"{_LIFETIME}, up to epsilon {limit} for all fits together"
    one_more = total_epsilon((*fits, fits[-1]), delta)
    epsilon = format_upper_bound(one_more, digits=3)
    return f"{_LIFETIME}; one more fit like the last makes epsilon {epsilon} together"


def _card_with_noise(
    fits: Sequence[Fit],
    delta: float,
    usefulness: str,
    planned: Sequence[Fit],
    lifetime: float | None,
) -> Guarantee:
    """Return the card of fits that all have noise; the arguments are those of `card_of_fits`."""
    assumed_public = list_assumed_public(fits)
    epsilon = total_epsilon((*fits, *planned), delta)
    sentence = (
        f"What all others get to see is ({format_upper_bound(epsilon)}, "
        f"{format_upper_bound(delta)})-differentially private for each person's whole profile, in "
        "all domains together."
    )
    counted_fits = "one fit"
    if fits[-1].plan:
        made_of_plan = sum(fit.plan == fits[-1].plan for fit in fits)
        counted_fits = f"all {made_of_plan + len(planned)} fits of the plan"
        before_plan = len(fits) - made_of_plan
        if before_plan:
            counted_fits += f", and {before_plan} before it"
        verb = "is" if made_of_plan == 1 else "are"
        sentence += (
            f" That is {counted_fits}, from the first day; {made_of_plan} of them {verb} made."
        )
    elif len(fits) > 1:
        counted_fits = f"all {len(fits)} fits"
        last_epsilon = total_epsilon(fits[-1:], delta)
        sentence += (
            f" That is {len(fits)} fits together; the last one alone has epsilon "
            f"{format_upper_bound(last_epsilon)}."
        )
    charged_fits = (*fits, *planned)
    sums = f"{sum(len(fit.noises) for fit in charged_fits)} noisy sums over people, all charged"
    sums += " before the first" if len(charged_fits) == 1 else " before the first one of their fit"
    continued = (_CONTINUED_ONCE,) if len(charged_fits) > 1 else ()
    sentence += describe_condition(assumed_public)
    if usefulness:
        sentence += f" {usefulness}"
    return Guarantee(
        name=_NAME,
        sentence=sentence,
        protects="one person's whole profile, present or absent",
        adjacency=_UNIT,
        against=(
            "all other people together, with their lists, explanations and the model file, which "
            "may be given to everyone: they may know everything but that person's rows"
        ),
        trust=Trust.PLATFORM,
        basis=Basis.CONDITIONAL if assumed_public else Basis.PROVED,
        epsilon=epsilon,
        delta=delta,
        lifetime=f"{counted_fits}: {_describe_lifetime(charged_fits, delta, lifetime)}",
        assumptions=(
            *describe_assumptions(
                "the catalogue, its domains and metadata, and the scale of stars", assumed_public
            ),
            "item metadata were made without these people's ratings or events",
            ONE_ID_EACH,
            TYPES_ARE_PUBLIC,
            (
                f"{sums}; in each, all that one person adds is clipped together, to integers, and "
                "Gaussian noise comes from the operating system's generator, by an exact integer "
                "sampler"
            ),
            *continued,
            "each sum's noise is drawn once: a fit that stops before its end publishes nothing",
            (
                "a person's own rows are used in the clear for their own list and nowhere else "
                "after the release"
            ),
        ),
        not_covered=(
            "a person's own list, seen by another person: it is made from their own rows",
            "the platform, which holds everyone's rows",
            REFUSALS_ARE_SEEN,
            "reactions of people to their lists that become rows of a later fit",
            f"{UNCOUNTED_FITS}; and the fits that a `previous` model or a ledger lists",
            "a profile that is changed rather than removed: at most twice the mu of a removal",
            "what other people's rows reveal about a person even without that person's rows",
        ),
        sources=_SOURCES,
    )
