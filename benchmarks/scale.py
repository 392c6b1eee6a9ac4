"""The fit of private lists where ratings lie: in memory, streamed, on pysail, on Spark.

    python benchmarks/scale.py --engine local,streaming,pysail,pyspark --events 1e6,5e6,2e7 [--json]

Generated ratings: 145 of each person, of at most 27,000 items in 18 genres. Fitted are private
lists in one domain ("private") and from one domain to another ("across"), the published X-Map
without noise ("published"), and counts of as many reports of sketches ("reports"). Each fit is a
process of its own, with a server if the engine needs one.

cpu_s, peak_mib  processor seconds and largest memory of the fit and its server, from /proc
start_cpu_s      the part of cpu_s that the server used before the fit began
worker_mib       the most memory that one Python process of the server held
shuffle_bytes    of pyspark what Spark reports, of streaming all bytes written; else null
equal_sums       whether the sums before noise are those of the first engine; for "published", all
                 arrays of the model, for "reports", the counts. Noise is replaced by numbers that
                 depend only on the shape of the sum.
equal_lists      whether the lists of 200 people are those of the first engine
exponent         slope of log cpu_s over log events

pysail keeps blocks in memory, unless SAIL_EXECUTION__CHECKPOINT__PATH is set otherwise.
pyspark is a server of two workers (local-cluster) made from the package of this environment.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

ITEMS, GENRES = 27_000, 18
OF_PERSON = 145
"""Ratings of a person."""
PART = 2_000_000
"""Rows of a file."""
ACROSS = {"source": "a", "target": "b"}
MODELS = {"private": {}, "across": ACROSS, "published": ACROSS, "reports": {}}
LISTED = 200
"""People whose lists are compared."""
ENGINES = ("local", "streaming", "pysail", "pyspark")
SAIL = (
    "import sys; from pysail.spark import SparkConnectServer; "
    "SparkConnectServer('127.0.0.1', int(sys.argv[1])).start(background=False)"
)
CHECKPOINTS = "SAIL_EXECUTION__CHECKPOINT__PATH"
SHORT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # a job of a minute repays no more compiling
TICK = os.sysconf("SC_CLK_TCK")


def make(folder: Path, events: int) -> None:
    """Write generated ratings in files of 2 million rows, the items, and as many reports."""
    (folder / "ratings").mkdir(parents=True)
    for start in range(0, events, PART):
        draws, rows = np.random.default_rng(start), min(PART, events - start)
        person = (start + np.arange(rows)) // OF_PERSON
        genre = np.where(
            draws.random(rows) < 0.5, person % GENRES, draws.integers(GENRES, size=rows)
        )
        item = (ITEMS // GENRES * draws.random(rows) ** 2.5).astype(np.int64) * GENRES + genre
        stars = np.where(genre == person % GENRES, 3, 1) + draws.integers(0, 3, rows)
        order = draws.permutation(rows)
        columns = {"user": person, "item": item, "rating": stars.astype(float)}
        columns["timestamp"] = start + np.arange(rows) + 1_500_000_000
        frame = pl.DataFrame({name: values[order] for name, values in columns.items()})
        frame.write_parquet(
            folder / "ratings" / f"part-{start // PART:05}.parquet", row_group_size=500_000
        )
    make_reports(folder, events)
    about = {"item": np.arange(ITEMS), "genres": [f"g{item % GENRES}" for item in range(ITEMS)]}
    about["domain"] = ["ab"[item // GENRES % 2] for item in range(ITEMS)]
    pl.DataFrame(about).write_csv(folder / "items.csv")


def campaign() -> object:
    """Return the campaign that the reports answer."""
    from tacit.designs.sketches.campaigns import new_campaign

    return new_campaign(range(26_744), rated=100, epsilon=1.0, theta=0.693, seed=bytes(16))


def make_reports(folder: Path, events: int) -> None:
    """Write distinct reports of sketches, as many as there are events."""
    (folder / "reports").mkdir()
    from tacit.designs.sketches.messages import Report

    known = campaign()
    head = np.frombuffer(Report(known.id, 1, 0).encode()[:10], np.uint8)
    for start in range(0, events, PART):
        rows = min(PART, events - start)
        raw = np.zeros((rows, known.report_bytes), np.uint8)
        raw[:, :10] = head
        tickets = (start + 1 + np.arange(rows)).astype(">u8") * np.uint64(0x9E3779B97F4A7C15)
        raw[:, 10:18] = tickets.astype(">u8").view(np.uint8).reshape(-1, 8)
        bits = np.random.default_rng(start).integers(0, 2**known.questions, rows)
        raw[:, 18:22] = bits.astype(">u4").view(np.uint8).reshape(-1, 4)
        cells = raw.tobytes()
        width = known.report_bytes
        reports = [cells[at : at + width] for at in range(0, len(cells), width)]
        pl.DataFrame({"report": reports}).write_parquet(
            folder / "reports" / f"part-{start // PART:05}.parquet", row_group_size=500_000
        )


def fold(engine: str, folder: Path, remote: str) -> dict[str, object]:
    """Count the reports, file by file or on a cluster.

    Returns:
        As `fit`: "digest" is that of the counts; there are no lists.
    """
    from tacit.data.tables.buckets import read_column_in_parts
    from tacit.designs.sketches.server import TICKET, Server, count_messages, make_server

    known, place = campaign(), folder / "reports"
    if engine in ("local", "streaming"):
        server = Server(known)
        for file in sorted(place.iterdir()):
            for messages in read_column_in_parts(file, "report", 1 << 17):
                server.fold_each(messages, now=0)
    else:
        from tacit.engine.spark import fold_reports

        work = partial(count_messages, campaign=known.encode(), now=0)
        counts = fold_reports(str(place), remote, "report", TICKET, work, tasks=tasks_of(folder))
        server = make_server(known.encode(), counts)
    parts = (server.totals.tobytes(), server.ones.tobytes())
    return {"digest": hashlib.sha256(b"".join(parts)).hexdigest(), "lists": None, "written": 0}


def fit(engine: str, model: str, folder: Path, remote: str, memory: int) -> dict[str, object]:
    """Fit a model in this process.

    Returns:
        "digest" of its sums before noise (of "published", of its arrays), "lists", the digest of
        its lists, and "written", the bytes that this process wrote.
    """
    if model == "reports":
        return fold(engine, folder, remote)
    from tacit import Private, RatingScale, XMap
    from tacit.data.stored_ratings import PublicInputs
    from tacit.mechanisms import samplers

    digest = hashlib.sha256()

    def noise(values: np.ndarray, sigma: float) -> np.ndarray:
        """Hash the exact values, and add numbers that depend on their shape alone."""
        digest.update(np.ascontiguousarray(values).tobytes())
        draws = np.random.default_rng(values.size)
        return values + np.round(draws.standard_normal(values.shape) * sigma).astype(np.int64)

    samplers.discrete_gaussian = noise
    scale = RatingScale(1, 5, 1)
    public = PublicInputs(scale=scale, catalogue=folder / "items.csv", item="item", domain="domain")
    if model == "published":
        fitted = XMap(variant="published", epsilon=float("inf"), **MODELS[model])
    else:
        fitted = Private(1.0, mode="taste", **MODELS[model])
    if engine == "local":
        fitted.fit(in_memory(folder, public))
    elif engine == "streaming":
        from tacit.data.tables.buckets import open_parquet

        with open_parquet(folder / "ratings", {}, public, memory, events=False) as ratings:
            fitted.fit(ratings)
    else:
        from tacit.engine.spark import open_spark

        place, tasks = str(folder / "ratings"), tasks_of(folder)
        with open_spark(place, remote, {}, public, events=False, tasks=tasks) as ratings:
            fitted.fit(ratings)
    written = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    if model == "published":
        for array in fitted.boxes_.to_arrays().values():
            digest.update(array.tobytes())
    lists = hashlib.sha256(repr(lists_of(fitted, folder)).encode()).hexdigest()
    return {"digest": digest.hexdigest(), "lists": lists, "written": int(written["wchar"])}


def lists_of(fitted: object, folder: Path) -> list[list[int]]:
    """Return the lists of the first `LISTED` people, from their ratings in the first file."""
    rows = pl.scan_parquet(folder / "ratings" / "part-00000.parquet")
    rows = rows.filter(pl.col("user") < LISTED).sort("user", "item", "timestamp").collect()
    found = []
    for (_,), own in rows.group_by("user", maintain_order=True):
        history = dict(zip(own["item"].to_list(), own["rating"].to_list(), strict=True))
        found.append([row.item_id for row in fitted.recommend(history=history, n=10)])
    return found


def tasks_of(folder: Path) -> int:
    """Return the number of tasks into which a cluster divides the people or the reports."""
    return max(4, -(-int(folder.name) // int(float(os.environ.get("TASK_ROWS", "2e6")))))


def in_memory(folder: Path, public: object) -> object:
    """Read all ratings into memory."""
    from tacit.data import Ratings, on_catalogue, read_catalogue

    frame = pl.concat([pl.read_parquet(file) for file in sorted((folder / "ratings").iterdir())])
    columns = [frame[name].to_numpy() for name in ("user", "item", "rating", "timestamp")]
    del frame
    known = read_catalogue(folder / "items.csv", item="item", domain="domain")
    return on_catalogue(
        Ratings.from_arrays(*columns, scale=public.scale), known["domain"], metadata=known
    )


def measure(engine: str, model: str, folder: Path, memory: int) -> dict[str, object]:
    """Run a fit in a process of its own, and measure that process together with its server."""
    port, watch = free_port(), Watch()
    server = serve(engine, port)
    watch.look()
    started, start = watch.cpu, time.monotonic()
    command = [
        sys.executable,
        __file__,
        "--fit",
        engine,
        model,
        str(folder),
        f"sc://127.0.0.1:{port}",
        str(memory),
    ]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    wall = time.monotonic() - start
    shuffled = spark_shuffle() if engine == "pyspark" else None
    watch.stop()
    if server is not None:
        stop(server)
    if finished.returncode:
        sys.exit(finished.stderr[-3000:])
    fitted = json.loads(finished.stdout.splitlines()[-1])
    if engine == "streaming":
        shuffled = fitted["written"]
    return {
        "engine": engine,
        "model": model,
        "cpu_s": round(watch.cpu, 1),
        "start_cpu_s": round(started, 1),
        "wall_s": round(wall, 1),
        "peak_mib": round(watch.peak / 2**20),
        "worker_mib": round(watch.worker / 2**20),
        "shuffle_bytes": shuffled,
        "digest": fitted["digest"],
        "lists": fitted["lists"],
    }


def free_port() -> int:
    """Return a port on which no program listens."""
    with socket.socket() as one_socket:
        one_socket.bind(("127.0.0.1", 0))
        return one_socket.getsockname()[1]


def serve(engine: str, port: int) -> subprocess.Popen | None:
    """Start the engine's server and wait until it accepts connections; None if it needs none."""
    if engine == "pysail":
        words = [sys.executable, "-c", SAIL, str(port)]
    elif engine == "pyspark":
        words = spark_words(port)
    else:
        return None
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {CHECKPOINTS: "memory:///", "PYSPARK_PYTHON": sys.executable} | os.environ
    server = subprocess.Popen(words, **quiet, start_new_session=True, env=environment)
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return server
    stop(server)
    sys.exit(f"The {engine} server did not start.")


