"""Designs beside each other: the same people, splits, seeds and metrics, and what attacks find.

Split    as `lists` defines it: held-out likes are to be found again. RMSE: in one domain a random
         20 % of everybody's ratings are held out in a second fit; in two, the same held-out people.
Attack   membership by lists, without reference and by likelihood ratio, on all ratings, once.
Units    an epsilon belongs to its unit and adversary. Rows of different units are never on one axis
         and never ordered by epsilon together.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.ratings import Ratings
from tacit.design import Entry
from tacit.errors import ConfigError, DataError, TacitError
from tacit.evaluation import Result, mean_interval
from tacit.evaluation.compare_measures import attacked, digest_of, judged, kept_in, key_of
from tacit.evaluation.lists import LIST_LENGTH, PENALTIES, list_trial
from tacit.evaluation.parallel import Pool, Progress
from tacit.extensions import METRICS, installed

COLUMNS = ("design", "variant", "epsilon", "unit", "against", "metric", "value", "low", "high")
ATTACK = -1
"""In place of a seed."""
FAILED = "failed"
NOBODY = "nobody is protected"
_HOME = "tacit.recommenders.baselines"


class Compared(Result):
    """Rows with `COLUMNS`; epsilon None: no noise."""

    @property
    def left_out(self) -> Mapping[str, str]:
        """Designs that do not fit the data, and why."""
        found: Mapping[str, str] = self.data["left_out"]
        return found

    def to_latex(self) -> str:
        """A table of means for each unit; needs the package booktabs."""
        found = []
        for unit, against, names, lines in self.tables():
            heading = " & ".join(["design", "variant", "$\\varepsilon$", *map(_tex, names)])
            body = "\n".join(
                " & ".join([*map(_tex, line[:3]), *(cell.split(" ")[0] for cell in line[3:])])
                + r" \\"
                for line in lines
            )
            found.append(
                f"% {unit}; against {against}\n\\begin{{tabular}}{{ll{'r' * (len(names) + 1)}}}\n"
                f"\\toprule\n{heading} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"
            )
        return "\n".join(found)

    def tables(self, by: str = "") -> list[tuple[str, str, list[str], list[list[str]]]]:
        """For each unit and adversary: metrics, and lines of design, variant, epsilon and cells.

        by: "" for metrics of everybody, else those of groups that begin so, such as "activity".
        """
        units = dict.fromkeys((row["unit"], row["against"]) for row in self.rows)
        found = []
        for unit, against in units:
            rows = [
                row
                for row in self.rows
                if (row["unit"], row["against"]) == (unit, against)
                and group_of(row["metric"]) == by
            ]
            names = list(dict.fromkeys(row["metric"] for row in rows))
            lines: dict[tuple[str, str, str], dict[str, str]] = {}
            for row in rows:
                key = (row["design"], row["variant"], _epsilon(row["epsilon"]))
                lines.setdefault(key, {})[row["metric"]] = _cell(row)
            cells = [
                [*key, *(line.get(name, "–") for name in names)] for key, line in lines.items()
            ]
            if rows:
                found.append((unit, against, names, cells))
        return found


def baselines(source: str | None, target: str | None) -> tuple[Entry, ...]:
    """What protects nobody, and private popularity's rivals: the same methods as single commands.

    EASE, or a ridge regression between domains, takes the best penalty on the test people.
    """

    def plain(name: str, kind: str, stars: bool = False, **settings: Any) -> Entry:
        return Entry(name, "baseline", None, NOBODY, "–", f"{_HOME}:{kind}", settings, stars)

    names = ("ease", "EASE") if source is None else ("ridge", "Ridge")
    routes: dict[str, Any] = {} if source is None else {"source": source, "target": target}
    best = [plain(*names, penalty=each, **routes) for each in PENALTIES]
    found = [plain("popularity", "Popularity", likes=True), *best, plain("item-item", "ItemItem")]
    found += [
        plain("item-mean", "ItemMean", True),
        plain("matrix-factorization", "MatrixFactorization", True),
    ]
    try:
        import_module("implicit.als")
    except ImportError:
        return tuple(found)
    return (*found, plain("als", "ALS"))


def compare(
    ratings: Ratings,
    entries: Sequence[Entry],
    *,
    left_out: Mapping[str, str] | None = None,
    source: str | None = None,
    target: str | None = None,
    seeds: Sequence[int] = range(3),
    attacks: bool = True,
    workers: int = 1,
    kept: Path | None = None,
    progress: Progress | None = None,
) -> Compared:
    """Every entry on every split, and attacked once; `steps` says how far progress counts.

    kept: a file to which finished pieces are added, and whose pieces are not computed again; its
    pieces are found by the data, the domains, the entry and the seed. ConfigError for another file.
    """
    if not seeds:
        raise ConfigError("A comparison needs at least one seed.")
    done, advance = kept_in(kept), progress or (lambda _: None)
    reasons, data = dict(left_out or {}), digest_of(ratings, source, target)
    with Pool((ratings, source, target, kept, data), workers=workers) as pool:

        def run(tasks: list[tuple[Entry, int]]) -> list[dict[str, Any]]:
            missing = [task for task in tasks if key_of(data, *task) not in done]
            advance(len(tasks) - len(missing))  # those that were finished before
            made = pool.run(_piece, missing, advance)
            done.update((key_of(data, *task), one) for task, one in zip(missing, made, strict=True))
            return [done[key_of(data, *task)] for task in tasks]

        found = run([(entry, seed) for entry in entries for seed in seeds])
        figures = {
            entry: found[place * len(seeds) : (place + 1) * len(seeds)]
            for place, entry in enumerate(entries)
        }
        best = _best(figures, reasons)
        if not best:
            raise DataError(
                "nothing can be compared on these ratings", fix="\n".join(by_reason(reasons))
            )
        targets = [entry for entry in best if attacks and entry.attacked]
        for entry, piece in zip(targets, run([(entry, ATTACK) for entry in targets]), strict=True):
            if FAILED not in piece:
                figures[entry] = [*figures[entry], piece]
    rows = [row for entry in best for row in _rows(entry, figures[entry])]
    return Compared({"rows": rows, "left_out": reasons})


def _best(
    figures: Mapping[Entry, Sequence[Mapping[str, Any]]], reasons: dict[str, str]
) -> list[Entry]:
    """Of the same method the settings with the best lists; why others could not be run."""
    best: dict[tuple[str, str, float | None], Entry] = {}
    for entry, pieces in figures.items():
        failed = [piece[FAILED] for piece in pieces if FAILED in piece]
        if failed:
            reasons[f"{entry.design} {entry.variant} {_epsilon(entry.epsilon)}"] = failed[0]
            continue
        name = (entry.design, entry.variant, entry.epsilon)
        if name not in best or _ndcg(pieces) > _ndcg(figures[best[name]]):
            best[name] = entry
    return list(best.values())


def by_reason(reasons: Mapping[str, str]) -> list[str]:
    """A sentence for each reason, after the names of all that it keeps out."""
    names: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names.setdefault(reason.rstrip("."), []).append(name)
    return [f"{', '.join(those)}: {reason}." for reason, those in names.items()]


def steps(entries: Sequence[Entry], seeds: int, attacks: bool) -> int:
    """How far `progress` counts, at most."""
    attacked = {(each.design, each.variant, each.epsilon) for each in entries if each.attacked}
    return len(entries) * seeds + attacks * len(attacked)


def _piece(
    context: tuple[Ratings, str | None, str | None, Path | None, str], entry: Entry, seed: int
) -> dict[str, Any]:
    ratings, source, target, kept, data = context
    values: dict[str, Any]
    try:
        if seed == ATTACK:
            values = attacked(entry, ratings)
        else:
            trial = list_trial(ratings, source=source, target=target, seed=seed)
            values = judged(entry, ratings, trial, seed)
    except TacitError as error:  # too few people, say: the others can still be compared
        return {FAILED: str(error)}
    if kept is not None:
        line = json.dumps({"key": key_of(data, entry, seed), "values": values}) + "\n"
        with kept.open("a", encoding="utf-8") as file:  # one short write: workers share the file
            file.write(line)
    return values


def _rows(entry: Entry, pieces: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    outside = installed(METRICS)
    for metric in dict.fromkeys(name for piece in pieces for name in piece):
        values = [piece[metric] for piece in pieces if metric in piece]
        if isinstance(values[0], list):
            middle, low, high = values[0]
        else:
            bounds = (-math.inf, math.inf) if metric in outside else (0.0, 1.0)
            if metric in ("novelty", "rmse"):
                bounds = (0.0, math.inf)
            middle, low, high = mean_interval(values, bounds=bounds)
            if len(values) == 1:  # it says nothing about the spread
                low = high = math.inf
        ends = [each if math.isfinite(each) else None for each in (low, high)]
        row = (entry.design, entry.variant, entry.epsilon, entry.unit, entry.against)
        rows.append(dict(zip(COLUMNS, (*row, metric, middle, *ends), strict=True)))
    return rows


def _ndcg(pieces: Sequence[Mapping[str, Any]]) -> float:
    name = f"ndcg@{LIST_LENGTH}"
    return float(np.mean([piece[name] for piece in pieces if name in piece]))


def group_of(metric: str) -> str:
    """`activity` of `ndcg@10 activity:low`; nothing for metrics of everybody."""
    return metric.partition(" ")[2].partition(":")[0]


def _epsilon(value: float | None) -> str:
    if value is None:
        return "–"
    return "no noise" if math.isinf(value) else f"{value:g}"


def _cell(row: Mapping[str, Any]) -> str:
    if None in (row["low"], row["high"]) or row["low"] == row["high"]:
        return f"{row['value']:.3f}"
    return f"{row['value']:.3f} ({row['low']:.3f} to {row['high']:.3f})"


def _tex(text: str) -> str:
    return text.replace("\\", "").replace("_", r"\_").replace("%", r"\%").replace("&", r"\&")
