"""Sums over people on a Spark 4 cluster, or on `pysail`, through Spark Connect.

Runs at    the driver, which is the platform's, and the cluster's workers, which are trusted, too.
People     each is whole in one task: rows move by a hash of the person's id, and every sum says
           which hashes it has seen. One that was seen twice, or not at all, is refused.
Sums       what `add` makes of a block, the local kernels, in whole numbers; tables are merged in
           pieces on the cluster. Noise is drawn at the driver from what `total` gives: a task that
           is repeated, or run twice at once, changes neither the sum nor how often noise is drawn.
Errors     no message of the cluster is repeated: it may hold a person's row.
"""

from __future__ import annotations

import math
import re
import socket
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings, RatingScale
from tacit.data.scales import EVENTS
from tacit.data.stored import MOST_VALUES, Block, Columns, Public, StoredRatings
from tacit.data.tables.table import Role
from tacit.engine import spark_workers as workers
from tacit.errors import ClusterError, ConfigError, DataError, MissingExtra

TASK_ROWS = 2_000_000
"""Ratings of a task, about 0.3 GB of a worker's memory beside the sum's table."""
_LEAST_TASKS = 4
_WAIT = 10.0
_INTEGERS = ("tinyint", "smallint", "int", "bigint")


class SparkRatings(StoredRatings):
    """Ratings that a cluster reads, as `open_spark` makes them; a context that closes its session.

    tasks: in how many the people are parted.
    """

    def __init__(self, session: Any, blocks: Any, catalogue: Ratings, tasks: int) -> None:
        self.catalogue, self.tasks = catalogue, tasks
        self._session, self._blocks = session, blocks
        self._seen: NDArray[np.int64] | None = None

    def __enter__(self) -> SparkRatings:
        return self

    def __exit__(self, *_: object) -> None:
        with _answering():
            self._blocks.unpersist()
            self._session.stop()

    def total(self, add: Callable[[Ratings], NDArray[Any]]) -> NDArray[Any]:
        """One pass over the cluster's blocks."""
        known = self.catalogue
        zero = add(Block.empty().ratings(known.n_items, known.scale))
        tasks = max(1, min(self.tasks, zero.size // workers.PIECE))
        with _answering():
            work = partial(workers.summed, add=add, n_items=known.n_items, scale=known.scale)
            parts = self._blocks.mapInArrow(work, workers.PIECES).repartition(tasks, "piece")
            pieces = parts.mapInArrow(
                partial(workers.merged, kind=zero.dtype.str), workers.PIECES
            ).toArrow()
        cells, seen = zero.ravel(), np.zeros(workers.HASHES, np.int64)
        for number, raw in zip(*(column.to_pylist() for column in pieces.columns), strict=True):
            if number == workers.SEEN:
                seen += np.frombuffer(raw, np.int64)
            else:
                found, start = np.frombuffer(raw, zero.dtype), number * workers.PIECE
                cells[start : start + len(found)] += found
        self._check(seen)
        return cells.reshape(zero.shape)

    def _check(self, seen: NDArray[np.int64]) -> None:
        """Each person in one task, and in every sum the same people."""
        before = seen if self._seen is None else self._seen
        if seen.max() > 1 or not seen.any() or not np.array_equal(seen, before):
            raise ClusterError(
                "The cluster did not hand over each person once: a clipped sum of its answer would "
                "not be private. Nothing was released."
            )
        self._seen = seen


def open_spark(
    source: str,
    remote: str,
    asked: Mapping[Role, str | None],
    public: Public,
    *,
    events: bool,
    tasks: int | None = None,
) -> SparkRatings:
    """source: a path as the cluster sees it, of Parquet or CSV, or a table of its catalogue.

    What can be refused is refused here, before any sum.
    """
    with _session(remote) as session:
        rows = _rows(session, source, asked, events=events)
        return _opened(session, rows, public, tasks)


def write_lists(
    source: str,
    remote: str,
    asked: Mapping[Role, str | None],
    model: Any,
    make: Callable[[Ratings], Any],
    out: str,
    *,
    tasks: int | None = None,
) -> None:
    """Lists of all people of the source as Parquet in `out`, a new folder as the cluster sees it.

    model: a released one; make: from a block to its lists. Nobody's rows or lists come here.
    """
    with _session(remote) as session:
        events = model.scale_ == EVENTS
        rows = _rows(session, source, asked, events=events)
        count = tasks or max(_LEAST_TASKS, math.ceil(rows.frame.count() / TASK_ROWS))
        work = partial(
            workers.listed, make=make, ids=model.history_ids_, of_lists=model.item_ids_,
            scale=model.scale_, stars="rating" in rows.used, times="time" in rows.used,
        )  # fmt: skip
        ids = "string" if model.item_ids_.dtype == object else "bigint"
        schema = f"user {rows.kinds['user']}, rank int, item {ids}, score double"
        parted = _parted(rows.frame.dropna(), count)
        parted.mapInArrow(work, schema).write.mode("error").parquet(_place(out))
        session.stop()


@contextmanager
def _session(remote: str) -> Iterator[Any]:
    """Closed where something fails."""
    session = connect(remote)
    try:
        with _answering():
            yield session
    except BaseException:
        session.stop()
        raise


@dataclass(frozen=True)
class _Rows:
    """A frame whose columns are named by role; used: role to header; kinds: role to type."""

    frame: Any
    used: dict[str, str]
    kinds: dict[str, str]


def _rows(session: Any, source: str, asked: Mapping[Role, str | None], *, events: bool) -> _Rows:
    from pyspark.sql import functions as spark

    frame = _read(session, source)
    kinds = dict(frame.dtypes)
    if not kinds:  # of a path that is not there
        raise ClusterError(_NOT_THERE)
    columns = Columns.among([*kinds], asked, events=events, path=source)
    _check_kinds(columns, kinds)
    used = columns.used
    kept = frame.select(*(spark.col(f"`{name}`").alias(role) for role, name in used.items()))
    for role in {"rating", "time"} & used.keys():
        kept = kept.withColumn(role, spark.col(role).cast("double"))
    return _Rows(kept, used, {role: kinds[name] for role, name in used.items()})


def _parted(frame: Any, tasks: int) -> Any:
    """Each person's rows in one task."""
    from pyspark.sql import functions as spark

    mark = spark.pmod(spark.xxhash64("user"), spark.lit(workers.HASHES)).cast("int").alias("hash")
    return frame.select("*", mark).repartition(tasks, "hash")


def connect(remote: str) -> Any:
    """A session of its own; says what is wrong where there is none."""
    given = urlsplit(remote)
    if given.scheme != "sc" or not given.hostname:
        raise ConfigError(f"--remote is written sc://HOST:PORT; got {remote!r}.")
    port = given.port or 15002
    try:
        socket.create_connection((given.hostname, port), timeout=_WAIT).close()
    except OSError as error:
        raise ClusterError(
            f"No Spark Connect server answers at {given.hostname}:{port} ({error}). Start one, "
            f"such as  sail spark server --port {port}  or Spark's  start-connect-server.sh."
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about pandas, which is not used here
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise MissingExtra("pyspark-client", "spark") from None
        with _answering():
            session = SparkSession.builder.remote(remote).create()
            try:
                _check_server(session)
            except BaseException:
                session.stop()
                raise
    return session


def _check_server(session: Any) -> None:
    if int(session.version.split(".")[0]) < 4:
        raise ClusterError(f"The server is Spark {session.version}; this needs Spark 4 or newer.")
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "131072")
    own = version("tacit-rec")
    others = {
        row[0] for row in session.range(1).mapInArrow(workers.versions, "tacit string").collect()
    }
    if others != {own}:
        raise ClusterError(
            f"The workers have tacit-rec {', '.join(sorted(others))}, and this machine {own}: "
            f"install  tacit-rec=={own}  on every worker."
        )


def _place(path: str) -> str:
    """A path as the cluster sees it; one of this machine is made whole."""
    if found := re.match(r"(\w+):/(?!/)", path):  # an address that was read as a local path
        return path.replace(found[0], f"{found[1]}://", 1)
    return str(Path(path).absolute())


def _read(session: Any, source: str) -> Any:
    if re.fullmatch(r"\w+(\.\w+){0,2}", source) and not Path(source).exists():
        return session.read.table(source)
    place = _place(source)
    if place.endswith((".csv", ".tsv")):
        sign = "\t" if place.endswith(".tsv") else ","
        return session.read.csv(place, header=True, inferSchema=True, sep=sign)
    return session.read.parquet(place)


def _check_kinds(columns: Columns, kinds: Mapping[str, str]) -> None:
    for role, name in columns.used.items():
        kind, number = kinds[name], (*_INTEGERS, "float", "double")
        if role in ("user", "item") and kind not in (*_INTEGERS, "string"):
            raise DataError(f"a {role} id is an integer or a string", column=name, found=kind)
        if role in ("rating", "time") and kind not in (*number, "timestamp", "date"):
            fix = f"Convert the column, or name another with --{role}."
            raise DataError(f"the {role} is no number", column=name, found=kind, fix=fix)


def _opened(session: Any, given: _Rows, public: Public, tasks: int | None) -> SparkRatings:
    from pyspark.sql import functions as spark

    kept, used = given.frame, given.used
    holes = [spark.sum(spark.col(role).isNull().cast("long")).alias(role) for role in used]
    facts = kept.agg(spark.count(spark.lit(1)).alias("rows"), *holes).collect()[0].asDict()
    rows = facts.pop("rows")
    if not rows:
        raise DataError("there is no row")
    for role, missing in facts.items():
        if missing:
            raise DataError(f"a row has no {role}", column=used[role], fix="Leave such rows out.")
    stars = _stars(kept, public.scale) if "rating" in used else None
    known = public.known(lambda: _different(kept, "item"), stars)
    count = tasks or max(_LEAST_TASKS, math.ceil(rows / TASK_ROWS))
    work = partial(
        workers.prepared, ids=known.item_ids, stars="rating" in used, times="time" in used
    )
    blocks = _parted(kept, count).mapInArrow(work, workers.BLOCKS).persist()
    return SparkRatings(session, blocks, known, count)


def _stars(rows: Any, scale: RatingScale | None) -> NDArray[np.float64]:
    """Different stars, of which one more than `MOST_VALUES` at most; none that are checked."""
    if scale is None:
        few = rows.select("rating").distinct().limit(MOST_VALUES + 1).toArrow()
        found: NDArray[np.float64] = few["rating"].to_numpy()
        return found
    work = partial(workers.off_scale, scale=scale)
    odd = rows.select("rating").mapInArrow(work, "odd long").toArrow()["odd"]
    if any(odd.to_pylist()):
        raise DataError("a rating lies off the scale", expected=str(scale))
    return np.zeros(0)


def _different(rows: Any, role: str) -> list[Any]:
    found: list[Any] = rows.select(role).distinct().toArrow()[role].to_pylist()
    return found


_NOT_THERE = "The cluster does not find the ratings: give a path that its workers see, or a table."


@dataclass(frozen=True)
class _Sign:
    """In a message of the cluster, what goes wrong often, and what to say of it."""

    pattern: str
    says: str


_SIGNS = (
    _Sign(
        "No module named '(tacit|numba|numpy|scipy|polars|pyarrow)",
        "A package is missing on the workers: install tacit-rec, the version of this machine, "
        "for the Python of every worker.",
    ),
    _Sign(
        "PATH_NOT_FOUND|No such file|not found|does not exist|TABLE_OR_VIEW_NOT_FOUND",
        _NOT_THERE,
    ),
    _Sign(
        "RESOURCE_EXHAUSTED|larger than max",
        "A message is larger than the server takes: raise "
        "spark.connect.grpc.maxInboundMessageSize there.",
    ),
    _Sign("OutOfMemory|out of memory", "A worker ran out of memory: give it more, or --tasks."),
)


@contextmanager
def _answering() -> Iterator[None]:
    """Errors of the cluster in a sentence, without what they say: it may hold a person's row."""
    try:
        yield
    except Exception as error:
        of_engine = type(error).__module__.split(".")[0]
        if of_engine not in ("pyspark", "grpc"):
            raise
        signs = (sign.says for sign in _SIGNS if re.search(sign.pattern, str(error)))
        raise ClusterError(
            f"The cluster refused or failed ({type(error).__name__}). "
            + next(signs, "Its own log says why; it is not repeated here, for it may hold ratings.")
        ) from None
