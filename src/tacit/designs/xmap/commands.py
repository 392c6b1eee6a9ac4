"""Commands `tacit fit`, `plan` and `simulate` of X-Map, and its part of `tacit demo`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from tacit.design import (
    Bar,
    Command,
    ExecutionOptions,
    Run,
    Tour,
    card_summary,
    guarantee_command,
    option,
    options_of,
    private_fit_summary,
    usefulness,
)
from tacit.design.people_needed import people_needed
from tacit.errors import ConfigError, PrivacyError
from tacit.evaluation import OUT, SEED, Result, Table
from tacit.privacy import format_upper_bound
from tacit.profile_sums.options import FEATURES_HELP, STARS_HELP
from tacit.profile_sums.settings import DEFAULT_DELTA, DELTA_HELP, EPSILON_HELP

if TYPE_CHECKING:
    from tacit.designs.xmap.experiment.theorems import SensitivityCount, TheoremCase

_PASSES = 5
"""Largest number of passes over the ratings of a sound fit from domains to other domains, for the
progress bar."""
_PASSES_WITH_STARS = 8
"""Largest number of passes of such a fit if it also releases means of stars."""
_PASSES_OF_TARGET = 7
"""Number of passes of a published fit for each target, after one pass for all targets together."""
MOST_NEIGHBOURS = 500
"""Largest k of `tacit simulate xmap`: half of `theorems.CANDIDATES`."""


@dataclass(frozen=True)
class FitSettings(ExecutionOptions):
    """Options of `tacit fit xmap`."""

    out: Path = option(OUT, flag="--out -o", writes=True)
    to_domain: tuple[str, ...] = option(
        "Domains to recommend from, separated by commas.", flag="--target"
    )
    epsilon: float = option(EPSILON_HELP)
    from_domain: tuple[str, ...] = option(
        "Domains that people have rated in, separated by commas; default: all others.",
        default=(),
        flag="--source",
    )
    delta: float = option(DELTA_HELP, default=DEFAULT_DELTA)
    variant: str = option("'sound'; 'published', whose claims are refuted.", default="sound")
    epsilon_prime: float | None = option(
        "Published only: nats for one list of neighbours; default: epsilon.", default=None
    )
    recommender: str = option(
        "'item-based'; 'user-based' is refused, because no file holds people.",
        default="item-based",
    )
    k: int = option("Published only: number of neighbours.", default=50, least=1)
    extender_k: int = option(
        "Published only: number of neighbours that an item keeps in each layer.",
        default=10,
        least=1,
    )
    significance: int = option(
        "Published only: a similarity is scaled down if fewer people than this rated both items.",
        default=50,
        least=0,
    )
    alpha: float = option(
        "Published only: how fast a person's old ratings lose weight: e^-alpha for each rank in "
        "time; 0: not at all.",
        default=0.0,
        least=0,
    )
    pnsa: str = option(
        "Published only: reading of PNSA, 'printed', 'counted' or 'positive'.", default="printed"
    )
    features: tuple[str, ...] | None = option(FEATURES_HELP, default=None)
    stars: bool = option(STARS_HELP, default=False)
    catalogue: Path | None = option(
        "Public list of items, with columns item, domain, title; other items are left out.",
        default=None,
    )


def fit(settings: FitSettings, run: Run) -> Result:
    """Fit a model for a domain that is new to people.

    The sound variant is private: it fits as  tacit fit private  does, from domain to domain. Delta,
    features and stars have an effect on the sound variant only; epsilon-prime, k, extender-k,
    significance, alpha and pnsa on the published variant only.
    """
    from tacit.data.domains import describe_features
    from tacit.data.stored_ratings import catalogue_of, show_progress
    from tacit.designs.xmap.model import XMap
    from tacit.profile_sums.settings import refuse_filter

    variant = settings.variant
    if settings.recommender == "user-based":
        raise PrivacyError(
            "A user-based model is everybody's profile, and a model file holds no people. "
            "tacit evaluate xmap measures it."
        )
    if variant == "sound":
        refuse_filter(settings.epsilon, per_item=run.per_item, per_user=run.per_user)
    parameters = asdict(settings)
    for option_name in ("out", "catalogue", "from_domain", "to_domain"):
        del parameters[option_name]
    for option_name in options_of(ExecutionOptions):
        del parameters[option_name]
    model = XMap(source=settings.from_domain or None, target=settings.to_domain, **parameters)
    if variant == "sound":
        passes = _PASSES_WITH_STARS if settings.stars else _PASSES
    else:
        passes = 1 + _PASSES_OF_TARGET * len(settings.to_domain)
    with ExitStack() as contexts:
        ratings = contexts.enter_context(run.open_ratings(settings, catalogue=settings.catalogue))
        contexts.enter_context(show_progress(ratings, run.progress, passes))
        model.fit(ratings).save(settings.out)
    card = model.guarantees()[0]
    usefulness_sentence = usefulness(model)
    data = private_fit_summary("x-map", settings.out, len(model.item_ids_))
    data |= {
        "source": list(model.settings_.source) or None,
        "target": list(model.settings_.target),
        "variant": variant,
        "epsilon": settings.epsilon,
        "delta": settings.delta,
        **card_summary(card),
        "useful": usefulness_sentence,
    }
    about_usefulness = ""
    if usefulness_sentence is not None and usefulness_sentence not in card.sentence:
        about_usefulness = f" {usefulness_sentence}"
    sources = ", ".join(data["source"] or ["every other domain"])
    targets = ", ".join(data["target"])
    sentence = (
        f"Fitted X-Map ({variant}) from {sources} to {targets}. {card.first_line} "
        f"{card.sentence}{about_usefulness}"
    )
    shown = [sentence]
    if variant == "sound":
        shown.append(describe_features(catalogue_of(ratings), settings.features))
    return Result(data, tuple(shown), guarantee_command(settings.out))


FIT = Command(FitSettings, fit, ratings=True)


@dataclass(frozen=True)
class PlanSettings:
    """Options of `tacit plan xmap`."""

    ratings: float = option("Number of ratings of all people.", least=1)
    items: float = option(
        "Number of items of the target domains; published: of all domains.", least=2
    )
    people: float = option("Number of people with ratings.", least=2, flag="--people --users")
    variant: str = option(
        "'sound', or 'published', which is planned for a fit without noise.", default="sound"
    )
    stars: bool = option("Plan a sound fit that also releases means of stars.", default=False)


def plan(settings: PlanSettings, _: Run) -> Result:
    """Estimate what a fit takes: passes, memory, disk and hours."""
    from tacit.designs.xmap.settings import Variant
    from tacit.engine.cost import estimate_cost

    if settings.variant not in get_args(Variant):
        raise ConfigError(f"--variant is sound or published; got {settings.variant!r}.")
    cost_of_fit = estimate_cost(
        settings.ratings,
        settings.people,
        settings.items,
        stars=settings.stars,
        joins=settings.variant == "published",
    )
    next_command = (
        f"tacit plan private --people {settings.people:.0f} --items {settings.items:.0f} --across  "
        "says whether sound lists would be useful."
    )
    return Result({"cost": asdict(cost_of_fit)}, cost_of_fit.sentences, next_command)


PLAN = Command(PlanSettings, plan)


PEOPLE = 3000
"""Number of generated people in the tour."""
ITEMS = 80
"""Number of items of each of the tour's two domains."""
TOUR_EPSILON = 3.0
"""Nats of the tour's private model, for a person's whole profile."""
FITS = 2
"""Number of fits on which the tour measures each attack."""


