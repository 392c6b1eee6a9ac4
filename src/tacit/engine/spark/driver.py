"""Sums over people on a Spark 4 cluster, or on `pysail`, through Spark Connect.

Runs at    the driver, which is the platform's, and the cluster's workers, which are trusted, too.
People     All rows of a person are in one task: rows move by a hash of the person's id. A sum over
           ratings counts the people of each hash; it is refused if a hash is in two tasks, if a
           block of a task is missing, or if a count differs from that of an earlier sum.
Sums       The local kernels make the tables of blocks, which are merged in pieces on the cluster.
           Sums that get noise are in whole numbers. Noise is added at the driver to the result of
           `total`, so a task that is repeated, or run twice at once, changes neither the sum nor
           the noise.
Errors     Messages of the cluster are not repeated, since they may hold a person's row.
"""

from __future__ import annotations

import json
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
from tacit.data.domains import drop_item_guesses, unrated_catalogue_error
from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.stored_ratings import MOST_VALUES, PublicInputs, find_columns
from tacit.data.tables.cells import read_arrow_cells, to_ids
from tacit.data.tables.folder import is_folder
from tacit.data.tables.imported_files import (
    CATALOGUE,
    FILE,
    HEAD_LENGTH,
    LARGEST_OTHER,
    MARK,
    find_guesses,
    has_mark,
    is_description,
    list_guesses,
    unreadable_description_error,
)
from tacit.data.tables.names import Role
from tacit.data.tables.rows import split_quoted_line
from tacit.data.tables.stored_folder import open_folder
from tacit.data.tables.table import TextForm
from tacit.data.tables.text_lines import TextLines
from tacit.errors import ClusterError, ConfigError, DataError, MissingExtra

try:
    import pyarrow as pa
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
"""Number of ratings of a task: about 0.3 GB of a worker's memory, besides the table of the sum."""
_LEAST_TASKS = 4
"""Smallest number of tasks that is chosen here; the caller may name a smaller one."""
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
"""Endings of sources that are read as delimited text, and the delimiter; other files are
Parquet."""
_SIGNS_OF_PATTERNS = "*?[{"
"""Signs of which one is in the name if a source is a pattern of several files."""
_MAY_BE_DESCRIPTION = (
    f"length(value) <= {LARGEST_OTHER} OR instr(substring(value, 1, {HEAD_LENGTH}), '{MARK}') > 0"
)
"""Condition in SQL that a text may be a description of a folder of tacit; other texts stay on the
cluster."""
_NO_DELIMITER = "\x01"
"""Sign that no header has, so that a cluster's reader gives the line of headers as one header."""
_NO_QUOTE = "\x02"
"""The same as the quote."""
_DEFAULT_PORT = 15002
"""Port of Spark Connect if the address names none."""
_BUCKETS_PER_TASK = 64
"""Number of buckets of people for each task."""
_WAIT = 10.0
"""Seconds to wait for a connection to a server."""
_RETRIES = 5
"""Number of retries of a call that a server does not answer: about 20 seconds."""


