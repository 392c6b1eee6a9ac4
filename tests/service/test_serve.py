"""`tacit serve` as a process: it starts, says where, stops, and says what is wrong."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
import urllib.request
from pathlib import Path

import pytest

from tacit.cli.app import main


@pytest.fixture
def nothing_served(folder: Path) -> None:
    """The folder has no sections, so that processes start sooner: for tests of processes alone."""
    (folder / "tacit.toml").write_text('tenant = "demo"\n')


def test_it_answers_and_stops(started):
    """A started service answers, and SIGTERM ends it with exit code 0."""
    running = started()
    with urllib.request.urlopen(f"{running.address}/readyz") as answer:
        assert answer.status == 200
    assert running.stop() == 0
    assert "Traceback" not in running.log()


def test_several_workers(two_workers):
    """With two workers both answer from one address, and stop together."""
    running = two_workers()
    for _ in range(10):
        with urllib.request.urlopen(f"{running.address}/readyz") as answer:
            assert answer.status == 200
    assert running.stop() == 0
    events = [json.loads(line)["event"] for line in running.lines]
    assert events.count("started") == 2
    assert "Traceback" not in running.log()


def test_several_workers_need_a_server(folder, capsys):
    """A ledger in a file has one writer: one sentence names both ways out."""
    assert main(["serve", str(folder), "--workers", "2"]) == 2
    told = capsys.readouterr().err
    assert "PostgreSQL" in told
    assert "--workers 1" in told
    assert not (folder / "budgets.db").exists()


@pytest.mark.usefixtures("nothing_served")
def test_a_worker_that_dies(two_workers, folder, wait_until):
    """Another one takes its place, even if it was asked how it is while it died. It reads
    tacit.toml as it was at the start."""
    running = two_workers()
    (folder / "tacit.toml").write_text("edited since")
    killed: set[int] = set()
    for _ in range(2):
        first = workers_of(running)[0]
        os.kill(first, signal.SIGSTOP)
        time.sleep(1)  # whoever looks after it has begun to wait for its word
        os.kill(first, signal.SIGKILL)
        killed.add(first)
        wait_until(lambda: len({*workers_of(running)} - killed) == 2)
    wait_until(lambda: running.log().count('"event": "started"') == 4)


@pytest.mark.usefixtures("nothing_served")
def test_a_worker_that_hangs_does_not_keep_the_service(two_workers):
    """SIGTERM while a worker stands still: everything ends, and the worker with it."""
    running = two_workers()
    worker = workers_of(running)[0]
    os.kill(worker, signal.SIGSTOP)
    time.sleep(1)
    running.process.send_signal(signal.SIGTERM)
    running.process.wait(300)  # ends a test that hangs
    assert not Path(f"/proc/{worker}").exists()


@pytest.mark.usefixtures("nothing_served")
def test_a_process_above_that_is_killed(two_workers, wait_until):
    """Its workers end, and the port is free for the next service."""
    running = two_workers()
    below = workers_of(running)
    running.process.kill()
    wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in below))


def test_a_signal_during_the_start(folder, monkeypatch):
    """It ends as soon as it can, and never says that it is up."""
    from tacit.service import Settings, open_service, processes

    told = []

    def stopped(settings):
        os.kill(os.getpid(), signal.SIGTERM)
        return open_service(settings)

    def ready(address):
        told.append(address)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(processes, "open_service", stopped)
    monkeypatch.setattr(processes, "redirect_library_warnings", lambda _: None)
    monkeypatch.setattr(processes, "exit_soon", lambda: None)
    processes.serve(Settings(folder, port=0), ready)
    assert told == []


def workers_of(running) -> list[int]:
    """The processes that answer, the oldest first; one of multiprocessing's own is beside them."""
    children = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children").read_text()
    return [int(one) for one in children.split() if b"spawn_main" in command_of(one)]


