"""What the ledger keeps when many spend at once, processes are killed, and the power fails.

python benchmarks/studies/ledger.py [--only PART ...] [--quick] [--json] [--folder DIR]

Parts: rate, second, starts, overwriting, crowd-sqlite, crowd-postgres, kills-sqlite,
kills-postgres, power, faults. Counts of what went wrong have to be nothing; for the faults, and for
settings of SQLite that are not shipped, they have to be something. Needs a PostgreSQL server, and
for one part the package `apsw`. Exit code 1 if a count is not as it has to be. All of it takes
forty-five minutes, --quick a few.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from tacit.errors import TacitError
from tacit.ledger import Cap, Charge, Cost, Holder, Ledger, Request, Unit, open_ledger, sqlite
from tacit.ledger.log_state import BudgetState, LogState
from tacit.ledger.transactions import SpendRequest

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.support import ledger_faults as faults
from tests.support.ledger_checkpoints import PROBES, Place, checkpoints_every
from tests.support.ledger_crowds import crowd
from tests.support.ledger_kills import kill_server, kill_spenders
from tests.support.ledger_suite import LedgerConformance
from tests.support.postgres_server import Server, programs, server

Opened = Callable[[], Ledger]
Rows = list[dict[str, Any]]


class Bench:
    """Sizes, and a place for ledgers."""

    def __init__(self, folder: Path, *, quick: bool) -> None:
        self.folder, self.quick = folder, quick
        self.made = 0

    def of(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def in_a_file(self) -> Opened:
        self.made += 1
        path = self.folder / f"{self.made}.db"
        return lambda: open_ledger(path, patience=300)

    def on(self, postgres: Server, patience: float = 300) -> Opened:
        self.made += 1
        head = self.folder / f"{self.made}.head"
        address = postgres.database()
        return lambda: open_ledger(address, second=head, patience=patience)


@contextmanager
def postgres() -> Iterator[Server]:
    folder = programs()
    if folder is None:
        sys.exit(
            "No PostgreSQL server here: install Debian's package 'postgresql', or --only others."
        )
    with server(folder) as running:
        yield running


def rate(bench: Bench) -> Rows:
    """Releases a second by forty threads, on both stores; a release charges two budgets."""
    rows = []
    for _ in range(bench.of(3, 1)):
        rows.append(_rate("SQLite", bench.in_a_file(), bench.of(8000, 2000)))
        with checkpoints_every(10**9, running=1000):  # ten times as often as is shipped
            often = _rate("SQLite", bench.in_a_file(), bench.of(8000, 2000))
        rows.append({**often, "store": "SQLite, a checkpoint after every 1,000"})
    with postgres() as running:
        rows.append(_rate("PostgreSQL", bench.on(running), bench.of(8000, 2000)))
    return rows


def second(bench: Bench) -> Rows:
    """What a second place in PostgreSQL costs a ledger in SQLite, beside one in a file: one thread,
    so that each release is a commit of its own, and forty; in turns."""
    rows: Rows = []
    with postgres() as running:
        for threads in (1, 40):
            for _ in range(bench.of(3, 2)):
                for place in ("a file", "PostgreSQL"):
                    path = bench.folder / f"second{len(rows)}.db"
                    head = f"{path}.head" if place == "a file" else running.database()
                    opened = partial(open_ledger, path, second=head, patience=300)
                    releases = bench.of(1000, 400) * (1 if threads == 1 else 4)
                    rows.append(_rate(f"SQLite, head in {place}", opened, releases, threads))
    return rows


def _rate(store: str, opened: Opened, releases: int, threads: int = 40) -> dict[str, Any]:
    films = Holder.dataset("shop", "films")
    people = [Holder.subject("shop", f"u{n}") for n in range(threads)]
    waits: list[float] = []
    with opened() as ledger:
        for holder in (films, *people):
            ledger.open_budget(holder, Cap.pure("1000"))

        def spend(thread: int) -> None:
            charges = [Charge(holder, Cost(Unit.PURE, 1)) for holder in (films, people[thread])]
            for n in range(releases // threads):
                began = time.perf_counter()
                request = Request("shop", f"s{thread}", "list", f"k{n}", b"p")
                ledger.release(request, charges, lambda _: bytes(200))
                waits.append(time.perf_counter() - began)

        crowd = [threading.Thread(target=spend, args=(n,)) for n in range(threads)]
        began, worked = time.perf_counter(), time.process_time()
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()
        seconds, cpu = time.perf_counter() - began, time.process_time() - worked
    waits.sort()
    return {
        "store": store,
        "threads": threads,
        "releases": len(waits),
        "a second": round(len(waits) / seconds),
        "CPU ms each": round(1000 * cpu / len(waits), 2),
        "median ms": round(1000 * waits[len(waits) // 2], 1),
        "99 % ms": round(1000 * waits[len(waits) * 99 // 100], 1),
        "right": True,
    }


def starts(bench: Bench) -> Rows:
    """Seconds that `open_ledger` takes: with a replay of everything, and from a checkpoint."""
    sizes = (2_000,) if bench.quick else (50_000, 200_000)
    rows = [_starts("SQLite", bench.in_a_file(), entries) for entries in sizes]
    with postgres() as running:
        rows.append(_starts("PostgreSQL", bench.on(running), sizes[0]))
    return [*rows, _text(bench.of(100_000, 1_000))]


def _text(budgets: int) -> dict[str, Any]:
    """What a checkpoint of many budgets takes, besides the store."""
    told = LogState(ledger="0" * 32)
    for n in range(budgets):
        told.budgets[n] = BudgetState(
            "shop", "subject", f"person-{n:010}", "pure", 10**6, 0, None, n
        )
    began = time.perf_counter()
    text = told.text()
    made = time.perf_counter()
    again = LogState.from_text(text)
    read = time.perf_counter()
    return {
        "text of a checkpoint, budgets": budgets,
        "bytes": len(text),
        "made s": made - began,
        "read s": read - made,
        "right": again is not None and again.budgets == told.budgets,
    }


def _starts(store: str, opened: Opened, entries: int) -> dict[str, Any]:
    people = [Holder.subject("shop", f"u{n}") for n in range(entries // 50)]
    with checkpoints_every(10**9), opened() as ledger:
        for holder in people:
            ledger.open_budget(holder, Cap.pure("1000"))
        _filled(ledger, people, entries - ledger.head.sequence)
    whole = _started(opened, least=10**9)
    written = _started(opened, least=1)
    quick = _started(opened, least=10**9)
    with opened() as ledger:
        began = time.perf_counter()
        sound = ledger.verify().is_sound
        verified = time.perf_counter() - began
        with checkpoints_every(10**9):
            _filled(ledger, people, 1_000, "more")
            ledger.close()
    later = _started(opened, least=10**9)
    return {
        "store": store,
        "entries": entries,
        "budgets": len(people),
        "all replayed s": whole,
        "and a checkpoint written s": written,
        "from the checkpoint s": quick,
        "1,000 entries later s": later,
        "verify s": verified,
        "right": sound and quick < whole,
    }


def _started(opened: Opened, least: int) -> float:
    with checkpoints_every(least):
        began = time.perf_counter()
        ledger = opened()
        seconds = time.perf_counter() - began
        ledger.close()
    return seconds


def _filled(ledger: Ledger, people: list[Holder], entries: int, key: str = "k") -> None:
    """Releases of 200 bytes from one budget each, many in a transaction: their number counts."""
    step = Cost(Unit.PURE, 1)
    for at in range(0, entries, 500):
        ledger.release_all(
            [
                SpendRequest(
                    Request("shop", f"s{n % 100}", "list", f"{key}{n}", b"p"),
                    (Charge(people[n % len(people)], step),),
                    lambda *_: (bytes(200), None),
                )
                for n in range(at, min(at + 500, entries))
            ]
        )


def overwriting(bench: Bench) -> Rows:
    """What it costs SQLite to overwrite a kept state that was replaced, and what it replaced."""
    rows = []
    for size in (2_000, 200_000):
        spent: dict[bool, list[float]] = {True: [], False: []}
        for turn in range(2 * bench.of(5, 2)):
            spent[turn % 2 == 0] += _kept_states(bench, size, overwritten=turn % 2 == 0)
        on, off = (1000 * sorted(waits)[len(waits) // 2] for waits in spent.values())
        rows.append({"state bytes": size, "median ms": on, "without ms": off, "right": True})
    return rows


def _kept_states(bench: Bench, size: int, *, overwritten: bool) -> list[float]:
    settings = {**sqlite.OWNER_SETTINGS, "secure_delete": int(overwritten)}
    before, sqlite.OWNER_SETTINGS = sqlite.OWNER_SETTINGS, settings
    waits = []
    try:
        with bench.in_a_file()() as ledger:
            for n in range(100):
                state = bytes([n]) * size
                request = Request("shop", "s", "list", f"k{n}", b"p")
                began = time.perf_counter()
                ledger.release(request, [], lambda *_, new=state: (b"", new), state="a")
                waits.append(time.perf_counter() - began)
    finally:
        sqlite.OWNER_SETTINGS = before
    return waits


def crowd_sqlite(bench: Bench) -> Rows:
    """200 spenders x 500 spends on SQLite, in its owner."""
    return [_crowd("SQLite", bench, bench.in_a_file())]


def crowd_postgres(bench: Bench) -> Rows:
    """The same on PostgreSQL, by two openings."""
    with postgres() as running:
        return [_crowd("PostgreSQL", bench, bench.on(running))]


def _crowd(store: str, bench: Bench, opened: Opened) -> dict[str, Any]:
    spenders, times = bench.of(200, 40), bench.of(500, 20)
    openings, cap = 1 if store == "SQLite" else 2, spenders * times * 3 // 200
    found = crowd(opened, spenders=spenders, times=times, cap=cap, openings=openings)
    return {"store": store, **asdict(found), "right": found.sound}


def kills_sqlite(bench: Bench) -> Rows:
    """A spending process killed with SIGKILL, SQLite."""
    found = kill_spenders(bench.in_a_file(), bench.of(300, 10))
    return [{"store": "SQLite", "killed": "spender", **asdict(found), "right": found.sound}]


def kills_postgres(bench: Bench) -> Rows:
    """The whole server killed with SIGKILL."""
    with postgres() as running:
        found = kill_server(bench.on(running, 30), running, bench.of(30, 3))
    return [{"store": "PostgreSQL", "killed": "server", **asdict(found), "right": found.sound}]


def power(bench: Bench) -> Rows:
    """Images of a disk after a power cut: as shipped, and two controls that have to lose some."""
    from tests.support.ledger_power import DELETED, UNSAFE, cut, record, shipped

    rows = []
    recording = record(bench.folder)
    with _in_memory() as folder:
        for name, settings, images, safe in (
            ("truncated journal, EXTRA (shipped)", shipped(), bench.of(1000, 100), True),
            ("write-ahead log, NORMAL", UNSAFE, bench.of(200, 50), False),
            ("deleted journal, FULL", DELETED, bench.of(200, 100), False),
        ):
            found = cut(recording, settings, folder, images, seed=2)
            wrong = found.lost + found.corrupt
            rows.append({"settings": name, **asdict(found), "right": (wrong == 0) == safe})
    return rows


def planted(bench: Bench) -> Rows:
    """Every planted fault, and what notices it."""
    rows = []
    for fault, test in faults.NOTICED.items():
        with faults.planted(fault):
            rows.append(_row(fault, "SQLite", "shared suite", _failed(bench, test)))
    for fault in faults.CROWDED:
        with faults.planted(fault):
            rows.append(_row(fault, "SQLite", "crowd", _wrong(_small(bench.in_a_file()))))
    for probe, let_through in PROBES.items():
        for fault in let_through:
            with faults.planted(fault), _in_memory() as folder:
                seen = probe(Place(folder / "b.db", folder / "b.head"))
            rows.append(_row(fault, "SQLite", f"probe {probe.__name__}", seen and f"let: {seen}"))
    fault = faults.acknowledged_before_commit
    found = kill_spenders(bench.in_a_file(), bench.of(10, 4), fault)
    rows.append(_row(fault, "SQLite", "killed spender", _wrong(found)))
    with postgres() as running:
        for fault in (*faults.CROWDED, faults.sum_under_repeatable_read):
            with faults.planted(fault):
                found = _small(bench.on(running), openings=2)
                rows.append(_row(fault, "PostgreSQL", "crowd", _wrong(found)))
        running.stop()
        running.start("wal_writer_delay=10s")
        fault = faults.synchronous_commit_off
        found = kill_server(bench.on(running, 30), running, bench.of(5, 3), fault)
        rows.append(_row(fault, "PostgreSQL", "killed server", _wrong(found)))
        rows.append(_row(fault, "PostgreSQL", "start", _refused(bench, running)))
    return rows


def _small(opened: Opened, openings: int = 1) -> Any:
    return crowd(opened, spenders=8, times=12, cap=2, openings=openings)


def _row(fault: faults.Fault, store: str, by: str, seen: str) -> dict[str, Any]:
    return {"fault": fault.__name__, "store": store, "by": by, "seen": seen, "right": bool(seen)}


def _wrong(found: Any) -> str:
    """The counts that are not nothing."""
    if found.sound:
        return ""
    names = ("over", "lost", "changed", "miscounted", "unrefused")
    counts = [f"{name} {getattr(found, name)}" for name in names if getattr(found, name, 0)]
    said = getattr(found, "errors", ()) or getattr(found, "problems", ())
    return "; ".join([*counts, *(line[:60] for line in said[:1])])


def _failed(bench: Bench, test: str) -> str:
    class Suite(LedgerConformance):
        def __init__(self) -> None:
            bench.made += 1
            self.path = bench.folder / f"{bench.made}.db"

        def fresh(self) -> Ledger:
            from tacit.ledger import operator_anchor
            from tests.support.ledger_requests import KEY

            return open_ledger(self.path, operator=operator_anchor(KEY))

        def reopened(self) -> Ledger:
            return open_ledger(self.path, create=False)

    try:
        getattr(Suite(), test)()
    except (AssertionError, TacitError):
        return test
    return ""


def _refused(bench: Bench, running: Server) -> str:
    address = running.database() + "%20-csynchronous_commit%3Doff"
    try:
        open_ledger(address, second=bench.folder / "refused.head").close()
    except TacitError as refused:
        return str(refused)[:60]
    return ""


@contextmanager
def _in_memory() -> Iterator[Path]:
    """Images are many and small, and no disk has to keep them."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


