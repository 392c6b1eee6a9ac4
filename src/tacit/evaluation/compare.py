"""Designs beside each other: the same people, splits, seeds and metrics, and what attacks find.

Split    one of `protocols`: held-out likes are to be found again. RMSE and MAE: in one domain a
         random 20 % of everybody's ratings are held out in a second fit; by time, and between two
         domains, all held-out ratings of test people. Where likes alone are hidden there is none.
Tests    NDCG is compared with that of popularity, of the rival and of own models, paired over
         people and splits, as `inference` has it; p values are corrected by Holm.
Attack   membership by lists, without reference and by likelihood ratio, on all ratings, once.
Units    an epsilon belongs to its unit and adversary. Rows of different units are never on one axis
         and never ordered by epsilon together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from operator import attrgetter
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks.any_model.adapters import adapt
from tacit.auditing.attacks.any_model.attributes import auc_of_lists
from tacit.auditing.attacks.any_model.membership import attack_membership
from tacit.data.ratings import Column, Ratings
from tacit.data.splits import random_per_user
from tacit.design import Comparison, ComparisonEntry
from tacit.errors import ConfigError, DataError, TacitError
from tacit.evaluation import LEAST_SEEDS, lists
from tacit.evaluation.comparison_result import COLUMNS, ComparisonResult, write_epsilon
from tacit.evaluation.entries import (
    OWN,
    REFERENCES,
    SAVED,
    choose_entries,
    digests_of_code,
    refuse_unpicklable,
)
from tacit.evaluation.inference import PeopleBootstrap, correct_by_holm, name_outcome
from tacit.evaluation.intervals import Interval, mean_interval
from tacit.evaluation.lists import LIST_LENGTH, ListTrial
from tacit.evaluation.metrics import (
    coverage,
    diversity,
    gini,
    mae,
    novelty,
    ranking_by_person,
    rmse,
)
from tacit.evaluation.own_models import WHOLE_PROFILE, OwnModel
from tacit.evaluation.protocols import USUAL_PROTOCOL, Protocol, ProtocolTrial
from tacit.evaluation.result import group_by
from tacit.evaluation.runner import Progress, Runner
from tacit.extensions import METRICS, find_entry_points
from tacit.recommenders.fits_in_process import comparison

Context = tuple[Ratings, str | None, str | None, Protocol, Mapping[str, int]]
ATTACK = -1
"""Stands in the place of a seed for the task that attacks."""
FAILED = "failed"
"""Key of the reason why a task could not be run."""
CLAIM = "claim"
"""Key of the claim that an own model's card states: unit, adversary and epsilon."""
FILLED = "filled"
"""Key of the mean number of items in a list."""
BY_PERSON = "by_person"
"""Key of the figures of each test person."""
NO_METRICS = (CLAIM, BY_PERSON, FILLED)
"""Keys of a task's figures that are no metric."""
EPSILONS = (0.5, 1.0, 3.0, math.inf)
"""Epsilons that are compared by default."""
ATTACK_SETTINGS: Mapping[str, int] = MappingProxyType({"targets": 100, "shadows": 8, "victims": 4})
"""How each entry is attacked, unless a caller says otherwise."""
_NDCG = f"ndcg@{LIST_LENGTH}"


