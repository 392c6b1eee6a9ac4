"""What `tacit fit|evaluate|plan private` ask, do and show."""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.design import Command, Run, Where, option, private_summary, promised
from tacit.errors import ConfigError
from tacit.evaluation import OUT, SEED, WORKERS, Result, manifest
from tacit.evaluation.any_design import lists

if TYPE_CHECKING:
    from tacit.designs.private.model import Private
    from tacit.evaluation.lists import Contender

EPSILON = "Epsilon for a person's whole profile; inf: no privacy."
DELTA = "Probability that the bound of epsilon fails, such as 1e-6."
FEATURES = (
    "Columns of public item metadata, with commas; default: genres, tags, categories, price, year "
    "where there are any; '' for none."
)
STARS = "Also release mean stars, to predict stars: 40 % of the budget."
SOURCES = "Domains that people have rated in, with commas; default: all others."
_PERIODS = ("day", "week", "month", "quarter", "year")


@dataclass(frozen=True)
class FitSettings(Where):
    out: Path = option(OUT, flag="--out -o", writes=True)
    epsilon: float = option(EPSILON, default=1.0)
    delta: float = option(DELTA, default=1e-6)
    features: tuple[str, ...] | None = option(FEATURES, default=None)
    from_domain: tuple[str, ...] | None = option(SOURCES, default=None, flag="--source")
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
    stars: bool = option(STARS, default=False)
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
        "The second place of the chain's head: a file, or postgresql://HOST/DATABASE; by default "
        "LEDGER.head for a file.",
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
    from tacit.data.stored import watched
    from tacit.designs.private.model import Private
    from tacit.designs.private.settings import refuse_filter

    refuse_filter(settings.epsilon, per_item=run.per_item, per_user=run.per_user)
    names = ("epsilon", "delta", "features", "mode", "like_at", "stars", "previous", "lifetime")
    given = {name: getattr(settings, name) for name in names}
    model = Private(source=settings.from_domain or None, target=settings.to_domain or None, **given)
    _ = model.settings  # refuses bad ones before the file is read
    across = bool(settings.from_domain or settings.to_domain)
    with ExitStack() as open_until:
        ratings = open_until.enter_context(
            run.open(settings, catalogue=settings.catalogue, domains=across)
        )
        open_until.enter_context(watched(ratings, run.progress, 7 if settings.stars else 4))
        account = None
        if settings.ledger is not None:
            from tacit.designs.private.releases import Account
            from tacit.ledger import open_ledger

            opened = open_until.enter_context(open_ledger(settings.ledger, second=settings.second))
            account = Account(opened, settings.tenant, settings.dataset)
        model.fit(ratings, account=account).save(settings.out)
    (card,) = model.guarantees()
    useful = model.released_.usefulness
    items = len(model.item_ids_)
    data = private_summary("private", settings.out, items) | {
        "features": list(model.feature_names_),
        "mode": model.released_.mode,
        "lists": model.released_.serves_lists,
        **asdict(useful),
        "worthwhile": useful.worthwhile,
        "missing": useful.missing,
        "epsilon": card.epsilon,
        "delta": card.delta,
        "standing": asdict(model.standing_),
        **promised(card),
    }
    sentence = f"Fitted private lists of {items:,} items. {card.first_line} {card.sentence}"
    after = f"tacit recommend {settings.out} --history my_ratings.csv --at-device"
    return Result(data, (sentence, *_standing(model, card.delta)), after)


def _standing(model: Private, delta: float | None) -> list[str]:
    standing, sentences = model.standing_, []
    if standing.repeated:
        sentences.append(
            "The ledger had this fit already: its stored model was written, nothing was charged. "
            "For a new fit give the newest model as --previous."
        )
    if standing.fits > 1 or standing.lifetime is not None:
        limit = "" if standing.lifetime is None else f" of {standing.lifetime:g} allowed"
        sentences.append(
            f"Fit {standing.fits} of these people: epsilon {standing.epsilon:.4g} alone, "
            f"{standing.total:.4g}{limit} in total, delta {delta:g}."
        )
    if standing.further == 0:
        sentences.append(
            "Warning: another fit like this one would pass the lifetime, and will be refused."
        )
    return sentences


