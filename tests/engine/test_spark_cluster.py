"""Spark's own server with two workers of which one dies, fails or is slow in mid-job."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.data.stored_ratings import StoredRatings
from tacit.designs.private import Account
from tacit.designs.xmap.files import collect_published_arrays
from tacit.ledger import Holder, open_ledger
from tacit.mechanisms import samplers
from tests.support.stored_world import local, public, write_world

pytestmark = pytest.mark.long
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.speculation": "true",
    "spark.speculation.interval": "200ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "2s",
    "spark.ui.enabled": "false",
}


def home() -> Path | None:
    """Where Spark is: SPARK_HOME, or the package pyspark if it has the server."""
    found = os.environ.get("SPARK_HOME")
    if found is None and (spec := find_spec("pyspark")) is not None and spec.origin:
        found = str(Path(spec.origin).parent)
    return Path(found) if found and (Path(found) / "jars").is_dir() else None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.5)
        else:
            return


@pytest.fixture(scope="module")
def remote(missing, tmp_path_factory):
    """The address of a server with two workers of one core. They have addresses of their own: no
    second attempt is made on the machine of the first, however slow it is."""
    place = home()
    if place is None or shutil.which("java") is None:
        missing("Spark 4 with its server, in SPARK_HOME, or java is not installed")
    port, master = free_port(), free_port()
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(place)}
    started: list[subprocess.Popen] = []

    def start(*words: object) -> None:
        group = started[0].pid if started else 0
        started.append(
            subprocess.Popen(
                [str(place / "bin" / words[0]), *map(str, words[1:])],
                env=environment,
                process_group=group,
                cwd=tmp_path_factory.mktemp("spark"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    package, own = "org.apache.spark.deploy", f"spark://127.0.0.1:{master}"
    start("spark-class", f"{package}.master.Master", "--host", "127.0.0.1", "--port", master)
    wait_for(master)
    for host in ("127.0.0.1", "127.0.0.2"):
        alone = ("--cores", 1, "--memory", "1g", "--host", host, "--work-dir", "work")
        start("spark-class", f"{package}.worker.Worker", *alone, own)
    given = SETTINGS | {"spark.connect.grpc.binding.port": port, "spark.driver.host": "127.0.0.1"}
    settings = [word for name, value in given.items() for word in ("--conf", f"{name}={value}")]
    server = ("--class", "org.apache.spark.sql.connect.service.SparkConnectServer")
    start("spark-submit", "--master", own, *settings, *server, "spark-internal")
    wait_for(port)
    yield f"sc://127.0.0.1:{port}"
    os.killpg(started[0].pid, signal.SIGKILL)  # also what they started
    for process in started:
        process.wait()


class Faulty(StoredRatings):
    """Ratings of which one task of each sum fails in a certain way, the first time it is done."""

    def __init__(self, ratings, fault, folder):
        self.catalogue, self.ratings = ratings.catalogue, ratings
        self.fault, self.folder, self.sums = fault, folder, 0

    def total(self, add):
        fault, mark = self.fault, self.folder / f"{self.fault}-{self.sums}"
        self.sums += 1

        def broken(block):
            if len(block) and not mark.exists():
                try:
                    mark.touch(exist_ok=False)
                except FileExistsError:
                    return add(block)
                if fault == "fails":
                    raise RuntimeError("forced")
                if fault == "is slow":
                    time.sleep(60)
                if fault == "dies":  # Python's daemon's parent is the worker
                    daemon = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2]
                    os.kill(int(daemon.split()[1]), signal.SIGKILL)
                    time.sleep(60)
            return add(block)

        return self.ratings.total(broken)


@pytest.mark.parametrize("fault", ["dies", "fails", "is slow"])
def test_a_fault_changes_no_sum_and_draws_no_noise_again(fault, remote, tmp_path, monkeypatch):
    """In every sum a worker dies, a task fails, or one is so slow that another does its work: what
    is released is what a fit in memory releases, drawn once for each sum, and charged once."""
    from tacit.engine.spark import open_spark

    drawn = []

    def noise(values, sigma):
        drawn.append(values.shape)
        return values + np.random.default_rng(values.size).integers(-3, 4, values.shape)

    monkeypatch.setattr(samplers, "discrete_gaussian", noise)
    files = write_world(tmp_path)
    expected = tacit.Private(1.0, mode="taste").fit(local(files))
    draws = drawn.copy()
    with (
        open_ledger(str(tmp_path / "l.db")) as ledger,
        open_spark(str(files[0]), remote, {}, public(files[1]), events=False, tasks=5) as ratings,
    ):
        faulty = Faulty(ratings, fault, tmp_path)
        start = time.monotonic()
        model = tacit.Private(1.0, mode="taste", lifetime=3.0)
        model.fit(faulty, account=Account(ledger))
        took = time.monotonic() - start
        spent = ledger.balance(Holder.dataset("tacit", "ratings")).spent
    assert faulty.sums == 4
    assert len([*tmp_path.glob(f"{fault}-*")]) == 4  # it did happen
    assert drawn == 2 * draws
    assert spent == model.releases_[-1].steps
    for name, array in expected.parts()[1].items():
        np.testing.assert_array_equal(array, model.parts()[1][name], name)
    assert fault != "is slow" or took < 4 * 60


def test_the_published_x_map_is_equal_to_the_bit(remote, tmp_path, monkeypatch):
    """By joins on two workers."""
    from tacit.engine import item_item_tiles
    from tacit.engine.spark import open_spark

    monkeypatch.setattr(item_item_tiles, "RATINGS_PER_PART", 2_500)
    files = write_world(tmp_path)
    asked = {"source": "s", "target": "t", "variant": "published", "epsilon": float("inf")}
    model = tacit.XMap(**asked, k=6).fit(local(files))
    with open_spark(str(files[0]), remote, {}, public(files[1]), events=False, tasks=3) as ratings:
        other = tacit.XMap(**asked, k=6).fit(ratings)
    for name, array in collect_published_arrays(model.published_).items():
        np.testing.assert_array_equal(array, collect_published_arrays(other.published_)[name], name)