def command_of(process: str) -> bytes:
    """Empty where it ended meanwhile."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_taken_port(folder, capsys):
    """A port that is taken is a sentence that names another way."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["serve", str(folder), "--port", str(port)]) == 2
    assert "--port" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "is missing"),
        ("tenant", "is not TOML"),
        ("", "names no valid tenant"),
        ('tenant = "a b"', "names no valid tenant"),
        ('tenant = "shop"\n[wonders.x]', "is no section"),
        ('tenant = "shop"\n[models]\nfilms = 3', "put 'films' into a table [models.NAME]"),
        ('tenant = "shop"\n[models."a b"]', "a name in [models.NAME] is of a-z"),
        ('tenant = "shop"\nrounds = 3\n[service]\nvisitors = true', "is no section"),
        ('tenant = "shop"\n[service]\nport = "x"', "port is missing or is no whole number"),
        ('tenant = "shop"\n[service]\nport = -1', "port is below 0"),
        ('tenant = "shop"\n[service]\ngrid = 1' + "0" * 400, "grid is too large"),
        ('tenant = "shop"\n[service]\nwonder = 1', "no setting 'wonder'"),
    ],
)
def test_a_wrong_folder(tmp_path, capsys, content, said):
    """Whatever is wrong with tacit.toml is one sentence that names the file."""
    if content is not None:
        (tmp_path / "tacit.toml").write_text(content)
    assert main(["serve", str(tmp_path), "--port", "0"]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "tacit.toml" in told


def test_the_suggested_demonstration_is_one_word(tmp_path, monkeypatch, capsys):
    """A folder's name with a blank is quoted; the current folder is named by its own name."""
    shop = tmp_path / "my shop"
    shop.mkdir()
    monkeypatch.chdir(shop)
    for word in (str(shop), "."):
        assert main(["serve", word]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert "tacit serve --demo 'my shop-demo' writes" in said


def test_no_folder(tmp_path, capsys):
    """Without a folder, or with one that is not there, the demonstration is named."""
    assert main(["serve"]) == 2
    assert "--demo" in capsys.readouterr().err
    assert main(["serve", str(tmp_path / "nothing")]) == 2
    assert "--demo" in capsys.readouterr().err


def test_a_demonstration_does_not_write_over(tmp_path, capsys):
    """--demo writes into a new or empty folder only."""
    (tmp_path / "mine").write_text("x")
    assert main(["serve", "--demo", str(tmp_path)]) == 2
    assert "not empty" in capsys.readouterr().err


def test_settings_have_an_order(folder, monkeypatch):
    """A flag goes before the environment, that before tacit.toml, and that before defaults."""
    from tacit.service import Settings

    toml = folder / "tacit.toml"
    toml.write_text(toml.read_text() + "\n[service]\nport = 1\nburst = 2\nthreads = 3\n")
    found = Settings.gather(folder, {"port": 9}, {"TACIT_PORT": "8", "TACIT_BURST": "7"})
    assert (found.port, found.burst, found.threads, found.workers) == (9, 7, 3, 1)


def test_visitors_are_warned_of(folder, capsys, monkeypatch):
    """Where a name has a budget and visitors take names, that is said; in --json in the object."""
    said = "each new name has a new budget"
    for flags, warned in (("--visitors", True), ("--no-visitors", False)):
        monkeypatch.setattr("tacit.service.processes.serve", lambda _, ready: ready("http://here"))
        assert main(["serve", str(folder), flags]) == 0
        assert (said in capsys.readouterr().err) is warned
        assert main(["serve", str(folder), "--json", flags]) == 0
        told = capsys.readouterr()
        assert told.err == ""
        warnings = [one for one in json.loads(told.out)["warnings"] if said in one]
        assert len(warnings) == warned
        if warned:
            assert "campaigns/taste, rounds/films, vendors/cinema" in warnings[0]


def test_visitors_who_cost_nothing_are_not_warned_of(folder, capsys, monkeypatch):
    """Models and disclosures charge nobody, so a new name is worth nothing there."""
    (folder / "tacit.toml").write_text('tenant = "demo"\n[models.films]\nfile = "films.tacit"\n')
    monkeypatch.setattr("tacit.service.processes.serve", lambda _, ready: ready("http://here"))
    assert main(["serve", str(folder), "--json", "--visitors"]) == 0
    assert "new name" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), "lie on one device"),
        (("--behind-tls",), "Let the proxy limit the connections"),
    ],
)
def test_what_is_warned_of(folder, capsys, monkeypatch, flags, said):
    """A second place that a restore moves back as well, and a bound that a proxy takes away."""
    monkeypatch.setattr("tacit.service.processes.serve", lambda _, ready: ready("http://here"))
    assert main(["serve", str(folder), "--no-visitors", *flags]) == 0
    assert said in capsys.readouterr().err
    elsewhere = "postgresql://second.example/heads"
    assert main(["serve", str(folder), "--no-visitors", "--second", elsewhere, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []
