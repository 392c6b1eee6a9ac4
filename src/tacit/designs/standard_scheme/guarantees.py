"""What the standard scheme promises, to whom, and on what evidence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tacit.privacy import Adjacency, Basis, Claim, Guarantee, Measurement, Trust, figure
from tacit.recommenders.inputs import assumed, condition

if TYPE_CHECKING:
    from tacit.designs.standard_scheme.recommender import StandardScheme

_SOURCES = (
    "US patent application 'Privacy protection against curious recommenders', Theorem 1, eqs. 1-7",
    (
        "Ioannidis, Montanari, Weinsberg, Bhagat, Fawaz, Taft: Privacy tradeoffs in predictive "
        "analytics, SIGMETRICS 2014"
    ),
)
ONLY_FOR = (
    "Only for services that do not otherwise learn what you watched, bought, opened or rated. From "
    "ten items known to be rated the value was read with AUC .94 (MovieLens 100K), and from their "
    "number with .93."
)
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
    "attackers that are not among those measured",
)

_ITEM_TABLE = (
    "the published item table: it is made of sums in multiples of five, without items with fewer "
    "than 10 raters, and has at most 256 others for an item. Two tables, with and without one "
    "person, still show much of what that person rated. None of it is a guarantee"
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


def for_the_person(model: StandardScheme) -> Guarantee:
    """The card of a person whose device obfuscates. It never prints an epsilon, and without
    measurements nothing about how hard guessing is."""
    hidden, measurements = " and ".join(model.attributes), model.measurements_
    published = model.variant == "published"
    return Guarantee(
        name=f"standard scheme ({model.variant}), {model.release}",
        sentence=f"{ONLY_FOR} {_evidence(hidden, measurements)} No epsilon.",
        protects=f"your {hidden}, from everybody who reads what your device sends",
        adjacency=Adjacency("attribute value", "replace"),
        against="the recommender: it knows the method, all public tables and every release",
        trust=Trust.NOBODY,
        basis=Basis.REFUTED if published else Basis.MEASURED if measurements else Basis.UNMEASURED,
        epsilon=None,
        delta=None,
        lifetime=(
            "each item is decided once, whatever becomes of its star or of the tables. All letters "
            "together hold the last set and the epoch of each item. Nobody who sees only tables "
            "and releases can be certain, whatever the number of releases or refits, as long as "
            "the device's memory is kept"
        )
        if not published
        else "each star is drawn once and remembered",
        assumptions=_assumptions(hidden, model.release),
        not_covered=_NOT_COVERED,
        sources=_SOURCES,
        claims=_PUBLISHED_CLAIMS if published else (),
        measurements=measurements,
    )


def _evidence(hidden: str, measurements: tuple[Measurement, ...]) -> str:
    if not measurements:
        return f"How well attackers read your {hidden} from a release was not measured."
    return figure(measurements) or (
        f"The attacks below say how well your {hidden} is read from a release. Other attackers may "
        "do better."
    )


def for_the_consenting(model: StandardScheme) -> Guarantee:
    """The card of the people whose ratings and attributes train the recommender."""
    epsilon, taken, item_table = model.disclosure_epsilon, model.taken_, model.item_table
    private = not math.isinf(epsilon)
    return Guarantee(
        name="consenting people, in what devices get to know about items",
        sentence=(
            f"All that devices get to know about items is {epsilon:g}-differentially private for "
            "each person whose ratings trained it; the recommender's own item profiles are not."
            + condition(taken)
            if private
            else "People whose ratings train the recommender are not protected: they agreed to "
            "show ratings and attribute."
            + (
                " They agreed, too, that the table of items liked together is published: treat "
                "everything you rate as published."
                if item_table
                else ""
            )
        ),
        protects="one consenting person's ratings and attribute, in the disclosure",
        adjacency=Adjacency("user", "add or remove"),
        against="everybody who reads the disclosure",
        trust=Trust.PLATFORM,
        basis=(Basis.CONDITIONAL if taken else Basis.PROVED) if private else Basis.NONE,
        epsilon=epsilon if private else None,
        delta=0.0 if private else None,
        lifetime="per disclosure: fitting again on the same people spends again",
        assumptions=(
            (
                f"at most {model.contributions} ratings of a person count, chosen at random",
                (
                    "one histogram release: L1 sensitivity contributions + 1, discrete Laplace "
                    "noise from the operating system's generator, by an exact integer sampler"
                ),
                *assumed("the scale of stars, the items and the attribute's values", taken),
            )
            if private
            else ()
        ),
        not_covered=(
            (
                "item profiles, list weights and the scores made from them, fitted to exact "
                "ratings: items with fewer than ten raters are left out of the weights, which is "
                "no guarantee"
            ),
            "the recommender itself, which holds the ratings",
            "attacks measured on these people and printed on a card, from their exact ratings",
            *((_ITEM_TABLE,) if item_table else ()),
        ),
        sources=(
            "Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006)",
            "Canonne, Kamath, Steinke: The discrete Gaussian (2020), for the sampler",
        ),
    )


def _assumptions(hidden: str, release: str) -> tuple[str, ...]:
    stated = []
    if release.startswith("coupling"):
        stated.append(
            f"per item, the released star is independent of {hidden} if the disclosed histograms "
            "are the true ones (exact for one item; dependence across items is not removed)"
        )
    elif release.startswith("scheme"):
        stated.append(
            f"stars follow r = <v, x> + x0 v0 + noise with noise independent of {hidden}, and the "
            "disclosed gaps v0 are the true ones: then the released value is independent of it, "
            "and rounding it afterwards changes nothing. Real stars are whole and end at the "
            "scale's edges, so this holds only approximately"
        )
    if "selection" in release:
        stated.append(
            f"which items are rated depends on {hidden} item by item and independently: then the "
            "shown set is independent of it"
        )
    else:
        stated.append(f"which items are rated says nothing about {hidden} (it does: use selection)")
    return tuple(stated)
