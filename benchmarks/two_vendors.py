"""Two vendors in two processes, forwarding to each other, while one of them fails in some way.

python benchmarks/two_vendors.py [--visits 1000] [--share 1] [--scenarios alone alive killed ...]

For each scenario: visits per second, times of the answers, their statuses, and, in the second half
of the visits, the share in which a neighbour's video was shown, and the mean chance of a click on
the shown video. Clicks are generated (`tacit.data.clicks`). Both processes, the visitors and the
tap between the vendors share the cores of one machine.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tacit.data.clicks import generate
from tacit.designs.pdap.serve.demo import FEATURES, NAMES, TENANT, VIDEOS, make_two_deployments
from tacit.service.keys import KeyRing, read_secret

HOST = "127.0.0.1"
LIMITS: dict[str, float] = {"per_second": 1e6, "burst": 1000000, "changes_per_day": 1000000000}
"""Limits of the service that no visitor of these scenarios reaches."""
USERS = 24
"""Visitors, who visit in turns."""
EACH = 2
"""Videos of each vendor."""
HOSTILE = ("drip", "flood", "redirect", "html", "corrupt", "reset", "hang", "unsigned")


def free_port() -> int:
    """Return a port on which no program listens."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


@dataclass
class Process:
    """`tacit serve` on one folder and port."""

    folder: Path
    """The service's folder."""
    port: int
    """The port on which it listens."""
    operator: str
    """The operator's key."""
    running: subprocess.Popen[bytes] | None = None
    """The process; None before its start and after its end."""

    def start(self) -> None:
        """Start the service, and return when it answers."""
        self.begin()
        self.wait()

    def begin(self) -> None:
        """Start the service, without waiting for it."""
        with (self.folder / "log.jsonl").open("ab") as log:
            self.running = subprocess.Popen(
                [
                    *(sys.executable, "-m", "tacit.cli.app", "serve", str(self.folder)),
                    *("--port", str(self.port), "--json"),
                ],
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )

    def wait(self) -> None:
        """Wait until the service answers; RuntimeError with its log if it ends."""
        assert self.running is not None
        assert self.running.stdout is not None
        if not self.running.stdout.readline():
            raise RuntimeError((self.folder / "log.jsonl").read_text())

    def send(self, number: int) -> None:
        """Send a signal to the process, such as SIGSTOP."""
        assert self.running is not None
        self.running.send_signal(number)

    def end(self, number: int = signal.SIGTERM) -> None:
        """End the process by a signal, and wait for its end; after 12 seconds it is killed."""
        if self.running is None:
            return
        self.running.send_signal(signal.SIGCONT)
        self.running.send_signal(number)
        try:
            self.running.wait(12)
        except subprocess.TimeoutExpired:
            self.running.kill()
            self.running.wait()
        assert self.running.stdout is not None
        self.running.stdout.close()
        self.running = None

    def ask(self, path: str, key: str, content: object, repeat: str | None = None) -> Answer:
        """Send a POST request on a new connection, and return the answer.

        Args:
            path: Path of the address.
            key: Key of the person or the operator who asks.
            content: Content of the request, sent as JSON.
            repeat: The Idempotency-Key of an earlier request; None draws a new one.
        """
        begun = time.perf_counter()
        connection = http.client.HTTPConnection(HOST, self.port, timeout=300)
        headers = {
            "authorization": f"Bearer {key}",
            "content-type": "application/json",
            "idempotency-key": repeat or secrets.token_hex(8),
        }
        try:
            connection.request("POST", path, json.dumps(content), headers)
            answer = connection.getresponse()
            body = answer.read()
            return Answer(answer.status, body, time.perf_counter() - begun)
        except OSError:
            return Answer(0, b"", time.perf_counter() - begun)
        finally:
            connection.close()

    def person(self, name: str) -> str:
        """Return a person's key."""
        ring = KeyRing(
            self.folder / "keys.json", read_secret(self.folder / "service.secret"), TENANT
        )
        return ring.person_key(name)


