"""A compiled bandit with adaptive cells against Vowpal Wabbit's: events a second, with the reward.

    python benchmarks/bandit.py [--only TASK] [--rounds N] [--events N] [--peer-events N] [--json]
    python benchmarks/bandit.py --worlds N [--only TASK]

Three tasks with 10 videos and Lipschitz chances of a click: d = 2 and d = 4 for the reward, d = 10
for the speed. Ours learns in batches, by `select` with `update`, and by `step`; the three must make
the same choices. Vowpal Wabbit (`--cb_explore 10`) predicts, draws from its distribution, and
learns from lines of text that were written beforehand. All programs take turns in fresh processes
on one thread, on the same contexts and with the same clicks; the time is that of the processor.

Several settings of Vowpal Wabbit are run once on the very task, and the one with the best reward
takes part. Its speed is that of its plainest setting, without interactions. Ours has `practical`'s
settings, which follow from public numbers and were chosen on other seeds (`--tune` shows how); the
reward with the paper's is beside it. The reward is the mean over all events of the peer's length,
learning included; the oracle is the mean of the best videos. `--worlds` has rewards alone, of that
many worlds that nothing was chosen on, with the best of Vowpal Wabbit's settings in each.

d = 10,000: cells are bounded, and memory is measured while contexts keep coming.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from turns import PEERS, peak_mib, peer_python, turn

VIDEOS, SEED, SINGLE = 10, 11, 100_000
TASKS = {"d2": (2, 2.0), "d4": (4, 1.0), "d10": (10, 0.6)}  # features, Lipschitz constant
CHOSEN_ON, FRESH = (21, 22, 23, 24), 41
PLAIN = "--epsilon 0.05"
WABBIT = (
    PLAIN,
    "--bag 5 -q ::",
    "--squarecb",
    "--squarecb -q ::",
    "--squarecb -q :: --cubic :::",
    "--squarecb -q :: -l 2",
    "--squarecb -q :: --cubic ::: -l 2",
    "--squarecb --gamma_scale 1000 -q :: --cubic :::",
)
GOALS = {"batch_ratio": 100, "calls_per_second": 500_000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="of the speed at d = 10")
    parser.add_argument("--events", type=int, default=500_000, help="ours learns from")
    parser.add_argument("--peer-events", type=int, default=30_000, help="the first of them")
    parser.add_argument("--only", choices=TASKS, help="one task instead of all")
    parser.add_argument("--worlds", type=int, help="rewards of fresh worlds instead")
    parser.add_argument("--tune", action="store_true", help="how settings are chosen")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--work", choices=WORKERS, help=argparse.SUPPRESS)
    parser.add_argument("--task", choices=TASKS, default="d2", help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--setting", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        print(json.dumps(WORKERS[arguments.work](arguments)))
        return
    names = [arguments.only] if arguments.only else list(TASKS)
    if arguments.tune:
        tune(names, arguments.peer_events)
        return
    if arguments.worlds:
        print(json.dumps(worlds(names, arguments)))
        return
    result = measure(arguments)
    if arguments.json:
        print(json.dumps(result, sort_keys=True))
    else:
        show(result)
    if not result["agree"]:
        sys.exit("Batches and single calls made different choices.")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    peer = wabbit_python()
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as folder:
        names = [arguments.only] if arguments.only else list(TASKS)
        tasks = {name: task(name, peer, Path(folder), arguments) for name in names}
        wide = turn(sys.executable, "--work", "wide")
        peer_version = turn(peer, "--work", "version")["vowpalwabbit"]
    numbers = {
        name: {
            "batch_ratio": round(
                found["ours"]["batch_per_second"] / found["peer"]["plain_events_per_second"], 1
            ),
            "reward_reached": found["ours"]["reward"] >= found["peer"]["reward"],
        }
        for name, found in tasks.items()
    }
    met = all(numbers[name]["reward_reached"] for name in names if name != "d10")
    if "d10" in names:
        met &= numbers["d10"]["batch_ratio"] >= GOALS["batch_ratio"]
        met &= tasks["d10"]["ours"]["calls_per_second"] >= GOALS["calls_per_second"]
    return {
        "name": "bandit",
        "peer": f"vowpalwabbit {peer_version}",
        "videos": VIDEOS,
        "rounds": arguments.rounds,
        "tasks": tasks,
        "compared": numbers,
        "wide": wide,
        "goals": GOALS,
        "goals_met": met,
        "agree": all(found["ours"]["agree"] for found in tasks.values()),
        "versions": {name: version(name) for name in ("numpy", "numba")},
    }


def task(name: str, peer: str, folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Both sides on one stream."""
    file, few = folder / f"{name}.npz", folder / f"{name}-peer.npz"
    baselines = generate(name, SEED, arguments.events, arguments.peer_events, file, few)

    def ours(work: str, setting: str, stream: Path) -> dict[str, Any]:
        place = ("--task", name, "--file", str(stream), "--setting", setting)
        return turn(sys.executable, "--work", work, *place)

    def theirs(setting: str) -> dict[str, Any]:
        place = ("--task", name, "--file", str(few), f"--setting={setting}")
        return turn(peer, "--work", "wabbit", *place)

    tried = {setting: theirs(setting)["reward"] for setting in WABBIT}
    best = max(tried, key=tried.__getitem__)
    found: dict[str, list[dict[str, Any]]] = {
        part: [] for part in ("batch", "calls", "steps", "peer", "plain")
    }
    for _ in range(arguments.rounds if name == "d10" else 1):
        for work in ("batch", "calls", "steps"):
            found[work].append(ours(work, "practical", file))
        found["peer"].append(theirs(best))
        found["plain"].append(theirs(PLAIN))

    def median(work: str, key: str) -> float:
        return statistics.median(one[key] for one in found[work])

    rows = [one["check"] for work in ("batch", "calls", "steps") for one in found[work]]
    here, published = ours("batch", "practical", few), ours("batch", "published", few)
    return {
        "features": TASKS[name][0],
        "lipschitz": TASKS[name][1],
        "baselines": baselines,
        "ours": {
            "reward": here["reward"],
            "reward_of_published_settings": published["reward"],
            "reward_of_all_events": found["batch"][0]["reward"],
            "events": arguments.events,
            "batch_per_second": round(median("batch", "rate")),
            "calls_per_second": round(median("calls", "rate")),
            "steps_per_second": round(median("steps", "rate")),
            "cells": found["batch"][0]["cells"],
            "peak_mib": median("batch", "peak_mib"),
            "agree": len(set(rows)) == 1,
        },
        "peer": {
            "reward": max(tried.values()),
            "setting": best,
            "events": arguments.peer_events,
            "events_per_second": round(median("peer", "rate")),
            "plain_events_per_second": round(median("plain", "rate")),
            "plain_learning_alone_per_second": round(median("plain", "learning")),
            "peak_mib": median("peer", "peak_mib"),
            "tried": tried,
        },
    }


