"""How fast the service's own part of each POST of campaigns, disclosures and rounds is.

python benchmarks/served_designs.py [--requests N] [--threads N] [--json]

Sixteen threads call the resources of one process over one SQLite ledger: charge, draw, state,
answer, on disk. HTTP is left out. `bytes` is what the ledger's file grew by for each request.
Exit code 1 if a request was refused or a report was lost.
"""

from __future__ import annotations

import argparse
import json
import platform
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fastapi import Response

from tacit.designs.prec import serve as rounds
from tacit.designs.prec.serve import rounds as served_rounds
from tacit.designs.sketches import Report
from tacit.designs.sketches import serve as campaigns
from tacit.designs.sketches.serve import campaigns as served_campaigns
from tacit.designs.standard_scheme import serve as disclosures
from tacit.designs.standard_scheme.serve import operator as served_disclosures
from tacit.service import Service, Settings, open_service
from tacit.service.idempotency import remove_salt
from tacit.service.keys import Caller, Role

Ask = Callable[[int], Response]
VOTERS = 300


def service(folder: Path) -> Service:
    """Campaigns, disclosures and rounds of the demonstration."""
    demos = (served_campaigns, served_disclosures, served_rounds)
    sections = [demo.make_demo(folder) for demo in demos]
    (folder / "tacit.toml").write_text("\n".join(['tenant = "bench"', *sections]))
    return open_service(Settings(folder))


def person(name: str) -> Caller:
    return Caller("bench", Role.SUBJECT, name)


def key() -> str:
    return secrets.token_hex(8)


def kinds(running: Service) -> dict[str, Ask]:
    """Each POST of a person, for the request of that number."""
    campaign = running.deployment.find_all(served_campaigns.ServedCampaign)["taste"].campaign
    disclosure = running.deployment.find_all(disclosures.ServedDisclosure)["gender"]
    clients = running.deployment.find_all(served_rounds.ServedRounds)["films"].settings.clients or 1
    items = dict.fromkeys(disclosure.disclosure.items[:40], 4.0)
    device = disclosure.model.device({"gender": "F"})
    made = device.release(items, 0).encode()

    def report(number: int) -> Response:
        bits = secrets.randbits(campaign.questions)
        sent = Report(campaign.id, secrets.randbits(63) + 1, bits).encode()
        return campaigns.reports(running, person(f"p{number}"), key(), "taste", sent)

    def letter(number: int) -> Response:
        return disclosures.letters(running, person(f"p{number}"), key(), "gender", made)

    def vote(number: int) -> Response:
        body = rounds.Vote(candidate=1 + number % 3)
        return rounds.votes(running, person(f"p{number % VOTERS}"), key(), "films", body)

    def recommendation(number: int) -> Response:
        return rounds.recommendations(running, person(f"p{number % clients}"), key(), "films")

    return {
        "reports of new people": report,
        "letters": letter,
        "votes": vote,
        "recommendations": recommendation,
    }


def timed(ask: Ask, requests: int, threads: int) -> dict[str, Any]:
    """Requests in a second, milliseconds of processor time for each, and what came."""
    took: list[float] = []

    def one(number: int) -> int:
        begun = time.perf_counter()
        status = ask(number).status_code
        took.append(time.perf_counter() - begun)
        return status

    begun, processor = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(threads) as pool:
        statuses = Counter(pool.map(one, range(requests)))
    seconds = time.perf_counter() - begun
    took.sort()
    return {
        "per_second": round(requests / seconds),
        "processor_ms": round(1000 * (time.process_time() - processor) / requests, 1),
        "p50_ms": round(1000 * took[requests // 2]),
        "p99_ms": round(1000 * took[int(0.99 * requests)]),
        "refused": requests - statuses[200],
    }


def stored(folder: Path) -> int:
    """Bytes of the ledger's file, when its write-ahead log was brought into it."""
    while (folder / "budgets.db-wal").stat().st_size:
        time.sleep(0.05)
    return (folder / "budgets.db").stat().st_size


def counted(running: Service) -> int:
    """Reports in the campaign's counts."""
    served = running.deployment.find_all(served_campaigns.ServedCampaign)["taste"]
    kept = remove_salt(running.ledger.state(f"bench/{served.state}"))
    return served.counts(kept).counts.reports


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        running = service(Path(folder))
        operator = Caller("bench", Role.OPERATOR, "operator")
        rounds.open_round(running, operator, key(), "films", rounds.Opening())
        announced = rounds.Announcement(candidates=[1, 2, 3])
        rounds.announce(running, operator, key(), "films", announced)
        before, asked = counted(running), kinds(running).items()
        rows = {}
        for name, ask in asked:
            size = stored(Path(folder))
            rows[name] = timed(ask, given.requests, given.threads)
            rows[name]["bytes"] = round((stored(Path(folder)) - size) / given.requests)
        lost = before + given.requests - counted(running)
        running.close()
    if given.json:
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
