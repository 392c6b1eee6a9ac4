"""Two vendors in two processes, forwarding to each other, while one of them fails in some way.

python benchmarks/two_vendors.py [--visits 2000] [--scenarios alone alive killed ...]

For each way to fail: visits per second, how long the slowest answer took, which answers were none,
how often a neighbour's video was shown, and the mean chance of a click on what was shown, in the
second half of the visits. Clicks are generated (`tacit.service.demos.vendors`), and so is what the
neighbour says of them. A report on one machine, where both processes, the visitors and the tap
between the vendors share the cores.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
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

from tacit.service.demos.vendors import NAMES, TENANT, VIDEOS, clicks, make_two
from tacit.service.keys import KeyRing, read_secret

HOST = "127.0.0.1"
LIMITS = "\n[service]\nper_second = 1e6\nburst = 1000000\n"
USERS = 48
SEEN = 0.3
"""Share of clicks on a neighbour's video that home sees itself."""
HOSTILE = ("drip", "flood", "redirect", "html", "corrupt", "reset", "hang", "unsigned")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


@dataclass
class Process:
    """`tacit serve` on one folder and port."""

    folder: Path
    port: int
    operator: str
    running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it answers."""
        self.begin()
        self.wait()

    def begin(self) -> None:
        """It will answer."""
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
        """Until it answers."""
        assert self.running is not None
        assert self.running.stdout is not None
        if not self.running.stdout.readline():
            raise RuntimeError((self.folder / "log.jsonl").read_text())

    def send(self, number: int) -> None:
        """To the process, such as SIGSTOP."""
        assert self.running is not None
        self.running.send_signal(number)

    def end(self, number: int = signal.SIGTERM) -> None:
        """With SIGKILL there is no goodbye."""
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
        """POST on a connection of its own; repeat: an Idempotency-Key that was used."""
        begun = time.perf_counter()
        connection = http.client.HTTPConnection(HOST, self.port, timeout=10)
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
        """Her key."""
        ring = KeyRing(
            self.folder / "keys.json", read_secret(self.folder / "service.secret"), TENANT
        )
        return ring.person_key(name)


@dataclass(frozen=True)
class Answer:
    """status 0: none came."""

    status: int
    body: bytes
    seconds: float

    def json(self) -> dict[str, str]:
        """Of a 200."""
        content: dict[str, str] = json.loads(self.body)
        return content


@dataclass
class Tap:
    """Stands between two vendors: records every byte, and answers in the other's place if told."""

    port: int
    target: int
    mode: str = "pass"
    crossed: list[bytes] = field(default_factory=list)
    back: list[bytes] = field(default_factory=list)
    _open: bool = True

    def __enter__(self) -> Tap:
        self._listening = socket.create_server((HOST, self.port))
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._open = False
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(2)

    def posted(self) -> list[tuple[dict[str, str], bytes]]:
        """Headers (names in small letters, and `path`) and body of each POST that crossed."""
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
        while self._open:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(5)
            try:
                data = _request(connection)
                self.crossed.append(data)
                looks = data.startswith(b"GET")  # whether it is ready: that is always told
                getattr(self, "_pass" if looks else f"_{self.mode}")(connection, data)
            except OSError:
                return

    def _pass(self, connection: socket.socket, data: bytes) -> None:
        connection.sendall(self._answer(data))

    def _answer(self, data: bytes) -> bytes:
        with socket.create_connection((HOST, self.target), timeout=5) as other:
            other.sendall(data)
            answer = _request(other)
        self.back.append(answer)
        return answer

    def _drip(self, connection: socket.socket, data: bytes) -> None:
        for sign in self._answer(data):
            connection.sendall(bytes([sign]))
            time.sleep(0.02)

    def _flood(self, connection: socket.socket, _: bytes) -> None:
        head = "HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n"
        connection.sendall(f"{head}content-length: {10 * 2**30}\r\n\r\n".encode())
        for _ in range(10 * 2**10):
            connection.sendall(bytes(1 << 20))

    def _redirect(self, connection: socket.socket, _: bytes) -> None:
        place = f"location: http://{HOST}:{self.target}/healthz\r\n"
        connection.sendall(f"HTTP/1.1 307 There\r\n{place}content-length: 0\r\n\r\n".encode())

    def _html(self, connection: socket.socket, data: bytes) -> None:
        answer = self._answer(data)
        connection.sendall(answer.replace(b"application/octet-stream", b"text/html; charset=x-"))

    def _corrupt(self, connection: socket.socket, data: bytes) -> None:
        answer = bytearray(self._answer(data))
        answer[-1] ^= 1
        connection.sendall(bytes(answer))

    def _unsigned(self, connection: socket.socket, data: bytes) -> None:
        answer = self._answer(data)
        connection.sendall(answer.replace(b"signature-input:", b"signature-other:"))

    def _reset(self, connection: socket.socket, _: bytes) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0] + [0] * 4))

    def _hang(self, connection: socket.socket, _: bytes) -> None:
        time.sleep(3)


