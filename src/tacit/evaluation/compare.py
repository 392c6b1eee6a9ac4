"""Compare designs, baselines and own models on the same people, splits, seeds and metrics.

Split    one of `protocols`. Recommenders are judged by how well lists find the held-out likes.
Stars    RMSE and MAE need held-out ratings of all kinds, not of likes alone. With the splits
         "random" and "folds" of one domain, the recommender is fitted a second time, without a
         random share of everybody's ratings. With the split "time", and between two domains, the
         errors are those of all held-out ratings of test people. With other splits none are
         computed.
Tests    NDCG is compared with that of popularity, of EASE or ridge, and of the caller's models,
         paired over people and splits as `inference` describes; p values are corrected by Holm.
Attacks  lists are attacked. Membership is guessed once, on all ratings, by an attack without
         reference models and by one with a likelihood ratio; attributes are guessed on each split.
Units    an epsilon belongs to its unit and adversary. Rows of different units are never on one axis
         and never ordered by epsilon together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice, product
from operator import attrgetter
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, NamedTuple

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
from tacit.evaluation.comparison_result import ComparisonResult, format_epsilon
from tacit.evaluation.entries import (
    OWN,
    REFERENCES,
    SAVED,
    choose_entries,
    digests_of_code,
    refuse_unpicklable,
)
from tacit.evaluation.inference import PeopleBootstrap, correct_by_holm, name_outcome
from tacit.evaluation.intervals import UNBOUNDED, Interval, mean_interval
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

ATTACK = -1
"""Seed of the task that attacks an entry instead of judging its lists on a split."""
FAILED = "failed"
"""Key, in a task's findings, of the reason why the task failed."""
CLAIM = "claim"
"""Key, in a task's findings, of the claim of a caller's model: the fields of `_Claim`."""
FILLED = "filled"
"""Key, in a task's findings, of the mean number of items in a list."""
BY_PERSON = "by_person"
"""Key, in a task's findings, of metrics with a value for each test person; not in attacks."""
NO_METRICS = (CLAIM, BY_PERSON, FILLED)
"""Keys in the findings of a task that did not fail, which are not names of metrics."""
EPSILONS = (0.5, 1.0, 3.0, math.inf)
"""Epsilons that are compared by default."""
ATTACK_SETTINGS: Mapping[str, int] = MappingProxyType({"targets": 100, "shadows": 8, "victims": 4})
"""Default settings of the attack on each entry, as arguments of `attack_membership`."""
SHORT_LISTS = 0.95
"""Lists of a caller's model are called short if their mean length is below this share of the
longest mean length."""
MOST_ATTRIBUTE_VALUES = 5
"""Largest number of values of an attribute by which people are grouped."""
LEAST_GROUP = 20
"""Fewest test people of a group that has a metric of its own: the mean of a smaller one would be a
figure of single people."""
_NDCG = f"ndcg@{LIST_LENGTH}"
"""Name of the metric by which the best settings are chosen and differences are tested."""
_MEMBERSHIP_AUC = "membership_auc"
"""Name of the metric of the strongest membership attack."""

Findings = Mapping[str, Any]
"""Findings of one task: metrics by name, and the values of the keys above."""


class _TaskContext(NamedTuple):
    """Arguments that all tasks of a comparison share; they are sent to each process once."""

    ratings: Ratings
    """Ratings that all entries are fitted to."""
    source: str | None
    """Domain that people have rated; None, like `target`, if there is one domain."""
    target: str | None
    """Domain that lists are made in."""
    protocol: Protocol
    """Protocol by which ratings are split and lists are made."""
    attack_settings: Mapping[str, int]
    """Numbers of targets, shadow fits and victim fits of each attack."""