def compare(
    ratings: Ratings,
    models: Sequence[Any] | None = None,
    *,
    epsilons: Sequence[float] = EPSILONS,
    delta: float = 1e-6,
    source: str | None = None,
    target: str | None = None,
    features: tuple[str, ...] | None = None,
    seeds: Sequence[int] = range(LEAST_SEEDS),
    split: str = "random",
    share: float = lists.SHARE,
    folds: int = 5,
    sampled: int | None = None,
    attacks: bool = True,
    attack_settings: Mapping[str, int] = ATTACK_SETTINGS,
    workers: int = 1,
    resume: Path | None = None,
    progress: Progress | None = None,
) -> ComparisonResult:
    """Compare recommenders on the same people, splits and seeds, and attack each once.

    Args:
        ratings: Ratings that all are fitted to.
        models: Names of designs ("private") and baselines ("als"), own models as objects, classes
            or functions history -> list, texts such as "mine.py:Model", or saved models' files.
            Popularity and EASE are always compared. None: every design and baseline.
        epsilons: Epsilons of the designs, each in its own unit; infinity: no noise.
        delta: Delta of the designs that have one.
        source: Domain that people have rated; None together with `target`: one domain.
        target: Domain that lists are made in.
        features: Item metadata that features are made of; None: the usual ones.
        seeds: Seeds of the splits; noise takes none.
        split: "random", "time", "last", "people" or "folds", as `protocols` defines them.
        share: Share of likes, ratings or people that is held out.
        folds: Number of folds, of "folds" alone.
        sampled: Candidates that are drawn beside the held-out likes; None: every unseen item.
        attacks: Whether entries are attacked by membership.
        attack_settings: Numbers of targets, shadow fits and victim fits of each attack.
        workers: Processes; 0 for all cores. Own models that are objects need 1.
        resume: File to which finished tasks are added, and whose tasks are not run again.
        progress: Called with the number of steps that are done.

    Raises:
        ConfigError: A model is of no known kind, no seed, or `resume` is another file.
        DataError: Nothing can be compared on these ratings.
    """
    question = Comparison(ratings, tuple(epsilons), delta, source, target, features)
    entrants = choose_entries(models, question, ratings)
    return compare_entries(
        ratings,
        entrants.entries,
        left_out=entrants.left_out,
        source=source,
        target=target,
        seeds=seeds,
        protocol=Protocol(split, share, folds, sampled),
        attacks=attacks,
        attack_settings=attack_settings,
        workers=workers,
        resume=resume,
        progress=progress,
    )


def compare_entries(
    ratings: Ratings,
    entries: Sequence[ComparisonEntry],
    *,
    left_out: Mapping[str, str] | None = None,
    source: str | None = None,
    target: str | None = None,
    seeds: Sequence[int] = range(LEAST_SEEDS),
    protocol: Protocol = USUAL_PROTOCOL,
    attacks: bool = True,
    attack_settings: Mapping[str, int] = ATTACK_SETTINGS,
    workers: int = 1,
    resume: Path | None = None,
    progress: Progress | None = None,
) -> ComparisonResult:
    """Judge every entry on every split, and attack each once.

    Args:
        ratings: Ratings that all entries are fitted to.
        entries: Recommenders to compare. Of several with the same design, variant and epsilon the
            one with the best lists is kept.
        left_out: Designs that are not compared, and why.
        source: Domain that people have rated; None together with `target`: one domain.
        target: Domain that lists are made in.
        seeds: Seeds of the splits.
        protocol: What is held out, who is judged, and which items compete.
        attacks: Whether entries are attacked by membership.
        attack_settings: Numbers of targets, shadow fits and victim fits of each attack.
        workers: Processes; 0 for all cores.
        resume: File to which finished tasks are added, and whose tasks are not run again.
        progress: Called with the number of steps done, of `count_steps` in all.

    Raises:
        ConfigError: No seed, or `resume` is another file.
        DataError: Nothing can be compared on these ratings.
    """
    if not seeds:
        raise ConfigError("A comparison needs at least one seed.")
    reasons = dict(left_out or {})
    advance = progress or (lambda _: None)
    columns = {**ratings.user_attributes, **ratings.item_metadata} if resume else {}
    facts = {name: column.tolist() for name, column in columns.items()}
    identity = f"{ratings.digest} {source} {target} {facts} {digests_of_code(entries)} {protocol}"
    identity += f" {dict(attack_settings)}"
    if workers != 1:
        refuse_unpicklable(entries)
    data = (ratings, source, target, protocol, dict(attack_settings))
    with Runner(data, workers=workers, resume=resume, identity=identity) as runner:
        tasks = [(entry, seed) for entry in entries for seed in seeds]
        judged = iter(runner.run(_judge_or_attack, tasks, advance))
        figures = {entry: list(islice(judged, len(seeds))) for entry in entries}
        best = _choose_best(figures, reasons)
        if not best:
            why = "\n".join(sentences_by_reason(reasons))
            raise DataError("nothing can be compared on these ratings", fix=why)
        targets = [entry for entry in best if attacks and entry.attacked]
        attacked = runner.run(_judge_or_attack, [(entry, ATTACK) for entry in targets], advance)
    for entry, figure in zip(targets, attacked, strict=True):
        if FAILED in figure:
            reasons[f"attack on {_name_of_entry(entry)}"] = figure[FAILED]
        else:
            figures[entry] = [*figures[entry], figure]
    by_split = [figure[BY_PERSON]["people"] for figure in figures[best[0]] if BY_PERSON in figure]
    bootstrap = PeopleBootstrap([np.array(people, dtype=np.int64) for people in by_split])
    rows = []
    for entry in best:
        rows += _make_rows(entry, figures[entry], bootstrap)
    content = {
        "rows": rows,
        "differences": _test_differences(best, figures, bootstrap) if len(seeds) > 1 else [],
        "protocol": protocol.describe(domains=source is not None),
        "short_lists": _describe_short_lists(best, figures),
        "left_out": reasons,
    }
    return ComparisonResult(content)