def worlds(names: list[str], arguments: argparse.Namespace) -> dict[str, Any]:
    """Rewards in worlds that no setting was chosen on: means, and ours less the peer's."""
    peer, few = wabbit_python(), arguments.peer_events
    return {name: _worlds(name, peer, arguments.worlds, few) for name in names}


def _worlds(name: str, peer: str, number: int, few: int) -> dict[str, Any]:
    rows = []
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as folder:
        file = Path(folder) / "world.npz"
        place = ("--task", name, "--file", str(file))
        for seed in range(FRESH, FRESH + number):
            row = generate(name, seed, few, few, file, file)
            for setting in ("practical", "published"):
                found = turn(sys.executable, "--work", "batch", *place, "--setting", setting)
                row[setting] = found["reward"]
            theirs = [turn(peer, "--work", "wabbit", *place, f"--setting={s}") for s in WABBIT]
            row["peer"] = max(one["reward"] for one in theirs)
            rows.append(row)
            print(name, seed, row, file=sys.stderr)
    gaps = [row["practical"] - row["peer"] for row in rows]
    return {
        "means": {key: round(statistics.mean(row[key] for row in rows), 4) for key in rows[0]},
        "ours_less_peer": round(statistics.mean(gaps), 4),
        "least": round(min(gaps), 4),
        "standard_error": round(statistics.stdev(gaps) / len(gaps) ** 0.5, 4)
        if len(gaps) > 1
        else None,
    }


def wabbit_python() -> str:
    """The interpreter that has `vowpalwabbit`."""
    python = peer_python()
    found = subprocess.run([python, "-c", "import vowpalwabbit"], capture_output=True, check=False)
    if found.returncode:
        print(f"putting vowpalwabbit into {PEERS.name} ...", file=sys.stderr)
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "vowpalwabbit>=9.11"],
            check=True,
            stdout=sys.stderr,
        )
    return python


