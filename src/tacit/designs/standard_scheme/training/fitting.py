"""A whole fit: from checked settings and ratings to everything that a model holds.

Runs at     the recommender.
Sees        the consenting people's ratings and attributes in the clear.
Guarantee   none for them, except for the tables if these are estimated privately.
Order       consenting people, public tables, item profiles, item-item weights.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.designs.standard_scheme.bins import bin_ends
from tacit.designs.standard_scheme.server import Ease, Profiles
from tacit.designs.standard_scheme.settings import Settings
from tacit.designs.standard_scheme.training.features import item_features
from tacit.designs.standard_scheme.training.item_weights import (
    fit_ease,
    rank_by_noisy_likes,
)
from tacit.designs.standard_scheme.training.letter_lengths import (
    LARGEST_RATIO,
    expected_items_shown,
    largest_ratio,
    simulate_exact_ratio,
    simulate_noisy_ratio,
)
from tacit.designs.standard_scheme.training.people import (
    ConsentingPeople,
    Ints,
    PeopleHashes,
    Statistics,
    find_consenting_people,
    hash_people,
    level_size,
)
from tacit.designs.standard_scheme.training.population import simulate_release
from tacit.designs.standard_scheme.training.profiles import ProfileSettings, train_profiles
from tacit.designs.standard_scheme.training.tables import (
    FEWEST,
    Tables,
    estimate_all_tables,
    estimate_from_noisy,
    release_statistics,
)
from tacit.errors import ConfigError
from tacit.privacy import Measurement
from tacit.randomness import replay, secure, simulation
from tacit.recommenders import headers, public_facts
from tacit.recommenders.fits_in_process import CountedFit, FitCounter

LEAST_SHOWABLE_SHARE = 0.1
"""A fit is refused if devices can show less than this share of the items with enough raters."""
FEW_SHOWABLE_SHARE = 0.5
"""If devices can show less than this share of the items with enough raters, the model says so."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """Result of a fit: everything that a model holds beside its settings."""

    item_ids: Column
    """(items,) ids of the catalogue."""
    titles: headers.Titles
    """Titles of items, by id."""
    scale: RatingScale
    """Scale of the stars."""
    n_consenting: int
    """Number of consenting people, from whom the model was learned."""
    people: PeopleHashes | None
    """Keyed hashes of these people; None if the model's file has none."""
    tables: Mapping[str, Tables]
    """Public tables of each attribute, by its name."""
    profiles: Profiles
    """Item profiles, which predict stars."""
    ease: Ease
    """Item-item weights, which rank lists."""
    n_rated_enough: int | None
    """Number of items with FEWEST raters or more; None if the tables have an epsilon, because this
    exact number would reveal more than they do."""
    assumed_public: tuple[str, ...] = tuple(public_facts.PUBLIC_FACTS)
    """What was read from the ratings and is assumed to be public, as names in `PUBLIC_FACTS`."""
    measurements: tuple[Measurement, ...] = ()
    """Measured attacks, for the guarantee card."""
    disclosures: tuple[CountedFit, ...] = ()
    """All private disclosures of these people, the newest last; the cost of each is its epsilon."""

    @property
    def n_showable(self) -> int:
        """Number of items that selection can show: their chance is above 0 for every value."""
        can_show = np.ones(len(self.item_ids), dtype=bool)
        for table in self.tables.values():
            can_show &= table.keep.min(axis=0) > 0
        return int(can_show.sum())

    @property
    def shows_few_items(self) -> bool:
        """Whether selection can show less than FEW_SHOWABLE_SHARE of the items with enough raters.

        If the number of items with enough raters is None, all items count.
        """
        n_counted = len(self.item_ids) if self.n_rated_enough is None else self.n_rated_enough
        return self.n_showable < FEW_SHOWABLE_SHARE * n_counted


DISCLOSURES_IN_PROCESS: FitCounter[CountedFit] = FitCounter()
"""Private disclosures that this process has made."""