class _Claim(NamedTuple):
    """Claim of an entry."""

    unit: str
    """Unit of the epsilon."""
    against: str
    """Adversary against whom the claim holds; "–" if there is none."""
    epsilon: float | None
    """Claimed epsilon; None: no epsilon is claimed."""


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
    """Compare recommenders on the same people, splits and seeds, and attack those that can be.

    Args:
        ratings: Ratings that all models are fitted to.
        models: Names of designs ("private") and baselines ("als"), own models as objects, classes
            or functions history -> list, texts such as "mine.py:Model", or saved models' files.
            Popularity, and EASE or ridge, are always compared. None: every design and baseline.
        epsilons: Epsilons at which each design is compared; infinity: no noise.
        delta: Delta of the designs that have one.
        source: Domain that people have rated; None, like `target`, if there is one domain.
        target: Domain that lists are made in.
        features: Item metadata that features are made of; None: each design's default.
        seeds: Seeds of the splits. The noise of private designs has no seed.
        split: "random", "time", "last", "people" or "folds", as `protocols` defines them.
        share: Share of likes, ratings or people that is held out, as in `Protocol`.
        folds: Number of folds of the split "folds"; other splits do not use it.
        sampled: Number of unseen items that are drawn as candidates in addition to the held-out
            likes; None: every unseen item is a candidate.
        attacks: Whether membership is attacked.
        attack_settings: Numbers of targets, shadow fits and victim fits of each attack.
        workers: Processes; 0 for all cores. Own models that cannot be pickled need 1.
        resume: File with results of finished tasks, which are not run again; further results are
            added.
        progress: Called with the number of steps that were done since the last call.

    Raises:
        ConfigError: A model is of no known kind or cannot be pickled, a setting of the protocol is
            invalid, there is no seed, or `resume` is not a file of finished tasks.
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
    """Judge every entry on every split, keep the best, and attack each kept entry once.

    An entry that cannot be attacked is only judged.

    Args:
        ratings: Ratings that all entries are fitted to.
        entries: Recommenders to compare. Of several entries with the same design, variant and
            epsilon, the one with the best mean NDCG is kept.
        left_out: For each design that is not compared, the reason; None: no design is left out.
        source: Domain that people have rated; None, like `target`, if there is one domain.
        target: Domain that lists are made in.
        seeds: Seeds of the splits.
        protocol: Protocol by which ratings are split and lists are made.
        attacks: Whether membership is attacked.
        attack_settings: Numbers of targets, shadow fits and victim fits of each attack.
        workers: Processes; 0 for all cores.
        resume: File with results of finished tasks, which are not run again; further results are
            added.
        progress: Called with the number of steps that were done since the last call; `count_steps`
            returns their largest total.

    Raises:
        ConfigError: There is no seed, `resume` is not a file of finished tasks, or an own model
            cannot be pickled although there are several processes.
        DataError: Nothing can be compared on these ratings.
    """
    if not seeds:
        raise ConfigError("A comparison needs at least one seed.")
    reasons = dict(left_out or {})
    advance = progress or (lambda _: None)
    if workers != 1:
        refuse_unpicklable(entries)
    context = _TaskContext(ratings, source, target, protocol, dict(attack_settings))
    identity = "" if resume is None else _identify_comparison(context, entries)
    with Runner(context, workers=workers, resume=resume, identity=identity) as runner:
        tasks = list(product(entries, seeds))
        results = iter(runner.run(_judge_or_attack, tasks, advance))
        # Results are in the order of tasks: those of an entry's seeds follow one another.
        findings = {entry: list(islice(results, len(seeds))) for entry in entries}
        best = _choose_best(findings, reasons)
        if not best:
            explanation = "\n".join(sentences_by_reason(reasons))
            raise DataError("nothing can be compared on these ratings", fix=explanation)
        targets = [entry for entry in best if attacks and entry.attacked]
        attack_tasks = [(entry, ATTACK) for entry in targets]
        attack_results = runner.run(_judge_or_attack, attack_tasks, advance)
    for entry, attack_findings in zip(targets, attack_results, strict=True):
        if FAILED in attack_findings:
            reasons[f"attack on {_name_of_entry(entry)}"] = attack_findings[FAILED]
        else:
            findings[entry].append(attack_findings)
    bootstrap = _make_bootstrap(findings[best[0]])
    rows = []
    for entry in best:
        rows += _make_rows(entry, findings[entry], bootstrap)
    content = {
        "rows": rows,
        "differences": _test_differences(best, findings, bootstrap) if len(seeds) > 1 else [],
        "protocol": protocol.describe(domains=source is not None),
        "short_lists": _describe_short_lists(best, findings),
        "left_out": reasons,
    }
    return ComparisonResult(content)


def _identify_comparison(context: _TaskContext, entries: Sequence[ComparisonEntry]) -> str:
    """Return a text of the ratings, settings and files of code that all tasks depend on."""
    ratings = context.ratings
    columns = {**ratings.user_attributes, **ratings.item_metadata}
    facts = {name: column.tolist() for name, column in columns.items()}
    parts = (
        ratings.digest,
        context.source,
        context.target,
        facts,
        digests_of_code(entries),
        context.protocol,
        context.attack_settings,
    )
    return " ".join(map(str, parts))


def _select_splits(findings: Sequence[Findings]) -> list[Findings]:
    """Return the findings of tasks that judged a split, without those of attacks and failures."""
    return [findings_of_task for findings_of_task in findings if BY_PERSON in findings_of_task]


def _make_bootstrap(findings: Sequence[Findings]) -> PeopleBootstrap:
    """Draw the resamples of the test people, who are the same for every entry."""
    by_person = [findings_of_split[BY_PERSON] for findings_of_split in _select_splits(findings)]
    people_of_splits = [np.array(metrics["people"], dtype=np.int64) for metrics in by_person]
    return PeopleBootstrap(people_of_splits)


def _describe_short_lists(
    entries: Sequence[ComparisonEntry], findings: Mapping[ComparisonEntry, Sequence[Findings]]
) -> list[str]:
    """Return a sentence for each model of the caller (OWN or SAVED) with short lists.

    A place without an item counts as a miss; the sentence explains why metrics may be near 0.
    """
    mean_lengths = {}
    for entry in entries:
        splits = _select_splits(findings[entry])
        mean_lengths[entry] = float(
            np.mean([findings_of_split[FILLED] for findings_of_split in splits])
        )
    longest = max(mean_lengths.values())
    sentences = []
    for entry, length in mean_lengths.items():
        is_of_caller = entry.variant in (OWN, SAVED)
        if is_of_caller and length < SHORT_LISTS * longest:
            sentences.append(
                f"{entry.design}: a list holds {length:.1f} items on average, where "
                f"{longest:.1f} can be listed. Items that are not in the ratings, or that the "
                "person has, are left out; places without an item count as misses."
            )
    return sentences


def _name_of_entry(entry: ComparisonEntry) -> str:
    """Return the name of an entry in sentences on tasks that failed."""
    return f"{entry.design} {entry.variant} {format_epsilon(entry.epsilon)}"


def _test_differences(
    entries: Sequence[ComparisonEntry],
    findings: Mapping[ComparisonEntry, Sequence[Findings]],
    bootstrap: PeopleBootstrap,
) -> list[dict[str, Any]]:
    """Test each entry's NDCG against that of references and of the caller's models.

    No pair of entries is tested twice. p values are corrected for all of these tests together.
    """
    references = [entry for entry in entries if entry.design in REFERENCES]
    references += [entry for entry in entries if entry.variant in (OWN, SAVED)]
    rows: list[dict[str, Any]] = []
    tested = set()
    for reference in references:
        for entry in entries:
            if entry is reference or (reference, entry) in tested:
                continue
            tested.add((entry, reference))
            entry_ndcg = _collect_by_split(findings[entry], "ndcg")
            reference_ndcg = _collect_by_split(findings[reference], "ndcg")
            paired = bootstrap.difference(entry_ndcg, reference_ndcg)
            rows.append(
                {
                    "design": entry.design,
                    "variant": entry.variant,
                    "epsilon": _read_claim(entry, findings[entry]).epsilon,
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


def _collect_by_split(findings: Sequence[Findings], metric: str) -> list[NDArray[np.float64]]:
    """Return for each split the values of a metric of its test people, shape (people,)."""
    by_person = [findings_of_split[BY_PERSON] for findings_of_split in _select_splits(findings)]
    return [np.array(metrics[metric], dtype=np.float64) for metrics in by_person]


def _choose_best(
    findings: Mapping[ComparisonEntry, Sequence[Findings]], reasons: dict[str, str]
) -> list[ComparisonEntry]:
    """Choose for each design, variant and epsilon the entry with the best mean NDCG.

    Args:
        findings: Findings of each entry, one mapping for each seed.
        reasons: For each name that is left out, the reason. Entries of which a task failed are left
            out and added here.
    """
    mean_ndcg = {}
    for entry, findings_of_splits in findings.items():
        failures = [split[FAILED] for split in findings_of_splits if FAILED in split]
        if failures:
            reasons[_name_of_entry(entry)] = failures[0]
        else:
            mean_ndcg[entry] = float(np.mean([split[_NDCG] for split in findings_of_splits]))
    methods = group_by(mean_ndcg, attrgetter("design", "variant", "epsilon"))
    return [max(settings, key=mean_ndcg.__getitem__) for settings in methods.values()]


def sentences_by_reason(reasons: Mapping[str, str]) -> list[str]:
    """Return a sentence for each reason, which begins with all names that have this reason."""
    names_by_reason = group_by(reasons, lambda name: reasons[name].rstrip("."))
    return [f"{', '.join(names)}: {reason}." for reason, names in names_by_reason.items()]


def count_steps(entries: Sequence[ComparisonEntry], seeds: int, attacks: bool) -> int:
    """Return the largest number of steps of `compare_entries`.

    A step is one entry on one split, or one attack.

    Args:
        entries: Entries to compare. Of those with the same design, variant and epsilon one is
            attacked.
        seeds: Number of seeds.
        attacks: Whether entries are attacked.
    """
    steps = len(entries) * seeds
    if attacks:
        attacked = [entry for entry in entries if entry.attacked]
        steps += len({(entry.design, entry.variant, entry.epsilon) for entry in attacked})
    return steps


def _judge_or_attack(context: _TaskContext, entry: ComparisonEntry, seed: int) -> Findings:
    """Run one task: judge an entry on the split of a seed, or attack it if the seed is `ATTACK`.

    A task that fails with an error of tacit's own returns the error's text under `FAILED`.
    """
    ratings = context.ratings
    protocol = context.protocol
    try:
        if seed == ATTACK:
            return _attack_membership(entry, ratings, context.attack_settings)
        trial = protocol.make_trial(
            ratings, source=context.source, target=context.target, seed=seed
        )
        return _judge_split(entry, ratings, trial, protocol, seed)
    except TacitError as error:  # such as too few people; other entries can still be compared
        return {FAILED: str(error)}


def _judge_split(
    entry: ComparisonEntry, ratings: Ratings, trial: ProtocolTrial, protocol: Protocol, seed: int
) -> dict[str, Any]:
    """Fit an entry to one split, and compute its metrics.

    These are metrics of lists, of predicted stars if there are any, of plug-ins, of attacks on
    attributes by lists, and NDCG of groups of people.
    """
    recommender = _make_recommender(entry)
    with comparison():
        recommender.fit(trial.train)
    item_lists = trial.make_lists(recommender)
    relevant = trial.relevant
    by_person = ranking_by_person(item_lists, relevant)
    raters = np.bincount(trial.train.items, minlength=trial.train.n_items)
    catalogue = trial.train.n_items if trial.candidates is None else len(trial.candidates)
    values: dict[str, Any] = {}
    for name, values_of_people in by_person.items():
        values[f"{name}@{LIST_LENGTH}"] = float(values_of_people.mean())
    values |= {
        "coverage": coverage(item_lists, catalogue),
        "gini": gini(item_lists, catalogue),
        "novelty": novelty(item_lists, raters, trial.train.n_users),
        "diversity": diversity(item_lists, trial.train.matrix),
    }
    values[FILLED] = float((item_lists >= 0).sum(axis=1).mean())
    values[BY_PERSON] = {"people": trial.people.tolist()}
    for name, values_of_people in by_person.items():
        values[BY_PERSON][name] = values_of_people.tolist()
    if isinstance(recommender, OwnModel) and recommender.claim is not None:
        claim = recommender.claim
        values[CLAIM] = list(_Claim(WHOLE_PROFILE, claim.against, claim.epsilon))
    predicts_stars = entry.stars
    if isinstance(recommender, OwnModel) and recommender.predicts_stars:
        predicts_stars = True
    if predicts_stars and protocol.has_stars:
        values |= _compute_star_errors(entry, recommender, ratings, trial, protocol, seed)
    for name, entry_point in find_entry_points(METRICS, values).items():
        values[name] = float(entry_point.load()(item_lists, relevant, trial.train))
    for name, column in trial.train.user_attributes.items():
        values |= _attack_attribute(name, column[trial.people], item_lists, seed)
    for name, members in _group_people(trial).items():
        if members.any():
            values[f"{_NDCG} {name}"] = float(by_person["ndcg"][members].mean())
    return values


def _attack_membership(
    entry: ComparisonEntry, ratings: Ratings, settings: Mapping[str, int]
) -> dict[str, Any]:
    """Attack an entry by its lists, to tell whether a person's ratings were used to fit it.

    Returns:
        For each metric, the value with the ends of its interval: the AUC of the stronger of both
        attacks, and the larger of their lower bounds of epsilon, which has no interval of its own.
    """
    recommender = _make_recommender(entry)
    if isinstance(recommender, OwnModel):
        adapted = recommender.adapt()
    else:
        adapted = adapt(lambda: _make_recommender(entry))
    rows = attack_membership(adapted, ratings, **settings)  # type: ignore[arg-type]
    strongest = max(rows, key=lambda row: row.auc)
    bound = max(row.epsilon_lower_bound or 0.0 for row in rows)
    return {
        _MEMBERSHIP_AUC: [strongest.auc, strongest.low, strongest.high],
        "epsilon_lower_bound": [bound, bound, bound],
    }


def _attack_attribute(
    name: str, column: Column, item_lists: NDArray[np.int64], seed: int
) -> dict[str, float]:
    """Compute the AUC of guesses at a person's attribute from their list.

    Args:
        name: Name of the attribute.
        column: Shape (people,): value of each test person; None: unknown.
        item_lists: Shape (people, n): their lists.
        seed: Seed of the attack's folds.

    Returns:
        The AUC by the name of its metric, such as "gender_auc". Empty unless the test people have
        exactly two values, each of as many people as `auc_of_lists` needs.
    """
    has_value = np.array([value is not None for value in column])
    values = sorted({str(value) for value in column[has_value]})
    if len(values) != 2:
        return {}
    labels = (column[has_value].astype(str) == values[0]).astype(np.int64)
    auc = auc_of_lists(item_lists[has_value], labels, seed=seed)
    if auc is None:
        return {}
    # An attribute may be called "membership", too.
    metric = f"{name.replace(' ', '-')}_auc"
    return {"membership-attribute_auc" if metric == _MEMBERSHIP_AUC else metric: auc}


def _make_recommender(entry: ComparisonEntry) -> Any:
    """Make the entry's unfitted recommender."""
    return resolve_name(entry.maker)(**entry.settings)


