"""How fast the service's own part of each POST of campaigns, disclosures and rounds is.

python benchmarks/served_designs.py [--requests N] [--at-once N] [--json]

One process, as a worker of the service, answers sixteen requests at a time on its event loop. One
SQLite ledger stores the charge, the state and the answer of each durably. HTTP is left out. `bytes`
is how much the ledger's file grew per request. Exit code 1 if a request was refused or a report was
lost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fastapi import Response

from tacit.designs.prec.serve import rounds as served_rounds
from tacit.designs.prec.serve import router as rounds
from tacit.designs.sketches import Report
from tacit.designs.sketches.serve import campaigns as served_campaigns
from tacit.designs.sketches.serve import router as campaigns
from tacit.designs.standard_scheme.serve import operator as served_disclosures
from tacit.designs.standard_scheme.serve import router as disclosures
from tacit.designs.standard_scheme.serve.disclosure import ServedDisclosure
from tacit.service import Service, Settings, open_service
from tacit.service.idempotency import remove_salt
from tacit.service.keys import Caller, Role

Ask = Callable[[int], Awaitable[Response]]
"""Sends the request of a number, and returns its answer."""
VOTERS = 300
"""People who vote in turns."""


def start_service(folder: Path) -> Service:
    """Open campaigns, disclosures and rounds of the demonstration."""
    demos = (served_campaigns, served_disclosures, served_rounds)
    sections = [demo.make_demo(folder) for demo in demos]
    (folder / "tacit.toml").write_text("\n".join(['tenant = "bench"', *sections]))
    return open_service(Settings(folder))


def make_request(threads: ThreadPoolExecutor) -> Any:
    """Return what the operations read of a request: the threads of the service."""
    return SimpleNamespace(app=SimpleNamespace(state=SimpleNamespace(threads=threads)))


def make_caller(name: str) -> Caller:
    """Return a person who calls."""
    return Caller("bench", Role.SUBJECT, name)


def draw_key() -> str:
    """Draw an idempotency key."""
    return secrets.token_hex(8)


def list_requests(service: Service, request: Any) -> dict[str, Ask]:
    """Return, for each kind of request by name, the function that sends the request of a number."""
    campaign = service.deployment.find_all(served_campaigns.ServedCampaign)["taste"].campaign
    disclosure = service.deployment.find_all(ServedDisclosure)["gender"]
    clients = service.deployment.find_all(served_rounds.ServedRounds)["films"].settings.clients or 1
    ratings = dict.fromkeys(disclosure.disclosure.items[:40], 4.0)
    device = disclosure.model.device({"gender": "F"})
    letter = device.release(ratings, 0).encode()

    async def send_report(number: int) -> Response:
        bits = secrets.randbits(campaign.questions)
        report = Report(campaign.id, secrets.randbits(63) + 1, bits).encode()
        caller = make_caller(f"p{number}")
        return await campaigns.reports(service, caller, draw_key(), "taste", report)

    async def send_letter(number: int) -> Response:
        caller = make_caller(f"p{number}")
        return await disclosures.letters(service, request, caller, draw_key(), "gender", letter)

    async def vote(number: int) -> Response:
        body = rounds.Vote(candidate=1 + number % 3)
        caller = make_caller(f"p{number % VOTERS}")
        return await rounds.votes(service, caller, draw_key(), "films", body)

    async def recommend(number: int) -> Response:
        caller = make_caller(f"p{number % clients}")
        return await rounds.recommendations(service, caller, draw_key(), "films")

    return {
        "reports of new people": send_report,
        "letters": send_letter,
        "votes": vote,
        "recommendations": recommend,
    }


async def open_first_round(service: Service, request: Any) -> None:
    """Open a round without votes and announce three candidates of the next."""
    operator = Caller("bench", Role.OPERATOR, "operator")
    opening = rounds.OpenRequest()
    await rounds.open_round(service, request, operator, draw_key(), "films", opening)
    announcement = rounds.Announcement(candidates=[1, 2, 3])
    await rounds.announce(service, request, operator, draw_key(), "films", announcement)


async def measure(ask: Ask, requests: int, at_once: int) -> dict[str, Any]:
    """Send requests, so many at a time, and return their rate, times and number of refusals."""
    seconds_of_each: list[float] = []
    statuses: Counter[int] = Counter()
    numbers = iter(range(requests))

    async def ask_one_after_another() -> None:
        """Send the next requests of all, each after the answer to the one before."""
        for number in numbers:
            began = time.perf_counter()
            statuses[(await ask(number)).status_code] += 1
            seconds_of_each.append(time.perf_counter() - began)

    began, processor = time.perf_counter(), time.process_time()
    await asyncio.gather(*[ask_one_after_another() for _ in range(at_once)])
    seconds = time.perf_counter() - began
    seconds_of_each.sort()
    return {
        "per_second": round(requests / seconds),
        "processor_ms": round(1000 * (time.process_time() - processor) / requests, 1),
        "p50_ms": round(1000 * seconds_of_each[requests // 2]),
        "p99_ms": round(1000 * seconds_of_each[int(0.99 * requests)]),
        "refused": requests - statuses[200],
    }


def ledger_bytes(folder: Path) -> int:
    """Return the bytes of the ledger's file, once its write-ahead log is empty."""
    while (folder / "budgets.db-wal").stat().st_size:
        time.sleep(0.05)
    return (folder / "budgets.db").stat().st_size


def counted_reports(service: Service) -> int:
    """Return the number of reports in the campaign's counts."""
    served = service.deployment.find_all(served_campaigns.ServedCampaign)["taste"]
    state = remove_salt(service.ledger.state(f"bench/{served.state_name}"))
    return served.decode_state(state).server.reports


async def measure_all(folder: Path, requests: int, at_once: int) -> tuple[dict[str, Any], int]:
    """Measure each kind of request.

    Returns:
        The figures of each kind by its name, and the number of reports that were lost.
    """
    service = start_service(folder)
    rows: dict[str, Any] = {}
    with ThreadPoolExecutor(at_once) as threads:
        request = make_request(threads)
        await open_first_round(service, request)
        before = counted_reports(service)
        for name, ask in list_requests(service, request).items():
            size = ledger_bytes(folder)
            rows[name] = await measure(ask, requests, at_once)
            rows[name]["bytes"] = round((ledger_bytes(folder) - size) / requests)
        lost = before + requests - counted_reports(service)
    service.close()
    return rows, lost


def main() -> int:
    """Measure all kinds of requests; the exit code is 1 if one was refused or a report was lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=16)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows, lost = asyncio.run(measure_all(Path(folder), options.requests, options.at_once))
    if options.json:
        print(json.dumps({"python": platform.python_version(), "lost": lost, "rows": rows}))
    else:
        print(f"{'':24}{'/s':>8}{'cpu ms':>8}{'p50 ms':>8}{'p99 ms':>8}{'bytes':>8}{'refused':>9}")
        for name, row in rows.items():
            print(
                f"{name:24}{row['per_second']:8}{row['processor_ms']:8}{row['p50_ms']:8}"
                f"{row['p99_ms']:8}{row['bytes']:8}{row['refused']:9}"
            )
        print(f"reports that were answered and not counted: {lost}")
    return 1 if lost or any(row["refused"] for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