def _request(connection: socket.socket) -> bytes:
    """One message of HTTP with a length, or none."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    sizes = [int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")]
    while sizes and len(body) < sizes[0]:
        body += _some(connection)
    return head + b"\r\n\r\n" + body


def _some(connection: socket.socket) -> bytes:
    part = connection.recv(1 << 16)
    if not part:
        raise ConnectionError
    return part


@dataclass
class Two:
    """cinema and arthouse; cinema reaches arthouse through the tap."""

    home: Process
    other: Process
    tap: Tap


@contextmanager
def two_vendors(folder: Path, *, videos: int = VIDEOS, **settings: float) -> Iterator[Two]:
    """Both of them up, until the end."""
    ports, tapped = (free_port(), free_port()), free_port()
    folders = (folder / NAMES[0], folder / NAMES[1])
    addresses = (f"http://{HOST}:{ports[0]}", f"http://{HOST}:{tapped}")
    keys = make_two(folders, addresses, videos=videos, **settings)
    for place in folders:
        with (place / "tacit.toml").open("a") as file:
            file.write(LIMITS)
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
    """What one scenario gave."""

    scenario: str
    answers: list[Answer] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def told(self) -> dict[str, object]:
        """Of all visits, and of the second half."""
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


SCENARIOS = ("alone", "alive", "killed", "stopped", "drip", "flood", "hang", "lying")


def run(scenario: str, visits: int, seed: int, folder: Path, threads: int = 16) -> Row:
    """One scenario on its own pair. What fails begins to fail after a quarter of the visits."""
    world, generator = clicks(), np.random.default_rng(seed)
    contexts, uniform = generator.random((visits, 2)), generator.random((visits, 2))
    means = world.means(contexts)
    row = Row(scenario)
    settings = {"epsilon": 3.0, "horizon": visits, "lifetime": 1e6, "caution_epsilon": 0.5}
    epoch = max(50, visits // 20)
    with two_vendors(folder, epoch=epoch, share=1.0, **settings) as two:
        keys = [two.home.person(f"user-{number}") for number in range(USERS)]
        if scenario == "alone":
            two.other.end()
        for key in keys:  # opens their budgets
            two.home.ask(f"/api/vendors/{NAMES[0]}/visits", key, {"context": [0.5, 0.5]})
        numbers, lock = itertools.count(), threading.Lock()

        def one(_: int) -> None:
            with lock:
                number = next(numbers)
            if number == visits // 4:
                _fail(two, scenario)
            _visit(two, row, scenario, number, keys, contexts, uniform, means, lock)

        begun = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(one, range(visits)))
        row.seconds = time.perf_counter() - begun
    return row


def _fail(two: Two, scenario: str) -> None:
    if scenario == "killed":
        two.other.end(signal.SIGKILL)
    elif scenario == "stopped":
        two.other.send(signal.SIGSTOP)
    elif scenario in HOSTILE:
        two.tap.mode = scenario


def _visit(
    two: Two,
    row: Row,
    scenario: str,
    number: int,
    keys: Sequence[str],
    contexts: np.ndarray,
    uniform: np.ndarray,
    means: np.ndarray,
    lock: threading.Lock,
) -> None:
    key = keys[number % len(keys)]
    path = f"/api/vendors/{NAMES[0]}"
    answer = two.home.ask(f"{path}/visits", key, {"context": contexts[number].tolist()})
    with lock:
        row.answers.append(answer)
    if answer.status != 200:
        return
    shown = answer.json()
    vendor, place = shown["video"].rsplit("-", 1)
    chance = float(means[number, NAMES.index(vendor) * VIDEOS + int(place) - 1])
    with lock:
        row.sources.append(shown["source"])
        row.chances.append(chance)
    clicked = bool(uniform[number, 0] < chance)
    theirs = shown["source"] == "neighbour"
    if not theirs or uniform[number, 1] < SEEN:
        two.home.ask(f"{path}/visits/{shown['visit']}/reward", key, {"clicked": clicked})
    if theirs and two.other.running is not None and scenario != "stopped":
        said = clicked != (scenario == "lying")
        place = f"/api/vendors/{NAMES[1]}/guests/{shown['reference']}/reward"
        two.other.ask(place, two.other.operator, {"clicked": said})


def main() -> None:
    """Print a line of JSON for each scenario."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--visits", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=SCENARIOS)
    given = parser.parse_args()
    for scenario in given.scenarios:
        with tempfile.TemporaryDirectory(prefix="two-vendors-") as folder:
            row = run(scenario, given.visits, given.seed, Path(folder), given.threads)
        print(json.dumps(row.told()), flush=True)


if __name__ == "__main__":
    main()
