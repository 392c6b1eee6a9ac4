"""`tacit fit|evaluate|plan private`: options, what is run, and what is shown."""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.design import Command, ExecutionOptions, Run, card_summary, option, private_fit_summary
from tacit.errors import ConfigError
from tacit.evaluation import OUT, SEED, WORKERS, Result, manifest
from tacit.evaluation.any_design import table_of_lists
from tacit.profile_sums.options import FEATURES_HELP, STARS_HELP
from tacit.profile_sums.settings import (
    DEFAULT_DELTA,
    DEFAULT_EPSILON,
    DELTA_HELP,
    EPSILON_HELP,
    refuse_filter,
)

if TYPE_CHECKING:
    from tacit.designs.private.model import Private
    from tacit.designs.private.plan import Plan
    from tacit.evaluation.lists import Contender

_PERIODS = ("day", "week", "month", "quarter", "year")
_PASSES = 4
"""Passes over stored ratings of a fit."""
_PASSES_WITH_STARS = 7


@dataclass(frozen=True)
class FitSettings(ExecutionOptions):
    """Options of `tacit fit private`."""

    out: Path = option(OUT, flag="--out -o", writes=True)
    epsilon: float = option(EPSILON_HELP, default=DEFAULT_EPSILON)
    delta: float = option(DELTA_HELP, default=DEFAULT_DELTA)
    features: tuple[str, ...] | None = option(FEATURES_HELP, default=None)
    from_domain: tuple[str, ...] | None = option(
        "Domains that people have rated in, with commas; default: all others.",
        default=None,
        flag="--source",
    )
    to_domain: tuple[str, ...] | None = option(
        "Domains of the items in lists; default: all items are one domain.",
        default=None,
        flag="--target",
    )
    mode: str = option(
        "'auto', by the noisy number of people; 'taste'; 'top-items'.", default="auto"
    )
    like_at: float | None = option(
        "Least rating that is a like; default: 70 % of the scale.", default=None
    )
    stars: bool = option(STARS_HELP, default=False)
    catalogue: Path | None = option(
        "Public list of items with their metadata. Others are left out.", default=None
    )
    previous: Path | None = option(
        "The newest earlier model of these people: costs add up.", default=None
    )
    lifetime: float | None = option(
        "Epsilon of all fits together; default: as before.", default=None
    )
    ledger: str | None = option(
        "Ledger that pays: a file or postgresql://HOST/DATABASE.", default=None
    )
    second: str | None = option(
        "Where a copy of the ledger's latest hash is kept: a file, or postgresql://HOST/DATABASE; "
        "by default LEDGER.head for a file.",
        default=None,
    )
    tenant: str = option("Whose budget in the ledger.", default="tacit")
    dataset: str = option("Its data set in the ledger.", default="ratings")


def fit(settings: FitSettings, run: Run) -> Result:
    """Private lists from one file of ratings.

    In one domain or across two.

    What was released, and whether lists are useful, is printed and stated on the card. Of people
    who were fitted before, give --previous: the card states the total of all fits.
    """
    from tacit.data.domains import describe_features
    from tacit.data.stored_ratings import catalogue_of, show_progress

    refuse_filter(settings.epsilon, per_item=run.per_item, per_user=run.per_user)
    model = _unfitted_model(settings)
    across = bool(settings.from_domain or settings.to_domain)
    passes = _PASSES_WITH_STARS if settings.stars else _PASSES
    with ExitStack() as stack:
        opened = run.open(settings, catalogue=settings.catalogue, domains=across)
        ratings = stack.enter_context(opened)
        stack.enter_context(show_progress(ratings, run.progress, passes))
        account = None
        if settings.ledger is not None:
            from tacit.designs.private.refits import Account
            from tacit.ledger import open_ledger

            ledger = stack.enter_context(open_ledger(settings.ledger, second=settings.second))
            account = Account(ledger, settings.tenant, settings.dataset)
        model.fit(ratings, account=account).save(settings.out)
    (card,) = model.guarantees()
    usefulness = model.released_.usefulness
    items = len(model.item_ids_)
    data = private_fit_summary("private", settings.out, items) | {
        "features": list(model.fitted_.feature_names),
        "mode": model.released_.mode,
        "lists": model.released_.serves_lists,
        **asdict(usefulness),
        "worthwhile": usefulness.worthwhile,
        "missing": usefulness.missing,
        "epsilon": card.epsilon,
        "delta": card.delta,
        "standing": asdict(model.budget_status_),
        **card_summary(card),
    }
    sentence = f"Fitted private lists of {items:,} items. {card.first_line} {card.sentence}"
    after = f"tacit recommend {settings.out} --history my_ratings.csv --at-device"
    features = describe_features(catalogue_of(ratings), settings.features)
    return Result(data, (sentence, features, *_describe_budget(model, card.delta)), after)