def _describe_short_lists(
    entries: Sequence[ComparisonEntry],
    figures: Mapping[ComparisonEntry, Sequence[Mapping[str, Any]]],
) -> list[str]:
    """Write a sentence for each own model whose lists are shorter than the longest ones.

    What it did not list counts as a miss, and a figure near 0 would have no reason otherwise.
    """
    filled = {}
    for entry in entries:
        filled[entry] = float(np.mean([each[FILLED] for each in figures[entry] if FILLED in each]))
    longest = max(filled.values())
    sentences = []
    for entry, length in filled.items():
        if entry.variant in (OWN, SAVED) and length < 0.95 * longest:
            sentences.append(
                f"{entry.design}: a list holds {length:.1f} items on average, where "
                f"{longest:.1f} can be listed. Items that are not in the ratings, or that the "
                "person has, are left out; places without an item count as misses."
            )
    return sentences


def _name_of_entry(entry: ComparisonEntry) -> str:
    """Name an entry where it is said why something could not be run."""
    return f"{entry.design} {entry.variant} {write_epsilon(entry.epsilon)}"


def _test_differences(
    entries: Sequence[ComparisonEntry],
    figures: Mapping[ComparisonEntry, Sequence[Mapping[str, Any]]],
    bootstrap: PeopleBootstrap,
) -> list[dict[str, Any]]:
    """Test each entry's NDCG against references and own models, each pair once."""
    references = [entry for entry in entries if entry.design in REFERENCES]
    references += [entry for entry in entries if entry.variant in (OWN, SAVED)]
    rows: list[dict[str, Any]] = []
    tested = set()
    for reference in references:
        for entry in entries:
            if entry is reference or (reference, entry) in tested:
                continue
            tested.add((entry, reference))
            own, theirs = (_by_split(figures[each], "ndcg") for each in (entry, reference))
            paired = bootstrap.difference(own, theirs)
            rows.append(
                {
                    "design": entry.design,
                    "variant": entry.variant,
                    "epsilon": _claim(entry, figures[entry])[2],
                    "reference": reference.design,
                    "difference": paired.interval.mean,
                    "low": paired.interval.low,
                    "high": paired.interval.high,
                    "p_value": paired.p_value,
                }
            )
    corrected = correct_by_holm([row["p_value"] for row in rows])
    for row, p_value in zip(rows, corrected, strict=True):
        row["corrected_p_value"] = p_value
        row["outcome"] = name_outcome(row["difference"], p_value)
    return rows


def _by_split(figures: Sequence[Mapping[str, Any]], metric: str) -> list[NDArray[np.float64]]:
    """Collect the figures of people, an array for each split."""
    judged = [figure[BY_PERSON] for figure in figures if BY_PERSON in figure]
    return [np.array(people[metric], dtype=np.float64) for people in judged]


def _choose_best(
    figures: Mapping[ComparisonEntry, Sequence[Mapping[str, Any]]], reasons: dict[str, str]
) -> list[ComparisonEntry]:
    """Choose the settings with the best lists of each method; add why entries could not be run."""
    mean_ndcg = {}
    for entry, of_entry in figures.items():
        failures = [figure[FAILED] for figure in of_entry if FAILED in figure]
        if failures:
            reasons[_name_of_entry(entry)] = failures[0]
        else:
            mean_ndcg[entry] = float(np.mean([figure[_NDCG] for figure in of_entry]))
    methods = group_by(mean_ndcg, attrgetter("design", "variant", "epsilon"))
    return [max(settings, key=mean_ndcg.__getitem__) for settings in methods.values()]


def sentences_by_reason(reasons: Mapping[str, str]) -> list[str]:
    """Write a sentence for each reason, after the names of all that it keeps out."""
    names = group_by(reasons, lambda name: reasons[name].rstrip("."))
    return [f"{', '.join(kept_out)}: {reason}." for reason, kept_out in names.items()]


