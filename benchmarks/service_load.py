"""A service under an even load of mixed requests, beside a hello-world in the same minutes.

    python benchmarks/service_load.py [--seconds 120] [--rate 300] [--workers 1] [--json]
    python benchmarks/service_load.py --find-limit

`tacit serve --demo` and a synchronous hello-world of FastAPI under uvicorn run in their own
processes. This process sends requests to them in turns of a few seconds, so that both share the
machine with the same other programs. Requests leave at their scheduled times, whether earlier ones
were answered or not (an open loop), and a time is counted from when its request was due. Of the
service's requests 45 % change something, each in a durable transaction. The first seconds warm up
and are not counted. After a third and after two thirds of the time, `tacit refit` replaces the
model of private lists, as its systemd unit does. The processor time of a fit is not counted for the
service, but the fit takes processor time from it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import uvloop
from service_people import Keys, People, Pool, Request, all_budgets, opening, sent
from service_refits import Refits

WARM_UP = 10.0
"""Seconds of the load that are not counted, at the start."""
SLICE = 5.0
"""Most seconds of one turn of the service."""
CALM = 0.25
"""A second is calm if the host and other programs take less than these processor seconds in it."""
HIGHEST_P99 = 250.0
"""Milliseconds of p99 above which a rate is not held, in the search for the highest rate."""
LIMIT_SECONDS, STEPS = 8.0, 7
"""Seconds of a trial of that search, and number of trials."""
TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Found:
    """What one server answered, and what it used meanwhile."""

    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Milliseconds of each answered request, by the request's name."""
    by_second: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    """The same milliseconds, by the second of the clock in which the answer came."""
    others: dict[int, float] = field(default_factory=dict)
    """Seconds of processor that others took in each second, the host of the machine included."""
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Number of answers, by the request's name and the status."""
    broken: int = 0
    """Number of requests without an answer."""
    seconds: float = 0.0
    """Seconds in which requests were sent and answered."""
    used: float = 0.0
    """Processor seconds of the server."""
    switches: int = 0
    """Context switches of the server."""
    host: float = 0.0
    """Processor seconds in which the host ran something else."""
    late: float = 0.0
    """The most milliseconds by which a request left after it was due: of this process, not of the
    service, but counted in its times."""

    @property
    def every(self) -> list[float]:
        """The milliseconds of all answered requests."""
        all_times: list[float] = []
        for times in self.times.values():
            all_times += times
        return all_times

    @property
    def errors(self) -> int:
        """Number of requests without an answer of status 200."""
        refused = sum(count for (_, status), count in self.statuses.items() if status != 200)
        return refused + self.broken