def spark_words(port: int) -> list[str]:
    """Return the command of a Spark server with two workers of one core and 2 GiB each."""
    import pyspark

    home = Path(pyspark.__file__).parent
    given = {
        "spark.connect.grpc.binding.port": port,
        "spark.executor.memory": "2g",
        "spark.driver.memory": "2g",
        "spark.python.worker.reuse": "true",
        "spark.driver.extraJavaOptions": SHORT,
        "spark.executor.extraJavaOptions": SHORT,
    }
    settings = [word for name, value in given.items() for word in ("--conf", f"{name}={value}")]
    program = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    start = [str(home / "bin" / "spark-submit"), "--master", "local-cluster[2,1,2048]"]
    return [*start, *settings, *program, "spark-internal"]


def stop(server: subprocess.Popen) -> None:
    """End a server and all processes that it started, which are a session of their own."""
    for number in (15, 9):
        try:
            os.killpg(server.pid, number)
        except ProcessLookupError:
            return
        time.sleep(2)
    server.wait()


def spark_shuffle() -> int | None:
    """Return the bytes that Spark reports as shuffled; None if it does not answer."""
    place = "http://127.0.0.1:4040/api/v1/applications"
    try:
        with urllib.request.urlopen(place) as answer:
            name = json.load(answer)[0]["id"]
        with urllib.request.urlopen(f"{place}/{name}/allexecutors") as answer:
            return sum(row["totalShuffleWrite"] for row in json.load(answer))
    except OSError:
        return None