def _compute_star_errors(
    entry: ComparisonEntry,
    fitted: Any,
    ratings: Ratings,
    trial: ProtocolTrial,
    protocol: Protocol,
    seed: int,
) -> dict[str, float]:
    """Compute RMSE and MAE of predicted stars.

    Errors on likes alone would mislead. If the trial holds out likes alone, a new recommender is
    fitted to another split of the ratings, which holds out ratings of all kinds.

    Args:
        entry: The entry.
        fitted: The entry's recommender, fitted to the trial.
        ratings: All ratings.
        trial: The split.
        protocol: The protocol of the split.
        seed: Seed of the split.
    """
    train, test, people = trial.train, trial.test, trial.people
    holds_out_likes_alone = trial.candidates is None and protocol.split != "time"
    if holds_out_likes_alone:
        split = random_per_user(ratings, protocol.share, seed=seed)
        train, test = split.train, split.test
        people = np.unique(test.users).astype(np.int64)
        fitted = _make_recommender(entry)
        with comparison():
            fitted.fit(train)
    truth, predicted = lists.predict_held_out(fitted, train, test, people)
    return {"rmse": rmse(truth, predicted), "mae": mae(truth, predicted)}


def _group_people(trial: ListTrial) -> dict[str, NDArray[np.bool_]]:
    """Group test people, to compare the lists of different kinds of people.

    Groups are thirds by activity, thirds by rarity of taste, and the people with each value of an
    attribute that has at most `MOST_ATTRIBUTE_VALUES` values. If one of a kind's groups would have
    fewer than `LEAST_GROUP` people, or fewer people have no value, the whole kind is left out: the
    means of its other groups and of everybody would give the mean of the small one.

    Returns:
        For each group a mask of its members, shape (test people,), by names such as "activity:low".
    """
    train, people = trial.train, trial.people
    activity = np.diff(train.offsets)  # ratings of each person
    log_popularity = np.log1p(np.bincount(train.items, minlength=train.n_items))
    # Taste is rarer, the lower the mean of log(1 + raters) over the items that the person rated.
    sums = np.bincount(train.users, log_popularity[train.items], minlength=train.n_users)
    mean_popularity = sums / np.maximum(activity, 1)
    kinds = [
        _split_into_thirds("activity", activity[people], ("low", "middle", "high")),
        _split_into_thirds("taste", mean_popularity[people], ("rare", "middle", "common")),
    ]
    for name, column in train.user_attributes.items():
        values = sorted({str(value) for value in column.tolist() if value is not None})
        if len(values) <= MOST_ATTRIBUTE_VALUES:
            column_of_people = column[people]
            has_value = np.array([value is not None for value in column_of_people], dtype=bool)
            texts = column_of_people.astype(str)
            members = {f"{name}:{value}": has_value & (texts == value) for value in values}
            if _is_large_or_empty(~has_value):
                kinds.append(members)
    groups: dict[str, NDArray[np.bool_]] = {}
    for kind in kinds:
        if all(_is_large_or_empty(members) for members in kind.values()):
            groups |= kind
    return groups


