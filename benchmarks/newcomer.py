"""A newcomer's path, timed: from an empty folder and three messy files to a running service.

    python benchmarks/newcomer.py [--users 2000] [--items 300] [--ratings 60000] [--json]

Each file is imported; with the ratings of the first, the next steps are: fit, recommend, guarantee,
evaluate, serve. Every step is one command, in a process of its own; `serve` is stopped when its
interface has answered. Nothing is prepared between the steps.

Then the paths of a shop, a newspaper and an officer, each a script of `examples/paths` that is run
in an empty folder: how many commands it has, and how many seconds it takes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.messy import messy_files, own_ratings

EXAMPLES = Path(__file__).parents[1] / "examples" / "paths"
PATHS = ("shop", "newspaper", "officer")
FIRST_LIST = "# The first list is made."
"""The line of a script up to which the first list is timed."""
TACIT = (sys.executable, "-m", "tacit.cli.app")


def main() -> int:
    """Run all steps and paths, and print the seconds of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=2000)
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--ratings", type=int, default=60_000)
    parser.add_argument("--paths", type=Path, default=EXAMPLES, help="folder of the scripts")
    parser.add_argument("--only-paths", action="store_true", help="leave out the three files")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    times = {} if options.only_paths else _time_steps(options.users, options.items, options.ratings)
    processor = _processor_seconds()
    paths = {name: run_path(options.paths / f"{name}.sh") for name in PATHS}
    processor_of_paths = _processor_seconds() - processor
    if options.json:
        found = {
            "seconds": times,
            "total": sum(times.values()),
            "processor": processor,
            "paths": paths,
            "processor_of_paths": processor_of_paths,
        }
        print(json.dumps(found))
    else:
        for line, seconds in times.items():
            print(f"{seconds:7.1f} s  tacit {line}")
        print(f"{sum(times.values()):7.1f} s  in all, {processor:.1f} s of processor time")
        for name, path in paths.items():
            print(f"{path['seconds']:7.1f} s  the {name}'s path of {path['commands']} commands")
        print(f"{processor_of_paths:7.1f} s  of processor time for the paths")
    return 0


def _processor_seconds() -> float:
    """Return the processor time, in seconds, of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _time_steps(users: int, items: int, ratings: int) -> dict[str, float]:
    """Write three messy files of this size, and return the seconds of each step with them."""
    with tempfile.TemporaryDirectory(prefix="tacit-newcomer-") as made:
        folder = Path(made)
        files = messy_files(folder, users=users, items=items, ratings=ratings)
        own = own_ratings(folder)
        steps = [f"data import {file.name} -o {file.name.split('.')[0]}" for file in files]
        steps += [
            "fit private bewertungen --epsilon 1 -o shop.tacit",
            f"recommend shop.tacit --history {own.name} --at-device",
            "guarantee shop.tacit",
            "evaluate private bewertungen --epsilon 1 --seeds 2",
        ]
        times = {line: _time_command(line, folder) for line in steps}
        times["serve shop.tacit"] = _time_service(folder)
    return times


def run_path(script: Path) -> dict[str, float]:
    """Run the script of one path in an empty folder.

    Returns:
        Its number of commands and its seconds; and, where it says `FIRST_LIST`, the commands and
        seconds up to that line.

    Raises:
        RuntimeError: The script failed.
    """
    lines = script.read_text("utf-8").splitlines()
    marks = [place for place, line in enumerate(lines) if FIRST_LIST in line]
    measured = _run_lines(script.stem, lines)
    if marks:
        first = _run_lines(script.stem, lines[: marks[0]])
        measured["first_list_commands"] = first["commands"]
        measured["first_list_seconds"] = first["seconds"]
    return measured


def _run_lines(name: str, lines: list[str]) -> dict[str, float]:
    """Run lines of a script in an empty folder; return the number of commands and the seconds."""
    folders = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ports = {"PORT": "0", "PORT_1": "0", "PORT_2": "0"}
    started_at = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix=f"tacit-{name}-") as empty:
        finished = subprocess.run(
            ["sh", "-c", "\n".join(lines)],
            cwd=empty,
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, **ports, "PATH": folders},
        )
    seconds = time.perf_counter() - started_at
    if finished.returncode != 0:
        raise RuntimeError(f"The {name}'s path failed ({finished.returncode}):\n{finished.stderr}")
    commands = sum(line.startswith("tacit ") for line in lines)
    return {"commands": commands, "seconds": seconds}


def _time_command(line: str, folder: Path) -> float:
    """Run one command of tacit in a folder, and return its seconds."""
    started_at = time.perf_counter()
    subprocess.run([*TACIT, *line.split()], cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - started_at


def _time_service(folder: Path) -> float:
    """Start a service of the model, and return the seconds until it has listed its models."""
    started_at = time.perf_counter()
    words = [*TACIT, "serve", "shop.tacit", "--port", "0", "--json"]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        with urllib.request.urlopen(f"{address}/api/models") as answer:
            assert json.load(answer)["models"][0]["name"] == "shop"
        return time.perf_counter() - started_at
    finally:
        os.kill(process.pid, signal.SIGTERM)
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
