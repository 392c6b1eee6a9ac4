"""The sound P-DAP learner beside Vowpal Wabbit: reward and speed of the same visits.

    python benchmarks/bandit.py [--only TASK] [--visits N] [--seeds N] [--json]

Three tasks with 10 videos and Lipschitz chances of a click: 2, 4 and 10 features of a context. Each
seed is a world of its own, with its visitors and the random numbers of their clicks. No setting of
tacit was chosen on these seeds. Ours learns at epsilon 1, one release an epoch: `tacit.PDap` serves
and learns 100 visits at a time ("batch"), and its policy serves and learns one visit at a time
("alone"), which is timed only. Vowpal Wabbit (`--cb_explore_adf`, each video an action with a
feature of its own) protects nobody. It predicts, draws from its distribution, and learns, from
lines of text that were written beforehand. It runs with each setting of `WABBIT`, which were chosen
on seeds 11 and 41. The setting with the best mean reward over the seeds of this run is reported, so
the peer's reward is slightly too high.

A visit is one decision and its answer, on both sides. Rewards are means over all visits, learning
included, with 95 % intervals over seeds for ours; the best single video and the best video of each
context are beside them. Speeds are of the processor's time on one thread, medians over seeds,
without loading. All programs take turns in processes of their own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from typing import Any

from turns import peer_python, turn

VIDEOS = 10
EPSILON = 1.0
BLOCK = 100
ALONE = 3000
"""Visits that are served one at a time, to measure the time of one decision."""
TASKS = {"d2": (2, 2.0), "d4": (4, 1.0), "d10": (10, 0.6)}
"""Features of a context, and the Lipschitz constant."""
FIRST_SEED = 71
WABBIT = (
    "--epsilon 0.05 -q sa",
    "--bag 5 -q sa --interactions ssa",
    "--squarecb -q sa",
    "--squarecb -q sa --interactions ssa",
    "--squarecb -q sa --interactions ssa -l 2",
    "--squarecb -q sa --interactions ssa --interactions sssa",
    "--squarecb -q sa --interactions ssa --interactions sssa -l 2",
)
"""Settings of the peer: `s` are the features of a context, `a` those of a video."""


def main() -> None:
    """Run all tasks, or one program for one seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=TASKS, help="one task instead of all")
    parser.add_argument("--visits", type=int, default=30_000)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--work", choices=WORKERS, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--setting", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        print(json.dumps(WORKERS[arguments.work](arguments)))
        return
    result = measure(arguments)
    if arguments.json:
        print(json.dumps(result, sort_keys=True))
    else:
        show(result)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run all tasks, and return their results with the versions of both sides."""
    peer = peer_python("vowpalwabbit", "vowpalwabbit>=9.11")
    names = [arguments.only] if arguments.only else list(TASKS)
    tasks = {name: run_task(name, peer, arguments) for name in names}
    return {
        "name": "bandit",
        "peer": f"vowpalwabbit {turn(peer, '--work', 'version')['vowpalwabbit']}",
        "videos": VIDEOS,
        "visits": arguments.visits,
        "seeds": arguments.seeds,
        "epsilon": EPSILON,
        "tasks": tasks,
    }


def run_task(name: str, peer: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run both sides on the worlds of one task."""
    import tempfile
    from pathlib import Path

    ours: list[dict[str, float]] = []
    worlds: list[dict[str, float]] = []
    theirs: dict[str, list[dict[str, float]]] = {setting: [] for setting in WABBIT}
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as folder:
        file = str(Path(folder) / "world.npz")
        for seed in range(FIRST_SEED, FIRST_SEED + arguments.seeds):
            worlds.append(generate(name, seed, arguments.visits, file))
            ours.append(turn(sys.executable, "--work", "ours", "--file", file))
            for setting, rows in theirs.items():
                worker = ("--work", "wabbit", "--file", file, "--seed", str(seed))
                rows.append(turn(peer, *worker, f"--setting={setting}"))
    best = max(WABBIT, key=lambda setting: mean_of(theirs[setting], "reward"))
    mean, low, high = interval([row["reward"] for row in ours])
    plain = theirs[WABBIT[0]]  # the setting that is the plainest
    return {
        "features": TASKS[name][0],
        "best_single_video": round(mean_of(worlds, "best_single_video"), 4),
        "best_of_each_context": round(mean_of(worlds, "best_of_each_context"), 4),
        "ours": {
            "reward": round(mean, 4),
            "low": round(low, 4),
            "high": round(high, 4),
            "rewards": [round(row["reward"], 4) for row in ours],
            "batch_per_second": round(median_of(ours, "batch_per_second")),
            "microseconds_batch": round(1e6 / median_of(ours, "batch_per_second"), 1),
            "microseconds_alone": round(median_of(ours, "microseconds_alone"), 1),
            "microseconds_choosing_alone": round(median_of(ours, "microseconds_choosing"), 1),
        },
        "peer": {
            "reward": round(mean_of(theirs[best], "reward"), 4),
            "rewards": [round(row["reward"], 4) for row in theirs[best]],
            "setting": best,
            "events_per_second": round(median_of(theirs[best], "rate")),
            "plain_reward": round(mean_of(plain, "reward"), 4),
            "plain_events_per_second": round(median_of(plain, "rate")),
        },
    }


def generate(name: str, seed: int, visits: int, file: str) -> dict[str, float]:
    """Write contexts, and who would click on what; return the rewards of two reference choices."""
    import numpy as np

    from tacit.data import clicks

    features, lipschitz = TASKS[name]
    world = clicks.generate(
        vendors=1, videos=VIDEOS, dimension=features, lipschitz=lipschitz, seed=seed
    )
    contexts = np.random.default_rng(seed + 1000).random((visits, features))
    means = world.means(contexts)
    outcomes = np.random.default_rng(seed + 2000).random((visits, 1)) < means
    np.savez(file, contexts=contexts, outcomes=outcomes)
    return {
        "best_single_video": float(means.mean(axis=0).max()),
        "best_of_each_context": float(means.max(axis=1).mean()),
    }


def learn_ours(arguments: argparse.Namespace) -> dict[str, float]:
    """Run tacit's learner in blocks, for its reward and speed; then a policy visit by visit."""
    import numpy as np

    from tacit import PDap

    with np.load(arguments.file) as saved:
        contexts, outcomes = saved["contexts"], saved["outcomes"]
    visits, features = contexts.shape

    def new_bandit() -> PDap:
        """Return a learner without any visits."""
        names = list(range(VIDEOS))
        return PDap(names, epsilon=EPSILON, dimension=features, horizon=visits).fit()

    warm = new_bandit()  # loads what draws noise
    warm.learn(warm.choose(contexts[:300]), outcomes[:300, 0].astype(float))
    bandit = new_bandit()
    clicked = 0
    start = time.process_time()
    for first in range(0, visits, BLOCK):
        served = bandit.choose(contexts[first : first + BLOCK])
        rows = np.arange(first, first + len(served.arms))
        rewards = outcomes[rows, served.arms].astype(float)
        bandit.learn(served, rewards)
        clicked += int(rewards.sum())
    seconds = time.process_time() - start
    policy = new_bandit().policy
    contexts_alone = list(contexts[:ALONE])
    rewards_alone = outcomes[:ALONE].astype(float).tolist()  # of each visit, one for each video
    start = time.process_time()
    for context, rewards_of_videos in zip(contexts_alone, rewards_alone, strict=True):
        choice = policy.select(context)
        policy.update(choice, rewards_of_videos[choice.arm])
    alone = time.process_time() - start
    start = time.process_time()
    for context in contexts_alone:
        policy.select(context)
    choosing = time.process_time() - start
    return {
        "reward": clicked / visits,
        "batch_per_second": visits / seconds,
        "microseconds_alone": 1e6 * alone / len(contexts_alone),
        "microseconds_choosing": 1e6 * choosing / len(contexts_alone),
    }


def learn_wabbit(arguments: argparse.Namespace) -> dict[str, float]:
    """Run Vowpal Wabbit, one visit after another, for its reward and speed."""
    import numpy as np
    import vowpalwabbit

    with np.load(arguments.file) as saved:
        contexts, outcomes = saved["contexts"].tolist(), saved["outcomes"].astype(float).tolist()
    actions = [f"|a v{video}" for video in range(VIDEOS)]
    examples = []
    for context in contexts:
        numbers = [f"{position}:{feature:.6f}" for position, feature in enumerate(context)]
        examples.append(["shared |s " + " ".join(numbers), *actions])
    draws = np.random.default_rng(arguments.seed).random(len(examples)).tolist()
    command = f"--cb_explore_adf --quiet --random_seed 1 {arguments.setting}"
    model = vowpalwabbit.Workspace(command)
    total = 0.0
    start = time.process_time()
    for example, rewards_of_videos, draw in zip(examples, outcomes, draws, strict=True):
        chances = model.predict(example)
        # The drawn video is the first whose cumulative chance is above the draw.
        arm = 0
        rest_of_draw = draw
        while arm < VIDEOS - 1 and rest_of_draw >= chances[arm]:
            rest_of_draw -= chances[arm]
            arm += 1
        reward = rewards_of_videos[arm]
        total += reward
        example[arm + 1] = f"0:{-reward}:{chances[arm]:.6f} {actions[arm]}"
        model.learn(example)
    seconds = time.process_time() - start
    return {"rate": len(examples) / seconds, "reward": total / len(examples)}


def wabbit_version(_: argparse.Namespace) -> dict[str, str]:
    """Return the version of the peer."""
    from importlib.metadata import version

    return {"vowpalwabbit": version("vowpalwabbit")}


def interval(values: list[float]) -> tuple[float, float, float]:
    """Return the mean over seeds, and the lower and the upper end of its 95 % interval."""
    from tacit.evaluation.intervals import mean_interval

    result = mean_interval(values)
    return result.mean, result.low, result.high


def mean_of(rows: list[dict[str, float]], key: str) -> float:
    """Return the mean of one number over seeds."""
    return statistics.mean(row[key] for row in rows)


def median_of(rows: list[dict[str, float]], key: str) -> float:
    """Return the median of one number over seeds."""
    return statistics.median(row[key] for row in rows)


def show(result: dict[str, Any]) -> None:
    """Print a table: reward and speed of both sides, for each task."""
    print(f"{result['visits']:,} visits, {result['seeds']} seeds, epsilon {result['epsilon']:g}")
    print(f"{'task':<6}{'who':<26}{'reward':>8}  {'95 %':<16}{'us a visit':>11}")
    for name, task in result["tasks"].items():
        ours, peer = task["ours"], task["peer"]
        between = f"{ours['low']:.4f}-{ours['high']:.4f}"
        rows = [
            ("ours, 100 at a time", ours["reward"], between, ours["microseconds_batch"]),
            ("ours, alone", ours["reward"], between, ours["microseconds_alone"]),
            (result["peer"], peer["reward"], "", 1e6 / peer["events_per_second"]),
            ("best single video", task["best_single_video"], "", None),
            ("best video each time", task["best_of_each_context"], "", None),
        ]
        for who, reward, spread, microseconds in rows:
            speed = "" if microseconds is None else f"{microseconds:.1f}"
            print(f"{name:<6}{who:<26}{reward:>8.4f}  {spread:<16}{speed:>11}")
        print(f"{'':<6}the peer's setting: {peer['setting']}")


WORKERS = {"ours": learn_ours, "wabbit": learn_wabbit, "version": wabbit_version}

if __name__ == "__main__":
    main()
