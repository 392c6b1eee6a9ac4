"""What `tacit fit xmap` asks, does and shows."""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import dataclass
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
from tacit.errors import PrivacyError
from tacit.evaluation import OUT, Result

FEATURES = (
    "Columns of public item metadata, with commas; default: genres, tags, categories, price, year "
    "where there are any; '' for none."
)


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
    variant: str = option("'sound'; 'published', whose claims are refuted.", default="sound")
    epsilon_prime: float | None = option(
        "Published only: nats of its recommender's step.", default=None
    )
    k: int = option("How many neighbours.", default=50, least=1)
    extender_k: int = option("Neighbours an item keeps in each layer.", default=10, least=1)
    significance: int = option(
        "Co-raters below which a similarity is scaled down.", default=50, least=0
    )
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
    k, extender-k and significance are for the variant published only.
    """
    from tacit.data.ratings import Ratings
    from tacit.data.stored import known_of, watched
    from tacit.designs.xmap.model import XMap

    variant = settings.variant
    if variant == "sound" and math.isfinite(settings.epsilon) and run.per_item > 1:
        raise PrivacyError(
            "--per-item leaves items out by how many people rated them: one person can decide "
            "that, and no noise hides it. Leave it out; the sound variant serves every item."
        )
    own = ("out", "catalogue", "from_domain", "to_domain", *options_of(Where))
    given = {name: value for name, value in vars(settings).items() if name not in own}
    model = XMap(source=settings.from_domain or None, target=settings.to_domain, **given)
    passes = 5 if settings.stars else 4
    if variant != "sound":
        passes = 1 + 7 * len(settings.to_domain)
    with ExitStack() as open_until:
        ratings = open_until.enter_context(run.open(settings, catalogue=settings.catalogue))
        open_until.enter_context(watched(ratings, run.progress, passes))
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


FIT = Command(FitSettings, fit, ratings=True)
