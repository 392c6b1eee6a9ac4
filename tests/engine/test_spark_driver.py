"""Paths that are handed to a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from tacit.engine.spark.driver import _cluster_path


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("s3://bucket/x", "s3://bucket/x"),
        (str(Path("s3://bucket/x")), "s3://bucket/x"),
        (str(Path("hdfs://node/data/x.parquet")), "hdfs://node/data/x.parquet"),
        ("hdfs:///data", "hdfs:///data"),
        ("file:///data", "file:///data"),
        (str(Path("file:///data")), "file:/data"),
        ("/data/a:/b", "/data/a:/b"),
    ],
)
def test_an_address_stays(path: str, seen: str) -> None:
    """Also one that lost a slash in `pathlib`; file:/x and file:///x are the same."""
    assert _cluster_path(path) == seen


def test_a_local_path_becomes_absolute() -> None:
    """The cluster has a working folder of its own."""
    assert _cluster_path("data/x") == str(Path.cwd() / "data" / "x")
