"""Commands `tacit plan sketches`, `tacit simulate sketches` and `tacit evaluate sketches`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tacit.design import Command, Run, option
from tacit.evaluation import SEED, WORKERS, Result, Table, group_by, manifest, mean_interval
from tacit.evaluation.runner import Runner

if TYPE_CHECKING:
    from tacit.designs.sketches.information import SharedItems
    from tacit.designs.sketches.planner import Plan

CLUSTERS = "How many item clusters there are."
LIKES = (
    "The assumed world: chances of a like by item cluster, one class of people after another, such "
    "as 0.9,0.2/0.3,0.8. If left out, an example of the library."
)
ITEM_SHARES = "Shares of the items in each cluster, such as 0.7,0.3; if left out, all are equal."
PEOPLE_SHARES = "Shares of the people in each class, such as 0.2,0.8; if left out, all are equal."
NEEDED = (
    "Needed: by the normal approximation, in the assumed world. Proved enough: by Chernoff bounds. "
    "A method with 'rated' in its name reveals two items that the person rated, and hides their "
    "stars."
)
"""Explains the table of methods."""
UNIT = "What epsilon is for: 'user', 'rating' or 'moved rating'."


@dataclass(frozen=True)
class PlanSettings:
    """Options of `tacit plan sketches`."""

    items: int = option("Items of the catalogue.")
    rated: int = option("Items that a person has rated.")
    epsilon: float = option("Epsilon of a whole report, for the unit.")
    clusters: int = option(CLUSTERS, default=2, least=2)
    eta: float = option("Chance that at least one label is wrong.", default=0.1)
    wrong: float = option(
        "Share of labels that may be wrong, for the lower bounds.", default=0.0, least=0
    )
    unit: str = option(UNIT, default="user")
    likes: str | None = option(LIKES, default=None)
    item_shares: tuple[float, ...] = option(ITEM_SHARES, default=())
    people_shares: tuple[float, ...] = option(PEOPLE_SHARES, default=())


def plan(settings: PlanSettings, _: Run) -> Result:
    """Compute how many people sketches need.

    Prints how many people each method here needs, whether Theorem 3.5's conditions hold in the
    assumed world, and, for the unit 'user', a lower bound for any method and the information of one
    report with the lemmas' bounds.

    Lower bounds hold whatever people like. The number of people that a method needs depends on how
    different the clusters are: see --likes.
    """
    from tacit.designs.sketches import planner
    from tacit.designs.sketches.assumed_world import read_world

    planned = planner.plan(
        items=settings.items,
        rated=settings.rated,
        epsilon=settings.epsilon,
        clusters=settings.clusters,
        eta=settings.eta,
        wrong=settings.wrong,
        unit=settings.unit,
        blocks=read_world(
            settings.likes, settings.clusters, settings.item_shares, settings.people_shares
        ),
    )
    columns = {
        "method": lambda method: method.method,
        "theta": lambda method: None if method.theta is None else f"{method.theta:g}",
        "questions": lambda method: method.questions,
        "people needed": lambda method: format_people(method.users_clt),
        "proved enough": lambda method: (
            "–" if method.users_theorem is None else format_people(method.users_theorem)
        ),
    }
    shown: list[Table | str] = [
        Table.from_rows("", columns, planned.methods),
        advice_sentence(planned),
        NEEDED,
        conditions_table(planned),
    ]
    if "one_bit" in planned.lower_bounds:
        shown.append(one_bit_sentence(planned))
    if planned.information:
        shown += [information_table(planned), lemma_sentences(planned)]
    unit_options = ""
    if planned.unit != "user":
        unit_options = f" --method multi-maxsense --unit '{planned.unit}'"
    after = (
        f"tacit simulate sketches --items {planned.items} --rated {planned.rated} "
        f"--epsilon {planned.epsilon:g} --people 1000,10000{unit_options}  tries it on generated "
        "people."
    )
    return Result(planned.to_dict(), shown, after)


def conditions_table(planned: Plan) -> Table:
    """Tabulate, for each method of pairs, whether Theorem 3.5's conditions hold in the world.

    Methods that name two rated items are left out if people rated only one.
    """
    rows: list[tuple[Any, ...]] = []
    for method in planned.methods:
        spectrum = method.spectrum
        if spectrum is None:
            continue
        rows.append(
            (
                method.method,
                ", ".join(f"{value:.4g}" for value in spectrum.eigenvalues),
                _yes_or_no(spectrum.distinct_eigenvalues),
                _yes_or_no(spectrum.distinct_rows),
            )
        )
    columns = ("Theorem 3.5", "eigenvalues", "distinct, none 0", "rows differ")
    return Table("", columns, rows)


def one_bit_sentence(planned: Plan) -> str:
    """State Theorem 4.3's bound for people who rated one item, and when it does not hold."""
    least = math.ceil(planned.lower_bounds["one_bit"])
    return (
        f"If each person answers one fixed yes/no question, no method can learn the clusters from "
        f"fewer than {least:,} people, at any epsilon (Theorem 4.3). The bound does not hold for "
        "several questions to one person, nor for questions that depend on answers."
    )