def _unfitted_model(settings: FitSettings) -> Private:
    """Make the model, and refuse bad settings before the file is read."""
    from tacit.designs.private.model import Private

    model = Private(
        settings.epsilon,
        settings.delta,
        source=settings.from_domain or None,
        target=settings.to_domain or None,
        features=settings.features,
        mode=settings.mode,  # type: ignore[arg-type]  # checked on the next line
        like_at=settings.like_at,
        stars=settings.stars,
        previous=settings.previous,
        lifetime=settings.lifetime,
    )
    _ = model.settings
    return model


def _describe_budget(model: Private, delta: float | None) -> list[str]:
    """Say what was spent on these people, and what is left."""
    status, sentences = model.budget_status_, []
    if status.repeated:
        sentences.append(
            "The ledger had this fit already: its stored model was written, nothing was charged. "
            "For a new fit give the newest model as --previous."
        )
    if status.fits > 1 or status.lifetime is not None:
        limit = "" if status.lifetime is None else f" of {status.lifetime:g} allowed"
        sentences.append(
            f"Fit {status.fits} of these people: epsilon {status.epsilon:.4g} alone, "
            f"{status.total:.4g}{limit} in total, delta {delta:g}."
        )
    if status.further == 0:
        sentences.append(
            "Warning: another fit like this one would pass the lifetime, and will be refused."
        )
    return sentences


@dataclass(frozen=True)
class EvaluateSettings:
    """Options of `tacit evaluate private`."""

    epsilon: tuple[float, ...] = option(
        "Epsilon for a person's whole profile, with commas; inf: no noise.",
        default=(0.5, 1.0, 3.0, math.inf),
    )
    delta: float = option(DELTA_HELP, default=DEFAULT_DELTA)
    features: tuple[str, ...] | None = option(FEATURES_HELP, default=None)
    from_domain: str | None = option(
        "Domain that people have rated in.", default=None, flag="--source"
    )
    to_domain: str | None = option("Domain of the items in lists.", default=None, flag="--target")
    mode: str = option("'auto', 'taste' or 'top-items'.", default="auto")
    stars: bool = option(
        "Also release mean stars, and measure RMSE between domains.", default=False
    )
    seeds: int = option("How many splits, each with new noise.", default=6, least=1)
    seed: int = option(SEED, default=0, least=0)
    workers: int = option(WORKERS, default=1, least=0)


def evaluate(settings: EvaluateSettings, run: Run) -> Result:
    """Measure lists with and without privacy.

    'kept' is a method's gain over popularity divided by that of a reference without privacy: EASE
    in one domain, a ridge regression between two, with the penalty that is best on test people.
    """
    from tacit.data.domains import describe_features
    from tacit.evaluation.lists import evaluate_lists

    domains = {"source": settings.from_domain, "target": settings.to_domain}
    parameters: dict[str, Any] = {
        "delta": settings.delta,
        "features": settings.features,
        "mode": settings.mode,
        "stars": settings.stars,
        **domains,
    }
    contenders = _contenders(settings.epsilon, parameters)
    ratings = run.read()
    with run.progress("Evaluating", (len(contenders) + 2) * settings.seeds) as advance:
        rows = evaluate_lists(
            ratings,
            contenders,
            **domains,
            seeds=range(settings.seed, settings.seed + settings.seeds),
            workers=settings.workers,
            progress=advance,
        )
    made_with = manifest(
        ratings,
        seed=settings.seed,
        command=run.command,
        epsilon=",".join(f"{epsilon:g}" for epsilon in settings.epsilon),
        seeds=settings.seeds,
        **parameters,
    )
    shown = []
    for row in rows:
        values = row.to_dict()
        if row.epsilon == math.inf:
            values["epsilon"] = "inf"  # JSON has no infinity
        shown.append(values)
    return Result(
        {"rows": shown, "manifest": made_with},
        (table_of_lists(rows), describe_features(ratings, settings.features)),
        "tacit plan private --help  says how many people it takes.",
    )


