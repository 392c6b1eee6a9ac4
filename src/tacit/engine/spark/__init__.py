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
import sys
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

from tacit.data.columns import EVENTS
from tacit.data.domains import item_without_ratings
from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.stored_ratings import MOST_VALUES, PublicInputs, columns_among
from tacit.data.tables import Role
from tacit.data.tables.cleaning import arrow_of, ids_of
from tacit.errors import ClusterError, ConfigError, DataError, MissingExtra

try:
    import pyarrow as pa  # noqa: F401
except ImportError:
    raise MissingExtra("pyspark-client", "spark") from None

from tacit.engine.spark import workers
from tacit.engine.spark.sums import (
    NOT_THERE,
    SparkRatings,
    answering,
    close,
    gathered,
    persisted,
)

TASK_ROWS = 2_000_000
"""Ratings of a task, about 0.3 GB of a worker's memory beside the sum's table."""
_LEAST_TASKS = 4
_TEXT = (".csv", ".tsv")
_WAIT = 10.0
_RETRIES = 5
"""Of a call to a server that is away: some 20 seconds; closing makes two calls more."""


def open_spark(
    source: str,
    remote: str,
    asked: Mapping[Role, str | None],
    public: PublicInputs,
    *,
    events: bool,
    tasks: int | None = None,
) -> SparkRatings:
    """source: a path as the cluster sees it, of Parquet or CSV, or a table of its catalogue.

    What can be refused is refused here, before any sum.
    """
    with _session(remote) as session:
        given = _rows(session, source, asked, public.scale, events=events)
        count, stars = _tasks(given.frame, tasks), None
        if "rating" in given.used:
            stars = np.zeros(0)
            if public.scale is None:
                few = given.read.select("rating").distinct().limit(MOST_VALUES + 1)
                stars = few.toArrow()["rating"].to_numpy()

        def rated() -> Any:
            found = given.read.select("item").distinct().toArrow()["item"].to_pylist()
            return ids_of(found) if given.text else found

        known = public.make_catalogue(rated, stars)
        work = partial(workers.prepared, width=known.n_items, used=given.used)
        blocks = given.parted(known.item_ids, count).mapInArrow(work, workers.BLOCKS)
        made = SparkRatings(session, persisted(session, blocks), known, count)
        if not made.total(workers.rated).any():
            raise item_without_ratings()
        return made


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
        rows = _rows(session, source, asked, model.scale_, events=events)
        count = _tasks(rows.frame, tasks)
        work = partial(
            workers.listed,
            make=make,
            width=len(model.history_ids_),
            of_lists=model.item_ids_,
            scale=model.scale_,
            used=rows.used,
        )
        ids = "string" if model.item_ids_.dtype == object else "bigint"
        schema = f"user {rows.kinds['user']}, rank int, item {ids}, score double"
        parted = rows.parted(model.history_ids_, count)
        parted.mapInArrow(work, schema).write.mode("error").parquet(_place(out))
        session.stop()


def fold_reports(
    source: str,
    remote: str,
    column: str,
    ticket: tuple[int, int],
    fold: Callable[[list[bytes]], NDArray[np.int64]],
    *,
    tasks: int | None = None,
) -> NDArray[np.int64]:
    """The sum of what `fold` makes of each task's reports, in the order of their bytes.

    source: Parquet with reports in a binary column. ticket: where in a report, from 0, and how
    long what names the sender is: equal ones are in one task.
    """
    with _session(remote) as session:
        from pyspark.sql import functions as spark

        frame = _read(session, source)
        kinds = dict(frame.dtypes)
        if not kinds:
            raise ClusterError(NOT_THERE)
        if kinds.get(column) != "binary":
            raise DataError(
                "no column of reports",
                column=column,
                found=", ".join(kinds),
                expected="a binary column",
            )
        place = (ticket[0], sum(ticket))
        reports = frame.select(spark.col(f"`{column}`").alias("report")).dropna()
        count = _tasks(reports, tasks)
        parted = _parted(reports, partial(workers.packed_reports, ticket=place), count)
        work = partial(workers.folded, ticket=place, fold=fold)
        total, _ = gathered(parted, work, fold([]), count)
        session.stop()
    return total