def _is_large_or_empty(members: NDArray[np.bool_]) -> bool:
    """Tell whether a group has at least `LEAST_GROUP` members, or none."""
    count = np.count_nonzero(members)
    return count == 0 or bool(count >= LEAST_GROUP)


def _split_into_thirds(
    name: str, values: NDArray[Any], words: tuple[str, str, str]
) -> dict[str, NDArray[np.bool_]]:
    """Split people into thirds by a value.

    Args:
        name: Name of the value.
        values: Shape (people,): value of each person; equal values keep the order of people.
        words: Names of the lowest, the middle and the highest third.

    Returns:
        For each third a mask of its members, shape (people,), by names such as "activity:low".
    """
    rising_order = np.argsort(values, kind="stable")
    ranks = np.argsort(rising_order, kind="stable")  # the inverse permutation: each person's rank
    third = ranks * 3 // len(values)
    return {f"{name}:{word}": third == number for number, word in enumerate(words)}


def _read_claim(entry: ComparisonEntry, findings: Sequence[Findings]) -> _Claim:
    """Return an entry's claim; that of a caller's model comes from its fitted card, if it has one.

    Args:
        entry: The entry.
        findings: Findings of its tasks, of which the first judged a split.
    """
    if CLAIM in findings[0]:
        return _Claim(*findings[0][CLAIM])
    return _Claim(entry.unit, entry.against, entry.epsilon)