def _contenders(epsilons: tuple[float, ...], parameters: dict[str, Any]) -> list[Contender]:
    """Private lists and private popularity at each epsilon, and the usual methods without."""
    from tacit.designs.private.model import Private
    from tacit.evaluation.lists import Contender

    for epsilon in epsilons:
        _ = Private(epsilon, **parameters).settings  # refuses bad ones before anything is read
    # In one domain likes alone are held out, and an error of them says nothing about stars.
    judges_stars = parameters["stars"] and parameters["target"] is not None
    contenders = []
    for epsilon in epsilons:
        private = parameters | {"epsilon": epsilon}
        contenders.append(Contender("private", private, epsilon, stars=judges_stars))
    for epsilon in epsilons:
        if math.isfinite(epsilon):
            popularity = {
                "delta": parameters["delta"],
                "domain": parameters["target"],
                "epsilon": epsilon,
            }
            contenders.append(Contender("private-popularity", popularity, epsilon))
    contenders += [Contender("ease"), Contender("item-item")]
    if find_spec("implicit"):
        contenders.append(Contender("als"))
    return contenders


@dataclass(frozen=True)
class PlanSettings:
    """Options of `tacit plan private`."""

    people: float = option("People with rows.", least=2, flag="--people --users")
    items: float = option("Items that lists are made of.", least=2)
    epsilon: float = option(
        "Epsilon for a person's whole profile, all releases together.", default=DEFAULT_EPSILON
    )
    delta: float = option(DELTA_HELP, default=DEFAULT_DELTA)
    across: bool = option("Lists in one domain from rows in another.", default=False)
    ratings: float | None = option(
        "Also what a fit to so many ratings costs: passes, memory, bytes, hours.",
        default=None,
        least=1,
    )
    stars: bool = option("A fit with stars.", default=False)
    every: str | None = option(f"A fit every {', '.join(_PERIODS)}; needs --for.", default=None)
    times: int | None = option(
        "How many of them share epsilon.", default=None, least=1, flag="--for"
    )

    def __post_init__(self) -> None:
        together = (self.every is None) == (self.times is None)
        if not together or self.every not in (None, *_PERIODS):
            raise ConfigError(
                f"--every is one of {', '.join(_PERIODS)} and goes with --for NUMBER."
            )


def plan(settings: PlanSettings, _: Run) -> Result:
    """Compute whether private lists would be useful.

    A rule fitted on films: lists beat popularity from 115 sqrt(2 ln items) sigma people on, from
    88 instead of 115 across domains. With --every and --for, epsilon is for all fits together, and
    what each may take is printed.
    """
    from tacit.designs.private.plan import plan_releases
    from tacit.engine.cost import cost

    people, items = int(settings.people), int(settings.items)
    planned = plan_releases(
        people,
        items,
        settings.epsilon,
        delta=settings.delta,
        releases=settings.times or 1,
        across=settings.across,
    )
    data: dict[str, Any] = asdict(planned) | {
        "every": settings.every,
        "worthwhile": planned.worthwhile,
        "missing": planned.missing,
    }
    epsilon, lifetime = f"{planned.epsilon:g}", f"{planned.lifetime_epsilon:g}"
    summary, options = _describe_plan(planned), ""
    shown = [summary]
    if planned.releases > 1:
        fits = f"One fit a {settings.every}, {planned.releases} of them"
        evaluate_both = f"tacit evaluate private RATINGS --epsilon {epsilon},{lifetime}"
        shown = [
            f"{fits}: each may take epsilon {epsilon}. {summary}",
            f"What that costs in lists:  {evaluate_both}",
        ]
        options = f" --lifetime {lifetime} --ledger budgets.db --previous m.tacit"
    if settings.ratings is not None:
        priced = cost(settings.ratings, people, items, stars=settings.stars)
        data["cost"] = asdict(priced)
        shown += priced.sentences
    after = f"tacit fit private RATINGS --epsilon {epsilon}{options} -o m.tacit"
    return Result(data, shown, after)


def _describe_plan(planned: Plan) -> str:
    """Say whether lists are expected to beat popularity."""
    verdict = "are" if planned.worthwhile else "are NOT"
    missing = f": {planned.missing:,} more are needed" if planned.missing else ""
    return (
        f"Effective population {planned.effective:,.0f}. Lists {verdict} expected to beat "
        f"popularity; that takes {planned.needed:,} people{missing}. It presumes that people "
        "choose by taste."
    )


FIT = Command(FitSettings, fit, ratings=True)
EVALUATE = Command(EvaluateSettings, evaluate, ratings=True)
PLAN = Command(PlanSettings, plan)
