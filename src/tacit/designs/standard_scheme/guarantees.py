"""Guarantee cards of the standard scheme.

There are two cards: for people who hide an attribute by what their device sends, and for consenting
people, whose ratings train the recommender.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.designs.standard_scheme.settings import Settings
from tacit.designs.standard_scheme.training.people import FEWEST_CHANGED
from tacit.privacy import (
    Adjacency,
    Basis,
    Claim,
    Guarantee,
    Measurement,
    Trust,
    attack_summary,
    format_upper_bound,
)
from tacit.recommenders.fits_in_process import UNCOUNTED_FITS
from tacit.recommenders.public_facts import (
    add_titles_assumption,
    describe_assumptions,
    describe_condition,
)

_SOURCES = (
    "US patent application 'Privacy protection against curious recommenders', Theorem 1, eqs. 1-7",
    (
        "Ioannidis, Montanari, Weinsberg, Bhagat, Fawaz, Taft: Privacy tradeoffs in predictive "
        "analytics, SIGMETRICS 2014"
    ),
)
FIRST_CHOICE = (
    "A list made on your device sends nothing and should be tried first; a release makes guessing "
    "harder and does not hide. "
)
ONLY_FOR = (
    "Only for services that do not otherwise learn what you watched, bought, opened or rated. "
)
OUTSIDE_KNOWLEDGE_SOUND = (
    "On MovieLens 100K the strongest of eleven attackers read gender from one default release with "
    "AUC .677 (bound .738; .798 from true stars); on the 6,040 people of MovieLens 1M an outside "
    "measurement had up to .727 (.86 from true stars): attackers learn from more people. An "
    "attacker who knows ten rated items reads it with .94, one who knows their number with .93."
)
OUTSIDE_KNOWLEDGE_PUBLISHED = (
    "From ten items known to be rated the value was read with AUC .98 (MovieLens 100K), and from "
    "their number with .95; from one, three and ten known items the value of 14, 38 and 77 % of "
    "people was certain."
)
"""Both texts on outside knowledge have figures of `tacit evaluate standard-scheme`, but for the
outside measurement that the first one names: see docs/results.md."""
_NOT_COVERED = (
    "anything that gives away the number of your ratings or of the held-back ones",
    "items that are known to be rated by you, and true stars that are known beside their release",
    "clicks on, searches for and page views of items that your device held back",
    (
        "a second device, or one that lost its memory, if it runs another program: devices of this "
        "project decide each item once, and freeze what was rated before a loss"
    ),
    "when your device is on: if you open it only to rate, that is a count of your sessions",
    "items that are rated together: the model takes each choice to rate as independent",
    "anything about you except the named attributes; your taste is meant to be seen",
    "consenting people, whose ratings train the recommender in the clear",
    (
        "a recommender that shows people different or wrong tables: your device checks their form, "
        "the bounds of their numbers and the public log, not whether the numbers are honest"
    ),
    "attackers that were not measured",
)

_ITEM_TABLE = (
    "the published item table: it is made of sums in multiples of five, without items with fewer "
    "than 10 raters, and has at most 256 others for an item. Two tables, with and without one "
    "person, still show much of what that person rated. None of it is a guarantee"
)

_NOT_COVERED_CONSENTING: tuple[str, ...] = (
    (
        "item profiles, list weights and the scores made from them, fitted to exact "
        "ratings: items with fewer than ten raters are left out of the weights, which is "
        "no guarantee"
    ),
    "the recommender itself, which holds the ratings",
    "attacks measured on these people and printed on a card, from their exact ratings",
)
_REFIT_IS_SEEN = (
    f"whether a new fit replaced the model: it is refused if 1 to {FEWEST_CHANGED - 1} people "
    "changed, which is decided by their exact number, so one person can decide it"
)
_AGAINST = "the recommender: it knows the method, all public tables and every release"
_AGAINST_READERS = "everybody who reads the disclosure"
_CARD_OF_CONSENTING = "consenting people, in the public tables"
_PROTECTS_CONSENTING = "one consenting person's ratings and attribute, in the public tables"
_LIFETIME_OF_PRIVATE_DISCLOSURE = (
    "all counted disclosures together: a further fit on the same people adds its own epsilon"
)
_LIFETIME_OF_EXACT_DISCLOSURE = "none: each fit on the same people discloses exact statistics again"
_REFERENCES_ON_NOISE = (
    "Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006)",
    "Canonne, Kamath, Steinke: The discrete Gaussian (2020), for the sampler",
)

_PUBLISHED_CLAIMS = (
    Claim(
        "the release is independent of the attribute (epsilon = 0)",
        "true in the continuous linear model given x; false on whole stars",
        (
            "unrounded on whole stars: one rating tells the attribute (epsilon infinite)",
            (
                "rounded and clipped, exact per rating: 0.137 at mean 3.5, sd 1.0, v0 0.1, "
                "2.4 at mean 4.8, sd 0.6, v0 0.3"
            ),
        ),
    ),
    Claim(
        "selection with max(1, p_other / p_own)",
        "protects nobody as printed: the chance is at least 1; min is meant",
        ("with max, every rated item is shown",),
    ),
    Claim(
        "rounding with chances r - k for k and 1 - (r - k) for k + 1",
        "swapped: the mean is 2k + 1 - r",
        ("3.2 becomes 3.8 in the mean, and a whole 3 becomes 4",),
    ),
)


def cards(
    settings: Settings,
    measurements: tuple[Measurement, ...],
    assumed_public: tuple[str, ...],
    epsilons: Sequence[float] = (),
) -> tuple[Guarantee, ...]:
    """Make the card of people who hide an attribute, and that of consenting people.

    Args:
        settings: Settings of the model.
        measurements: Attacks that were measured on the model's releases; may be empty.
        assumed_public: What the fit read from the ratings and assumes public, as names in
            `PUBLIC_FACTS`.
        epsilons: Epsilons of all private disclosures about these people, the model's own last;
            empty if there is no other.
    """
    if settings.is_published:
        release_card = card_of_published_release(settings, measurements)
    else:
        release_card = card_of_sound_release(settings, measurements)
    if settings.has_private_disclosure:
        spent = tuple(epsilons) if epsilons else (settings.disclosure_epsilon,)
        disclosure_card = card_of_private_disclosure(settings, assumed_public, spent)
    else:
        disclosure_card = card_of_exact_disclosure(settings)
    return add_titles_assumption((release_card, disclosure_card), assumed_public)


def card_of_sound_release(settings: Settings, measurements: tuple[Measurement, ...]) -> Guarantee:
    """Make the card of people whose devices send releases of the sound variant.

    It never states an epsilon. How hard it is to guess the attribute from this model's releases is
    stated only if attacks on them were measured.
    """
    hidden = " and ".join(settings.attributes)
    basis = Basis.MEASURED if measurements else Basis.UNMEASURED
    return Guarantee(
        name=f"standard scheme (sound), {settings.release}",
        sentence=(
            f"{ONLY_FOR}{FIRST_CHOICE}{OUTSIDE_KNOWLEDGE_SOUND} "
            f"{describe_attacks(hidden, measurements)} "
            "No epsilon."
        ),
        protects=describe_protection(hidden),
        adjacency=Adjacency("attribute value", "replace"),
        against=_AGAINST,
        trust=Trust.READERS_GUESS,
        basis=basis,
        epsilon=None,
        delta=None,
        lifetime=(
            "items are decided on the account's first day, and later until a release has shown "
            "one; each once, even if its stars or the tables change. After that, releases show "
            "nothing new while the device's memory is kept. Attackers who read several releases "
            "had AUC .651 at most, 95 % interval to .686 (MovieLens 100K). No bound over a "
            "lifetime is proved, and other attackers may do better"
        ),
        assumptions=list_assumptions(hidden, settings.release),
        not_covered=_NOT_COVERED,
        sources=_SOURCES,
        measurements=measurements,
    )


def card_of_published_release(
    settings: Settings, measurements: tuple[Measurement, ...]
) -> Guarantee:
    """Make the card of releases as the patent prints them; it says why the claims are refuted."""
    hidden = " and ".join(settings.attributes)
    return Guarantee(
        name=f"standard scheme (published), {settings.release}",
        sentence=(
            f"{ONLY_FOR}{OUTSIDE_KNOWLEDGE_PUBLISHED} {describe_attacks(hidden, measurements)} "
            "No epsilon."
        ),
        protects=describe_protection(hidden),
        adjacency=Adjacency("attribute value", "replace"),
        against=_AGAINST,
        trust=Trust.READERS_GUESS,
        basis=Basis.REFUTED,
        epsilon=None,
        delta=None,
        lifetime="each star is drawn once and remembered",
        assumptions=list_assumptions(hidden, settings.release),
        not_covered=_NOT_COVERED,
        sources=_SOURCES,
        claims=_PUBLISHED_CLAIMS,
        measurements=measurements,
    )


def describe_protection(hidden: str) -> str:
    """Say what a release does for the attribute, and what it does not.

    Args:
        hidden: Names of the hidden attributes, in words.
    """
    return (
        f"your {hidden}: harder to guess, not hidden, for everybody who reads what your device "
        "sends"
    )


def describe_attacks(hidden: str, measurements: tuple[Measurement, ...]) -> str:
    """Say how well attackers guessed the attribute, or that this was not measured."""
    if not measurements:
        return f"How well attackers read your {hidden} from a release was not measured."
    return attack_summary(measurements) or (
        f"The attacks below say how well your {hidden} is read from a release. Other attackers may "
        "do better."
    )


def card_of_private_disclosure(
    settings: Settings, assumed_public: tuple[str, ...], epsilons: tuple[float, ...]
) -> Guarantee:
    """Make the card of consenting people whose public tables are differentially private.

    Args:
        settings: Settings of the model.
        assumed_public: What the fit read from the ratings and assumes public, as names in
            `PUBLIC_FACTS`.
        epsilons: Epsilons of all private disclosures about these people; they add up.
    """
    epsilon = sum(epsilons)
    sentence_on_disclosures = ""
    if len(epsilons) > 1:
        sentence_on_disclosures = f" That is {len(epsilons)} disclosures together."
    return Guarantee(
        name=_CARD_OF_CONSENTING,
        sentence=(
            f"The public tables are {format_upper_bound(epsilon)}-differentially private for each "
            "person whose ratings they were made from. The scores that answer a release are made "
            f"from exact ratings, and are not.{sentence_on_disclosures}"
            + describe_condition(assumed_public)
        ),
        protects=_PROTECTS_CONSENTING,
        adjacency=Adjacency("user", "add or remove"),
        against=_AGAINST_READERS,
        trust=Trust.PLATFORM,
        basis=Basis.CONDITIONAL if assumed_public else Basis.PROVED,
        epsilon=epsilon,
        delta=0.0,
        lifetime=_LIFETIME_OF_PRIVATE_DISCLOSURE,
        assumptions=(
            f"at most {settings.contributions} ratings of a person count, chosen at random",
            (
                "each disclosure is one histogram release: L1 sensitivity contributions + 1, "
                "discrete Laplace noise from the operating system's generator, by an exact integer "
                "sampler"
            ),
            *describe_assumptions(
                "the scale of stars, the items and the attribute's values", assumed_public
            ),
        ),
        not_covered=(*_NOT_COVERED_CONSENTING, _REFIT_IS_SEEN, UNCOUNTED_FITS),
        sources=_REFERENCES_ON_NOISE,
    )


def card_of_exact_disclosure(settings: Settings) -> Guarantee:
    """Make the card of consenting people whose exact statistics are published: no protection."""
    sentence = (
        "People whose ratings train the recommender are not protected: they agreed to show ratings "
        "and attribute."
    )
    not_covered = _NOT_COVERED_CONSENTING
    if settings.item_table:
        sentence += (
            " They agreed, too, that the table of items liked together is published: treat "
            "everything you rate as published."
        )
        not_covered = (*not_covered, _ITEM_TABLE)
    return Guarantee(
        name=_CARD_OF_CONSENTING,
        sentence=sentence,
        protects=_PROTECTS_CONSENTING,
        adjacency=Adjacency("user", "add or remove"),
        against=_AGAINST_READERS,
        trust=Trust.PLATFORM,
        basis=Basis.NONE,
        epsilon=None,
        delta=None,
        lifetime=_LIFETIME_OF_EXACT_DISCLOSURE,
        assumptions=(),
        not_covered=not_covered,
        sources=_SOURCES,
    )


def list_assumptions(hidden: str, release: str) -> tuple[str, ...]:
    """List the assumptions under which a release says nothing about the attribute.

    Releases without scheme or coupling get no assumption on the stars, only one on which items are
    rated.

    Args:
        hidden: Names of the hidden attributes, in words.
        release: Name of the release, in `disclosure.RELEASES`.
    """
    assumptions = []
    if release.startswith("coupling"):
        assumptions.append(
            f"per item, the released star is independent of {hidden} if the disclosed histograms "
            "are the true ones (exact for one item; dependence across items is not removed)"
        )
    elif release.startswith("scheme"):
        assumptions.append(
            f"stars follow r = <v, x> + x0 v0 + noise with noise independent of {hidden}, and the "
            "disclosed gaps v0 are the true ones: then the released value is independent of it, "
            "and rounding it afterwards changes nothing. Real stars are whole and end at the "
            "scale's edges, so this holds only approximately"
        )
    if "selection" in release:
        assumptions.append(
            f"which items are rated depends on {hidden} item by item and independently: then the "
            "shown set is independent of it"
        )
    else:
        assumptions.append(
            f"which items are rated says nothing about {hidden} (this is false: use selection)"
        )
    return tuple(assumptions)