def information_table(planned: Plan) -> Table:
    """Tabulate the information of one report and the lemmas' bounds, in nats.

    For a method to which Theorem 4.3 applies, the column of Lemma 4.5 has the theorem's bound.
    """
    rows = []
    for report in planned.information:
        lemma_3_1 = None if report.lemma_3_1 is None else f"{report.lemma_3_1:.3g}"
        lemma_4_5 = None if report.lemma_4_5 is None else f"{report.lemma_4_5:.3g}"
        if report.theorem_4_3 is not None:
            lemma_4_5 = f"{report.theorem_4_3:.3g} (4.3)"
        rows.append(
            (
                report.method,
                f"{report.about_person:.3g}",
                lemma_3_1,
                f"{report.about_labels:.3g}",
                f"{report.lemma_4_1:.3g}",
                lemma_4_5,
            )
        )
    columns = ("nats of a report", "person", "Lemma 3.1", "labels", "Lemma 4.1", "Lemma 4.5")
    return Table("", columns, rows)


def lemma_sentences(planned: Plan) -> str:
    """Compare Lemma 4.7, and Lemma 4.5 if the first method has noise, with exact values."""
    sentences = [shared_items_sentence(planned.shared_items)]
    report = planned.information[0]
    if report.allowed_shifts is not None:
        low, high = report.shifts
        allowed_low, allowed_high = report.allowed_shifts
        sentences.append(
            f"A report of {report.method} multiplies the chance of any history (what a person "
            f"rated and likes) by {1 + low:.3g} to {1 + high:.3g}; Lemma 4.5 allows "
            f"{1 + allowed_low:.3g} to {1 + allowed_high:.3g}."
        )
    return " ".join(sentences)


def shared_items_sentence(shared: SharedItems) -> str:
    """Compare Lemma 4.7 with the exact chance that two people rated no item in common."""
    return (
        f"Two people rated no item in common with chance {shared.exact:.4f}; Lemma 4.7's "
        f"max(0, 1 - w²/N) = {shared.lemma_4_7:.4f} is near it if w² is small against N."
    )


def advice_sentence(planned: Plan) -> str:
    """State the lower bound on people, and the method and parameters to use, in a sentence."""
    best = planned.best
    lower_bound = _lower_bound_words(planned)
    if math.isinf(best.users_clt):
        return f"{lower_bound}; and no method here can tell these clusters apart."
    noun = "random pair" if best.theta is None else "question"
    plural = "s" if best.questions > 1 else ""
    parameters = f"{best.questions} {noun}{plural}"
    if best.theta is not None:
        parameters = f"theta {best.theta:g} and {parameters}"
    needed = f"which takes about {format_people(best.users_clt)} people"
    return f"{lower_bound}; use {best.method} with {parameters}, {needed}."


def _lower_bound_words(planned: Plan) -> str:
    """State how many people any method needs, or that no bound is known, without a full stop."""
    bounds = planned.lower_bounds
    if "ldp" not in bounds:
        return f"No lower bound is known for the unit {planned.unit}"
    for_any_learner = max(bounds["ldp"], bounds.get("adaptive", 0.0))
    for_fixed_questions = max(for_any_learner, bounds["scarce"])
    words = f"No method finds the clusters with fewer than {math.ceil(for_any_learner):,} people"
    if for_fixed_questions > for_any_learner:
        count = math.ceil(for_fixed_questions)
        words += f", or {count:,} if questions do not depend on earlier answers"
    return words