def count_steps(entries: Sequence[ComparisonEntry], seeds: int, attacks: bool) -> int:
    """Count the steps that `compare` takes at most."""
    attacked = {(each.design, each.variant, each.epsilon) for each in entries if each.attacked}
    return len(entries) * seeds + attacks * len(attacked)


def _judge_or_attack(context: Context, entry: ComparisonEntry, seed: int) -> dict[str, Any]:
    """Run one task: the lists of a split, or the attack where the seed is `ATTACK`."""
    ratings, source, target, protocol, attack_settings = context
    try:
        if seed == ATTACK:
            return _attack(entry, ratings, attack_settings)
        trial = protocol.make_trial(ratings, source=source, target=target, seed=seed)
        return _judge(entry, ratings, trial, protocol, seed)
    except TacitError as error:  # too few people, say: the others can still be compared
        return {FAILED: str(error)}


def _judge(
    entry: ComparisonEntry, ratings: Ratings, trial: ProtocolTrial, protocol: Protocol, seed: int
) -> dict[str, Any]:
    """Compute the metrics of the lists of one split; of stars and groups where there are any."""
    recommender = _make_recommender(entry)
    with comparison():
        recommender.fit(trial.train)
    shown = trial.make_lists(recommender)
    relevant = trial.relevant
    by_person = ranking_by_person(shown, relevant)
    raters = np.bincount(trial.train.items, minlength=trial.train.n_items)
    catalogue = trial.train.n_items if trial.candidates is None else len(trial.candidates)
    values: dict[str, Any] = {
        f"{name}@{LIST_LENGTH}": float(of_people.mean()) for name, of_people in by_person.items()
    }
    values |= {
        "coverage": coverage(shown, catalogue),
        "gini": gini(shown, catalogue),
        "novelty": novelty(shown, raters, trial.train.n_users),
        "diversity": diversity(shown, trial.train.matrix),
    }
    values[FILLED] = float((shown >= 0).sum(axis=1).mean())
    values[BY_PERSON] = {"people": trial.people.tolist()}
    for name, of_people in by_person.items():
        values[BY_PERSON][name] = of_people.tolist()
    if isinstance(recommender, OwnModel) and recommender.claim is not None:
        values[CLAIM] = [WHOLE_PROFILE, recommender.claim.against, recommender.claim.epsilon]
    has_stars = entry.stars or (isinstance(recommender, OwnModel) and recommender.predicts_stars)
    if has_stars and protocol.has_stars:
        values |= _star_errors(entry, recommender, ratings, trial, protocol, seed)
    for name, entry_point in find_entry_points(METRICS, values).items():
        values[name] = float(entry_point.load()(shown, relevant, trial.train))
    for name, column in trial.train.user_attributes.items():
        values |= _attribute_auc(name, column[trial.people], shown, seed)
    for name, members in _groups_of_people(trial).items():
        if members.any():
            values[f"{_NDCG} {name}"] = float(by_person["ndcg"][members].mean())
    return values


def _attack(
    entry: ComparisonEntry, ratings: Ratings, settings: Mapping[str, int]
) -> dict[str, Any]:
    """Attack membership by lists; each metric is a mean with the ends of its interval."""
    recommender = _make_recommender(entry)
    if isinstance(recommender, OwnModel):
        adapted = recommender.adapt()
    else:
        adapted = adapt(lambda: _make_recommender(entry))
    rows = attack_membership(adapted, ratings, **settings)  # type: ignore[arg-type]
    strongest = max(rows, key=lambda row: row.auc)
    return {
        "membership_auc": [strongest.auc, strongest.low, strongest.high],
        "epsilon_lower_bound": [max(row.epsilon_lower_bound or 0.0 for row in rows)] * 3,
    }


def _attribute_auc(
    name: str, column: Column, shown: NDArray[np.int64], seed: int
) -> dict[str, float]:
    """Compute how well lists tell an attribute of two values; nothing for other attributes."""
    known = np.array([value is not None for value in column])
    values = sorted({str(value) for value in column[known]})
    if len(values) != 2:
        return {}
    labels = (column[known].astype(str) == values[0]).astype(np.int64)
    auc = auc_of_lists(shown[known], labels, seed=seed)
    return {} if auc is None else {f"{name.replace(' ', '-')}_auc": auc}


