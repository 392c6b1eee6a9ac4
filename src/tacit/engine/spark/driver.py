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
from tacit.data.domains import unrated_catalogue_error
from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.stored_ratings import MOST_VALUES, PublicInputs, find_columns
from tacit.data.tables.cells import read_arrow_cells, to_ids
from tacit.data.tables.names import Role
from tacit.errors import ClusterError, ConfigError, DataError, MissingExtra

try:
    import pyarrow as pa  # noqa: F401
except ImportError:
    raise MissingExtra("pyspark-client", "spark") from None

from tacit.engine.spark import workers
from tacit.engine.spark.sums import (
    NOT_THERE,
    SparkRatings,
    close,
    described_errors,
    gather_total,
    persist_frame,
)

TASK_ROWS = 2_000_000
"""Ratings of a task, about 0.3 GB of a worker's memory beside the sum's table."""
_LEAST_TASKS = 4
_TEXT = (".csv", ".tsv")
_WAIT = 10.0
"""Seconds for a server to answer."""
_RETRIES = 5
"""Retries of a call to a server that is away: some 20 seconds; closing makes two calls more."""


def open_spark(
    source: str,
    remote: str,
    asked: Mapping[Role, str | None],
    public: PublicInputs,
    *,
    events: bool,
    tasks: int | None = None,
) -> SparkRatings:
    """Open ratings on a cluster. What can be refused is refused here, before any sum.

    Args:
        source: A path as the cluster sees it, of Parquet or CSV, or a table of its catalogue.
        remote: Address of its Spark Connect server.
        asked: Names of columns, where they are not the well-known ones.
        public: Scale and items that do not come from the ratings.
        events: Whether each row is a like.
        tasks: Number of Spark tasks that hold the people; None: by the number of rows.
    """
    with _session(remote) as session:
        given = _rows(session, source, asked, public.scale, events=events)
        count, stars = _tasks(given.frame, tasks), None
        if "rating" in given.used:
            stars = np.zeros(0)
            if public.scale is None:
                few = given.read.select("rating").distinct().limit(MOST_VALUES + 1)
                stars = few.toArrow()["rating"].to_numpy()

        def rated_ids() -> Any:
            found = given.read.select("item").distinct().toArrow()["item"].to_pylist()
            return to_ids(found) if given.text else found

        known = public.make_catalogue(rated_ids, stars)
        work = partial(workers.prepare_blocks, width=known.n_items, used=given.used)
        blocks = given.by_person(known.item_ids, count).mapInArrow(work, workers.BLOCKS)
        made = SparkRatings(session, persist_frame(session, blocks), known, count)
        if not made.total(workers.count_ratings).any():
            raise unrated_catalogue_error()
        return made