@dataclass(frozen=True)
class EvaluateSettings:
    epsilon: tuple[float, ...] = option(
        "Epsilon for a person's whole profile, with commas; inf: no noise.",
        default=(0.5, 1.0, 3.0, math.inf),
    )
    delta: float = option(DELTA, default=1e-6)
    features: tuple[str, ...] | None = option(FEATURES, default=None)
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
    from tacit.evaluation.lists import evaluate_lists

    domains = {"source": settings.from_domain, "target": settings.to_domain}
    given = {name: getattr(settings, name) for name in ("delta", "features", "mode", "stars")}
    given |= domains
    contenders = _contenders(settings.epsilon, given)
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
        epsilon=",".join(f"{each:g}" for each in settings.epsilon),
        seeds=settings.seeds,
        **given,
    )
    shown = [
        row.to_dict() | ({"epsilon": "inf"} if row.epsilon == math.inf else {}) for row in rows
    ]
    return Result(
        {"rows": shown, "manifest": made_with},
        (lists(rows),),
        "tacit plan private --help  says how many people it takes.",
    )


def _contenders(epsilons: tuple[float, ...], given: dict[str, Any]) -> list[Contender]:
    """Private lists and private popularity at each epsilon, and the usual methods without."""
    from tacit.designs.private.model import Private
    from tacit.evaluation.lists import Contender

    for epsilon in epsilons:
        _ = Private(epsilon, **given).settings  # refuses bad ones before anything is read
    # In one domain likes alone are held out, and an error of them says nothing about stars.
    judged = given["stars"] and given["target"] is not None
    contenders = [
        Contender("private", given | {"epsilon": each}, each, stars=judged) for each in epsilons
    ]
    popular = [each for each in epsilons if math.isfinite(each)]
    of_popularity = {"delta": given["delta"], "domain": given["target"]}
    contenders += [
        Contender("private-popularity", of_popularity | {"epsilon": each}, each) for each in popular
    ]
    plain = ["ease", "item-item", *(["als"] if find_spec("implicit") else [])]
    return [*contenders, *map(Contender, plain)]


@dataclass(frozen=True)
class PlanSettings:
    people: float = option("People with rows.", least=2, flag="--people --users")
    items: float = option("Items that lists are made of.", least=2)
    epsilon: float = option(
        "Epsilon for a person's whole profile, all releases together.", default=1.0
    )
    delta: float = option(DELTA, default=1e-6)
    across: bool = option("Lists in one domain from rows in another.", default=False)
    ratings: float | None = option(
        "Also what a fit to so many ratings costs: passes, memory, bytes, hours.", default=None,
        least=1,
    )  # fmt: skip
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
    from tacit.designs.private.guarantees import plan as planned
    from tacit.engine.cost import cost

    people, items = int(settings.people), int(settings.items)
    outlook = planned(
        people, items, settings.epsilon, delta=settings.delta, releases=settings.times or 1,
        across=settings.across,
    )  # fmt: skip
    more: dict[str, Any] = {
        "every": settings.every,
        "worthwhile": outlook.worthwhile,
        "missing": outlook.missing,
    }
    each, whole = f"{outlook.epsilon:g}", f"{outlook.lifetime_epsilon:g}"
    lacking = f": {outlook.missing:,} more are needed" if outlook.missing else ""
    summary = (
        f"Effective population {outlook.effective:,.0f}. Lists "
        f"{'are' if outlook.worthwhile else 'are NOT'} expected to beat popularity; that takes "
        f"{outlook.needed:,} people{lacking}. It presumes that people choose by taste."
    )
    shown, options = [summary], ""
    if (times := outlook.releases) > 1:
        shown = [
            f"One fit a {settings.every}, {times} of them: each may take epsilon {each}. {summary}",
            f"What that costs in lists:  tacit evaluate private RATINGS --epsilon {each},{whole}",
        ]
        options = f" --lifetime {whole} --ledger budgets.db --previous m.tacit"
    if settings.ratings is not None:
        priced = cost(settings.ratings, people, items, stars=settings.stars)
        more["cost"] = asdict(priced)
        shown += priced.sentences
    after = f"tacit fit private RATINGS --epsilon {each}{options} -o m.tacit"
    return Result(asdict(outlook) | more, shown, after)


FIT = Command(FitSettings, fit, ratings=True)
EVALUATE = Command(EvaluateSettings, evaluate, ratings=True)
PLAN = Command(PlanSettings, plan)
