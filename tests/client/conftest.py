"""A small service with one campaign and one disclosure, that can be told to fail."""

from __future__ import annotations

import json
import threading
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import golden_scheme
import golden_sketches
import pytest

from tacit.client import Client, PassingMemory
from tacit.recommenders.sketches.messages import Clusters, catalogue_digest
from tacit.recommenders.standard_scheme.messages import RELEASES, Release, Scores

ITEMS = golden_sketches.TITLES
CAMPAIGN = golden_sketches.asked(ITEMS)
CLUSTERS = Clusters(CAMPAIGN.digest, catalogue_digest(ITEMS), bytes(60), tuple(range(60)))
DISCLOSURE = golden_scheme.disclosure(RELEASES["scheme+selection+rounding"])


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


def scores(body):
    shown = Release.decode(body).disclosure
    return Scores(shown, tuple((item, 1_500_000) for item in DISCLOSURE.items)).encode()


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
        "/api/disclosures/gender/profiles": scores,
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

    def make(memory=None, **settings):
        settings = {"secret": bytes(range(32)), "sleep": lambda seconds: None} | settings
        memory = PassingMemory() if memory is None else memory
        return Client(service.url, "tacit_1_abc", memory=memory, **settings)

    return make