def world(name: str, seed: int, events: int) -> Any:
    """Videos, contexts and who would click on what."""
    import numpy as np

    from tacit.data import clicks as rewards

    features, lipschitz = TASKS[name]
    clicks = rewards.generate(
        vendors=1, videos=VIDEOS, dimension=features, lipschitz=lipschitz, seed=seed
    )
    contexts = rewards.contexts(events, features, seed=seed + 1000)
    means = clicks.means(contexts)
    outcomes = np.random.default_rng(seed + 2000).random((events, 1)) < means
    return contexts, means, outcomes.astype(np.float64)


def generate(
    name: str, seed: int, events: int, few: int, file: Path, first: Path
) -> dict[str, float]:
    """Write all events, and the peer's; what the oracle and others would have of the latter."""
    import numpy as np

    contexts, means, outcomes = world(name, seed, events)
    np.savez(file, contexts=contexts, outcomes=outcomes)
    np.savez(first, contexts=contexts[:few], outcomes=outcomes[:few])
    part = means[:few]
    return {
        "oracle": round(float(part.max(axis=1).mean()), 4),
        "best_single_video": round(float(part.mean(axis=0).max()), 4),
        "uniform": round(float(part.mean()), 4),
    }


def learner(name: str, events: int, setting: str = "practical") -> Any:
    from tacit.designs.pdap.control import Setting
    from tacit.designs.pdap.model import compiled, practical

    public = {"videos": VIDEOS, "neighbours": 0, "dimension": TASKS[name][0], "horizon": events}
    return compiled(*practical(**public)) if setting == "practical" else compiled(Setting(**public))


def scaled(name: str, events: int, settings: dict[str, float]) -> Any:
    """settings: of `Setting`, and what the paper's control functions are multiplied by."""
    from tacit.designs.pdap.control import Adaptive, Scaled, Setting
    from tacit.designs.pdap.model import compiled

    public = {"videos": VIDEOS, "neighbours": 0, "dimension": TASKS[name][0], "horizon": events}
    rest = {key: value for key, value in settings.items() if key != "scale"}
    setting = Setting(**public, **rest)
    return compiled(setting, Scaled(Adaptive(setting), settings["scale"]))


def stream(arguments: argparse.Namespace) -> Any:
    import numpy as np

    with np.load(arguments.file) as saved:
        return saved["contexts"], saved["outcomes"]


def checksum(arms: Any) -> int:
    """Of the first choices, whichever way they were made."""
    import zlib

    import numpy as np

    return zlib.crc32(np.asarray(arms[:SINGLE], dtype=np.int8).tobytes())


def batch(arguments: argparse.Namespace) -> dict[str, Any]:
    contexts, outcomes = stream(arguments)
    learner(arguments.task, len(contexts)).play(contexts[:9], outcomes[:9])  # loads
    bandit = learner(arguments.task, len(contexts), arguments.setting)
    start = time.process_time()
    played = bandit.play(contexts, outcomes)
    seconds = time.process_time() - start
    return {
        "rate": len(contexts) / seconds,
        "reward": round(float(played.rewards.mean()), 4),
        "cells": len(bandit),
        "peak_mib": peak_mib(),
        "check": checksum(played.arms),
    }


def calls(arguments: argparse.Namespace) -> dict[str, Any]:
    contexts, outcomes = stream(arguments)
    bandit = learner(arguments.task, len(contexts))
    rows, brings = list(contexts[:SINGLE]), outcomes[:SINGLE].tolist()
    arms = []
    start = time.process_time()
    for context, bring in zip(rows, brings, strict=True):
        arm = bandit.select(context)
        bandit.update(bring[arm])
        arms.append(arm)
    seconds = time.process_time() - start
    return {"rate": len(rows) / seconds, "check": checksum(arms)}


def steps(arguments: argparse.Namespace) -> dict[str, Any]:
    contexts, outcomes = stream(arguments)
    bandit = learner(arguments.task, len(contexts))
    rows, brings = list(contexts[:SINGLE]), outcomes[:SINGLE].tolist()
    arm = bandit.select(rows[0])
    arms = [arm]
    start = time.process_time()
    for context, bring in zip(rows[1:], brings, strict=False):
        arm = bandit.step(bring[arm], context)
        arms.append(arm)
    seconds = time.process_time() - start
    return {"rate": (len(rows) - 1) / seconds, "check": checksum(arms)}


