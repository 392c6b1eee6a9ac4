"""A service under an even load of mixed requests: how long answers take, and what they cost.

    python benchmarks/service_load.py [--seconds 120] [--rate 300] [--workers 1] [--json]

`tacit serve --demo` in a process of its own, on SQLite, and this process as the people: requests
leave at their scheduled times whether earlier ones were answered or not (an open loop), and a time
is counted from when its request was due. Of the requests two in five change something, each in a
durable transaction of its own. The first seconds warm up and are not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import secrets
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import uvloop

from tacit.designs.sketches import Campaign, Device, new_secret
from tacit.recommenders.files import load_model
from tacit.service.keys import KeyRing

WARM_UP = 10.0
CONNECTIONS = 64
PEOPLE = 400
CANDIDATES = (1, 2, 3)
GOALS = {"p50": 15.0, "p99": 100.0, "p99.9": 500.0}
"""Milliseconds."""
CALM = 0.05
"""Of the processors' seconds in one second."""
OPERATOR = "the operator"
_CHANCE = secrets.SystemRandom()


@dataclass
class Request:
    """What is sent. octets: all of it, as it goes out."""

    name: str
    method: str
    path: str
    person: str | None = None
    body: bytes = b""
    kind: str = "application/json"
    octets: bytes = b""