@dataclass
class Side:
    """A server under load."""

    process: int
    """Id of its main process."""
    pool: Pool
    """Connections to it."""
    requests: Iterator[Request]
    """Its requests, without end."""
    answered: Callable[[Request, int, bytes], None]
    """Called with each answered request, the status and the body."""
    found: Found = field(default_factory=Found)
    """What it answered so far."""

    async def slice(self, seconds: float, rate: float) -> None:
        """Send each request at its time, whether or not earlier ones were answered.

        The requests are made before the first is sent.
        """
        found, due = self.found, list(islice(self.requests, max(1, int(seconds * rate))))
        used, switched, host = processor(self.process), switches(self.process), taken_by_host()
        begun = time.perf_counter()
        watch = asyncio.create_task(self._watch())
        tasks = []
        for number, request in enumerate(due):
            at = begun + number / rate
            if (wait := at - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            found.late = max(found.late, 1000 * (time.perf_counter() - at))
            tasks.append(asyncio.create_task(self._one(request, at)))
        await asyncio.gather(*tasks)
        watch.cancel()
        found.seconds += time.perf_counter() - begun
        found.used += processor(self.process) - used
        found.switches += switches(self.process) - switched
        found.host += taken_by_host() - host

    async def _one(self, request: Request, at: float) -> None:
        """Send one request that was due at a time of the clock, and note its answer."""
        try:
            status, body = await self.pool.send(request)
        except (OSError, ValueError):
            self.found.broken += 1
            return
        took = 1000 * (time.perf_counter() - at)
        self.found.times[request.name].append(took)
        self.found.by_second[int(time.monotonic())].append(took)
        self.found.statuses[request.name, status] += 1
        self.answered(request, status, body)

    async def _watch(self) -> None:
        """Note second by second what other programs and the host take of the processors."""
        while True:
            second, before = int(time.monotonic()), self._others()
            await asyncio.sleep(second + 1 - time.monotonic())
            self.found.others[second] = self._others() - before

    def _others(self) -> float:
        """Return the processor seconds so far of all but the server and this process."""
        return busy() - processor(self.process) - time.process_time()


def main() -> None:
    """Run the load; the exit code is 1 if a goal is not met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--rate", type=float, default=300.0, help="requests a second")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--warm-up", type=float, default=WARM_UP, help="seconds")
    parser.add_argument(
        "--hello", type=float, default=0.5, help="seconds of it for one of the service"
    )
    parser.add_argument("--refits", type=int, default=2, help="fits in the time of the load")
    parser.add_argument("--database", help="postgresql://..., instead of SQLite")
    parser.add_argument(
        "--find-limit",
        action="store_true",
        help=f"also look for the highest rate held with a p99 below {HIGHEST_P99:g} ms",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    arguments = parser.parse_args()
    result = measure(arguments)
    print(json.dumps(result, sort_keys=True) if arguments.json else table(result))
    sys.exit(0 if result["goals_met"] else 1)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Start the service and the hello-world, and return the result of the load on both."""
    with tempfile.TemporaryDirectory(prefix="service-load-") as place:
        folder = Path(place) / "shop"
        flags = ["--workers", str(arguments.workers), "--port", "0", "--json"]
        if arguments.database:
            flags += ["--database", arguments.database, "--second", str(Path(place) / "head")]
        service = ["-m", "tacit.cli.app", "serve", "--demo", str(folder), *flags]
        log = Path(place) / "log"
        with started(log, service) as process, hello(log, arguments.workers) as other:
            assert process.stdout is not None
            started_service = json.loads(process.stdout.readline())
            port = int(started_service["address"].rpartition(":")[2])
            keys = Keys(folder, started_service["keys"]["operator"])
            return uvloop.run(drive((process.pid, port), other, keys, folder, arguments))


@contextmanager
def started(log: Path, words: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program of this Python during the block, without limits on the rate of requests."""
    environment = {**os.environ, "TACIT_PER_SECOND": "10000", "TACIT_BURST": "20000"}
    with log.open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, *words], stdout=subprocess.PIPE, stderr=errors, env=environment
        )
        try:
            yield process
        finally:
            process.terminate()
            process.wait(20)
            if process.stdout is not None:
                process.stdout.close()


@contextmanager
def hello(log: Path, workers: int) -> Iterator[tuple[int, int]]:
    """Run the hello-world during the block; yield its process and port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["-m", "uvicorn", "hello:app", "--app-dir", str(Path(__file__).parent)]
    words += ["--port", str(port), "--workers", str(workers), "--no-access-log"]
    words += ["--log-level", "warning", "--loop", "uvloop", "--http", "httptools"]
    words += ["--timeout-keep-alive", "60"]
    with started(log, words) as process:
        while process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield process.pid, port


async def drive(
    service: tuple[int, int],
    other: tuple[int, int],
    keys: Keys,
    folder: Path,
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """Warm both servers up, then send requests to them in turns, and return the result.

    Args:
        service: Process and port of the service.
        other: Process and port of the hello-world.
        keys: Keys of the people and of the operator.
        folder: The service's folder.
        arguments: The command's arguments.
    """
    pools = [Pool(service[1]), Pool(other[1])]
    for pool in pools:
        await pool.open()
    status, _ = await pools[0].send(sent(opening(), keys))
    assert status == 200
    people = People(folder)
    asked = (sent(request, keys) for request in people.requests())
    side = Side(service[0], pools[0], asked, people.answered)
    greeting = sent(Request("hello", "GET", "/"), keys)
    greeted = Side(other[0], pools[1], iter(lambda: greeting, None), lambda *_: None)
    for one in (side, greeted):
        await one.slice(arguments.warm_up, arguments.rate)
        one.found = Found()
    before, left = resident(service[0]), arguments.seconds
    refits = Refits(folder)
    fitting: list[asyncio.Task[None]] = []
    ready = f"http://127.0.0.1:{service[1]}/readyz"
    # Turns are so short that one begins at the time of each fit.
    turn_seconds = min(SLICE, arguments.seconds / (arguments.refits + 1))
    while left > 1e-6:  # seconds of the load that are left; no turn for a rounding error
        share_done = 1 - left / arguments.seconds
        if share_done * (arguments.refits + 1) >= len(fitting) + 1:
            fitting.append(asyncio.create_task(_run_after(tuple(fitting), refits.run(ready))))
        await side.slice(min(turn_seconds, left), arguments.rate)
        await greeted.slice(min(turn_seconds, left) * arguments.hello, arguments.rate)
        left -= turn_seconds
    replaced_in_time = len(refits.digests)
    await asyncio.gather(*fitting)
    after = resident(service[0])
    found, side.found = side.found, Found()
    limit = await highest(side) if arguments.find_limit else None
    budgets = await all_budgets(pools[0], keys)
    for pool in pools:
        pool.close()
    result = judge_load(found, greeted.found, budgets, people.reported)
    return {
        **result,
        "growth": round(100 * (after / before - 1), 2),
        "resident_mib": [round(before, 1), round(after, 1)],
        "rate": arguments.rate,
        "workers": arguments.workers,
        "replaced": len(set(refits.digests)),
        "replaced_under_load": replaced_in_time,
        "refit_seconds": [round(seconds, 1) for seconds in refits.seconds],
        "goals_met": result["goals_met"] and replaced_in_time >= arguments.refits,
        **({} if limit is None else {"limit": limit}),
    }


async def _run_after(earlier: tuple[asyncio.Task[None], ...], refit: Awaitable[None]) -> None:
    """Wait for the earlier fits, and then fit: a folder allows one fit at a time."""
    await asyncio.gather(*earlier)
    await refit


async def highest(side: Side) -> float:
    """Search for the highest rate without errors whose p99 is below the bound.

    The rate is doubled until it is too high. From then on each trial adds half the last step to the
    highest rate that was held.

    Returns:
        The highest rate that was held, in requests a second; 0 if none was.
    """
    held, rate, step = 0.0, 200.0, 200.0
    is_doubling = True
    for _ in range(STEPS):
        side.found = Found()
        await side.slice(LIMIT_SECONDS, rate)
        is_held = not side.found.errors and quantiles(side.found.every)["p99_ms"] < HIGHEST_P99
        if is_held:
            held = rate
        is_doubling = is_doubling and is_held
        step = rate if is_doubling else step / 2
        rate = held + step
        await asyncio.sleep(1.0)  # lets the server answer what a rate too high left behind
    return held


def judge_load(
    found: Found, hello: Found, budgets: list[dict[str, Any]], reported: set[str]
) -> dict[str, Any]:
    """Return the figures of a load, and whether its goals are met.

    Args:
        found: Of the service.
        hello: Of the hello-world.
        budgets: All budgets after the load, as the service lists them.
        reported: People whose report was answered; their budgets must have been charged.
    """
    over = [row for row in budgets if Decimal(row["budget"]["left"]) < 0]
    charged = {row["name"] for row in budgets if row["name"].startswith("reporter-")}
    own, least = figures(found), figures(hello)
    goals = {
        "p50_ms": 15.0,
        "p99_ms": max(100.0, 1.5 * least["p99_ms"]),
        "cpu_ms": max(1.5, 2 * least["cpu_ms"]),
    }
    good = not found.errors and not over and charged >= reported
    return {
        "name": "service_load",
        **own,
        "hello": least,
        "errors": found.errors,
        "overspent": len(over),
        "charged_as_reported": charged >= reported,
        "charges": len(charged),
        "by_operation": {name: quantiles(times) for name, times in sorted(found.times.items())},
        "statuses": {f"{n} {s}": c for (n, s), c in sorted(found.statuses.items())},
        "latest_start_ms": round(found.late, 1),
        "host_share": round(found.host / found.seconds, 2),
        "goals": goals,
        "goals_met": good and all(own[name] <= goal for name, goal in goals.items()),
        "load_average": [round(one, 2) for one in os.getloadavg()],
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }


def figures(found: Found) -> dict[str, Any]:
    """Return the times of all requests, and of those answered in calm and in busy seconds."""
    parts: dict[bool, list[float]] = {True: [], False: []}
    for second, taken in found.others.items():
        parts[taken < CALM] += found.by_second[second]
    count = len(found.every) + found.broken
    return {
        **quantiles(found.every),
        "cpu_ms": round(1000 * found.used / count, 2),
        "switches": round(found.switches / count, 1),
        "seconds": round(found.seconds, 1),
        "calm": quantiles(parts[True]),
        "busy": quantiles(parts[False]),
    }


def quantiles(times: list[float]) -> dict[str, float]:
    """Return the number of times, and their mean and quantiles in milliseconds."""
    ordered = sorted(times)
    if not ordered:
        return {"count": 0}
    shares = {"p50_ms": 0.5, "p99_ms": 0.99, "p999_ms": 0.999, "most_ms": 1.0}
    places = {n: min(len(ordered) - 1, int(share * len(ordered))) for n, share in shares.items()}
    found = {name: round(ordered[place], 1) for name, place in places.items()}
    return {"count": len(ordered), "mean_ms": round(statistics.fmean(ordered), 1), **found}


def resident(process: int) -> float:
    """Return the resident memory of a process and its descendants, in MiB."""
    pages = sum(int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in family(process))
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def processor(process: int) -> float:
    """Return the processor seconds so far of a process and its descendants."""
    ticks = 0
    for one in family(process):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / TICK


def switches(process: int) -> int:
    """Return the context switches so far of all living threads of a process and its descendants."""
    found = 0
    for one in family(process):
        for task in Path(f"/proc/{one}/task").iterdir():
            with suppress(OSError):  # it ended meanwhile
                lines = (task / "status").read_text().splitlines()
                found += sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)
    return found


def taken_by_host() -> float:
    """Return the processor seconds so far in which the host ran something else."""
    return int(Path("/proc/stat").read_text().split()[8]) / TICK


def busy() -> float:
    """Return the processor seconds so far in which anything ran, here or on the host."""
    fields = list(map(int, Path("/proc/stat").read_text().split()[1:9]))
    return (sum(fields) - fields[3] - fields[4]) / TICK


def family(process: int) -> list[int]:
    """Return a process and all its descendants."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [process, *(one for child in children for one in family(int(child)))]


def table(result: dict[str, Any]) -> str:
    """Write the result as a table of times, and a line for each other figure."""
    heads = ("count", "mean_ms", "p50_ms", "p99_ms", "p999_ms", "most_ms", "cpu_ms", "switches")
    rows = {"all": result, "calm": result["calm"], "busy": result["busy"]}
    least = result["hello"]
    rows |= {"hello": least, "hello, calm": least["calm"], "hello, busy": least["busy"]}
    rows |= result["by_operation"]
    lines = [" " * 14 + "".join(f"{head:>10}" for head in heads)]
    lines += [
        f"{n:<14}" + "".join(f"{row.get(h, ''):>10}" for h in heads) for n, row in rows.items()
    ]
    done = {"hello", "calm", "busy", "by_operation", *heads}
    return "\n".join(
        [*lines, *(f"{key}: {value}" for key, value in result.items() if key not in done)]
    )


if __name__ == "__main__":
    main()
