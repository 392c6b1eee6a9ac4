"""The commands `tacit fit private`, `tacit evaluate private` and `tacit plan private`."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.design import (
    Command,
    ExecutionOptions,
    Run,
    card_summary,
    guarantee_command,
    option,
    private_fit_summary,
)
from tacit.errors import ConfigError
from tacit.evaluation import OUT, REPORT, SEED, WORKERS, Result, Table, manifest
from tacit.evaluation.any_design import table_of_lists
from tacit.privacy import format_upper_bound
from tacit.profile_sums.options import FEATURES_HELP, STARS_HELP
from tacit.profile_sums.settings import (
    DEFAULT_DELTA,
    DEFAULT_EPSILON,
    DELTA_HELP,
    EPSILON_HELP,
    refuse_filter,
)

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.designs.private.model import Private
    from tacit.designs.private.plan import Plan, PlannedWeek
    from tacit.evaluation.lists import Contender

_HOW_SHARES_ARE_ESTIMATED = (
    "These shares are an estimate before any data: 0.9 - 0.7 / r^0.45, where r is the number of "
    "people divided by the number that is needed at the noise of the lists; a plan has 0.05 less. "
    "The curve was fitted on MovieLens 100K and generated people; its mean error there is 0.14, "
    "and yours may be larger. One release, or a fresh fit, with an effective population above "
    "8,000 also releases pairs of likes, and has 0.92 or more.  tacit evaluate private RATINGS "
    "--lifetime EPSILON --fits N  measures them."
)
"""Note below the table of expected shares, which `usefulness.expected_share` computes."""
_PERIODS = ("day", "week", "month", "quarter", "year")
"""Values of --every."""
_EPSILONS = (0.5, 1.0, 3.0, math.inf)
"""Epsilons that `tacit evaluate private` compares by default."""
_FITS_OF_A_PLAN = (1, 13, 26, 52)
"""Fits of a plan, by number, that are shown by default: the first, and those at the end of one, two
and four quarters of a year of weekly fits."""
_PASSES = 5
"""How often a fit without stars passes over stored ratings; for the progress bar."""
_PASSES_WITH_STARS = 8
"""How often a fit with stars passes over stored ratings; for the progress bar."""


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
    mode: str = option("'auto', by the noisy counts; 'taste'; 'top-items'.", default="auto")
    text: tuple[str, ...] = option(
        "Columns of item metadata with public texts, with commas: dense features of their words.",
        default=(),
    )
    vectors: Path | None = option(
        "Public vectors of items: .parquet with a column 'item', or .npy beside NAME.ids.txt.",
        default=None,
    )
    consented: Path | None = option(
        "People who agreed not to be protected: a CSV file with one column of ids, or with a "
        "column 'agreed' of yes and no beside it. Their likes can be read out of the model.",
        default=None,
    )
    like_at: float | None = option(
        "Least rating that is a like; default: 70 % of the way up the scale.", default=None
    )
    stars: bool = option(STARS_HELP, default=False)
    catalogue: Path | None = option(
        "Public list of items with their metadata. Other items are left out.", default=None
    )
    previous: Path | None = option(
        "The newest earlier model of these people: costs add up.", default=None
    )
    lifetime: float | None = option(
        "Epsilon of all fits together; default: that of --previous, if it has one.", default=None
    )
    fits: int | None = option(
        "Begin a plan of so many fits that share the lifetime: half for this one, equal parts for "
        "the others, whose sums are added up. --previous alone continues it.",
        default=None,
        least=2,
    )
    ledger: str | None = option(
        "Ledger that pays: a file or postgresql://HOST/DATABASE.", default=None
    )
    second: str | None = option(
        "Where a copy of the ledger's latest hash is kept: a file, or postgresql://HOST/DATABASE; "
        "by default LEDGER.head for a file.",
        default=None,
    )
    tenant: str = option("Tenant whose budget in the ledger pays.", default="tacit")
    dataset: str = option("Data set of the tenant, whose budget pays.", default="ratings")


def fit(settings: FitSettings, run: Run) -> Result:
    """Private lists from one file of ratings.

    In one domain or across two.

    What was released, and whether lists are useful, is printed and stated on the card. If there was
    a fit to these people before, name its model with --previous: the card then states the total.
    """
    from tacit.data.domains import describe_features
    from tacit.data.ratings import Ratings
    from tacit.data.stored_ratings import catalogue_of, show_progress
    from tacit.data.tables.degenerate import refuse_unlearnable_ratings
    from tacit.profile_sums.consent import count_people

    refuse_filter(settings.epsilon, per_item=run.per_item, per_user=run.per_user)
    model = _make_recommender(settings)
    across = bool(settings.from_domain or settings.to_domain)
    passes = _PASSES_WITH_STARS if settings.stars else _PASSES
    with ExitStack() as stack:
        opened = run.open_ratings(settings, catalogue=settings.catalogue, domains=across)
        ratings = stack.enter_context(opened)
        stack.enter_context(show_progress(ratings, run.progress, passes))
        # The check judges all rows together, so its error depends on several people. It is made
        # only if the meaning of columns was guessed, for which all rows were read together already.
        if isinstance(ratings, Ratings) and ratings.guesses:
            refuse_unlearnable_ratings(ratings, None, liked_from=settings.like_at)
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
        "lists": model.released_.serves_personal_lists,
        **asdict(usefulness),
        "missing": usefulness.people_missing,
        "epsilon": card.epsilon,
        "delta": card.delta,
        "budget_status": asdict(model.budget_status_),
        **card_summary(card),
    }
    sentence = f"Fitted private lists of {items:,} items. {card.first_line} {card.sentence}"
    sentences = [sentence, describe_features(catalogue_of(ratings), settings.features)]
    if settings.consented is not None and isinstance(ratings, Ratings):
        with_ratings = count_people(ratings, model.consented)
        without_ratings = len(model.consented) - with_ratings
        data["consented"] = {"with_ratings": with_ratings, "without": without_ratings}
        sentences.append(
            f"Of the {len(model.consented)} people of {settings.consented} who agreed not to be "
            f"protected, {with_ratings} have ratings and {without_ratings} have none."
        )
    after = guarantee_command(settings.out)
    return Result(data, (*sentences, *_describe_budget(model, card.delta)), after)


def _make_recommender(settings: FitSettings) -> Private:
    """Make the recommender of these options, not fitted yet.

    Raises:
        ConfigError: A setting is invalid. It is raised here, before the ratings are read.
    """
    from tacit.data.tables.consent_lists import read_consenting
    from tacit.designs.private.model import Private

    consented = () if settings.consented is None else read_consenting(settings.consented)
    model = Private(
        settings.epsilon,
        settings.delta,
        source=settings.from_domain or None,
        target=settings.to_domain or None,
        features=settings.features,
        mode=settings.mode,  # type: ignore[arg-type]  # checked by model.settings
        like_at=settings.like_at,
        stars=settings.stars,
        previous=settings.previous,
        lifetime=settings.lifetime,
        fits=settings.fits,
        text=settings.text,
        vectors=settings.vectors,
        consented=consented,
    )
    _ = model.settings  # raises ConfigError for an invalid setting
    return model


def _describe_budget(model: Private, delta: float | None) -> list[str]:
    """Say in sentences what was spent on these people, and what is left.

    Args:
        model: The fitted model.
        delta: Delta of its card; None if one of the fits has no noise.
    """
    status = model.budget_status_
    sentences = []
    if status.repeated:
        sentences.append(
            "The ledger already holds this fit. Its stored model was copied to the output file, "
            "and nothing was charged. For a new fit give the newest model as --previous."
        )
    if status.fits > 1 or status.lifetime is not None:
        limit = "" if status.lifetime is None else f" of {status.lifetime:g} allowed"
        at_delta = "" if delta is None else f", delta {delta:g}"
        sentences.append(
            f"Fit {status.fits} of these people: epsilon "
            f"{format_upper_bound(status.epsilon, digits=4)} alone, "
            f"{format_upper_bound(status.total, digits=4)}{limit} in total{at_delta}."
        )
    if model.fitted_.plan is not None and status.further:
        fits = "fit of the plan is" if status.further == 1 else "fits of the plan are"
        sentences.append(
            f"{status.further} {fits} left; the next one needs this model as --previous."
        )
    elif model.fitted_.plan is not None:
        sentences.append("No fit of the plan is left. This model stays in use.")
    elif status.further == 0:
        sentences.append(
            "Warning: another fit like this one would exceed the lifetime, and will be refused."
        )
    return sentences


@dataclass(frozen=True)
class EvaluateSettings:
    """Options of `tacit evaluate private`."""

    epsilon: tuple[float, ...] = option(
        "Epsilon for a person's whole profile, with commas; inf: no noise.",
        default=_EPSILONS,
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
    lifetime: float | None = option(
        "Measure a plan instead: epsilon of all its --fits together. It is compared with one "
        "release of this epsilon, and with a fresh fit each time that has an equal part of it.",
        default=None,
    )
    fits: int | None = option("Fits of the plan; with --lifetime.", default=None, least=2)
    fits_to_measure: tuple[int, ...] = option(
        "Numbers of fits after which lists are measured, with commas.",
        default=_FITS_OF_A_PLAN,
        flag="--weeks",
    )
    text: tuple[str, ...] = option(
        "Columns of item metadata with public texts, with commas.", default=()
    )
    vectors: Path | None = option("Public vectors of items.", default=None)
    consented_share: float = option(
        "Share of people who agree not to be protected, drawn by seed; the others are judged.",
        default=0.0,
        least=0,
    )
    by_time: bool = option(
        "Rows arrive in the order of their times, half of them before the first fit. Without this "
        "option people arrive, in an order drawn by seed.",
        default=False,
    )
    report: Path | None = option(REPORT, default=None, writes=True)
    seeds: int = option("How many splits, each with new noise.", default=6, least=1)
    seed: int = option(SEED, default=0, least=0)
    workers: int = option(WORKERS, default=1, least=0)

    def __post_init__(self) -> None:
        """Raise ConfigError for options that do not go together, or a share out of its range."""
        if (self.lifetime is None) != (self.fits is None):
            raise ConfigError("--lifetime EPSILON and --fits NUMBER go together.")
        if not 0 <= self.consented_share < 1:
            raise ConfigError("--consented-share is 0 or more and below 1.")
        if self.lifetime is not None:
            self._refuse_options_without_meaning_for_a_plan()
        elif self.by_time or self.fits_to_measure != _FITS_OF_A_PLAN:
            raise ConfigError("--weeks and --by-time need a plan: --lifetime and --fits.")

    def _refuse_options_without_meaning_for_a_plan(self) -> None:
        """Raise ConfigError if an option is given that the measurement of a plan would ignore."""
        if self.from_domain or self.to_domain or self.stars:
            raise ConfigError("Plans are measured in one domain and without stars.")
        if self.report is not None:
            raise ConfigError("Plans have no page. Leave out --report, or --lifetime and --fits.")
        if self.epsilon != _EPSILONS:
            raise ConfigError(
                "--epsilon does not go with a plan: --lifetime is the epsilon of all its fits."
            )
        if self.text or self.vectors is not None or self.consented_share:
            raise ConfigError(
                "--lifetime and --fits go with none of --text, --vectors and --consented-share."
            )


def evaluate(settings: EvaluateSettings, run: Run) -> Result:
    """Measure lists with and without privacy.

    'kept' is a method's gain over popularity divided by the gain of a reference without privacy:
    EASE in one domain, a ridge regression between two, with the penalty that is best on test
    people.
    """
    from tacit.data.domains import describe_features
    from tacit.evaluation.lists import evaluate_lists
    from tacit.evaluation.lists_page import make_lists_page

    if settings.lifetime is not None and settings.fits is not None:
        return _evaluate_plan(settings, run, settings.lifetime, settings.fits)
    domains = {"source": settings.from_domain, "target": settings.to_domain}
    parameters: dict[str, Any] = {
        "delta": settings.delta,
        "features": settings.features,
        "mode": settings.mode,
        "stars": settings.stars,
        "text": settings.text,
        "vectors": None if settings.vectors is None else str(settings.vectors),
        **domains,
    }
    contenders = _make_contenders(settings.epsilon, parameters)
    ratings = run.read_ratings()
    methods = len(contenders) + 2  # popularity and the reference are measured as well
    with run.progress("Evaluating", methods * settings.seeds) as advance:
        rows = evaluate_lists(
            ratings,
            contenders,
            **domains,
            seeds=range(settings.seed, settings.seed + settings.seeds),
            workers=settings.workers,
            consented_share=settings.consented_share,
            progress=advance,
        )
    made_with = manifest(
        ratings,
        seed=settings.seed,
        command=run.command,
        consented_share=settings.consented_share,
        epsilon=",".join(f"{epsilon:g}" for epsilon in settings.epsilon),
        seeds=settings.seeds,
        **parameters,
    )
    json_rows = []
    for row in rows:
        values = row.to_dict()
        if row.epsilon == math.inf:
            values["epsilon"] = "inf"  # JSON has no infinity
        json_rows.append(values)
    table = table_of_lists(rows)
    if settings.report is not None:
        make_lists_page("Private", rows, table, made_with).write(settings.report)
    finite_epsilons = [epsilon for epsilon in settings.epsilon if epsilon < math.inf]
    epsilon_option = f" --epsilon {finite_epsilons[0]:g}" if finite_epsilons else ""
    after = f"{_plan_line(settings, ratings)}{epsilon_option}  says how many people it takes."
    return Result(
        {"rows": json_rows, "manifest": made_with},
        (table, describe_features(ratings, settings.features)),
        after,
    )


def _evaluate_plan(settings: EvaluateSettings, run: Run, lifetime: float, fits: int) -> Result:
    """Measure the lists of a plan while people or rows arrive.

    Args:
        settings: Options of the command.
        run: The run of the command.
        lifetime: Epsilon of all fits of the plan together.
        fits: Number of fits of the plan.
    """
    from tacit.designs.private.experiment.over_time import WeekRow, evaluate_plan

    weeks = sorted({min(number, fits) for number in settings.fits_to_measure})
    ratings = run.read_ratings()
    with run.progress("Evaluating", fits * settings.seeds) as advance:
        rows = evaluate_plan(
            ratings,
            lifetime,
            fits,
            weeks,
            delta=settings.delta,
            features=settings.features,
            mode=settings.mode,  # type: ignore[arg-type]  # `Private` checks it
            by_time=settings.by_time,
            seeds=range(settings.seed, settings.seed + settings.seeds),
            workers=settings.workers,
            progress=advance,
        )
    columns: dict[str, Callable[[WeekRow], object]] = {
        "model": lambda row: row.model,
        "fit": lambda row: str(row.week),
        "epsilon": lambda row: None if row.epsilon is None else f"{row.epsilon:g}",
        "NDCG": lambda row: f"{row.ndcg:.3f}",
        "95 % interval": lambda row: f"{row.low:.3f} to {row.high:.3f}",
    }
    made_with = manifest(
        ratings,
        seed=settings.seed,
        command=run.command,
        lifetime=lifetime,
        fits=fits,
        weeks=",".join(str(week) for week in weeks),
        by_time=settings.by_time,
        delta=settings.delta,
        features=settings.features,
        mode=settings.mode,
        seeds=settings.seeds,
    )
    return Result(
        {"rows": [asdict(row) for row in rows], "manifest": made_with},
        (Table.from_rows("Lists of ten while people or rows arrive", columns, rows),),
        f"{_plan_line(settings, ratings)} --epsilon {lifetime:g} --fits {fits}  says what theory "
        "expects.",
    )


def _plan_line(settings: EvaluateSettings, ratings: Ratings) -> str:
    """Return the command `tacit plan private` for what was measured, without --epsilon.

    Args:
        settings: Options of the measurement.
        ratings: The ratings that it was made on.
    """
    from tacit.data.domains import items_in

    target = settings.to_domain
    n_items = ratings.n_items if target is None else len(items_in(ratings, target))
    line = f"tacit plan private --people {ratings.n_users} --items {n_items}"
    if settings.from_domain or target:
        line += " --across"
    if settings.stars:
        line += " --stars"
    return line + _delta_option(settings.delta)


def _delta_option(delta: float) -> str:
    """Return the option --delta, after a blank, for a suggested command; "" for the default."""
    return "" if delta == DEFAULT_DELTA else f" --delta {delta}"


def _make_contenders(epsilons: tuple[float, ...], parameters: dict[str, Any]) -> list[Contender]:
    """Return the recommenders to compare, apart from popularity and the reference.

    At each epsilon they are private lists and, if it is finite, private popularity. Without privacy
    they are EASE, item-item, and ALS if the package `implicit` is installed.

    Args:
        epsilons: Epsilons to compare at; infinity: no noise.
        parameters: Arguments of `Private`, except for epsilon.

    Raises:
        ConfigError: `Private` refuses the parameters.
    """
    from tacit.designs.private.model import Private
    from tacit.evaluation.lists import Contender

    for epsilon in epsilons:
        _ = Private(epsilon, **parameters).settings  # raises ConfigError for an invalid setting
    # In one domain only likes are held out, and their error says nothing about other stars.
    judges_stars = parameters["stars"] and parameters["target"] is not None
    contenders = []
    for epsilon in epsilons:
        arguments = parameters | {"epsilon": epsilon}
        contenders.append(
            Contender("private", arguments, epsilon, stars=judges_stars, uses_consent=True)
        )
    for epsilon in epsilons:
        if math.isfinite(epsilon):
            arguments = {
                "delta": parameters["delta"],
                "domain": parameters["target"],
                "epsilon": epsilon,
            }
            contenders.append(Contender("private-popularity", arguments, epsilon))
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
        "Number of fits that share epsilon; needs --every.", default=None, least=1, flag="--for"
    )
    fits: int | None = option(
        "A plan of so many fits whose sums are added up; epsilon is for all of them.",
        default=None,
        least=2,
    )
    fits_to_print: tuple[int, ...] = option(
        "Numbers of the plan's fits to print, with commas; needs --fits.",
        default=_FITS_OF_A_PLAN,
        flag="--weeks",
    )

    def __post_init__(self) -> None:
        """Raise ConfigError for options that do not go together."""
        has_both_or_neither = (self.every is None) == (self.times is None)
        if not has_both_or_neither or self.every not in (None, *_PERIODS):
            raise ConfigError(
                f"--every is one of {', '.join(_PERIODS)} and goes with --for NUMBER."
            )
        if self.fits is None:
            if self.fits_to_print != _FITS_OF_A_PLAN:
                raise ConfigError("--weeks needs --fits, the number of the plan's fits.")
        elif self.every is not None or self.across or self.stars or self.ratings is not None:
            raise ConfigError(
                "--fits goes with none of --every, --for, --across, --stars and --ratings."
            )


def plan(settings: PlanSettings, _: Run) -> Result:
    """Compute whether private lists would be useful.

    By a rule that was fitted on films, lists beat popularity if there are at least
    70 sqrt(2 ln items) sigma people; across domains 88 takes the place of 70. sigma is the noise
    multiplier. With --every and --for, epsilon is for all fits together, and the epsilon that each
    of them may take is printed.
    """
    from tacit.designs.private.plan import plan_releases
    from tacit.engine.cost import estimate_cost
    from tacit.profile_sums.sums.like_pairs import MOST_WITHOUT_PAIRS

    people, items = int(settings.people), int(settings.items)  # typed as 1e6, for example
    if settings.fits is not None:
        return _estimate_plan(settings, people, items, settings.fits)
    planned = plan_releases(
        people,
        items,
        settings.epsilon,
        delta=settings.delta,
        releases=settings.times or 1,
        cross_domain=settings.across,
        stars=settings.stars,
    )
    data: dict[str, Any] = asdict(planned) | {
        "every": settings.every,
        "worthwhile": planned.worthwhile,
        "missing": planned.people_missing,
    }
    epsilon, lifetime = f"{planned.epsilon:g}", f"{planned.lifetime_epsilon:g}"
    summary = _describe_plan(planned)
    shown = [summary]
    delta_option = _delta_option(settings.delta)
    options = " --source SOURCE --target TARGET" if settings.across else ""
    if settings.stars:
        options += " --stars"
    options += delta_option
    placeholders = "RATINGS"
    if settings.across:
        placeholders = "RATINGS and your domains for SOURCE and TARGET"
    budget_options = ""
    if planned.releases > 1:
        fits = f"One fit a {settings.every}, {planned.releases} of them"
        evaluate_both = f"tacit evaluate private RATINGS --epsilon {epsilon},{lifetime}{options}"
        shown = [
            f"{fits}: each may take epsilon {epsilon}. {summary}",
            f"What that costs in lists:  {evaluate_both}",
        ]
        budget_options = f" --lifetime {lifetime} --ledger budgets.db"
    if settings.ratings is not None:
        has_pairs = planned.effective_population > MOST_WITHOUT_PAIRS and not settings.across
        fit_cost = estimate_cost(
            settings.ratings, people, items, stars=settings.stars, pairs=has_pairs
        )
        data["cost"] = asdict(fit_cost)
        shown += fit_cost.sentences
    shown.append(
        f"Fit, with your file for {placeholders}:  "
        f"tacit fit private RATINGS --epsilon {epsilon}{options}{budget_options} -o m.tacit"
    )
    if planned.releases > 1:
        shown.append("Each later fit has  --previous m.tacit  as well.")
    after = (
        f"tacit guarantee private --epsilon {epsilon}{delta_option}  reads what one fit promises."
    )
    return Result(data, shown, after)


def _estimate_plan(settings: PlanSettings, people: int, items: int, fits: int) -> Result:
    """Estimate a plan's lists after some of its fits, and those of two other ways to spend epsilon.

    Args:
        settings: Options of the command.
        people: Number of people.
        items: Number of items.
        fits: Number of fits of the plan.
    """
    from tacit.designs.private.plan import plan_weeks

    weeks = sorted({min(number, fits) for number in settings.fits_to_print})
    planned = plan_weeks(people, items, settings.epsilon, fits, weeks, delta=settings.delta)
    columns: dict[str, Callable[[PlannedWeek], object]] = {
        "fit": lambda week: str(week.week),
        "effective population": lambda week: f"{week.effective_population:,.0f}",
        "beats popularity": lambda week: "yes" if week.worthwhile else "no",
        "one release": lambda week: f"{week.single_release:,.0f}",
        "a fresh fit each": lambda week: f"{week.fresh_fit:,.0f}",
    }
    table = Table.from_rows("", columns, planned)
    share_columns: dict[str, Callable[[PlannedWeek], object]] = {
        "fit": lambda week: str(week.week),
        "plan": lambda week: f"{week.share:.2f}",
        "one release": lambda week: f"{week.single_release_share:.2f}",
        "a fresh fit each": lambda week: f"{week.fresh_fit_share:.2f}",
    }
    shares = Table.from_rows(
        "Expected share of EASE's gain in NDCG@10 over popularity (below 0: worse than popularity)",
        share_columns,
        planned,
    )
    epsilon = f"{settings.epsilon:g}"
    delta_option = _delta_option(settings.delta)
    sentence = (
        f"A plan of {fits} fits under epsilon {epsilon}, with the same {people:,} people in all of "
        "them. The table has the effective population of the plan's lists after some fits; of one "
        "release of the whole epsilon; and of a fresh fit each time, with an equal part of it. All "
        "fits of the plan use the directions of taste of the first fit, which takes half of the "
        "budget."
    )
    data = {"fits": fits, "epsilon": settings.epsilon, "weeks": [asdict(week) for week in planned]}
    fit_command = (
        f"Fit, with your file for RATINGS:  tacit fit private RATINGS --lifetime {epsilon} "
        f"--fits {fits}{delta_option} --ledger budgets.db -o m.tacit"
    )
    shown = (sentence, table, shares, _HOW_SHARES_ARE_ESTIMATED, fit_command)
    after = (
        f"tacit guarantee private --epsilon {epsilon}{delta_option}  reads what all fits together "
        "promise."
    )
    return Result(data, shown, after)


def _describe_plan(planned: Plan) -> str:
    """Say in sentences whether lists are expected to beat popularity, and what that takes."""
    verdict = "are" if planned.worthwhile else "are NOT"
    missing = ""
    if planned.people_missing:
        missing = f": {planned.people_missing:,} more are needed"
    return (
        f"Effective population {planned.effective_population:,.0f}. Lists {verdict} expected to "
        f"beat popularity; that takes {planned.needed:,} people{missing}. The rule presumes "
        "that people choose by taste."
    )


FIT = Command(FitSettings, fit, ratings=True)
EVALUATE = Command(EvaluateSettings, evaluate, ratings=True)
PLAN = Command(PlanSettings, plan)