def is_cluster_worker(pid: int) -> bool:
    """Say whether a process is a Python process of the cluster."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"pyspark.daemon" in words or b"SparkConnectServer(" in words


class Watch:
    """Measures this process's descendants: their processor seconds, and their largest memory.

    Attributes:
        peak: The most bytes that all of them had together.
        worker: The most bytes that one Python process of the server had.
    """

    def __init__(self) -> None:
        """Start to look at the processes, five times a second."""
        self.peak = 0
        self.worker = 0
        self._seen: dict[int, int] = {}  # processor time by process, in ticks
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def cpu(self) -> float:
        """Processor seconds of all descendants that were ever seen."""
        return sum(self._seen.values()) / TICK

    def stop(self) -> None:
        """End the watching thread."""
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        """Look at the processes until the end."""
        while not self._done.wait(0.2):
            self.look()

    def look(self) -> None:
        """Read the times and the memory of all descendants from /proc."""
        rows = {}
        for place in Path("/proc").glob("[0-9]*/stat"):
            try:
                words = place.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parent, ticks, pages = int(words[1]), int(words[11]) + int(words[12]), int(words[21])
            rows[int(place.parent.name)] = (parent, ticks, pages)
        generation, descendants = {os.getpid()}, set()
        while generation:
            children = {pid for pid, (parent, _, _) in rows.items() if parent in generation}
            generation = children - descendants
            descendants |= generation
        memory = 0
        for pid in descendants:
            _, self._seen[pid], pages = rows[pid]
            own_memory = pages * os.sysconf("SC_PAGE_SIZE")
            memory += own_memory
            if is_cluster_worker(pid):
                self.worker = max(self.worker, own_memory)
        self.peak = max(self.peak, memory)


def exponent(rows: list[dict[str, object]]) -> dict[str, float]:
    """Return the exponent of cpu_s over events, by engine and model with two sizes or more."""
    exponents = {}
    for name in {(row["engine"], row["model"]) for row in rows}:
        own_rows = [row for row in rows if (row["engine"], row["model"]) == name]
        if len(own_rows) > 1:
            log_events = np.log([row["events"] for row in own_rows])
            log_seconds = np.log([row["cpu_s"] for row in own_rows])
            slope = np.polyfit(log_events, log_seconds, 1)[0]
            exponents[" ".join(name)] = round(float(slope), 3)
    return dict(sorted(exponents.items()))


def main() -> None:
    """Run all combinations and print them; the exit code of a table is 1 if any of them differ."""
    if sys.argv[1:2] == ["--fit"]:
        engine, model, folder, remote, memory = sys.argv[2:]
        print(json.dumps(fit(engine, model, Path(folder), remote, int(memory))))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="local,streaming,pysail", help=", ".join(ENGINES))
    parser.add_argument("--model", default="private,across", help=", ".join(MODELS))
    parser.add_argument("--events", default="1e6", help="numbers with commas")
    parser.add_argument("--memory", type=float, default=4, help="GiB that streaming may use")
    parser.add_argument("--folder", type=Path, help="keep the generated files here")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--task-rows", default="2e6", help="rows of a task on a cluster")
    options = parser.parse_args()
    os.environ["TASK_ROWS"] = options.task_rows
    home = options.folder or Path(tempfile.mkdtemp(prefix="tacit-scale-"))
    rows: list[dict[str, object]] = []
    try:
        for events in (int(float(number)) for number in options.events.split(",")):
            folder = home / str(events)
            if not folder.exists():
                make(folder, events)
            for model in options.model.split(","):
                first: dict[str, object] | None = None  # digests of the first engine
                for engine in options.engine.split(","):
                    memory = int(options.memory * 2**30)
                    row = {"events": events} | measure(engine, model, folder, memory)
                    digests = {"sums": row.pop("digest"), "lists": row.pop("lists")}
                    is_first = first is None
                    first = digests if first is None else first
                    for name, digest in digests.items():
                        row[f"equal_{name}"] = None if is_first else digest == first[name]
                    rows.append(row)
                    print(row, file=sys.stderr)
    finally:
        if options.folder is None:
            shutil.rmtree(home)
    result = {"rows": rows, "exponent": exponent(rows)}
    if options.json:
        print(json.dumps(result))
        return
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()))
    print("exponent", result["exponent"])
    if any(False in (row["equal_sums"], row["equal_lists"]) for row in rows):
        sys.exit("The sums or lists differ.")


if __name__ == "__main__":
    main()