def _yes_or_no(is_true: bool) -> str:
    """Return "yes" or "no", as a cell of a table."""
    return "yes" if is_true else "no"


def format_people(number: float) -> str:
    """Format a number of people, rounded to two significant digits: plans are no more exact."""
    if math.isinf(number):
        return "infinitely many"
    rounded = float(f"{number:.2g}")
    return f"{int(rounded):,}"


@dataclass(frozen=True)
class SimulateSettings:
    """Options of `tacit simulate sketches`."""

    people: tuple[int, ...] = option("Numbers of people, with commas.")
    items: tuple[int, ...] = option("Items; several numbers with commas.", default=(60,))
    rated: tuple[int, ...] = option(
        "Items that a person rated; several with commas.", default=(20,)
    )
    epsilon: tuple[float, ...] = option(
        "Epsilon of a report; several with commas; inf: no noise.", default=(1.0,)
    )
    method: tuple[str, ...] = option(
        "maxsense, multi-maxsense, pairwise-preference, pairwise-rated, pairwise-identical, "
        "pairwise-rated-identical; without privacy, for --rated 1 and --epsilon inf, "
        "one-bit-question, one-bit-on-average. Several with commas.",
        default=("maxsense",),
    )
    clusters: int = option(CLUSTERS, default=2, least=2)
    likes: str | None = option(LIKES, default=None)
    item_shares: tuple[float, ...] = option(ITEM_SHARES, default=())
    people_shares: tuple[float, ...] = option(PEOPLE_SHARES, default=())
    unit: str = option(UNIT, default="user")
    seeds: int = option("How many populations.", default=5, least=1)
    workers: int = option(WORKERS, default=1, least=0)


def simulate(settings: SimulateSettings, run: Run) -> Result:
    """Learn item clusters from simulated reports.

    The learned clusters are compared with the true ones.

    accuracy: share of right labels. ari: adjusted Rand index, about 0 for labels at random.
    """
    from tacit.designs.sketches.assumed_world import read_world

    tasks = list(
        product(
            settings.method,
            settings.items,
            settings.rated,
            settings.epsilon,
            range(settings.seeds),
        )
    )
    shared_arguments = {
        "users": settings.people,
        "blocks": read_world(
            settings.likes, settings.clusters, settings.item_shares, settings.people_shares
        ),
        "unit": settings.unit,
    }
    with (
        run.progress("Simulating", len(tasks)) as advance,
        Runner(shared_arguments, workers=settings.workers) as runner,
    ):
        rows = list(chain.from_iterable(runner.run(_simulate_setting, tasks, advance)))
    points = means_over_seeds(rows)
    columns = {
        "method": lambda point: point["method"],
        "items": lambda point: point["items"],
        "rated": lambda point: point["rated"],
        "epsilon": lambda point: "inf" if point["epsilon"] is None else f"{point['epsilon']:g}",
        "people": lambda point: f"{point['users']:,}",
        "labels right": lambda point: point["accuracy"][0],
        "ARI": lambda point: point["ari"][0],
    }
    return Result(
        {"rows": rows, "points": points},
        (Table.from_rows("", columns, points), "Means over seeds; --json also prints each seed."),
        plan_command(settings.items[0], settings.rated[0], settings.epsilon),
    )


def plan_command(items: int, rated: int, epsilons: Sequence[float]) -> str:
    """Return the command that plans a campaign of this size, and what the command tells.

    The command's epsilon is the first finite one of `epsilons`; 1 if there is none.
    """
    finite_epsilons = [epsilon for epsilon in epsilons if math.isfinite(epsilon)]
    epsilon = finite_epsilons[0] if finite_epsilons else 1.0
    sizes = f"--items {items} --rated {min(rated, items)} --epsilon {epsilon:g}"
    return f"tacit plan sketches {sizes}  says how many people it takes."


