"""What `tacit fit xmap` asks, does and shows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from tacit.design import Command, Run, option, usefulness
from tacit.errors import PrivacyError
from tacit.evaluation.result import OUT, Result, private_summary, promised, summary

FEATURES = (
    "Columns of public item metadata, with commas; default: genres, tags, categories, price, year "
    "where there are any; '' for none."
)


@dataclass(frozen=True)
class FitSettings:
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
    own = ("out", "catalogue", "from_domain", "to_domain")
    given = {name: value for name, value in vars(settings).items() if name not in own}
    model = XMap(source=settings.from_domain or None, target=settings.to_domain, **given)
    ratings = run.read(catalogue=settings.catalogue)
    with run.progress("Fitting", None):
        model.fit(ratings).save(settings.out)
    card, useful = model.guarantees()[0], usefulness(model)
    facts = summary("x-map", settings.out, ratings) if variant == "published" else {}
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
