"""Paths that are handed to a cluster."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from tacit.data.columns import EVENTS
from tacit.data.ratings import Ratings, RatingScale
from tacit.data.tables.folder import write_folder
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


class Store:
    """A session of a cluster whose store has some texts; it denies reading other files, or has
    none."""

    def __init__(self, texts: dict[str, str], *, denies: bool = False) -> None:
        self.texts = texts
        self.denies = denies
        self.asked: list[str] = []
        self.read = self

    def text(self, path: str, **_: object) -> Any:
        errors = pytest.importorskip("pyspark.errors")
        self.asked.append(path)
        if path in self.texts:
            column = SimpleNamespace(to_pylist=lambda: [self.texts[path]])
            frame = SimpleNamespace(toArrow=lambda: {"value": column})
            return SimpleNamespace(filter=lambda _: frame, toArrow=frame.toArrow)
        raise errors.PySparkException("denied") if self.denies else errors.AnalysisException("none")

    def parquet(self, path: str) -> Any:
        return SimpleNamespace(columns=["item_id"] if path in self.texts else [])


def write_lists_of(source: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write lists up to the moment when the rows are opened: NotImplementedError."""

    def open_rows(_session: object, path: str, *_: object, **__: object) -> None:
        store.asked.append(f"rows of {path}")
        raise NotImplementedError

    monkeypatch.setattr(driver, "_session", lambda _: nullcontext(store))
    monkeypatch.setattr(driver, "_open_rows", open_rows)
    model = SimpleNamespace(scale_=EVENTS)
    driver.write_lists(source, "sc://host", {}, model, lambda _: None, "lists")


def test_a_file_without_a_folder_is_in_the_working_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its description is not looked for in the root."""
    monkeypatch.chdir(tmp_path)
    store = Store({})
    with pytest.raises(NotImplementedError):
        write_lists_of("my-ratings.parquet", store, monkeypatch)
    assert store.asked == [str(tmp_path / "data.json"), "rows of my-ratings.parquet"]
    store = Store({})
    with pytest.raises(NotImplementedError):
        write_lists_of("/ratings.parquet", store, monkeypatch)
    assert store.asked == ["/data.json", "rows of /ratings.parquet"]


def test_a_store_that_denies_reading_the_description(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says which file, and what to do."""
    with pytest.raises(DataError, match="cannot tell whether tacit wrote this folder") as caught:
        write_lists_of("s3://shop/ratings.parquet", Store({}, denies=True), monkeypatch)
    assert "s3://shop/data.json" in str(caught.value)
    assert "let the cluster list the folder" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "has_catalogue"),
    [('{"kind": "tacit export", "gue', False), ("", True), ("[" * 100_000, True)],
)
def test_a_damaged_description_on_a_cluster(
    text: str, has_catalogue: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused if its first bytes or the files beside it say that tacit wrote it."""
    texts = {"s3://shop/data.json": text}
    if has_catalogue:
        texts["s3://shop/catalogue.parquet"] = ""
    with pytest.raises(DataError, match="description of the folder cannot be read"):
        write_lists_of("s3://shop/ratings.parquet", Store(texts), monkeypatch)
    other = Store({"s3://shop/data.json": "user,item"})
    with pytest.raises(NotImplementedError):
        write_lists_of("s3://shop/ratings.parquet", other, monkeypatch)


def test_lists_of_an_imported_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only its file of rows is read; of a folder that the cluster alone sees, nothing is."""
    folder = tmp_path / "shop"
    write_folder(Ratings.from_arrays([1, 2], [3, 4]), folder)
    store = Store({})
    with pytest.raises(NotImplementedError):
        write_lists_of(str(folder), store, monkeypatch)
    assert store.asked == [f"rows of {folder / 'events.parquet'}"]
    remote = Store({"s3://shop/data.json": (folder / "data.json").read_text()})
    with pytest.raises(DataError, match=r"Name its ratings\.parquet or events\.parquet"):
        write_lists_of("s3://shop/", remote, monkeypatch)


def test_a_file_may_be_named_like_an_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as .csv, which `pathlib` takes for a name without an ending."""
    pytest.importorskip("pyspark.sql.functions")
    delimiters = []

    def read_csv(_path: str, *, sep: str, **_: object) -> Any:
        return SimpleNamespace(columns=["user\titem"])

    def split(line: str, form: Any, _source: str) -> Any:
        delimiters.append(form.delimiter)
        raise NotImplementedError

    session = SimpleNamespace(read=SimpleNamespace(csv=read_csv))
    monkeypatch.setattr(driver, "_session", lambda _: nullcontext(session))
    monkeypatch.setattr(driver, "_open_folder", lambda _session, path, public: (path, public, ()))
    monkeypatch.setattr(driver, "_split_header", split)
    model = SimpleNamespace(scale_=EVENTS)
    for name in (".tsv", "r.tsv"):
        with pytest.raises(NotImplementedError):
            driver.write_lists(f"s3://shop/{name}", "sc://host", {}, model, lambda _: None, "out")
    assert delimiters == ["\t", "\t"]
