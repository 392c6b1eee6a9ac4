"""Commands `tacit fit standard-scheme` and `tacit simulate standard-scheme`.

The scheme's parts of `tacit demo` and `tacit compare` are here as well.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.design import (
    Bar,
    Command,
    Comparison,
    ComparisonEntry,
    Run,
    Tour,
    fit_summary,
    guarantee_command,
    option,
    usefulness,
)
from tacit.design.people_needed import people_needed
from tacit.designs.standard_scheme.disclosure import DEFAULT_RELEASE
from tacit.designs.standard_scheme.experiment import commands as experiment
from tacit.designs.standard_scheme.messages import MICRO
from tacit.errors import ConfigError, TacitError
from tacit.evaluation import OUT, SEED, Result, Table

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.designs.standard_scheme import StandardScheme
    from tacit.recommenders.base import Recommendations


class ServiceSeesItems(StrEnum):
    """Answers to whether a service learns what people rated, other than from releases."""

    YES = "yes"
    NO = "no"


PEOPLE = 2500
"""Generated people of the tour."""
ASKERS = 300
"""How many of them ask for lists. Neither the recommender nor the attacker has seen them."""
UNIT = "an attribute of the person who asks: measured, no epsilon"
"""What the scheme protects, in `tacit compare`."""
AGAINST = "the service that gets the releases"
"""The adversary, in `tacit compare`."""


@dataclass(frozen=True, kw_only=True)
class FitSettings(experiment.TrainingOptions):
    """Options of `tacit fit standard-scheme`."""

    out: Path = option(OUT, flag="--out -o", writes=True)
    attribute: tuple[str, ...] = option(
        "User attributes to hide, with commas.", default=("gender",)
    )
    release: str = option("What devices send, such as coupling+selection.", default=DEFAULT_RELEASE)
    catalogue: Path | None = option(
        "Public list of items, with columns item and perhaps title. Other items are left out.",
        default=None,
    )
    values: tuple[str, ...] = option(
        "Public values of an attribute, such as gender=F,M; repeat for several.",
        default=(),
        repeat=True,
    )
    service_sees_items: ServiceSeesItems | None = option(
        "Does the service learn, other than from releases, what people watched, bought or rated?",
        default=None,
    )
    item_table: bool = option(
        "The training people agreed that the item table is published, for lists on devices.",
        default=False,
    )
    previous: Path | None = option(
        "The model that this one replaces; by default what lies at --out.", default=None
    )
    measure: bool = option(
        "Attack the model on its own training people for its card.",
        default=True,
        flag="--measure/--no-measure",
    )

    @property
    def public_values(self) -> dict[str, list[str]]:
        """Public values by attribute, from texts such as gender=F,M."""
        return experiment.split_assignments("values", self.values, "its values, such as gender=F,M")


def fit(settings: FitSettings, run: Run) -> Result:
    """Fit a model for devices that hide an attribute.

    Devices change and hold back ratings, so that what they send reveals less of it.
    """
    from tacit.designs.standard_scheme import StandardScheme
    from tacit.privacy import attack_summary

    sees_items = settings.service_sees_items
    model = StandardScheme(
        attributes=settings.attribute,
        variant=settings.variant,  # type: ignore[arg-type]  # checked by the class
        release=settings.release,
        profiles=settings.profiles,  # type: ignore[arg-type]  # checked by the class
        factors=settings.factors,
        disclosure_epsilon=settings.disclosure_epsilon,
        contributions=settings.contributions,
        values=settings.public_values,
        edges=settings.public_edges,
        service_sees_items=None if sees_items is None else sees_items == ServiceSeesItems.YES,
        item_table=settings.item_table,
        random_state=settings.seed,
    )
    ratings = run.read_ratings(catalogue=settings.catalogue, domains=False)
    with run.progress("Fitting", None):
        model.fit(ratings, previous=_load_previous(settings.previous, settings.out))
    attacks = None
    # `evaluate_hiding` attacks one attribute.
    if settings.measure and len(settings.attribute) == 1:
        # `tacit evaluate` with the same panel, folds and seed gives equal figures.
        releases = ("none", model.release)
        attribute = model.attributes[0]
        attacks = experiment.run_attacks(
            settings, run, ratings, attribute, releases, attackers_only=True
        )
        people_and_panel = (
            f"{attacks.people:,} training people in {settings.folds} folds, {settings.panel} panel"
        )
        model.add_measurements(attacks.measurements(model.release, people_and_panel))
    model.save(settings.out)
    fitted = model.fitted_
    n_showable = fitted.n_showable if model.disclosure_.rule.selection else ratings.n_items
    data = fit_summary("standard-scheme", settings.out, ratings) | {
        "attributes": list(model.attributes),
        "values": {name: list(table.values) for name, table in fitted.tables.items()},
        "variant": settings.variant,
        "release": settings.release,
        "profiles": settings.profiles,
        "training_people": fitted.n_consenting,
        "showable_items": n_showable,
        "useful": usefulness(model),
        "item_table": model.item_table,
        "figure": attack_summary(fitted.measurements),
        "measurements": [asdict(measurement) for measurement in fitted.measurements],
    }
    hidden = " and ".join(model.attributes)
    summary = (
        f"Fitted the standard scheme ({settings.variant}, {settings.release}) to hide {hidden}, "
        f"on {fitted.n_consenting:,} people and {ratings.n_items:,} items. {data['useful']}"
    )
    shown: list[Table | str] = [summary]
    if attacks is not None:
        from tacit.designs.standard_scheme.experiment.report import attackers_table, plain_table

        attackers = plain_table(attackers_table(attacks))
        title = f"How well attackers guess {hidden} of these people:"
        shown += [title, data["figure"], attackers]
    return Result(data, shown, guarantee_command(settings.out))


def _load_previous(previous: Path | None, out: Path) -> StandardScheme | None:
    """Load the model that this one replaces.

    Args:
        previous: The path of `--previous`; None if it was not given.
        out: The path of `--out`, where the earlier model is by default.

    Returns:
        The earlier model; None if no path is given and `out` holds no such model.

    Raises:
        TacitError: The path of `--previous` holds no model of the standard scheme.
    """
    from tacit.designs.standard_scheme import StandardScheme
    from tacit.recommenders.model_files import load_model

    try:
        model = load_model(previous or out)
        if not isinstance(model, StandardScheme):
            raise ConfigError(
                f"--previous {previous}: holds another recommender than a StandardScheme."
            )
    except TacitError:
        if previous is not None:
            raise
        return None
    return model


@dataclass(frozen=True, kw_only=True)
class TheoremSettings:
    """Options of `tacit simulate standard-scheme`, all for the Gaussian world."""

    items: int = option("Items of the Gaussian world.", default=12, least=2)
    dimensions: int = option(
        "Length of a profile there, less than the number of items.", default=3, least=1
    )
    sigma: float = option("Standard deviation of the noise, above 0.", default=1.0)
    draws: int = option("Simulated people for each attribute value.", default=20_000, least=100)
    seed: int = option(SEED, default=0, least=0)

    def __post_init__(self) -> None:
        if self.dimensions >= self.items:
            raise ConfigError(
                f"The scheme needs more items than dimensions to estimate a profile and the "
                f"attribute; got {self.items} items and {self.dimensions} dimensions."
            )
        if not self.sigma > 0 or not math.isfinite(self.sigma):
            raise ConfigError(f"The noise has a finite sigma above 0; got {self.sigma}.")


def simulate(settings: TheoremSettings, run: Run) -> Result:
    """Check the patent's theorem on small worlds.

    Computes the risk with and without the attribute, the risk if less is disclosed, and the trace
    formula with an enumerated and a simulated risk.
    """
    from tacit.designs.standard_scheme.experiment.theorem import compute_statements, describe

    del run
    data = compute_statements(**asdict(settings))
    shown = (*describe(data), "docs/standard-scheme.md says why real stars differ.")
    after = "tacit guarantee standard-scheme  says what is promised about a device's letters."
    return Result(data, shown, after)


def tour() -> Tour:
    """Show one device's bytes, and how well an attacker reads gender from true and sent stars."""
    import numpy as np
    from scipy import sparse

    from tacit.auditing.attacks import LogisticRegression, auc
    from tacit.data.synthetic import generate
    from tacit.designs.standard_scheme import StandardScheme

    ratings = generate(users=PEOPLE, items=300, ratings=150_000, seed=1)
    order = np.random.default_rng(1).permutation(ratings.n_users)
    others = ratings.of_users(order[ASKERS:])
    askers = ratings.of_users(order[:ASKERS])
    model = StandardScheme(service_sees_items=False).fit(others)
    attack = LogisticRegression().fit(others.matrix, others.attribute("gender") == "F")
    histories = [askers.history(user) for user in askers.user_ids.tolist()]
    genders = [{"gender": str(value)} for value in askers.attribute("gender")]
    sent_stars = np.zeros((ASKERS, ratings.n_items))
    for row, history, gender in zip(sent_stars, histories, genders, strict=True):
        for item, level in model.device(gender).release(history, 0).ratings:
            row[askers.item_number(item)] = 1 + level / MICRO  # the scale's lowest star is 1
    is_woman = (askers.attribute("gender") == "F").astype(int)
    before = auc(is_woman, attack.score(askers.matrix))
    after = auc(is_woman, attack.score(sparse.csr_array(sent_stars)))
    exchange = model.exchange(histories[0], genders[0], n=3)
    listed_items = ", ".join(f"item {row.item_id}" for row in exchange.recommendations)
    rated = len(histories[0])
    sent = exchange.release.encode()
    return Tour(
        headline=f"An attacker who guesses gender has an AUC of {before:.2f} from true stars and "
        f"{after:.2f} from what the device sends.",
        bars=(Bar("from true stars", before), Bar("from what is sent", after)),
        trusted="the device, and the training people's platform",
        real_data=people_needed("standard-scheme").real_data,
        asked=f"{ASKERS} people ask for lists and want to keep their gender to themselves; "
        f"{PEOPLE - ASKERS:,} others agreed to train the recommender. The first who asks gets "
        f"{listed_items}.",
        left=f"{len(sent):,} bytes: {len(exchange.release.ratings)} of {rated} rated items with "
        f"slightly changed stars, no gender, no id. They begin {sent[:60].decode()} ...",
        learned="An attacker who knows the training people's genders ranks a woman above a man "
        f"with an AUC of {before:.2f} from true stars and {after:.2f} from what was sent. 0.5 is "
        "guessing. Attackers who retrain on releases read more: see the page.",
        cost="No epsilon: this is measured, not proved. It holds only for services that do not "
        "learn in another way what people rated.",
        read_on="docs/standard-scheme.md",
        figures={"auc_before": before, "auc_after": after, "bytes": len(sent)},
    )