PARTS: dict[str, Callable[[Bench], Rows]] = {
    "rate": rate,
    "second": second,
    "starts": starts,
    "overwriting": overwriting,
    "crowd-sqlite": crowd_sqlite,
    "crowd-postgres": crowd_postgres,
    "kills-sqlite": kills_sqlite,
    "kills-postgres": kills_postgres,
    "power": power,
    "faults": planted,
}


def versions() -> dict[str, str]:
    import psycopg
    import sqlalchemy

    folder = programs()
    said = "none" if folder is None else _said(str(folder / "postgres"), "--version")
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "sqlalchemy": sqlalchemy.__version__,
        "psycopg": psycopg.__version__,
        "postgresql": said,
    }


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def show(part: str, rows: Rows, seconds: float) -> None:
    print(f"\n{part}: {PARTS[part].__doc__}  ({seconds:.0f} s)")
    for row in rows:
        mark = "  ok   " if row["right"] else "  WRONG"
        facts = ", ".join(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in row.items()
            if name != "right" and value != ()
        )
        print(f"{mark} {facts}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--json", action="store_true", help="one JSON object at the end")
    parser.add_argument(
        "--folder", type=Path, help="where the ledgers are made; a disk, not memory"
    )
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tacit-ledger-", dir=given.folder))
    report: dict[str, Any] = {"versions": versions(), "quick": given.quick, "parts": {}}
    try:
        bench = Bench(folder, quick=given.quick)
        for part in given.only:
            began = time.monotonic()
            rows = PARTS[part](bench)
            seconds = time.monotonic() - began
            report["parts"][part] = {"seconds": seconds, "rows": rows}
            if not given.json:
                show(part, rows, seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if given.json:
        print(json.dumps(report, indent=1))
    else:
        print("\n" + ", ".join(f"{name} {version}" for name, version in report["versions"].items()))
    wrong = [row for found in report["parts"].values() for row in found["rows"] if not row["right"]]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