def open_spark(
    source: str,
    remote: str,
    column_names: Mapping[Role, str | None],
    public: PublicInputs,
    *,
    events: bool,
    tasks: int | None = None,
) -> SparkRatings:
    """Open ratings on a cluster; unusable sources and rows are refused here, before any release.

    Args:
        source: A path of Parquet, CSV or TSV as the cluster sees it, the name of a table in Spark's
            catalogue, or a folder of `tacit data import` on this machine.
        remote: Address of the cluster's Spark Connect server.
        column_names: The roles to find, each with the header that the caller named, or None.
        public: The scale and the items, where they do not come from the ratings.
        events: Whether each row is an event, even if there is a column of stars. Without such a
            column, each row is one.
        tasks: Number of Spark tasks that hold the people; None: by the number of rows.

    Raises:
        ConfigError: The address is not of the form sc://HOST or sc://HOST:PORT, the source has
            numbers of plays in place of stars, or a scale is given for events.
        MissingExtra: pyspark is not installed.
        ClusterError: There is no server or no such source, or the cluster fails.
        DataError: A column is missing, there is no row, a row cannot be read, or no item of the
            catalogue is rated.
    """
    with _session(remote) as session:
        source, public, guesses = _open_folder(session, source, public)
        rows = _open_rows(session, source, column_names, public.scale, events=events)
        task_count = _count_tasks(rows.frame, tasks)
        stars = None  # for events
        if "rating" in rows.header_of_role:
            stars = np.zeros(0)  # none are needed if the scale is public
            if public.scale is None:
                distinct = rows.checked_frame.select("rating").distinct().limit(MOST_VALUES + 1)
                stars = distinct.toArrow()["rating"].to_numpy()

        def rated_ids() -> Any:
            ids = rows.checked_frame.select("item").distinct().toArrow()["item"].to_pylist()
            return to_ids(ids) if rows.lines is not None else ids

        catalogue = public.make_catalogue(rated_ids, stars, guesses)
        work = partial(workers.prepare_blocks, width=catalogue.n_items, headers=rows.header_of_role)
        by_person = rows.by_person(catalogue.item_ids, task_count)
        blocks = persist_frame(session, by_person.mapInArrow(work, workers.BLOCKS))
        ratings = SparkRatings(session, blocks, catalogue, task_count)
        if not ratings.total(workers.count_ratings).any():
            raise unrated_catalogue_error()
        return ratings


def write_lists(
    source: str,
    remote: str,
    column_names: Mapping[Role, str | None],
    model: Any,
    list_block: Callable[[Ratings], Any],
    out: str,
    *,
    tasks: int | None = None,
) -> None:
    """Write the lists of all people of a source as Parquet, on the cluster.

    No person's rows or lists come to this machine. Errors are those of `open_spark`, also for a
    folder that tacit wrote. A folder `out` that is already there is a ClusterError, and a source
    without stars a DataError if the model is of stars.

    Args:
        source: As in `open_spark`.
        remote: As in `open_spark`.
        column_names: As in `open_spark`.
        model: A released model.
        list_block: Makes the lists of the people of a block of ratings, as `workers.make_lists`
            calls it.
        out: A new folder, as the cluster sees it.
        tasks: As in `open_spark`.
    """
    with _session(remote) as session:
        source, _, _ = _open_folder(session, source, PublicInputs())
        events = model.scale_ == EVENTS
        rows = _open_rows(
            session, source, column_names, model.scale_, events=events, needs_stars=True
        )
        task_count = _count_tasks(rows.frame, tasks)
        work = partial(
            workers.make_lists,
            list_block=list_block,
            history_width=len(model.history_ids_),
            listed_ids=model.item_ids_,
            scale=model.scale_,
            headers=rows.header_of_role,
        )
        item_type = "string" if model.item_ids_.dtype == object else "bigint"
        schema = f"user {rows.spark_types['user']}, rank int, item {item_type}, score double"
        by_person = rows.by_person(model.history_ids_, task_count)
        by_person.mapInArrow(work, schema).write.mode("error").parquet(cluster_path(out))
        session.stop()