class ReleaseRecommender:
    """The standard scheme as a recommender of `tacit compare`.

    It is fitted to everybody whose attribute is known. With `hides`, lists for these people are
    made from releases, as devices send them. Lists for other people, and all lists without `hides`,
    are made from true stars.
    """

    def __init__(self, *, attribute: str, hides: bool) -> None:
        self.attribute = attribute
        self.hides = hides

    def fit(self, ratings: Ratings) -> ReleaseRecommender:
        """Fit the standard scheme to the ratings of everybody whose attribute is known."""
        from tacit.designs.standard_scheme import StandardScheme

        model = StandardScheme(attributes=(self.attribute,), service_sees_items=False)
        self.model_ = model.fit(ratings)
        self.ratings_ = ratings
        return self

    def recommend(
        self, user: Any, *, n: int = 10, candidates: Collection[Any] | None = None
    ) -> Recommendations:
        """Recommend to a person of the fit, from a release or from true stars."""
        value: Any = self.ratings_.attribute(self.attribute)[self.ratings_.user_number(user)]
        return self.model_.recommend(
            user,
            history=self.ratings_.history(user),
            attributes={self.attribute: value} if self.hides and value is not None else None,
            n=n,
            candidates=candidates,
        )


def contenders(comparison: Comparison) -> tuple[ComparisonEntry, ...] | str:
    """List the design's entries in `tacit compare`, which need an attribute of two values.

    Returns:
        An entry that hides the attribute and one that does not; or the reason why there is none.
    """
    columns = sorted(comparison.ratings.user_attributes.items())
    binary_attributes = [name for name, column in columns if len({*column.tolist()} - {None}) == 2]
    if not binary_attributes:
        return "needs a user attribute of two values to hide: name a file with --users"
    if not comparison.ratings.scale.discrete or comparison.source is not None:
        return "works in one domain, on stars of a scale with steps, such as 1:5:1"
    attribute = binary_attributes[0]

    def make_entry(variant: str, epsilon: float | None, *, hides: bool) -> ComparisonEntry:
        """Make the entry of `ReleaseRecommender` that hides the attribute, or does not."""
        return ComparisonEntry(
            design="standard-scheme",
            variant=variant,
            epsilon=epsilon,
            unit=f"{attribute}: {UNIT}",
            against=AGAINST,
            maker=f"{__name__}:ReleaseRecommender",
            settings={"attribute": attribute, "hides": hides},
            attacked=False,
        )

    return (
        make_entry("sound", None, hides=True),
        make_entry("non-private", math.inf, hides=False),
    )


FIT = Command(FitSettings, fit, ratings=True)
SIMULATE = Command(TheoremSettings, simulate)