@dataclass(frozen=True)
class SimulateSettings:
    """Options of `tacit simulate xmap`."""

    ks: tuple[int, ...] = option(
        "Numbers of neighbours, from 2 on; several with commas.", default=(5, 10, 50), flag="--k"
    )
    samples: int = option(
        "Number of lists of neighbours that are drawn in each case.", default=1000, least=1
    )
    pairs: int = option("Number of random pairs of items for Theorem 2.", default=2000, least=1)
    seed: int = option(SEED, default=0, least=0)

    def __post_init__(self) -> None:
        if not self.ks or not all(2 <= k <= MOST_NEIGHBOURS for k in self.ks):
            raise ConfigError(
                f"--k takes whole numbers from 2 to {MOST_NEIGHBOURS}; got {self.ks}."
            )


def simulate(settings: SimulateSettings, run: Run) -> Result:
    """Check Theorems 2 to 4 of the paper on small worlds.

    For Theorem 2 it counts the random pairs of items whose similarity one person changes by more
    than SS. For Theorems 3 and 4 it computes the chance that PNSA draws other neighbours than they
    promise, and measures it on samples: under the conditions of the proofs, and with each of these
    conditions replaced by what is printed.
    """
    from tacit.designs.xmap.experiment.theorems import (
        CASES,
        check_theorems,
        count_exceeded_sensitivities,
    )
    from tacit.randomness import replay, simulation

    cases: list[TheoremCase] = []
    with run.progress("Simulating", len(settings.ks)) as advance, simulation():
        draws = replay(settings.seed)
        for k in settings.ks:
            cases += check_theorems(k, settings.samples, draws)
            advance(1)
    counts = count_exceeded_sensitivities(settings.pairs, settings.seed)
    columns_of_theorem_2: dict[str, Callable[[SensitivityCount], object]] = {
        "stars": lambda count: count.stars,
        "who is left out": lambda count: count.removed,
        "pairs": lambda count: f"{count.pairs:,}",
        "SS exceeded": lambda count: f"{count.exceeded / count.pairs:.1%}",
    }
    columns_of_theorems_3_and_4: dict[str, Callable[[TheoremCase], object]] = {
        "theorem": lambda case: case.theorem,
        "case": lambda case: case.case,
        "k": lambda case: case.k,
        "|v|": lambda case: case.length,
        "w": lambda case: f"{case.width:.2g}",
        "allowed": lambda case: f"{case.allowed:g}",
        "chance of a miss": lambda case: f"{case.exact:.3f}",
        "sampled": lambda case: f"{case.share:.3f} [{case.low:.3f}, {case.high:.3f}]",
        "holds": lambda case: "yes" if case.holds else "no",
    }
    data = {
        "theorem_2": [asdict(count) for count in counts],
        "theorems": [asdict(case) | {"holds": case.holds} for case in cases],
    }
    shown: list[Table | str] = [
        Table.from_rows(
            "Theorem 2: one person changes a similarity by more than SS",
            columns_of_theorem_2,
            counts,
        ),
        Table.from_rows(
            "Theorems 3 and 4: neighbours drawn by PNSA", columns_of_theorems_3_and_4, cases
        ),
    ]
    shown += [f"{name}: {meaning}." for name, meaning in CASES.items()]
    return Result(data, shown, "tacit audit xmap  audits the claims of privacy.")


SIMULATE = Command(SimulateSettings, simulate)


def tour() -> Tour:
    """Show films for readers of books, and an attack that guesses who was in the data.

    The attack is on other fits than the tour's model: those of `tables.GAMES`.
    """
    from tacit.auditing.attacks.membership import play_game
    from tacit.data.synthetic_worlds import generate_domains
    from tacit.designs.xmap.audit.tables import GAMES
    from tacit.designs.xmap.model import XMap
    from tacit.evaluation.lists import judge_lists, list_trial
    from tacit.recommenders.baselines import Popularity

    ratings = generate_domains(PEOPLE, (ITEMS, ITEMS), 30, seed=1)
    model = XMap(source="source", target="target", epsilon=TOUR_EPSILON).fit(ratings)
    books = [int(item) for item in ratings.item_ids[:3]]
    recommendations = model.recommend(history=dict.fromkeys(books, 5.0), n=3)
    listed_films = ", ".join(f"film {row.item_id}" for row in recommendations)
    auc_of_method: dict[str, float] = {}
    epsilon_of_method: dict[str, float | None] = {}
    for game in GAMES:
        attack_from_lists = play_game(game, fits=FITS)[0]
        auc_of_method[attack_from_lists.method] = attack_from_lists.auc
        epsilon_of_method[attack_from_lists.method] = attack_from_lists.epsilon
    without_noise = auc_of_method["nx-map"]
    with_noise = auc_of_method["x-map-sound"]
    card = model.guarantees()[0]
    trial = list_trial(ratings, source="source", target="target", seed=1)
    ndcg = {
        "popularity": judge_lists(Popularity(likes=True), trial).ndcg,
        "private": judge_lists(XMap(**model.get_params()), trial).ndcg,
    }
    return Tour(
        headline=f"An attacker's AUC on who was in the data falls from {without_noise:.2f} to "
        f"{with_noise:.2f}. Lists for newcomers reach NDCG {ndcg['private']:.3f}, popular items "
        f"{ndcg['popularity']:.3f}.",
        bars=(Bar("attacker, no noise", without_noise), Bar("attacker, with noise", with_noise)),
        trusted="the platform, with both domains",
        real_data=people_needed("xmap").real_data,
        asked=f"{PEOPLE:,} generated people rated books and films. A person who rated three books "
        f"and no film gets {listed_films}.",
        left="From the platform: a few noisy sums over people, released once, and the lists that "
        "are made of them. The platform itself sees all ratings and must be trusted.",
        learned="An attacker makes accounts, each with one item that a person rated, and reads "
        "the accounts' lists. In a smaller generated world this recognises who was in the data "
        f"with an AUC of {without_noise:.2f} from the paper's method without noise, and "
        f"{with_noise:.2f} from the private one at epsilon {epsilon_of_method['x-map-sound']:g}. "
        "0.5 is guessing.",
        cost=f"Epsilon {format_upper_bound(card.epsilon or 0.0, digits=3)}, delta "
        f"{format_upper_bound(card.delta or 0.0)}, for each person's whole profile in both "
        "domains, once for each fit. NDCG@10 of lists for people new to films: "
        f"{ndcg['private']:.3f}; a list of popular items has {ndcg['popularity']:.3f}.",
        read_on="docs/xmap.md",
        figures={
            "auc": auc_of_method,
            "epsilon": card.epsilon,
            "delta": card.delta,
            "ndcg": ndcg,
        },
    )