def means_over_seeds(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Average accuracy and ari of each setting over seeds.

    Args:
        rows: Rows of `experiment.simulation.simulate`, one for each setting and seed.

    Returns:
        A row for each setting, whose `accuracy` and `ari` are [mean, low, high] with the bounds of
        the mean's 95 % interval.
    """
    setting_keys = ("method", "items", "rated", "epsilon", "users")
    points = []
    for setting, rows_of_setting in group_by(rows, itemgetter(*setting_keys)).items():
        point: dict[str, Any] = dict(zip(setting_keys, setting, strict=True))
        accuracies = [row["accuracy"] for row in rows_of_setting]
        rand_indices = [row["ari"] for row in rows_of_setting]
        point["accuracy"] = list(mean_interval(accuracies, bounds=(0.0, 1.0)))
        point["ari"] = list(mean_interval(rand_indices, bounds=(-1.0, 1.0)))
        points.append(point)
    return points


def _simulate_setting(shared_arguments: dict[str, Any], *task: Any) -> list[dict[str, Any]]:
    """Simulate one method in one setting with one seed, for all numbers of people.

    Args:
        shared_arguments: Arguments of `experiment.simulation.simulate` that all tasks share: users,
            blocks and unit.
        task: The other arguments: method, items, rated, epsilon and seed, in this order.
    """
    from tacit.designs.sketches.experiment.simulation import simulate as simulate_method

    task_names = ("method", "items", "rated", "epsilon", "seed")
    return simulate_method(**shared_arguments, **dict(zip(task_names, task, strict=True)))


@dataclass(frozen=True)
class EvaluateSettings:
    """Options of `tacit evaluate sketches`."""

    users_curve: tuple[int, ...] = option(
        "Sizes of populations. An infinite one is added, and for each finite epsilon the number "
        "of people that the planner computes.",
        default=(1_000, 10_000, 100_000, 1_000_000, 10_000_000),
    )
    epsilon: tuple[float, ...] = option(
        "Epsilon of a report, with commas.", default=(1.0, math.inf)
    )
    rated: int = option(
        "Items that a person is assumed to have rated; a device uses no more likes.",
        default=50,
        least=1,
    )
    clusters: int = option(CLUSTERS, default=2, least=2)
    liked_from: float = option("This many stars or more are a like.", default=4.0)
    seeds: int = option("How many splits.", default=5, least=1)
    seed: int = option(SEED, default=0, least=0)


def evaluate(settings: EvaluateSettings, run: Run) -> Result:
    """Learn item clusters from private bits.

    The reports come from populations that are drawn with replacement from the people of the
    ratings. The devices of these people make lists from the learned clusters.

    Shows the quality of the lists by population and epsilon, and that of methods without privacy.
    """
    from tacit.designs.sketches.experiment.ratings import evaluate_ratings

    parameters: dict[str, Any] = {
        "users": settings.users_curve,
        "epsilons": settings.epsilon,
        "rated": settings.rated,
        "clusters": settings.clusters,
        "liked_from": settings.liked_from,
        "seeds": range(settings.seed, settings.seed + settings.seeds),
    }
    ratings = run.read_ratings()
    with run.progress("Evaluating", settings.seeds * len(settings.epsilon)) as advance:
        results = evaluate_ratings(ratings, **parameters, progress=advance)
    results["manifest"] = manifest(ratings, seed=settings.seed, command=run.command, **parameters)
    columns = {
        "method": lambda point: point["method"],
        "epsilon": lambda point: None if point["epsilon"] is None else f"{point['epsilon']:g}",
        "people": lambda point: _format_population(point["users"]),
        "NDCG@10": lambda point: point["ndcg_at_10"][0],
        "95 %": lambda point: "{:.3f} to {:.3f}".format(*point["ndcg_at_10"][1:]),
        "recall@10": lambda point: point["recall_at_10"][0],
    }
    return Result(
        results,
        (Table.from_rows("", columns, results["points"]), *results["sentences"]),
        plan_command(ratings.n_items, settings.rated, settings.epsilon),
    )


def _format_population(users: float | None) -> str | None:
    """Format the size of a population; None, of a method without privacy, stays None."""
    if users is None:
        return None
    return "infinite" if math.isinf(users) else f"{users:,.0f}"


PLAN = Command(PlanSettings, plan)
SIMULATE = Command(SimulateSettings, simulate)
EVALUATE = Command(EvaluateSettings, evaluate, ratings=True)
