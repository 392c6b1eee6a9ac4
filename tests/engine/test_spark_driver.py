"""Paths that are handed to a cluster."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("pyarrow")

from tacit.data.columns import EVENTS
from tacit.data.ratings import RatingScale
from tacit.engine.spark import driver
from tacit.engine.spark.driver import cluster_path
from tacit.errors import DataError


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("s3://bucket/x", "s3://bucket/x"),
        (str(Path("s3://bucket/x")), "s3://bucket/x"),
        (str(Path("hdfs://node/data/x.parquet")), "hdfs://node/data/x.parquet"),
        ("hdfs:///data", "hdfs:///data"),
        ("file:///data", "file:///data"),
        (str(Path("file:///data")), "file:/data"),
        ("dbfs:/mnt/x", "dbfs:/mnt/x"),
        ("dbfs:///mnt/x", "dbfs:///mnt/x"),
        ("/data/a:/b", "/data/a:/b"),
    ],
)
def test_an_address_stays(path: str, seen: str) -> None:
    """Also one that lost a slash in `pathlib`; file:/x and file:///x are the same, as with dbfs."""
    assert cluster_path(path) == seen


def test_a_local_path_becomes_absolute() -> None:
    """The cluster has a working folder of its own."""
    assert cluster_path("data/x") == str(Path.cwd() / "data" / "x")


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of pyspark, about pandas
def test_lists_of_a_model_of_stars_need_stars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows without stars are not read as ratings of 1 star; a model of events needs none."""
    functions = pytest.importorskip("pyspark.sql.functions")

    def refuse_work(*_: object) -> None:
        raise NotImplementedError

    columns = [("user", "bigint"), ("item", "bigint"), ("note", "string")]
    frame = SimpleNamespace(dtypes=columns, select=refuse_work)
    # A real column needs a session of Spark, and none is here.
    monkeypatch.setattr(functions, "col", lambda name: SimpleNamespace(alias=lambda _: name))
    monkeypatch.setattr(driver, "_session", nullcontext)
    monkeypatch.setattr(driver, "_read", lambda _session, _source: frame)

    def write(scale: RatingScale) -> None:
        model = SimpleNamespace(scale_=scale)
        driver.write_lists("rows", "sc://host", {}, model, lambda _: None, "lists")

    with pytest.raises(DataError, match="no rating column; found 'user, item, note'"):
        write(RatingScale(1, 5, 1))
    with pytest.raises(NotImplementedError):
        write(EVENTS)