@contextmanager
def _session(remote: str) -> Iterator[Any]:
    """Closed where something fails."""
    session = connect(remote)
    try:
        with answering():
            yield session
    except BaseException:
        close(session.stop)
        raise


@dataclass(frozen=True)
class _Rows:
    """frame: as it is stored, columns named by role. used: role to header. kinds: role to type of
    what is read. scale: None: of any stars. text: of a file in which all ids are text."""

    frame: Any
    used: dict[Role, str]
    kinds: dict[Role, str]
    scale: RatingScale | None
    text: bool

    @property
    def read(self) -> Any:
        """As in memory, checked."""
        schema = ", ".join(f"{role} {kind}" for role, kind in self.kinds.items())
        work = partial(workers.read, used=self.used, scale=self.scale)
        return self.frame.mapInArrow(work, schema)

    def parted(self, ids: Column, tasks: int) -> Any:
        """Each person's rows in one task, by buckets, of which there are many more than tasks, so
        that tasks are equal. ids: of the catalogue."""
        work = partial(workers.packed, used=self.used, scale=self.scale, ids=ids)
        return _parted(self.frame, work, tasks)


def _parted(frame: Any, packed: Callable[..., Any], tasks: int) -> Any:
    work = partial(packed, buckets=min(workers.HASHES, 64 * tasks))
    return frame.mapInArrow(work, workers.ROWS).repartition(tasks, "bucket")


def _rows(
    session: Any,
    source: str,
    asked: Mapping[Role, str | None],
    scale: RatingScale | None,
    *,
    events: bool,
) -> _Rows:
    from pyspark.sql import functions as spark

    frame = _read(session, source)
    kinds = dict(frame.dtypes)
    if not kinds:  # of a path that is not there
        raise ClusterError(NOT_THERE)
    used = columns_among([*kinds], asked, events=events, path=source)
    chosen = frame.select(*(spark.col(f"`{name}`").alias(role) for role, name in used.items()))
    nobody = arrow_of(chosen.limit(0).toArrow(), used)  # refuses types
    made = {role: workers.KINDS[str(nobody[role].type)] for role in used}
    known = scale if "rating" in used else None
    return _Rows(chosen, used, made, known, source.endswith(_TEXT))


def _tasks(frame: Any, asked: int | None) -> int:
    """As asked for, or one for TASK_ROWS; DataError without a row."""
    rows = frame.count()
    if not rows:
        raise DataError("there is no row")
    return asked or max(_LEAST_TASKS, math.ceil(rows / TASK_ROWS))


@contextmanager
def _with_a_file() -> Iterator[None]:
    """A main module without a file, such as of `python -c`, pyspark takes for its own tests, and
    ends the process."""
    main = sys.modules["__main__"]
    if hasattr(main, "__file__"):
        yield
        return
    main.__file__ = "-c"
    try:
        yield
    finally:
        del main.__file__


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
    with warnings.catch_warnings(), _with_a_file():
        warnings.simplefilter("ignore", FutureWarning)  # about pandas, which is not used here
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise MissingExtra("pyspark-client", "spark") from None
        with answering():
            session = SparkSession.builder.remote(remote).create()
            try:
                from pyspark.sql.connect.client.retries import DefaultPolicy

                session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
                _check_server(session)
            except BaseException:
                close(session.stop)
                raise
    return session


def _check_server(session: Any) -> None:
    if int(session.version.split(".")[0]) < 4:
        raise ClusterError(f"The server is Spark {session.version}; this needs Spark 4 or newer.")
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "131072")
    # Below this Spark computes a batch's size again for each row, which costs more than the sums.
    session.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", str(2**31 - 1))
    own = version("tacit-rec")
    others = {
        row[0]
        for row in session.range(0, 1, 1, 1).mapInArrow(workers.versions, "tacit string").collect()
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
    if place.endswith(_TEXT):
        sign = "\t" if place.endswith(".tsv") else ","
        return session.read.csv(place, header=True, inferSchema=False, sep=sign)
    return session.read.option("mergeSchema", "true").parquet(place)  # no file lacks stars unseen