def fold_reports(
    source: str,
    remote: str,
    column: str,
    ticket_place: tuple[int, int],
    fold: Callable[[list[bytes]], NDArray[np.int64]],
    *,
    tasks: int | None = None,
) -> NDArray[np.int64]:
    """Count the reports of devices on a cluster, as the sum of `fold(reports)` over parts of them.

    All reports with the same ticket go to one call of `fold`, sorted by their bytes. Empty cells
    are left out.

    Args:
        source: Parquet with reports in a binary column.
        remote: As in `open_spark`.
        column: Name of the column.
        ticket_place: Index of the ticket's first byte in a report, from 0, and the ticket's length
            in bytes.
        fold: Counts some reports; returns a table of int64, also for an empty list.
        tasks: As in `open_spark`.

    Returns:
        The sum of the tables.

    Raises:
        ConfigError: The address is not of the form sc://HOST or sc://HOST:PORT.
        MissingExtra: pyspark is not installed.
        ClusterError: There is no server or no such source, or the cluster fails.
        DataError: The source is a text file, there is no such column of bytes, or it has no report.
    """
    with _session(remote) as session:
        from pyspark.sql.functions import col

        if _is_text_file(source):
            raise DataError("reports are no text", path=source, expected="Parquet")
        frame = _read(session, source)
        spark_types = dict(frame.dtypes)
        if not spark_types:
            raise ClusterError(NOT_THERE)
        if spark_types.get(column) != "binary":
            raise DataError(
                "no column of reports",
                column=column,
                found=", ".join(spark_types),
                expected="a binary column",
            )
        start, length = ticket_place
        ticket_bounds = (start, start + length)
        reports = frame.select(col(f"`{column}`").alias("report")).dropna()
        task_count = _count_tasks(reports, tasks)
        pack = partial(workers.pack_reports, ticket_bounds=ticket_bounds)
        by_ticket = _partition(reports, pack, task_count)
        work = partial(workers.fold_reports_of_task, ticket_bounds=ticket_bounds, fold=fold)
        total, _ = gather_total(by_ticket, work, fold([]), task_count)
        session.stop()
    return total


@contextmanager
def _session(remote: str) -> Iterator[Any]:
    """Open a session, and stop it if the body of the `with` statement fails.

    If nothing fails, the session stays open.
    """
    session = connect(remote)
    try:
        with described_errors():
            yield session
    except BaseException:
        close(session.stop)
        raise


@dataclass(frozen=True)
class _Rows:
    """The rows of a source on the cluster."""

    frame: Any
    """Spark's frame of the rows as they are stored: columns named by their roles, or the lines of a
    text file."""
    header_of_role: dict[Role, str]
    """Header of the column of each role that the source has."""
    spark_types: dict[Role, str]
    """Spark's type of each role's column after its cells are read."""
    scale: RatingScale | None
    """The stars a rating can take; None: any number."""
    lines: TextLines | None
    """How lines are split, if the source is a text file, so that ids which are whole numbers are
    stored as text; None: it is not."""

    @property
    def checked_frame(self) -> Any:
        """Spark's frame of the rows with their cells read and checked."""
        schema = ", ".join(f"{role} {kind}" for role, kind in self.spark_types.items())
        work = partial(
            workers.read_rows, headers=self.header_of_role, scale=self.scale, lines=self.lines
        )
        return self.frame.mapInArrow(work, schema)

    def by_person(self, ids: Column, tasks: int) -> Any:
        """Partition the rows so that all rows of a person are in one task.

        Args:
            ids: (items,) ids of the catalogue.
            tasks: Number of Spark tasks.
        """
        work = partial(
            workers.pack_rows,
            headers=self.header_of_role,
            scale=self.scale,
            ids=ids,
            lines=self.lines,
        )
        return _partition(self.frame, work, tasks)


def _partition(frame: Any, pack: Callable[..., Any], tasks: int) -> Any:
    """Pack rows in buckets, and distribute the buckets over tasks.

    There are many more buckets than tasks, so that tasks are about equally large.

    Args:
        frame: Spark's frame.
        pack: Packs the rows of a task in buckets, such as `workers.pack_rows`; it gets the number
            of buckets as `buckets`.
        tasks: Number of tasks.
    """
    work = partial(pack, buckets=min(workers.HASHES, _BUCKETS_PER_TASK * tasks))
    return frame.mapInArrow(work, workers.ROWS).repartition(tasks, "bucket")