def write_lists(
    source: str,
    remote: str,
    asked: Mapping[Role, str | None],
    model: Any,
    list_block: Callable[[Ratings], Any],
    out: str,
    *,
    tasks: int | None = None,
) -> None:
    """Write lists of all people of the source as Parquet. Nobody's rows or lists come here.

    Args:
        source: As for `open_spark`.
        remote: As for `open_spark`.
        asked: As for `open_spark`.
        model: A released one.
        list_block: Makes the lists of some people's ratings.
        out: A new folder, as the cluster sees it.
        tasks: As for `open_spark`.
    """
    with _session(remote) as session:
        events = model.scale_ == EVENTS
        rows = _rows(session, source, asked, model.scale_, events=events)
        count = _tasks(rows.frame, tasks)
        work = partial(
            workers.make_lists,
            list_block=list_block,
            history_width=len(model.history_ids_),
            listed_ids=model.item_ids_,
            scale=model.scale_,
            headers=rows.used,
        )
        ids = "string" if model.item_ids_.dtype == object else "bigint"
        schema = f"user {rows.kinds['user']}, rank int, item {ids}, score double"
        parted = rows.by_person(model.history_ids_, count)
        parted.mapInArrow(work, schema).write.mode("error").parquet(_cluster_path(out))
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
    """Add up what `fold` makes of each task's reports, in the order of their bytes.

    Args:
        source: Parquet with reports in a binary column.
        remote: As for `open_spark`.
        column: Name of the column.
        ticket: Where the sender's name begins in a report, from 0, and how long it is: reports of
            one sender are in one task.
        fold: From reports to a table of counts.
        tasks: As for `open_spark`.

    Returns:
        The table of counts, of the shape that `fold` gives.

    Raises:
        ClusterError: The source is not there, or the cluster does not answer.
        DataError: The column holds no bytes.
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
        parted = _partition(reports, partial(workers.pack_reports, ticket=place), count)
        work = partial(workers.fold_reports_of_task, ticket=place, fold=fold)
        total, _ = gather_total(parted, work, fold([]), count)
        session.stop()
    return total


@contextmanager
def _session(remote: str) -> Iterator[Any]:
    """Open a session, and close it where something fails."""
    session = connect(remote)
    try:
        with described_errors():
            yield session
    except BaseException:
        close(session.stop)
        raise


@dataclass(frozen=True)
class _Rows:
    """Rows of a source on the cluster."""

    frame: Any
    """As they are stored, columns named by role."""
    used: dict[Role, str]
    """Role to header."""
    kinds: dict[Role, str]
    """Role to Spark's type of what is read."""
    scale: RatingScale | None
    """None: of any stars."""
    text: bool
    """Whether it is a file in which all ids are text."""

    @property
    def read(self) -> Any:
        """Frame of the rows, checked as in memory."""
        schema = ", ".join(f"{role} {kind}" for role, kind in self.kinds.items())
        work = partial(workers.read_rows, used=self.used, scale=self.scale)
        return self.frame.mapInArrow(work, schema)

    def by_person(self, ids: Column, tasks: int) -> Any:
        """Bring each person's rows into one task.

        There are many more buckets of people than tasks, so that tasks are about equal.

        Args:
            ids: Of the catalogue.
            tasks: Number of Spark tasks.
        """
        work = partial(workers.pack_rows, used=self.used, scale=self.scale, ids=ids)
        return _partition(self.frame, work, tasks)


def _partition(frame: Any, packed: Callable[..., Any], tasks: int) -> Any:
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
    used = find_columns([*kinds], asked, events=events, path=source)
    columns = [spark.col(f"`{name}`").alias(role) for role, name in used.items()]
    chosen = frame.select(*columns)
    nobody = read_arrow_cells(chosen.limit(0).toArrow(), used)  # refuses types
    made = {role: workers.KINDS[str(nobody[role].type)] for role in used}
    known = scale if "rating" in used else None
    return _Rows(chosen, used, made, known, source.endswith(_TEXT))


def _tasks(frame: Any, asked: int | None) -> int:
    """Choose the number of tasks: as asked for, or one for TASK_ROWS; DataError without a row."""
    rows = frame.count()
    if not rows:
        raise DataError("there is no row")
    return asked or max(_LEAST_TASKS, math.ceil(rows / TASK_ROWS))


@contextmanager
def _named_main_module() -> Iterator[None]:
    """Give the main module a file for a while.

    Without one, as with `python -c`, pyspark takes it for its own tests and ends the process.
    """
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
    """Open a session of its own; ClusterError or ConfigError where there is none."""
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
    with warnings.catch_warnings(), _named_main_module():
        warnings.simplefilter("ignore", FutureWarning)  # about pandas, which is not used here
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise MissingExtra("pyspark-client", "spark") from None
        with described_errors():
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
    probe = session.range(0, 1, 1, 1).mapInArrow(workers.versions, "tacit string")
    others = {row[0] for row in probe.collect()}
    if others != {own}:
        raise ClusterError(
            f"The workers have tacit-rec {', '.join(sorted(others))}, and this machine {own}: "
            f"install  tacit-rec=={own}  on every worker."
        )


def _cluster_path(path: str) -> str:
    """Write a path as the cluster sees it; one of this machine becomes absolute."""
    if found := re.match(r"(\w+):/(?!/)", path):  # an address that was read as a local path
        return path.replace(found[0], f"{found[1]}://", 1)
    return str(Path(path).absolute())


def _read(session: Any, source: str) -> Any:
    if re.fullmatch(r"\w+(\.\w+){0,2}", source) and not Path(source).exists():
        return session.read.table(source)
    place = _cluster_path(source)
    if place.endswith(_TEXT):
        sign = "\t" if place.endswith(".tsv") else ","
        return session.read.csv(place, header=True, inferSchema=False, sep=sign)
    return session.read.option("mergeSchema", "true").parquet(place)  # no file lacks stars unseen