def fit(
    settings: Settings,
    ratings: Ratings,
    earlier_people: PeopleHashes | None,
    earlier_disclosures: tuple[CountedFit, ...] = (),
) -> Fitted:
    """Learn from the consenting people: everybody in the ratings whose attributes are all known.

    Args:
        settings: Checked settings.
        ratings: Ratings of consenting people and others.
        earlier_people: Hashes of the people of the model that this fit replaces; None: there is
            none, or it stores none.
        earlier_disclosures: Earlier private disclosures of these people, which count as well.

    Raises:
        PrivacyError: The variant is sound and `service_sees_items` is not False, or the release
            would reveal the attribute.
        ConfigError: From 1 to 49 people came, left or have other ratings since the replaced model,
            devices could show hardly any item, the number of items in a letter would tell the value
            of an attribute, or the settings do not fit the ratings.
        DataError: An attribute, its values or the item features are missing.
    """
    settings.check_service()
    rule = settings.rule_on(ratings.scale)
    seed = settings.random_state
    people, numbers = find_consenting_people(
        ratings,
        settings.attributes,
        settings.values,
        settings.edges,
        leave_out_unreadable=settings.has_private_disclosure,
    )
    hashes = hash_people(ratings, numbers, earlier_people)
    disclosures = earlier_disclosures
    coupling = rule.transform == "coupling"
    noisy: Statistics | None = None
    if settings.has_private_disclosure:
        new_fit = CountedFit.of_cost(settings.disclosure_epsilon)
        disclosures = DISCLOSURES_IN_PROCESS.add(ratings, new_fit, earlier_disclosures)
        noisy = release_statistics(
            people,
            secure(),
            epsilon=settings.disclosure_epsilon,
            contributions=settings.contributions,
        )
        tables = estimate_from_noisy(people.names[0], people.values[0], noisy, coupling=coupling)
    else:
        tables = estimate_all_tables(
            people, shrink=not settings.is_published, coupling=coupling, seed=seed
        )
    tables_in_order = list(tables.values())
    features = None if settings.profiles == "latent" else item_features(ratings)
    profiles = train_profiles(
        people.levels,
        people.labels,
        tables_in_order,
        people.n_levels,
        lowest=ratings.scale.minimum / level_size(ratings.scale),
        settings=ProfileSettings(
            settings.profiles, settings.factors, published=settings.is_published, seed=seed
        ),
        features=features,
    )

    def simulate(levels: sparse.csr_array, numbers: Ints) -> sparse.csr_array:
        """Simulate the releases of the people with these numbers and levels."""
        with simulation():
            return simulate_release(
                levels,
                people.labels[numbers],
                tables_in_order,
                rule,
                n_levels=people.n_levels,
                source=replay(seed),
            )

    ease = fit_ease(people.levels, people.n_levels, simulate, seed=seed)
    if noisy is not None:  # the order is public, unlike the weights
        ease = replace(ease, popularity_rank=rank_by_noisy_likes(noisy))
    fitted = Fitted(
        item_ids=ratings.item_ids,
        titles=headers.titles_of(ratings),
        scale=ratings.scale,
        n_consenting=people.n_people,
        people=hashes,
        tables=tables,
        profiles=profiles,
        ease=ease,
        n_rated_enough=count_rated_enough(people.levels, settings),
        assumed_public=list_assumed_public(settings, ratings),
        disclosures=disclosures,
    )
    if rule.selection:
        refuse_few_showable(fitted, people)
        if noisy is not None:
            refuse_uneven_noisy_letters(noisy, settings)
        elif not settings.is_published:
            refuse_uneven_letters(people, tables, seed)
    return fitted


def count_rated_enough(levels: sparse.csr_array, settings: Settings) -> int | None:
    """Count the items with FEWEST raters or more; return None if the tables have an epsilon."""
    if settings.has_private_disclosure:
        return None
    raters = np.bincount(levels.indices, minlength=levels.shape[1])
    return int((raters >= FEWEST).sum())


def list_assumed_public(settings: Settings, ratings: Ratings) -> tuple[str, ...]:
    """List what was read from the ratings and is assumed to be public, as names in `PUBLIC_FACTS`.

    Values of attributes are among them, unless values or edges were given for every attribute.
    """
    unlisted = set(settings.attributes) - set(settings.values) - set(settings.edges)
    values = ("values",) if unlisted else ()
    return (*public_facts.facts_read_off(ratings), *values)


def refuse_few_showable(fitted: Fitted, people: ConsentingPeople) -> None:
    """Raise ConfigError if selection can show less than LEAST_SHOWABLE_SHARE of the items.

    Only items with enough raters count; if their number is None, nothing is refused.

    Args:
        fitted: The fit.
        people: The people that it learned from; the error names the rarest of their values.
    """
    enough = fitted.n_rated_enough
    if enough is None or fitted.n_showable >= LEAST_SHOWABLE_SHARE * enough:
        return
    n_values = {name: len(table.values) for name, table in fitted.tables.items()}
    listed = ", ".join(f"{name} has {number} values" for name, number in n_values.items())
    raise ConfigError(
        f"Devices could show {fitted.n_showable:,} of the {enough:,} items with {FEWEST} raters "
        f"or more: {listed}, and an item is shown only if people of each value rate it. Merge "
        "values into a few, and cut numbers at edges such as edges={'age': (25, 45)} "
        f"(--edges age=25,45). {describe_rarest_value(people)}"
    )


