"""A small service with one campaign and one disclosure, that can be told to fail."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import threading
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from golden import sketches as golden_sketches
from tacit.client import Account, Client, Memory
from tacit.designs.sketches.messages import Clusters, catalogue_digest
from tests.support.small_world import DISCLOSURE, ITEM_TABLE, NOW, log, scores

ITEMS = golden_sketches.TITLES
CAMPAIGN = golden_sketches.asked(ITEMS)
CLUSTERS = Clusters(CAMPAIGN.digest, catalogue_digest(ITEMS), bytes(60), tuple(range(60)))


@dataclass
class Service:
    """What it answers by path, what it was asked, and what goes wrong next (status, headers)."""

    answers: dict = field(default_factory=dict)
    asked: list = field(default_factory=list)
    failures: deque = field(default_factory=deque)
    url: str = ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: Service

    def do_GET(self):
        self._answer(self.service.answers.get(self.path))

    def do_DELETE(self):
        self._answer(self.service.answers.get(self.path))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = self.service.answers.get(self.path)
        self._answer(answer(body) if callable(answer) else answer, body)

    def _answer(self, data, body=b""):
        self.service.asked.append((self.command, self.path, body, dict(self.headers)))
        if self.service.failures:
            status, headers, data = self.service.failures.popleft()
            if status == "drop":
                self.close_connection = True
                return
        else:
            status, headers = (404, {}) if data is None else (200, {})
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(data or b""))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data or b"")
        self.close_connection = True

    def log_message(self, *_):
        pass


class Quiet(ThreadingHTTPServer):
    """A client that leaves early is no news here."""

    def handle_error(self, *_):
        pass


@pytest.fixture
def service():
    """A running service on this machine."""
    here = Service()
    here.answers = {
        "/api/campaigns": json.dumps({"campaigns": [{"name": "films"}]}).encode(),
        "/api/campaigns/films": CAMPAIGN.encode(),
        "/api/campaigns/films/catalogue": json.dumps({"items": ITEMS}).encode(),
        "/api/campaigns/films/clusters": CLUSTERS.encode(),
        "/api/campaigns/films/reports": lambda body: b'{"counted": true}',
        "/api/disclosures": json.dumps({"disclosures": [{"name": "gender"}]}).encode(),
        "/api/disclosures/gender": DISCLOSURE.encode(),
        "/api/disclosures/gender/log": log(DISCLOSURE.digest),
        "/api/disclosures/gender/item-table": ITEM_TABLE.encode(),
        "/api/disclosures/gender/letters": scores,
        "/api/users/ann": b'{"user": "ann"}',
    }
    handler = type("Bound", (Handler,), {"service": here})
    server = Quiet(("127.0.0.1", 0), handler)
    here.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield here
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def client(service):
    """Make a client of it that does not wait between attempts."""

    def make(memory=None, account=None, **settings):
        settings = {"sleep": lambda seconds: None} | settings
        memory = Memory() if memory is None else memory
        account = Account(bytes(range(32)), NOW) if account is None else account
        return Client(service.url, "tacit_1_abc", account=account, memory=memory, **settings)

    return make


@pytest.fixture(scope="session")
def sources():
    """The folder of the TypeScript client."""
    return Path(__file__).parents[2] / "client"


@pytest.fixture(scope="session")
def npm(sources):
    """Run npm in it, with what it needs installed."""

    def run(*arguments, seconds=300):
        return subprocess.run(
            ["npm", *arguments], cwd=sources, capture_output=True, text=True, timeout=seconds
        )

    if not (shutil.which("npm") and node_version() >= 20):
        pytest.skip("no Node.js here for the TypeScript client: install version 20 with npm")
    with (sources / ".npmrc").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests may run side by side
        there = (sources / "node_modules" / ".bin" / "vitest").exists()
        installed = None if there else run("ci", seconds=600)
    if installed is not None and installed.returncode:
        pytest.skip(f"npm cannot fetch what client/ is tested with: {installed.stderr[-300:]}")
    return run


def node_version():
    """The major version of Node.js, 0 where there is none."""
    if shutil.which("node") is None:
        return 0
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
    return int(told.stdout.strip().removeprefix("v").partition(".")[0])


@pytest.fixture(scope="session")
def built(npm, tmp_path_factory):
    """Sources and vectors of the TypeScript client, compiled."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "package.json").write_text('{"type": "module"}')
    made = npm("exec", "--", "tsc", "-p", "tsconfig.answering.json", "--outDir", str(folder))
    assert made.returncode == 0, made.stdout + made.stderr
    return folder


class Files(SimpleHTTPRequestHandler):
    """Files of a folder, without a word."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def address(built):
    """Where the compiled client is served from."""
    (built / "index.html").write_text("<!doctype html><title>client</title>")
    (built / "favicon.ico").write_bytes(b"")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(built)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()