def _open_rows(
    session: Any,
    source: str,
    column_names: Mapping[Role, str | None],
    scale: RatingScale | None,
    *,
    events: bool,
    needs_stars: bool = False,
) -> _Rows:
    """Find the columns of a source and their types; arguments as in `open_spark`.

    With `needs_stars`, a source without stars is refused, unless its rows are events.

    Raises:
        ClusterError: There is no such source.
        DataError: A column is missing or has an unusable type.
    """
    from pyspark.sql.functions import col

    if _is_text_file(source):
        return _open_lines(session, source, column_names, scale, events, needs_stars)
    frame = _read(session, source)
    spark_types = dict(frame.dtypes)
    if not spark_types:  # what Spark returns for a path that is not there
        raise ClusterError(NOT_THERE)
    header_of_role = find_columns(
        [*spark_types], column_names, events=events, path=source, needs_stars=needs_stars
    )
    columns = [col(f"`{header}`").alias(role) for role, header in header_of_role.items()]
    selected = frame.select(*columns)
    # Even without rows, columns of an unusable type are refused.
    no_rows = read_arrow_cells(selected.limit(0).toArrow(), header_of_role)
    return _Rows(
        frame=selected,
        header_of_role=header_of_role,
        spark_types={role: workers.KINDS[str(no_rows[role].type)] for role in header_of_role},
        scale=scale if "rating" in header_of_role else None,
        lines=None,
    )


def _open_lines(
    session: Any,
    source: str,
    column_names: Mapping[Role, str | None],
    scale: RatingScale | None,
    events: bool,
    needs_stars: bool,
) -> _Rows:
    """Open a text file whose lines the workers split, each without the others.

    A cluster's own reader is not used, since with some a quote in one row can swallow other rows.
    Arguments as in `_open_rows`.

    Raises:
        ClusterError: There is no such source.
        DataError: A column is missing, or two columns have the same name.
    """
    from pyspark.sql.functions import col, trim

    path = cluster_path(source)
    # A file may be named .csv, and then has no ending for `pathlib`.
    delimiter = next(sign for ending, sign in _DELIMITERS.items() if path.endswith(ending))
    with_header = session.read.csv(
        path, header=True, inferSchema=False, sep=_NO_DELIMITER, quote=_NO_QUOTE
    )
    if not with_header.columns:  # what Spark returns for a path that is not there
        raise ClusterError(NOT_THERE)
    header_line = with_header.columns[0]
    form = TextForm("utf-8", delimiter, '"', lines_above=1, packed=False)
    lines = TextLines(form, _split_header(header_line, form, source))
    header_of_role = find_columns(
        lines.headers, column_names, events=events, path=source, needs_stars=needs_stars
    )
    frame = session.read.text(path).select("value")
    # Each of several files has the line of headers, perhaps after a byte order mark.
    is_header = col("value").isin(header_line, "\ufeff" + header_line)
    frame = frame.filter((trim(col("value")) != "") & ~is_header)
    no_rows = lines.split(pa.table({"value": pa.array([], pa.string())}), header_of_role)
    no_rows = read_arrow_cells(no_rows, header_of_role)
    return _Rows(
        frame=frame,
        header_of_role=header_of_role,
        spark_types={role: workers.KINDS[str(no_rows[role].type)] for role in header_of_role},
        scale=scale if "rating" in header_of_role else None,
        lines=lines,
    )


def _split_header(line: str, form: TextForm, source: str) -> tuple[str, ...]:
    """Split the line of headers; a column without a name gets its number, from 1.

    Raises:
        DataError: It cannot be split, or two columns have the same name.
    """
    cells = split_quoted_line(line.removeprefix("\ufeff"), form)
    if cells is None:
        raise DataError("the line of headers cannot be read", path=source)
    headers = tuple(cell.strip() or str(number) for number, cell in enumerate(cells, 1))
    repeated = [name for name in headers if headers.count(name) > 1]
    if repeated:
        raise DataError(
            "two columns have the same name",
            path=source,
            column=repeated[0],
            fix="Rename one of them.",
        )
    return headers