def wabbit(arguments: argparse.Namespace) -> dict[str, Any]:
    import numpy as np
    import vowpalwabbit

    contexts, outcomes = stream(arguments)
    lines = [
        "| " + " ".join(f"{place}:{feature:.6f}" for place, feature in enumerate(context))
        for context in contexts.tolist()
    ]
    brings = outcomes.tolist()
    draws = np.random.default_rng(SEED).random(len(lines)).tolist()
    command = f"--cb_explore {VIDEOS} --quiet --random_seed 1 {arguments.setting}"
    model = vowpalwabbit.Workspace(command)
    total = 0.0
    start = time.process_time()
    for line, bring, draw in zip(lines, brings, draws, strict=True):
        chances = model.predict(line)
        arm = 0
        while arm < VIDEOS - 1 and draw >= chances[arm]:
            draw -= chances[arm]
            arm += 1
        reward = bring[arm]
        total += reward
        model.learn(f"{arm + 1}:{-reward}:{chances[arm]:.6f} {line}")
    seconds = time.process_time() - start
    logged = [
        f"{n % VIDEOS + 1}:{-bring[n % VIDEOS]}:0.1 {line}"
        for n, (line, bring) in enumerate(zip(lines, brings, strict=True))
    ][:10_000]
    model = vowpalwabbit.Workspace(command)
    start = time.process_time()
    for line in logged:
        model.learn(line)
    return {
        "rate": len(lines) / seconds,
        "learning": len(logged) / (time.process_time() - start),
        "reward": round(total / len(lines), 4),
        "peak_mib": peak_mib(),
    }


def wide(_: argparse.Namespace) -> dict[str, Any]:
    """Ten thousand features and at most 10,000 cells; memory after each of several batches."""
    import numpy as np

    from tacit.designs.pdap.control import Setting
    from tacit.designs.pdap.model import compiled

    features, most, size = 10_000, 10_000, 1_000
    bandit = compiled(
        Setting(
            videos=VIDEOS, neighbours=0, dimension=features, horizon=10**6, split_after=500,
            most_cells=most,
        )
    )  # fmt: skip
    generator = np.random.default_rng(SEED)
    outcomes = np.ones((size, VIDEOS))
    seconds, sizes = 0.0, []
    for _ in range(20):
        contexts = generator.random((size, features))
        start = time.process_time()
        bandit.play(contexts, outcomes)
        seconds += time.process_time() - start
        sizes.append(bandit.nbytes)
    return {
        "features": features,
        "most_cells": most,
        "cells": len(bandit),
        "events": 20 * size,
        "learner_mib": round(sizes[-1] / 2**20, 2),
        "grew_in_the_last_half": sizes[-1] > sizes[9],
        "process_peak_mib": peak_mib(),
        "events_per_second": round(20 * size / seconds),
    }


def peer_version(_: argparse.Namespace) -> dict[str, Any]:
    return {"vowpalwabbit": version("vowpalwabbit")}


def tune(names: list[str], events: int) -> None:
    """Mean reward of each task on other seeds: the best ten of a grid of settings."""
    grid = {
        "scale": (0.3, 0.6, 1.0, 1.5),
        "split_after": (10.0, 30.0, 100.0, 300.0, 1000.0),
        "growth": (2.0, 3.0, 4.0),
        "smoothness": (0.05, 0.1, 0.2, 0.5),
        "inherit": (False, True),
    }
    for name in names:
        worlds = [world(name, seed, events) for seed in CHOSEN_ON]
        found = []
        for values in itertools.product(*grid.values()):
            settings = dict(zip(grid, values, strict=True))
            rewards = [
                scaled(name, events, settings).play(contexts, outcomes).rewards.mean()
                for contexts, _, outcomes in worlds
            ]
            found.append((round(float(statistics.mean(rewards)), 4), settings))
        for reward, settings in sorted(found, key=lambda one: -one[0])[:10]:
            print(name, reward, settings)


def show(result: dict[str, Any], depth: int = 0) -> None:
    for name, value in result.items():
        if isinstance(value, dict):
            print(f"{'  ' * depth}{name}")
            show(value, depth + 1)
        else:
            print(f"{'  ' * depth}{name:<32} {value}")


WORKERS = {
    "batch": batch,
    "calls": calls,
    "steps": steps,
    "wabbit": wabbit,
    "wide": wide,
    "version": peer_version,
}

if __name__ == "__main__":
    main()
