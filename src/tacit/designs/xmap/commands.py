"""What `tacit fit xmap` asks, does and shows."""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from tacit.design import (
    Command,
    Run,
    Where,
    option,
    options_of,
    private_summary,
    promised,
    summary,
    usefulness,
)
from tacit.errors import ConfigError, PrivacyError
from tacit.evaluation import OUT, Result

FEATURES = (
    "Columns of public item metadata, with commas; default: genres, tags, categories, price, year "
    "where there are any; '' for none."
)

HELP = "tacit fit xmap --help  says what a fit takes."


@dataclass(frozen=True)
class FitSettings(Where):
    """Of `tacit fit xmap`."""

    out: Path = option(OUT, flag="--out -o", writes=True)
    to_domain: tuple[str, ...] = option("Domains to recommend from, with commas.", flag="--target")
    epsilon: float = option("Epsilon for a person's whole profile; inf: no privacy.")
    from_domain: tuple[str, ...] = option(
        "Domains that people have rated in, with commas; default: all others.",
        default=(),
        flag="--source",
    )
    delta: float = option(
        "Probability that the bound of epsilon fails, such as 1e-6.", default=1e-6
    )
    variant: str = option(
        "'sound'; 'constant'; 'published', whose claims are refuted.", default="sound"
    )
    epsilon_prime: float | None = option(
        "Published only: nats of its recommender's step.", default=None
    )
    recommender: str = option(
        "'item-based'. User-based models are people: no file holds them.", default="item-based"
    )
    k: int = option("How many neighbours.", default=50, least=1)
    extender_k: int = option("Neighbours an item keeps in each layer.", default=10, least=1)
    significance: int = option(
        "Co-raters below which a similarity is scaled down.", default=50, least=0
    )
    alpha: float = option("How fast old ratings lose weight; 0: not at all.", default=0.0, least=0)
    features: tuple[str, ...] | None = option(FEATURES, default=None)
    stars: bool = option(
        "Also release mean stars, to predict stars: 40 % of the budget.", default=False
    )
    catalogue: Path | None = option(
        "Public list of items: columns item, domain, title. Others are left out.", default=None
    )


def fit(settings: FitSettings, run: Run) -> Result:
    """Recommend, privately, in a domain new to a person.

    The sound variant is the design private, from domain to domain; features and stars are for it.
    k, extender-k, significance and alpha are for the variants published and constant only.
    """
    from tacit.data.ratings import Ratings
    from tacit.data.stored import known_of, watched
    from tacit.designs.xmap.model import XMap

    variant = settings.variant
    if settings.recommender == "user-based":
        raise PrivacyError(
            "A user-based model is everybody's profile, and a model file holds no people. Use "
            "--recommender item-based; tacit evaluate xmap measures both."
        )
    promises = variant in ("sound", "constant") and math.isfinite(settings.epsilon)
    if promises and run.per_item > 1:
        raise PrivacyError(
            "--per-item leaves items out by how many people rated them: one person can decide "
            f"that, and no noise hides it. Leave it out; the {variant} variant serves every item."
        )
    own = ("out", "catalogue", "from_domain", "to_domain", *options_of(Where))
    given = {name: value for name, value in vars(settings).items() if name not in own}
    model = XMap(source=settings.from_domain or None, target=settings.to_domain, **given)
    with ExitStack() as open_until:
        ratings = open_until.enter_context(run.open(settings, catalogue=settings.catalogue))
        open_until.enter_context(watched(ratings, run.progress, _passes(settings)))
        model.fit(ratings).save(settings.out)
    card, useful = model.guarantees()[0], usefulness(model)
    exact = variant == "published" and isinstance(ratings, Ratings)
    facts = summary("x-map", settings.out, known_of(ratings)) if exact else {}
    data = facts | private_summary("x-map", settings.out, len(model.item_ids_))
    data |= {
        "source": list(model.routes.sources) or None,
        "target": list(model.routes.targets),
        "variant": variant,
        "epsilon": settings.epsilon,
        "delta": settings.delta,
        **promised(card),
        "useful": useful,
    }
    more = "" if useful is None or useful in card.sentence else f" {useful}"
    said = (
        f"Fitted X-Map ({variant}) from {', '.join(data['source'] or ['every other domain'])} to "
        f"{', '.join(data['target'])}. {card.first_line} {card.sentence}{more}"
    )
    after = (
        f"tacit guarantee {settings.out}   or   tacit recommend {settings.out} "
        "--history my_ratings.csv"
    )
    return Result(data, (said,), after)


def _passes(settings: FitSettings) -> int | None:
    """Over stored ratings, at most; None where it hangs on the ratings."""
    from tacit.designs.xmap.settings import cost

    if settings.variant == "sound":
        return cost(1, 1, stars=settings.stars).passes
    return 1 + 7 * len(settings.to_domain) if math.isinf(settings.epsilon) else None


@dataclass(frozen=True)
class PlanSettings:
    """Of `tacit plan xmap`."""

    people: float = option("People with rows.", least=2, flag="--people --users")
    items: float = option("Items of the target domains; published: of all domains.", least=2)
    variant: str = option("'sound'; 'published': what a fit without noise costs.", default="sound")
    epsilon: float = option("Epsilon for a person's whole profile.", default=1.0)
    delta: float = option("Probability that the bound of epsilon fails.", default=1e-6)
    ratings: float | None = option(
        "Also what a fit to so many ratings costs: passes, memory, bytes, hours.",
        default=None,
        least=1,
    )
    stars: bool = option("A fit with stars.", default=False)


def plan(settings: PlanSettings, _: Run) -> Result:
    """Compute whether sound X-Map lists would be useful.

    A rule fitted on films: lists beat popularity from 88 sqrt(2 ln items) sigma people on.
    """
    from tacit.designs.xmap import stored
    from tacit.designs.xmap.settings import cost
    from tacit.designs.xmap.settings import plan as plan_private

    people, items = int(settings.people), int(settings.items)
    if settings.variant == "published":
        if settings.ratings is None:
            raise ConfigError("Of the published variant the cost is known: give --ratings.")
        joins = stored.cost(settings.ratings, people, items)
        return Result({"cost": asdict(joins)}, joins.sentences, HELP)
    if settings.variant != "sound":
        raise ConfigError(f"--variant is sound or published; got {settings.variant!r}.")
    found = plan_private(people, items, settings.epsilon, delta=settings.delta, across=True)
    data = asdict(found) | {"worthwhile": found.worthwhile, "missing": found.missing}
    said = (
        f"Lists {'are' if found.worthwhile else 'are NOT'} expected to beat popularity; that takes "
        f"{found.needed:,} people with both domains."
    )
    shown = [said]
    if settings.ratings is not None:
        priced = cost(settings.ratings, items, stars=settings.stars)
        data["cost"] = asdict(priced)
        shown = [said, *priced.sentences]
    return Result(data, shown, HELP)


PLAN = Command(PlanSettings, plan)
FIT = Command(FitSettings, fit, ratings=True)