def _open_folder(
    session: Any, source: str, public: PublicInputs
) -> tuple[str, PublicInputs, tuple[str, ...]]:
    """Find what a folder of tacit says of a source in it, or of its own file of rows.

    Args:
        session: The session.
        source: As in `open_spark`.
        public: What the caller gave.

    Returns:
        The source of the rows, the public inputs, and the facts that were found in private rows
        when the source was written.

    Raises:
        DataError: The source is an imported folder that this machine does not see, or a description
            cannot be read or is incomplete.
    """
    has_own_items = public.catalogue is not None
    if _is_name_in_catalogue(source):
        return source, public, ()
    local = Path(source)
    if is_folder(local):
        file, public = open_folder(local, public)
        source = str(file)
        guesses = find_guesses(file)
    elif local.exists():
        guesses = find_guesses(local)
    else:
        guesses = _find_guesses_on_cluster(session, source)
    if has_own_items:
        guesses = drop_item_guesses(guesses)
    return source, public, guesses


def _find_guesses_on_cluster(session: Any, source: str) -> tuple[str, ...]:
    """Find the facts on which files rest that perhaps the cluster alone sees.

    Args:
        session: The session.
        source: A path or an address of files, a folder, or a pattern of several of them.

    Returns:
        The facts of all descriptions beside the files, as `find_guesses` returns them.

    Raises:
        DataError: The source is an imported folder, or a description cannot be read or is
            incomplete.
    """
    above, slash, name = source.rstrip("/").rpartition("/")
    parent = above if slash else "."
    is_file = source.endswith((".parquet", *_DELIMITERS))
    is_pattern = any(sign in name for sign in _SIGNS_OF_PATTERNS)
    guesses: list[str] = []
    if not is_file:
        folder = source.rstrip("/")
        descriptions = _read_descriptions(session, folder)
        if any(is_description(description) for description in descriptions):
            raise DataError(
                "this is a folder that tacit wrote",
                path=source,
                fix="Name its ratings.parquet or events.parquet.",
            )
    if is_file or is_pattern:
        for description in _read_descriptions(session, parent):
            guesses += list_guesses(description, parent)
    return tuple(dict.fromkeys(guesses))


def _read_descriptions(session: Any, folder: str) -> list[Any]:
    """Read the values of the data.json of a folder that the cluster sees, or of several folders.

    Args:
        session: The session.
        folder: The folder, or a pattern of several.

    Returns:
        The values of each file, which another program may have written; empty without a file.

    Raises:
        DataError: A file cannot be read, and it may be a description.
    """
    from pyspark.errors import AnalysisException, PySparkException

    path = f"{folder}/{FILE}"
    try:
        files = session.read.text(cluster_path(path), wholetext=True).filter(_MAY_BE_DESCRIPTION)
        texts = files.toArrow()["value"].to_pylist()
    except AnalysisException:  # there is no such file
        return []
    except PySparkException:
        raise DataError(
            "cannot tell whether tacit wrote this folder: this file cannot be read",
            path=path,
            fix="Let the cluster read it. If there is no such file, let the cluster list the "
            "folder, since some stores otherwise refuse to say so. If another program wrote it, "
            "move it to another folder.",
        ) from None
    descriptions = []
    for text in texts:
        try:
            descriptions.append(json.loads(text))
        except (ValueError, RecursionError):
            if has_mark(text.encode()) or _has_catalogue(session, folder):
                raise unreadable_description_error(folder) from None
    return descriptions


def _has_catalogue(session: Any, folder: str) -> bool:
    """Tell whether the cluster sees a file of item metadata in a folder."""
    from pyspark.errors import AnalysisException

    try:
        # Some clusters return a frame without columns for a path that is not there.
        return bool(session.read.parquet(cluster_path(f"{folder}/{CATALOGUE}")).columns)
    except AnalysisException:
        return False


def _count_tasks(frame: Any, tasks: int | None) -> int:
    """Return `tasks`; if it is None, a task for each TASK_ROWS rows, and at least `_LEAST_TASKS`.

    Raises:
        DataError: There is no row.
    """
    rows = frame.count()
    if not rows:
        raise DataError("there is no row")
    return tasks or max(_LEAST_TASKS, math.ceil(rows / TASK_ROWS))