@dataclass
class Found:
    """Milliseconds by operation and by second, statuses, and what went wrong on the way."""

    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    by_second: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    """By the second in which the answer came."""
    host: dict[int, float] = field(default_factory=dict)
    """Seconds that the host of this virtual machine took in each second."""
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    broken: int = 0
    reported: set[str] = field(default_factory=set)
    late: float = 0.0
    """The most milliseconds by which a request left after it was due: of this process, not of the
    service, but counted in its times."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--rate", type=float, default=300.0, help="requests a second")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--database", help="postgresql://..., instead of SQLite")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    arguments = parser.parse_args()
    result = measure(arguments)
    print(json.dumps(result, sort_keys=True) if arguments.json else table(result))
    sys.exit(0 if result["goals_met"] else 1)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="service-load-") as place:
        folder = Path(place) / "shop"
        flags = ["--workers", str(arguments.workers)]
        if arguments.database:
            flags += ["--database", arguments.database, "--second", str(Path(place) / "head")]
        with (Path(place) / "log").open("wb") as log:
            process = start(folder, flags, log)
            try:
                return loaded(process, arguments)
            finally:
                process.terminate()
                process.wait(20)
                if process.stdout is not None:
                    process.stdout.close()


def start(folder: Path, flags: list[str], log: Any) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "TACIT_PER_SECOND": "1000", "TACIT_BURST": "2000"}
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "tacit.cli.app", "serve", "--demo", str(folder)),
            *("--port", "0", "--json", *flags),
        ],
        stdout=subprocess.PIPE,
        stderr=log,
        env=environment,
    )


def loaded(process: subprocess.Popen[bytes], arguments: argparse.Namespace) -> dict[str, Any]:
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    folder = Path(told["folder"])
    port = int(told["address"].rpartition(":")[2])
    keys = Keys(folder, told["keys"]["operator"])
    found = uvloop.run(drive(port, keys, folder, arguments, process.pid))
    return judged(found, arguments)


class Keys:
    """The key of everybody."""

    def __init__(self, folder: Path, operator: str) -> None:
        secret = (folder / "service.secret").read_bytes()
        self._ring = KeyRing(folder / "keys.json", secret, "demo")
        self._known = {OPERATOR: operator}

    def of(self, person: str) -> str:
        if person not in self._known:
            self._known[person] = self._ring.person_key(person)
        return self._known[person]


async def drive(
    port: int, keys: Keys, folder: Path, arguments: argparse.Namespace, process: int
) -> dict[str, Any]:
    """Warm up, then the counted time; requests are made before they are due."""
    pool = Pool(port)
    await pool.open()
    status, _ = await pool.send(sent(opening(), keys))
    assert status == 200
    mixed = (sent(request, keys) for request in mix(folder))
    warm = Found()
    await paced(pool, [next(mixed) for _ in range(int(WARM_UP * arguments.rate))], arguments, warm)
    before, used, found = resident(process), processor(process), Found()
    requests = [next(mixed) for _ in range(int(arguments.seconds * arguments.rate))]
    began, own, host = time.perf_counter(), time.process_time(), taken_by_host()
    await paced(pool, requests, arguments, found)
    seconds, own = time.perf_counter() - began, time.process_time() - own
    after, used = resident(process), processor(process) - used
    budgets = await all_budgets(pool, keys)
    pool.close()
    return {
        "found": found,
        "reported": warm.reported | found.reported,
        "budgets": budgets,
        "resident_mib": [round(before, 1), round(after, 1)],
        "processor_share": used / seconds,
        "people_share": own / seconds,
        "host_share": (taken_by_host() - host) / seconds,
        "seconds": seconds,
    }


def opening() -> Request:
    """A round that people vote on."""
    candidates = json.dumps({"candidates": list(CANDIDATES)}).encode()
    return Request("announce", "POST", "/api/rounds/films/announce", OPERATOR, candidates)


async def paced(
    pool: Pool, requests: list[Request], arguments: argparse.Namespace, found: Found
) -> None:
    """Each request at its time, whatever became of the others."""
    begun = time.perf_counter()
    watch = asyncio.create_task(watched(found))
    tasks = []
    for number, request in enumerate(requests):
        due = begun + number / arguments.rate
        wait = due - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        found.late = max(found.late, 1000 * (time.perf_counter() - due))
        tasks.append(asyncio.create_task(one(pool, request, due, found)))
    await asyncio.gather(*tasks)
    watch.cancel()


async def watched(found: Found) -> None:
    """What the host takes, second by second."""
    while True:
        second, before = int(time.monotonic()), taken_by_host()
        await asyncio.sleep(second + 1 - time.monotonic())
        found.host[second] = taken_by_host() - before


async def one(pool: Pool, request: Request, due: float, found: Found) -> None:
    try:
        status, _ = await pool.send(request)
    except (OSError, ValueError):
        found.broken += 1
        return
    took = 1000 * (time.perf_counter() - due)
    found.times[request.name].append(took)
    found.by_second[int(time.monotonic())].append(took)
    found.statuses[request.name, status] += 1
    if request.name == "report" and status == 200:
        assert request.person is not None
        found.reported.add(request.person)


class Connection(asyncio.Protocol):
    """One request after the other; each answer says how long it is."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._found = b""
        self._length = -1

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("it was closed"))

    def send(self, request: bytes) -> asyncio.Future[tuple[int, bytes]]:
        """Status and body, in a while."""
        assert self._transport is not None
        self._found, self._length = b"", -1
        self._answer = asyncio.get_running_loop().create_future()
        if self._transport.is_closing():
            self._answer.set_exception(ConnectionError("it was closed"))
        self._transport.write(request)
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._found += data
        head, end, body = self._found.partition(b"\r\n\r\n")
        if not end or self._answer is None:
            return
        if self._length < 0:
            self._length = int(head.lower().partition(b"\r\ncontent-length: ")[2].split(b"\r")[0])
        if len(body) >= self._length and not self._answer.done():
            self._answer.set_result((int(head[9:12]), body))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class Pool:
    """Connections that are kept; a request waits for a free one, and that counts."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._free: asyncio.Queue[Connection] = asyncio.Queue()

    async def open(self) -> None:
        for _ in range(CONNECTIONS):
            await self._free.put(await self._new())

    def close(self) -> None:
        while not self._free.empty():
            self._free.get_nowait().close()

    async def send(self, request: Request) -> tuple[int, bytes]:
        connection = await self._free.get()
        try:
            answer = await connection.send(request.octets)
        except BaseException:
            connection.close()
            connection = await self._new()
            raise
        finally:
            self._free.put_nowait(connection)
        return answer

    async def _new(self) -> Connection:
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(Connection, "127.0.0.1", self._port))[1]


def sent(request: Request, keys: Keys) -> Request:
    """With the bytes that go out, so that nothing is made while the clock runs."""
    lines = [f"{request.method} {request.path} HTTP/1.1", "Host: localhost"]
    if request.person is not None:
        lines.append(f"Authorization: Bearer {keys.of(request.person)}")
    if request.method != "GET":
        lines.append(f"Idempotency-Key: {secrets.token_hex(8)}")
        lines.append(f"Content-Length: {len(request.body)}")
    if request.body:
        lines.append(f"Content-Type: {request.kind}")
    request.octets = "\r\n".join([*lines, "", ""]).encode() + request.body
    return request


def mix(folder: Path) -> Iterator[Request]:
    """Requests without end: three in five read, the others change something."""
    makers = {
        "recommend": (50, recommend),
        "guarantees": (5, guarantees),
        "budget": (5, budget),
        "feedback": (15, feedback),
        "letter": (12, letters(folder)),
        "report": (5, reports(folder)),
        "vote": (8, vote),
    }
    names = [name for name, (share, _) in makers.items() for _ in range(share)]
    number = 0
    while True:
        _CHANCE.shuffle(names)
        for name in names:
            number += 1
            yield makers[name][1](number)


def anybody() -> str:
    return f"person-{_CHANCE.randrange(PEOPLE)}"


def recommend(_: int) -> Request:
    person = anybody()
    return Request("recommend", "GET", f"/api/recommend/{person}?n=10", person)


def guarantees(_: int) -> Request:
    return Request("guarantees", "GET", "/api/guarantees/models/films")


def budget(_: int) -> Request:
    return Request("budget", "GET", "/api/privacy/budget", anybody())


def feedback(number: int) -> Request:
    rating = {"model": "films", "item": str(1 + number % 150), "stars": 1.0 + number % 5}
    return Request("feedback", "POST", "/api/feedback", anybody(), json.dumps(rating).encode())


def vote(number: int) -> Request:
    choice = {"candidate": CANDIDATES[number % len(CANDIDATES)]}
    path = "/api/rounds/films/votes"
    return Request("vote", "POST", path, anybody(), json.dumps(choice).encode())


def letters(folder: Path) -> Callable[[int], Request]:
    """The first letter of a new person each time: one is taken of each epoch."""
    model = load_model(folder / "gender.tacit")
    histories = [dict.fromkeys(range(1, 12 + n), 4.0) for n in range(20)]
    made = [model.device({"gender": "F"}).release(one, 0).encode() for one in histories]
    path, kind = "/api/disclosures/gender/letters", "application/octet-stream"
    return lambda number: Request("letter", "POST", path, f"w-{number}", made[number % 20], kind)


def reports(folder: Path) -> Callable[[int], Request]:
    """A report of a new person each time: it charges their budget, for life."""
    campaign = Campaign.decode((folder / "taste.campaign").read_bytes())
    items = json.loads((folder / "taste.items.json").read_text())
    path, kind = "/api/campaigns/taste/reports", "application/octet-stream"

    def make(number: int) -> Request:
        report = Device(new_secret(), {}).report(campaign, items, {1: 5.0, 2: 4.0}).encode()
        return Request("report", "POST", path, f"reporter-{number}", report, kind)

    return make


async def all_budgets(pool: Pool, keys: Keys) -> list[dict[str, Any]]:
    found, after = [], 0
    while after is not None:
        path = f"/api/privacy/budgets?limit=1000&after={after}"
        asked = sent(Request("budgets", "GET", path, OPERATOR), keys)
        page = json.loads((await pool.send(asked))[1])
        found += page["budgets"]
        after = page["next"]
    return found


def resident(process: int) -> float:
    """MiB of the process and those it started."""
    pages = sum(int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in family(process))
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def processor(process: int) -> float:
    """Seconds of processor time so far."""
    ticks = 0
    for one in family(process):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def taken_by_host() -> float:
    """Seconds of all processors in which the host of this virtual machine ran something else."""
    return int(Path("/proc/stat").read_text().split()[8]) / os.sysconf("SC_CLK_TCK")


def family(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [process, *(one for child in children for one in family(int(child)))]


def judged(run: dict[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    found: Found = run["found"]
    times = [time for some in found.times.values() for time in some]
    errors = sum(n for (_, status), n in found.statuses.items() if status != 200) + found.broken
    over = [row for row in run["budgets"] if Decimal(row["budget"]["left"]) < 0]
    charged = {row["name"] for row in run["budgets"] if row["name"].startswith("reporter-")}
    first, last = run["resident_mib"]
    total = quantiles(times)
    return {
        "name": "service_load",
        "rate": arguments.rate,
        "seconds": round(run["seconds"], 1),
        "requests": len(times) + found.broken,
        "milliseconds": total,
        "in_calm_seconds": calm(found),
        "by_operation": {name: quantiles(some) for name, some in sorted(found.times.items())},
        "errors": errors,
        "statuses": {f"{n} {s}": c for (n, s), c in sorted(found.statuses.items())},
        "over_spent": len(over),
        "charged_as_reported": charged == run["reported"],
        "charges": len(charged),
        "latest_start_ms": round(found.late, 1),
        "resident_mib": run["resident_mib"],
        "resident_growth_percent": round(100 * (last / first - 1), 2),
        "processor_share": round(run["processor_share"], 2),
        "people_share": round(run["people_share"], 2),
        "host_share": round(run["host_share"], 2),
        "workers": arguments.workers,
        "goals": {**GOALS, "errors": 0},
        "goals_met": not errors
        and not over
        and charged == run["reported"]
        and all(total[name] <= goal for name, goal in GOALS.items()),
        "load_average": [round(one, 2) for one in os.getloadavg()],
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }


def calm(found: Found) -> dict[str, float]:
    """Of the seconds in which the host took less than `CALM`."""
    seconds = [second for second, taken in found.host.items() if taken < CALM]
    times = [time for second in seconds for time in found.by_second[second]]
    return {"seconds": len(seconds), **quantiles(times)} if times else {"seconds": 0}


def quantiles(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)

    def at(share: float) -> float:
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1)

    return {
        "mean": round(statistics.fmean(ordered), 1),
        **{name: at(share) for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))},
        "most": at(1.0),
        "count": len(ordered),
    }


def table(result: dict[str, Any]) -> str:
    rows = {"all": result["milliseconds"], **result["by_operation"]}
    heads = ("count", "mean", "p50", "p99", "p99.9", "most")
    lines = ["milliseconds  " + "".join(f"{head:>9}" for head in heads)]
    lines += [f"{n:<14}" + "".join(f"{row[h]:>9}" for h in heads) for n, row in rows.items()]
    rest = {
        key: value for key, value in result.items() if key not in ("milliseconds", "by_operation")
    }
    return "\n".join([*lines, *(f"{key}: {value}" for key, value in rest.items())])


if __name__ == "__main__":
    main()
