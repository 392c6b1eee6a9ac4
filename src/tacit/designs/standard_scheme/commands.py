"""Command `tacit fit standard-scheme`; and the design in `tacit demo` and `tacit compare`."""

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
from tacit.evaluation import OUT, Result, Table

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.designs.standard_scheme import StandardScheme
    from tacit.recommenders.base import Recommendations


class Sees(StrEnum):
    """Whether a service learns otherwise what people watched, bought, opened or rated."""

    YES = "yes"
    NO = "no"


PEOPLE = 2500
"""Generated people of the tour."""
ASKERS = 300
"""Those of them who ask; neither the recommender nor the attacker has seen them."""
UNIT = "an attribute of the person who asks: measured, no epsilon"
AGAINST = "the service that gets the releases"


@dataclass(frozen=True, kw_only=True)
class FitSettings(experiment.TrainingOptions):
    """Options of `tacit fit standard-scheme`."""

    out: Path = option(OUT, flag="--out -o", writes=True)
    attribute: tuple[str, ...] = option(
        "User attributes to hide, with commas.", default=("gender",)
    )
    release: str = option("What devices send, such as coupling+selection.", default=DEFAULT_RELEASE)
    catalogue: Path | None = option(
        "Public list of items: columns item, perhaps title. Others are left out.", default=None
    )
    values: tuple[str, ...] = option(
        "Public values of an attribute, such as gender=F,M; repeat for several.",
        default=(),
        repeat=True,
    )
    service_sees_items: Sees | None = option(
        "Does the service learn otherwise what people watched, bought, opened or rated?",
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
    def known_values(self) -> dict[str, list[str]]:
        """Public values by attribute, from words such as gender=F,M."""
        return experiment.split_words("values", self.values, "its values, such as gender=F,M")


def fit(settings: FitSettings, run: Run) -> Result:
    """Fit a model for devices that hide an attribute.

    Devices change and hold back ratings, so that what they send reveals less of it.
    """
    from tacit.designs.standard_scheme import StandardScheme
    from tacit.privacy import attack_summary

    seen = settings.service_sees_items
    model = StandardScheme(
        attributes=settings.attribute,
        variant=settings.variant,  # type: ignore[arg-type]  # checked there
        release=settings.release,
        profiles=settings.profiles,  # type: ignore[arg-type]  # checked there
        factors=settings.factors,
        disclosure_epsilon=settings.disclosure_epsilon,
        contributions=settings.contributions,
        values=settings.known_values,
        edges=settings.known_edges,
        service_sees_items=None if seen is None else seen == Sees.YES,
        item_table=settings.item_table,
        random_state=settings.seed,
    )
    ratings = run.read(catalogue=settings.catalogue, domains=False)
    with run.progress("Fitting", None):
        model.fit(ratings, previous=_previous(settings.previous, settings.out))
    table = None
    if settings.measure and len(settings.attribute) == 1:
        # As `tacit evaluate` with the same panel, folds and seed, so that figures are equal.
        releases = ("none", model.release)
        attribute = model.attributes[0]
        table = experiment.run_attacks(
            settings, run, ratings, attribute, releases, attackers_only=True
        )
        people = (
            f"{table.people:,} training people in {settings.folds} folds, {settings.panel} panel"
        )
        model.add_measurements(table.measurements(model.release, people))
    model.save(settings.out)
    fitted = model.fitted_
    data = fit_summary("standard-scheme", settings.out, ratings) | {
        "attributes": list(model.attributes),
        "values": {name: list(table.values) for name, table in fitted.tables.items()},
        "variant": settings.variant,
        "release": settings.release,
        "profiles": settings.profiles,
        "training_people": fitted.n_consenting,
        "showable_items": fitted.n_showable,
        "useful": usefulness(model),
        "item_table": model.item_table,
        "figure": attack_summary(fitted.measurements),
        "measurements": [asdict(each) for each in fitted.measurements],
    }
    hidden = " and ".join(model.attributes)
    first = (
        f"Fitted the standard scheme ({settings.variant}, {settings.release}) to hide {hidden}, "
        f"on {fitted.n_consenting:,} people and {ratings.n_items:,} items. {data['useful']}"
    )
    shown: list[Table | str] = [first]
    if table is not None:
        panel = experiment.plain_table(experiment.attackers_table(table))
        shown += [f"How well attackers guess {hidden} of these people:", data["figure"], panel]
    return Result(data, shown, guarantee_command(settings.out))


def _previous(named: Path | None, out: Path) -> StandardScheme | None:
    """Load the earlier model: the named one, or the one at `out`; None where there is none."""
    from tacit.designs.standard_scheme import StandardScheme
    from tacit.recommenders.model_files import load_model

    try:
        model = load_model(named or out)
        if not isinstance(model, StandardScheme):
            raise ConfigError(
                f"--previous {named}: holds another recommender than a StandardScheme."
            )
    except TacitError:
        if named is not None:
            raise
        return None
    return model


def tour() -> Tour:
    """Show one device's bytes, and an attack before and after."""
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
    sees = LogisticRegression().fit(others.matrix, others.attribute("gender") == "F")
    histories = [askers.history(user) for user in askers.user_ids.tolist()]
    owners = [{"gender": str(value)} for value in askers.attribute("gender")]
    shown = np.zeros((ASKERS, ratings.n_items))
    for row, history, own in zip(shown, histories, owners, strict=True):
        for item, level in model.device(own).release(history, 0).ratings:
            row[askers.item_number(item)] = 1 + level / MICRO
    women = (askers.attribute("gender") == "F").astype(int)
    seen = (askers.matrix, sparse.csr_array(shown))
    before, after = (auc(women, sees.score(each)) for each in seen)
    made = model.exchange(histories[0], owners[0], n=3)
    rated = len(histories[0])
    sent = made.release.encode()
    return Tour(
        headline=f"An attacker who guesses gender has an AUC of {before:.2f} from true stars and "
        f"{after:.2f} from what the device sends.",
        bars=(Bar("from true stars", before), Bar("from what is sent", after)),
        trusted="the device, and the training people's platform",
        real_data=people_needed("standard-scheme").real_data,
        asked=f"{ASKERS} people ask for lists and want to keep their gender to themselves; "
        f"{PEOPLE - ASKERS:,} others agreed to train the recommender. One of them gets "
        f"{', '.join(f'item {row.item_id}' for row in made.recommendations)}.",
        left=f"{len(sent):,} bytes: {len(made.release.ratings)} of {rated} rated items with "
        f"slightly changed stars, no gender, no id. They begin {sent[:60].decode()} ...",
        learned="An attacker who knows the training people's genders ranks a woman above a man "
        f"with an AUC of {before:.2f} from true stars and {after:.2f} from what was sent. 0.5 is "
        "guessing. Attackers who retrain on releases read more: see the page.",
        cost="No epsilon: this is measured, not proved. It holds only for services that do not "
        "learn in another way what people rated.",
        read_on="docs/standard-scheme.md",
        figures={"auc_before": before, "auc_after": after, "bytes": len(sent)},
    )


class OnReleases:
    """Lists made from letters, of everybody whose attribute is known, who also consent to training.

    A list for anyone else is made from true stars, and so is everybody's without `hides`.
    """

    def __init__(self, *, attribute: str, hides: bool) -> None:
        self.attribute = attribute
        self.hides = hides

    def fit(self, ratings: Ratings) -> OnReleases:
        """Fit the standard scheme to everybody's ratings."""
        from tacit.designs.standard_scheme import StandardScheme

        model = StandardScheme(attributes=(self.attribute,), service_sees_items=False)
        self.model_ = model.fit(ratings)
        self.ratings_ = ratings
        return self

    def recommend(
        self, user: Any, *, n: int = 10, candidates: Collection[Any] | None = None
    ) -> Recommendations:
        """Recommend from the release of a person's device."""
        value: Any = self.ratings_.attribute(self.attribute)[self.ratings_.user_number(user)]
        return self.model_.recommend(
            user,
            history=self.ratings_.history(user),
            attributes={self.attribute: value} if self.hides and value is not None else None,
            n=n,
            candidates=candidates,
        )


def contenders(comparison: Comparison) -> tuple[ComparisonEntry, ...] | str:
    """Enter the comparison where an attribute of two values is known; otherwise say why not."""
    columns = sorted(comparison.ratings.user_attributes.items())
    of_two = [name for name, column in columns if len({*column.tolist()} - {None}) == 2]
    if not of_two:
        return "needs a user attribute of two values to hide: name a file with --users"
    if not comparison.ratings.scale.discrete or comparison.source is not None:
        return "works in one domain, on stars of a scale with steps, such as 1:5:1"
    return tuple(
        ComparisonEntry(
            "standard-scheme",
            "sound" if hides else "non-private",
            None if hides else math.inf,
            f"{of_two[0]}: {UNIT}",
            AGAINST,
            f"{__name__}:OnReleases",
            {"attribute": of_two[0], "hides": hides},
            attacked=False,
        )
        for hides in (True, False)
    )


FIT = Command(FitSettings, fit, ratings=True)