def _make_recommender(entry: ComparisonEntry) -> Any:
    return resolve_name(entry.maker)(**entry.settings)


def _star_errors(
    entry: ComparisonEntry,
    fitted: Any,
    ratings: Ratings,
    trial: ProtocolTrial,
    protocol: Protocol,
    seed: int,
) -> dict[str, float]:
    """Compute the errors of predicted stars; where likes alone are held out, in a second fit."""
    train, test, people = trial.train, trial.test, trial.people
    if trial.candidates is None and protocol.split != "time":
        split = random_per_user(ratings, protocol.share, seed=seed)
        train, test = split.train, split.test
        people = np.unique(test.users).astype(np.int64)
        fitted = _make_recommender(entry)
        with comparison():
            fitted.fit(train)
    stars = lists.stars_of(fitted, train, test, people)
    return {"rmse": rmse(*stars), "mae": mae(*stars)}


def _groups_of_people(trial: ListTrial) -> dict[str, NDArray[np.bool_]]:
    """Group test people, to see who pays.

    Thirds by activity, thirds by rarity of taste, and the values of attributes with five values or
    fewer.
    """
    train, people = trial.train, trial.people
    activity = np.diff(train.offsets)
    popularity = np.log1p(np.bincount(train.items, minlength=train.n_items))
    sums = np.bincount(train.users, popularity[train.items], minlength=train.n_users)
    taste = sums / np.maximum(activity, 1)
    groups = _thirds("activity", activity[people], ("low", "middle", "high"))
    groups |= _thirds("taste", taste[people], ("rare", "middle", "common"))
    for name, column in train.user_attributes.items():
        values = sorted({str(value) for value in column.tolist() if value is not None})
        if len(values) <= 5:
            own = column[people].astype(str)
            groups |= {f"{name}:{value}": own == value for value in values}
    return groups


def _thirds(
    name: str, values: NDArray[Any], words: tuple[str, str, str]
) -> dict[str, NDArray[np.bool_]]:
    """Cut people into thirds by a value; `words` name the lowest, middle and highest third."""
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    third = ranks * 3 // len(values)
    return {f"{name}:{word}": third == place for place, word in enumerate(words)}


def _claim(
    entry: ComparisonEntry, figures: Sequence[Mapping[str, Any]]
) -> tuple[str, str, float | None]:
    """Return unit, adversary and epsilon: an own model's are known when it is fitted."""
    unit, against, epsilon = figures[0].get(CLAIM, (entry.unit, entry.against, entry.epsilon))
    return unit, against, epsilon


def _make_rows(
    entry: ComparisonEntry, figures: Sequence[Mapping[str, Any]], bootstrap: PeopleBootstrap
) -> list[dict[str, Any]]:
    """Make the rows of an entry: each metric's mean over splits with its interval."""
    unit, against, epsilon = _claim(entry, figures)
    claim = (entry.design, entry.variant, epsilon, unit, against)
    metrics: dict[str, None] = {}
    for figure in figures:
        metrics |= dict.fromkeys(name for name in figure if name not in NO_METRICS)
    of_people = next(iter(figures))[BY_PERSON]
    rows = []
    for metric in metrics:
        values = [figure[metric] for figure in figures if metric in figure]
        name = metric.removesuffix(f"@{LIST_LENGTH}")
        if isinstance(values[0], list):
            interval = Interval(*values[0])
        elif name in of_people and len(values) > 1:
            interval = bootstrap.interval(_by_split(figures, name), (0.0, 1.0))
        else:
            interval = _mean(metric, values)
        ends = [end if math.isfinite(end) else None for end in (interval.low, interval.high)]
        rows.append(dict(zip(COLUMNS, (*claim, metric, interval.mean, *ends), strict=True)))
    return rows


def _mean(metric: str, values: Sequence[float]) -> Interval:
    """Compute the mean over splits with its interval, which is unbounded for a single split."""
    is_foreign = metric in find_entry_points(METRICS)
    least = -math.inf if is_foreign else 0.0
    most = math.inf if is_foreign or metric in ("novelty", "rmse", "mae") else 1.0
    interval = mean_interval(values, bounds=(least, most))
    if len(values) == 1:  # it says nothing about the spread
        return Interval(interval.mean, math.inf, math.inf)
    return interval