def refuse_uneven_letters(
    people: ConsentingPeople, tables: Mapping[str, Tables], seed: int = 0
) -> None:
    """Raise ConfigError if the number of items in a letter would tell the value of an attribute.

    That is if nobody has one of the values, or if letters of people with one value show more items
    than those with another one, by more than LARGEST_RATIO: in the mean over the training people,
    or in a simulated world where people with all values rate alike.

    Args:
        people: The training people.
        tables: The tables of each attribute, estimated from exact sums over them.
        seed: Seed of the simulation.
    """
    for position, (name, shown) in enumerate(expected_items_shown(people, tables).items()):
        if np.isnan(shown).any():
            value = people.values[position][int(np.isnan(shown).argmax())]
            raise ConfigError(
                f"No training person has the value {value!r} of {name}, so letters of people who "
                f"have it would show more items than others, which tells their {name}. Name only "
                "values that occur, and edges with people on both sides."
            )
        simulated = simulate_exact_ratio(people, position, seed=seed)
        ratio = max(simulated, largest_ratio(shown))
        if ratio > LARGEST_RATIO:
            raise ConfigError(
                f"The number of items in a letter would tell {name}: for one value it would be "
                f"{_write_ratio(ratio)} times as large as for another, and should be equal. Counts "
                "are rounded to multiples of five and have errors of chance, which misjudge what "
                "few people rate. Merge values, or leave out people with a rare one (values=, "
                "--values). "
                f"{describe_rarest_value(people)}"
            )


def refuse_uneven_noisy_letters(noisy: Statistics, settings: Settings) -> None:
    """Raise ConfigError if the noise of a private release would make letters tell the value.

    Args:
        noisy: The release. Nothing else of the training people is used, so that the refusal reveals
            no more than the release.
        settings: The settings of the fit.
    """
    ratio = simulate_noisy_ratio(
        noisy,
        epsilon=settings.disclosure_epsilon,
        contributions=settings.contributions,
        seed=settings.random_state,
    )
    if ratio > LARGEST_RATIO:
        raise ConfigError(
            f"The number of items in a letter would tell {settings.attributes[0]}: if everybody "
            "rated alike, the noise of this disclosure alone would make it "
            f"{_write_ratio(ratio)} times as large for one value as for another. Fit with more "
            "people who have the rarest value, merge values, leave out people with a rare one "
            "(values=, --values), or take a larger disclosure_epsilon or fewer contributions. This "
            "attempt is a release: further fits to these ratings in this program count it, and you "
            "have to count it in others."
        )


def _write_ratio(ratio: float) -> str:
    """Write a ratio above LARGEST_RATIO with two decimals."""
    return f"{ratio:.2f}" if ratio < 100 else "more than 100"


def describe_rarest_value(people: ConsentingPeople) -> str:
    """Say which attribute value the fewest people have, and what can be done about it."""
    fewest = people.n_people + 1
    rare_name = ""
    rare_value = ""
    other_values: list[str] = []
    for position, (name, values) in enumerate(zip(people.names, people.values, strict=True)):
        counts = np.bincount(people.labels[:, position], minlength=len(values))
        if counts.min() < fewest:
            fewest = int(counts.min())
            rare_name = name
            rare_value = values[int(counts.argmin())]
            other_values = [value for value in values if value != rare_value]
    people_word = "person" if fewest == 1 else "people"
    sentence = f"The rarest value is {rare_value!r} of {rare_name}, with {fewest:,} {people_word}."
    if not math.isnan(bin_ends(rare_value)[0]):
        return f"{sentence} Leave out an edge beside it."
    if len(other_values) < 2:
        return f"{sentence} Fit with more people who have it."
    listed = shlex.quote(f"{rare_name}={','.join(other_values[:6])}")
    if len(other_values) > 6:
        listed += " and so on"
    return f"{sentence} Without them:  --values {listed}"


def describe_showable(fitted: Fitted) -> str:
    """Say how many items devices can show, and of how many."""
    enough = fitted.n_rated_enough
    counted = f"{len(fitted.item_ids):,} items"
    if enough is not None:
        counted = f"{enough:,} items with {FEWEST} raters or more"
    return f"Devices can show {fitted.n_showable:,} of {counted}."