@contextmanager
def _named_main_module() -> Iterator[None]:
    """Set the main module's `__file__` during the `with` statement, if it has none.

    Without it, as with `python -c`, pyspark assumes that its own tests run and ends the process.
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


def _read_address(remote: str) -> tuple[str, int]:
    """Split an address of the form sc://HOST or sc://HOST:PORT into host and port.

    Raises:
        ConfigError: The address has another form.
    """
    wrong_form = ConfigError(f"--remote is written sc://HOST:PORT; got {remote!r}.")
    try:
        address = urlsplit(remote)
        port = address.port
    except ValueError:  # such as a port that is no number, or above 65535
        raise wrong_form from None
    if address.scheme != "sc" or not address.hostname:
        raise wrong_form
    return address.hostname, port or _DEFAULT_PORT


def connect(remote: str) -> Any:
    """Open a new session on a Spark Connect server.

    Raises:
        ConfigError: The address is not of the form sc://HOST or sc://HOST:PORT.
        ClusterError: No server answers there, its version is not supported, or a worker has another
            version of tacit-rec.
        MissingExtra: pyspark is not installed.
    """
    host, port = _read_address(remote)
    try:
        socket.create_connection((host, port), timeout=_WAIT).close()
    except OSError as error:
        raise ClusterError(
            f"No Spark Connect server answers at {host}:{port} ({error}). Start one, "
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
                _set_up_session(session)
            except BaseException:
                close(session.stop)
                raise
    return session


def _set_up_session(session: Any) -> None:
    """Configure a session, and check the versions of Spark and of tacit-rec on the workers.

    Raises:
        ClusterError: Spark is older than version 4, or a worker has another version of tacit-rec.
    """
    if int(session.version.split(".")[0]) < 4:
        raise ClusterError(f"The server is Spark {session.version}; this needs Spark 4 or newer.")
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "131072")
    # With the largest limit, Spark does not compute a batch's size for each row, which would take
    # longer than the sums.
    session.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", str(2**31 - 1))
    own_version = version("tacit-rec")
    probe = session.range(0, 1, 1, 1).mapInArrow(workers.versions, "tacit string")
    worker_versions = {row[0] for row in probe.collect()}
    if worker_versions != {own_version}:
        raise ClusterError(
            f"The workers have tacit-rec {', '.join(sorted(worker_versions))}, and this machine "
            f"{own_version}: install  tacit-rec=={own_version}  on every worker."
        )


def cluster_path(path: str) -> str:
    """Return a path as the cluster sees it: a local path becomes absolute, an address stays.

    `pathlib` shortens an address such as s3://bucket/x to s3:/bucket/x; the slash is added again.
    The addresses file:/x and file:///x are the same for a cluster, and so are dbfs:/x and
    dbfs:///x, so none of them is changed. An address without a host, such as hdfs:///x, must not
    go through `pathlib`.
    """
    if re.match(r"\w+://|(file|dbfs):/", path):
        return path
    address = re.match(r"(\w+):/", path)
    if address is not None:
        return path.replace(address[0], f"{address[1]}://", 1)
    return str(Path(path).absolute())


def _is_name_in_catalogue(source: str) -> bool:
    """Tell whether a source is the name of a table in Spark's catalogue, and no path."""
    return bool(re.fullmatch(r"\w+(\.\w+){0,2}", source)) and not Path(source).exists()


def _is_text_file(source: str) -> bool:
    """Tell whether a source is a text file, or several, by its ending."""
    return source.endswith((*_DELIMITERS,)) and not _is_name_in_catalogue(source)


def _read(session: Any, source: str) -> Any:
    """Return Spark's frame of a table in its catalogue, or of Parquet."""
    if _is_name_in_catalogue(source):
        return session.read.table(source)
    # With merged schemas, stars that are missing in some of the files are empty cells, and refused.
    return session.read.option("mergeSchema", "true").parquet(cluster_path(source))