def _make_rows(
    entry: ComparisonEntry, findings: Sequence[Findings], bootstrap: PeopleBootstrap
) -> list[dict[str, Any]]:
    """Make a row with an interval for each metric: the mean over splits, or an attack's value."""
    claim = _read_claim(entry, findings)
    metrics: dict[str, None] = {}
    for findings_of_task in findings:
        metrics |= dict.fromkeys(name for name in findings_of_task if name not in NO_METRICS)
    metrics_of_people = findings[0][BY_PERSON]
    rows = []
    for metric in metrics:
        values = [
            findings_of_task[metric] for findings_of_task in findings if metric in findings_of_task
        ]
        name = metric.removesuffix(f"@{LIST_LENGTH}")
        if isinstance(values[0], list):  # a metric of the attack: mean, lower end, upper end
            interval = Interval(*values[0])
        elif name in metrics_of_people and len(values) > 1:
            interval = bootstrap.interval(_collect_by_split(findings, name), (0.0, 1.0))
        else:
            interval = _estimate_over_splits(metric, values)
        rows.append(
            {
                "design": entry.design,
                "variant": entry.variant,
                "epsilon": claim.epsilon,
                "unit": claim.unit,
                "against": claim.against,
                "metric": metric,
                "value": interval.mean,
                "low": interval.low if math.isfinite(interval.low) else None,
                "high": interval.high if math.isfinite(interval.high) else None,
            }
        )
    return rows


def _estimate_over_splits(metric: str, values: Sequence[float]) -> Interval:
    """Compute the mean of a metric over splits with its interval by Student's t.

    With a single split both ends are infinity, which stands for unknown.
    """
    if metric in find_entry_points(METRICS):
        bounds = UNBOUNDED  # the metric of a plug-in may be any number
    elif metric in ("novelty", "rmse", "mae"):
        bounds = (0.0, math.inf)
    else:
        bounds = (0.0, 1.0)
    interval = mean_interval(values, bounds=bounds)
    if len(values) == 1:
        return Interval(interval.mean, math.inf, math.inf)
    return interval