@dataclass(frozen=True)
class Answer:
    """An answer of a vendor."""

    status: int
    """Status of HTTP; 0 if no answer came."""
    body: bytes
    """Its content."""
    seconds: float
    """Seconds from the request to the whole answer."""

    def json(self) -> dict[str, str]:
        """Return the content of an answer of status 200."""
        content: dict[str, str] = json.loads(self.body)
        return content


@dataclass
class Tap:
    """Stands between two vendors: records messages, and answers for one if `mode` says so."""

    port: int
    """The port on which it listens."""
    target: int
    """The port of the vendor that requests are for."""
    mode: str = "pass"
    """How requests are answered: "pass" as the vendor does; otherwise one of `HOSTILE`."""
    crossed: list[bytes] = field(default_factory=list)
    """All requests so far."""
    back: list[bytes] = field(default_factory=list)
    """The vendor's answers so far."""
    _open: bool = True

    def __enter__(self) -> Tap:
        """Listen on the port."""
        self._listening = socket.create_server((HOST, self.port))
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the port."""
        self._open = False
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(2)

    def posted(self) -> list[tuple[dict[str, str], bytes]]:
        """Return headers and body of each POST request so far.

        The names of headers are in small letters; under `path` is the first line of the request.
        """
        found = []
        for data in self.crossed:
            head, _, body = data.partition(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")
            if first.startswith("POST"):
                pairs = (line.split(": ", 1) for line in lines)
                found.append(
                    ({name.lower(): value for name, value in pairs} | {"path": first}, body)
                )
        return found

    def _accept(self) -> None:
        """Accept connections until the end, each in a thread of its own."""
        while self._open:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        """Record a request, and answer it as `mode` says; questions about readiness always pass."""
        with connection:
            connection.settimeout(300)
            try:
                data = _read_message(connection)
                self.crossed.append(data)
                asks_readiness = data.startswith(b"GET")
                getattr(self, "_pass" if asks_readiness else f"_{self.mode}")(connection, data)
            except OSError:
                return

    def _pass(self, connection: socket.socket, data: bytes) -> None:
        """Answer as the vendor does."""
        connection.sendall(self._answer(data))

    def _answer(self, data: bytes) -> bytes:
        """Fetch and record the vendor's answer."""
        with socket.create_connection((HOST, self.target), timeout=300) as other:
            other.sendall(data)
            answer = _read_message(other)
        self.back.append(answer)
        return answer

    def _drip(self, connection: socket.socket, data: bytes) -> None:
        """Send the vendor's answer slowly, byte by byte."""
        for sign in self._answer(data):
            connection.sendall(bytes([sign]))
            time.sleep(0.02)

    def _flood(self, connection: socket.socket, _: bytes) -> None:
        """Send an answer of 10 GiB."""
        head = "HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n"
        connection.sendall(f"{head}content-length: {10 * 2**30}\r\n\r\n".encode())
        for _ in range(10 * 2**10):
            connection.sendall(bytes(1 << 20))

    def _redirect(self, connection: socket.socket, _: bytes) -> None:
        """Send a redirection to another path of the vendor."""
        place = f"location: http://{HOST}:{self.target}/healthz\r\n"
        connection.sendall(f"HTTP/1.1 307 There\r\n{place}content-length: 0\r\n\r\n".encode())

    def _html(self, connection: socket.socket, data: bytes) -> None:
        """Send the vendor's answer with another type of content."""
        answer = self._answer(data)
        connection.sendall(answer.replace(b"application/octet-stream", b"text/html; charset=x-"))

    def _corrupt(self, connection: socket.socket, data: bytes) -> None:
        """Send the vendor's answer with its last bit flipped."""
        answer = bytearray(self._answer(data))
        answer[-1] ^= 1
        connection.sendall(bytes(answer))

    def _unsigned(self, connection: socket.socket, data: bytes) -> None:
        """Send the vendor's answer without its signature."""
        answer = self._answer(data)
        connection.sendall(answer.replace(b"signature-input:", b"signature-other:"))

    def _reset(self, connection: socket.socket, _: bytes) -> None:
        """Make the connection end with a reset when it is closed: it lingers for 0 seconds."""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0] + [0] * 4))

    def _hang(self, connection: socket.socket, _: bytes) -> None:
        """Send nothing for 20 seconds."""
        time.sleep(20)


def _read_message(connection: socket.socket) -> bytes:
    """Read one message of HTTP, with a body if it states a length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _read_part(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    sizes = [int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")]
    while sizes and len(body) < sizes[0]:
        body += _read_part(connection)
    return head + b"\r\n\r\n" + body


def _read_part(connection: socket.socket) -> bytes:
    """Read the next bytes; ConnectionError if the connection was closed."""
    part = connection.recv(1 << 16)
    if not part:
        raise ConnectionError
    return part


@dataclass
class Two:
    """Two vendors, cinema and arthouse; cinema reaches arthouse through the tap."""

    home: Process
    """The vendor cinema, whose answers are noted."""
    other: Process
    """The vendor arthouse, which fails."""
    tap: Tap
    """Stands before arthouse."""


@contextmanager
def two_vendors(
    folder: Path,
    service: dict[str, float] | None = None,
    *,
    databases: Sequence[str] = (),
    videos: int = VIDEOS,
    **settings: float,
) -> Iterator[Two]:
    """Run both vendors during the block.

    Args:
        folder: Folder in which their folders are made.
        service: Further settings of [service] in both; they replace those of `LIMITS`.
        databases: Addresses of PostgreSQL, one for each vendor; with none each has a file.
        videos: Videos of each vendor.
        settings: Further arguments of `make_two_deployments`.
    """
    limits = "".join(f"{name} = {value}\n" for name, value in (LIMITS | (service or {})).items())
    stores = ["", ""]
    if databases:
        stores = [f'database = "{address}"\nsecond = "second.head"\n' for address in databases]
    ports, tapped = (free_port(), free_port()), free_port()
    folders = (folder / NAMES[0], folder / NAMES[1])
    addresses = (f"http://{HOST}:{ports[0]}", f"http://{HOST}:{tapped}")
    keys = make_two_deployments(folders, addresses, videos=videos, **settings)
    for place, database in zip(folders, stores, strict=True):
        file = place / "tacit.toml"
        settings_text = file.read_text("utf-8")
        section = f"[service]\n{limits}{database}"
        file.write_text(settings_text.replace("[service]\n", section, 1), "utf-8")
    home, other = (
        Process(place, port, key["operator"])
        for place, port, key in zip(folders, ports, keys, strict=True)
    )
    with Tap(tapped, ports[1]) as tap:
        try:
            home.begin()
            other.begin()
            home.wait()
            other.wait()
            yield Two(home, other, tap)
        finally:
            home.end()
            other.end()


@dataclass
class Row:
    """The answers of one scenario at the first vendor."""

    scenario: str
    """One of `SCENARIOS`."""
    answers: list[Answer] = field(default_factory=list)
    """All answers to visits."""
    sources: list[str] = field(default_factory=list)
    """For each answered visit, whose video was shown, such as "neighbour"."""
    chances: list[float] = field(default_factory=list)
    """For each answered visit, the chance of a click on the shown video."""
    seconds: float = 0.0
    """Seconds of all visits together."""

    def figures(self) -> dict[str, object]:
        """Return the figures: times of all visits, and clicks of their second half."""
        times = sorted(answer.seconds for answer in self.answers)
        half = len(self.chances) // 2
        return {
            "scenario": self.scenario,
            "visits": len(self.answers),
            "per_second": round(len(self.answers) / self.seconds, 1),
            "median_ms": round(1000 * statistics.median(times)),
            "p99_ms": round(1000 * times[int(0.99 * len(times))]),
            "slowest_ms": round(1000 * times[-1]),
            "statuses": dict(Counter(str(answer.status) for answer in self.answers)),
            "by_neighbour": round(self.sources[half:].count("neighbour") / max(1, half), 3),
            "chance_of_a_click": round(statistics.fmean(self.chances[half:]), 4),
        }


SCENARIOS = ("alone", "alive", "killed", "stopped", "drip", "flood", "hang")


def run(scenario: str, folder: Path, *, visits: int, seed: int, threads: int, share: float) -> Row:
    """Run one scenario on a new pair of vendors; it fails after a quarter of the visits."""
    settings = {"epsilon": 6.0, "horizon": visits, "lifetime": 1e6, "caution_epsilon": 0.5}
    epoch = max(50, visits // 20)
    with two_vendors(folder, videos=EACH, epoch=epoch, share=share, **settings) as two:
        crowd = Crowd(two, scenario, visits, seed)
        if scenario == "alone":
            two.other.end()
        begun = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(crowd.visit, range(visits)))
        crowd.row.seconds = time.perf_counter() - begun
    return crowd.row


class Crowd:
    """Visitors of both vendors with generated clicks; the first vendor's answers are recorded."""

    def __init__(self, two: Two, scenario: str, visits: int, seed: int) -> None:
        """Generate the visitors, and open their budgets by a first visit."""
        self.two, self.scenario, self.row = two, scenario, Row(scenario)
        self._first_failing_visit = visits // 4
        self._is_stopped = False  # whether the second vendor is
        generator = np.random.default_rng(seed)
        self._contexts = generator.random((2, visits, 2))
        self._click_draws = generator.random((2, visits))
        # A generated world; the first vendor's videos come first.
        world = generate(vendors=len(NAMES), videos=VIDEOS, dimension=FEATURES, seed=3)
        self._means = [world.means(contexts) for contexts in self._contexts]
        self._lock = threading.Lock()
        names = [f"user-{number}" for number in range(USERS)]
        self._vendors = (two.home, two.other)
        self._keys: list[list[str]] = []  # by vendor, and then by visitor
        for vendor in self._vendors:
            keys = [vendor.person(name) for name in names]
            self._keys.append(keys)
            path = f"/api/vendors/{vendor.folder.name}/visits"
            for key in keys:  # opens their budgets
                vendor.ask(path, key, {"context": [0.5, 0.5]})

    def visit(self, number: int) -> None:
        """Make a visit at the second vendor, while it lives, and one at the first."""
        if number == self._first_failing_visit:
            self._fail()
        if self._other_answers:
            self._visit_vendor(1, number)
        self._visit_vendor(0, number)

    @property
    def _other_answers(self) -> bool:
        """Whether the second vendor runs and is not stopped."""
        return self.two.other.running is not None and not self._is_stopped

    def _fail(self) -> None:
        """Begin the failure of the scenario."""
        if self.scenario == "killed":
            self.two.other.end(signal.SIGKILL)
        elif self.scenario == "stopped":
            self._is_stopped = True
            self.two.other.send(signal.SIGSTOP)
        elif self.scenario in HOSTILE:
            self.two.tap.mode = self.scenario

    def _visit_vendor(self, vendor: int, number: int) -> None:
        """Make one visit at a vendor, 0 or 1, and send the click that follows from it."""
        process = self._vendors[vendor]
        path = f"/api/vendors/{NAMES[vendor]}"
        key = self._keys[vendor][number % USERS]
        context = self._contexts[vendor, number].tolist()
        answer = process.ask(f"{path}/visits", key, {"context": context})
        if vendor == 0:
            with self._lock:
                self.row.answers.append(answer)
        if answer.status != 200:
            return
        shown = answer.json()
        whose, place = shown["video"].rsplit("-", 1)
        arm = NAMES.index(whose) * VIDEOS + int(place) - 1
        chance = float(self._means[vendor][number, arm])
        if vendor == 0:
            with self._lock:
                self.row.sources.append(shown["source"])
                self.row.chances.append(chance)
        clicked = bool(self._click_draws[vendor, number] < chance)
        process.ask(f"{path}/visits/{shown['visit']}/reward", key, {"clicked": clicked})


def main() -> None:
    """Print a line of JSON for each scenario."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--visits", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=SCENARIOS)
    parser.add_argument("--share", type=float, default=1.0, help="of a new neighbour")
    numbers = vars(parser.parse_args())
    for scenario in numbers.pop("scenarios"):
        with tempfile.TemporaryDirectory(prefix="two-vendors-") as folder:
            row = run(scenario, Path(folder), **numbers)
        print(json.dumps(row.figures()), flush=True)


if __name__ == "__main__":
    main()
