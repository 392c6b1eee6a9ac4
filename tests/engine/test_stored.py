"""Sums over people who do not lie in memory: in buckets on disk, and on a cluster (pysail)."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import polars as pl
import pytest

import tacit
from tacit import container
from tacit.data.ratings import RatingScale
from tacit.data.stored_ratings import PublicInputs, find_columns
from tacit.data.tables import buckets
from tacit.data.tables.buckets import open_parquet
from tacit.errors import ClusterError, ConfigError, DataError, MissingExtra
from tacit.mechanisms import samplers
from tests.support.stored_world import (
    ITEMS,
    ODD,
    SCALE,
    blocks_of,
    facts,
    local,
    public,
    same_as_in_memory,
    write_odd,
    write_world,
)

SAIL = "pysail is not installed: pip install 'tacit-rec[spark]' pysail"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def remote(missing):
    """The address of a pysail server in this process."""
    if find_spec("pysail") is None:
        missing(SAIL)
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    yield "sc://{}:{}".format(*server.listening_address)
    server.stop()


@pytest.fixture
def same_noise(monkeypatch):
    """Noise that hangs on the shape alone, so that two fits are equal if their exact sums are.
    Gives the shapes that were drawn."""
    drawn = []

    def noise(values, sigma):
        drawn.append(values.shape)
        assert values.dtype == np.int64
        return values + np.random.default_rng(values.size).integers(-3, 4, values.shape)

    monkeypatch.setattr(samplers, "discrete_gaussian", noise)
    return drawn


def opened(kind, files, request, monkeypatch):
    if kind == "cluster":
        from tacit.engine.spark import open_spark, workers

        monkeypatch.setattr(
            workers, "ROWS_AT_ONCE", 20_000
        )  # a person's rows come in several parts
        address = request.getfixturevalue("remote")
        return open_spark(str(files[0]), address, {}, public(files[1]), events=False, tasks=5)
    monkeypatch.setattr(buckets, "BYTES_PER_ROW", 40_000)  # several buckets and chunks
    return open_parquet(files[0], {}, public(files[1]), 2**30, events=False)


@pytest.mark.parametrize("kind", ["buckets", "cluster"])
@pytest.mark.parametrize(
    "asked",
    [{"mode": "taste", "stars": True}, {"mode": "top-items"}, {"source": "s", "target": "t"}],
    ids=["tastes and stars", "top items", "two domains"],
)
def test_sums_are_equal_to_the_bit(kind, asked, files, request, monkeypatch, same_noise):
    """Everything that a fit releases is the same as in memory if noise is the same: the exact sums
    are. As often drawn, and the same card."""
    model = tacit.Private(2.0, **asked).fit(local(files))
    draws = list(same_noise)
    with opened(kind, files, request, monkeypatch) as ratings:
        other = tacit.Private(2.0, **asked).fit(ratings)
    (header, arrays), (its_header, its_arrays) = model.parts(), other.parts()
    assert arrays.keys() == its_arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, its_arrays[name], name)
    assert same_noise == 2 * draws
    assert header | {"releases": 0} == its_header | {"releases": 0}
    assert model.guarantees() == other.guarantees()


@pytest.mark.parametrize("kind", ["buckets", "cluster"])
def test_pairs_of_likes_are_equal_to_the_bit(kind, files, request, monkeypatch, same_noise):
    """At so little noise that pairs of likes are asked for: their sum is drawn last."""
    model = tacit.Private(500.0).fit(local(files))
    with opened(kind, files, request, monkeypatch) as ratings:
        other = tacit.Private(500.0).fit(ratings)
    (_, arrays), (_, its_arrays) = model.parts(), other.parts()
    head = len(arrays["pair_items"])
    assert same_noise[-1] == (head * (head - 1) // 2, 1)
    assert arrays.keys() == its_arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, its_arrays[name], name)


@pytest.mark.parametrize("kind", ["buckets", "cluster"])
def test_sound_x_map_is_equal_to_the_bit(kind, files, request, monkeypatch, same_noise):
    """From the items of one domain to those of another."""
    made = {"source": "s", "target": "t", "epsilon": 2.0}
    model = tacit.XMap(**made).fit(local(files))
    with opened(kind, files, request, monkeypatch) as ratings:
        other = tacit.XMap(**made).fit(ratings)
    (header, arrays), (its_header, its_arrays) = (each.sound_.parts() for each in (model, other))
    assert header | {"releases": 0} == its_header | {"releases": 0}
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, its_arrays[name], name)


@pytest.mark.parametrize("domains", [{}, {"source": "s", "target": "t"}], ids=["one", "two"])
def test_lists_of_all_people_are_those_of_each(domains, files, remote, tmp_path):
    """As `recommend` makes them one by one, from the model file: on this machine and on a cluster,
    with the ids of the files."""
    from tacit.cli import app as cli

    ratings, file = local(files), tmp_path / "m.tacit"
    model = tacit.Private(3.0, mode="taste", **domains).fit(ratings)
    model.save(file)
    here, there = tmp_path / "here.parquet", tmp_path / "there"
    asked = ["recommend", str(file), "--all", str(files[0]), "-n", "5", "--json", "-o"]
    assert cli.main([*asked, str(here)]) == 0
    assert cli.main([*asked, str(there), "--engine", "spark", "--remote", remote]) == 0
    found = [pl.read_parquet(place).sort("user", "rank") for place in (here, there / "*.parquet")]
    assert found[0]["user"].to_list() == found[1]["user"].to_list()
    assert found[0]["item"].to_list() == found[1]["item"].to_list()
    assert found[0]["user"].n_unique() == ratings.n_users - 1  # u5 has rated everything
    for person in ("u5", "u6", "u7", "u350"):
        own = [row.item_id for row in model.recommend(person, n=5)]
        assert found[0].filter(pl.col("user") == person)["item"].to_list() == own


@pytest.mark.parametrize("kind", ["buckets", "cluster"])
def test_without_noise_sums_are_equal_but_for_rounding(kind, files, request, monkeypatch):
    """At epsilon inf nothing is rounded to whole steps, and floats are added in another order."""
    model = tacit.Private(float("inf")).fit(local(files))
    with opened(kind, files, request, monkeypatch) as ratings:
        other = tacit.Private(float("inf")).fit(ratings)
    np.testing.assert_allclose(model.released_.means, other.released_.means, rtol=1e-12)


def test_catalogue_and_scale_are_read_off_where_they_are_not_given(files, request, remote):
    """As in memory, and the cards say so."""
    from tacit.engine.spark import open_spark

    model = tacit.Private(1.0).fit(tacit.load(files[0]))
    given = PublicInputs()
    with (
        open_parquet(files[0], {}, given, 2**30, events=False) as one,
        open_spark(str(files[0]), remote, {}, given, events=False) as other,
    ):
        for ratings in (one, other):
            found = tacit.Private(1.0).fit(ratings)
            assert found.scale_ == model.scale_
            assert found.item_ids_.tolist() == model.item_ids_.tolist()
            assert found.guarantees()[0].assumptions == model.guarantees()[0].assumptions


def test_the_folder_is_private_and_goes(files, tmp_path, monkeypatch):
    """Rows on disk can be read by their owner alone, and are removed, also after an error."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with open_parquet(files[0], {}, public(files[1]), 2**30, events=False):
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not list(tmp_path.iterdir())
    short = PublicInputs(scale=RatingScale(1, 4, 1))
    with (
        pytest.raises(DataError, match="off the scale"),
        open_parquet(files[0], {}, short, 2**30, events=False),
    ):
        pytest.fail("it was opened")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["buckets", "cluster"])
def test_bad_rows_are_refused_without_their_content(kind, tmp_path, request):
    """A hole, and stars off the scale: the column is named, and no id and no number."""
    file = tmp_path / "bad.parquet"

    def open_it(given: PublicInputs):
        if kind == "buckets":
            return open_parquet(file, {}, given, 2**30, events=False)
        from tacit.engine.spark import open_spark

        return open_spark(str(file), request.getfixturevalue("remote"), {}, given, events=False)

    def refusal(scale: RatingScale | None) -> str:
        with pytest.raises(DataError) as caught, open_it(PublicInputs(scale=scale)):
            pytest.fail("it was opened")
        return str(caught.value)

    rows = {"user": [11111, 22222], "item": [33333, 44444], "rating": [5.0, 77.0]}
    pl.DataFrame(rows).write_parquet(file)
    off = refusal(SCALE)
    pl.DataFrame(rows | {"item": [33333, None]}).write_parquet(file)
    hole = refusal(None)
    assert "off the scale" in off
    assert "no item" in hole
    assert not any(text in off + hole for text in ("11111", "22222", "33333", "77"))


@pytest.mark.parametrize(
    "odd",
    [
        "padded",
        "words",
        "none rated",
        "no zone",
        "zeros",
        "repeated at one time",
        "repeated without times",
    ],
)
def test_a_cluster_reads_odd_rows_as_in_memory(odd, remote, tmp_path):
    """Or refuses them before anything could be charged: blanks, words for nothing, dates, times
    without a zone, CSV whose ids begin with zeros."""
    from tacit.engine.spark import open_spark

    file, items = write_odd(tmp_path / ("r.csv" if odd == "zeros" else "r.parquet"), ODD[odd])

    def on_cluster():
        given = PublicInputs(scale=SCALE, catalogue=items)
        with open_spark(str(file), remote, {}, given, events=False, tasks=3) as ratings:
            return ratings.total(facts)

    same_as_in_memory(on_cluster, file, items, ODD[odd])


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_a_quote_in_one_row_of_text_swallows_no_other_row(ending, remote, tmp_path):
    """An open quote, or two quotes in rows far apart, in cells that are not even read: the fit is
    refused, without a cell, or each row is read by itself. Without them all rows are read."""
    from tacit.engine.spark import open_spark

    sign = "," if ending == "csv" else "\t"
    rows = [[f"u{person}", f"i{person % 7}", "5", "good"] for person in range(300)]
    (tmp_path / "items.csv").write_text("item\n" + "".join(f"i{item}\n" for item in range(7)))
    known = PublicInputs(scale=SCALE, catalogue=tmp_path / "items.csv")
    file = tmp_path / f"r.{ending}"

    def count(notes: dict[int, str]) -> int:
        for place, note in notes.items():
            rows[place][3] = note
        lines = [sign.join(row) for row in [["user", "item", "rating", "note"], *rows]]
        file.write_bytes("\r\n".join(lines).encode("utf-8-sig") + b"\r\n\r\n")
        with open_spark(str(file), remote, {}, known, events=False, tasks=3) as ratings:
            return int(ratings.total(lambda block: np.array([len(block)]))[0])

    assert count({}) == 300
    assert count({3: f'"so{sign} good"', 9: 'a "b" c', 11: '5"'}) == 300
    for notes in ({3: '"Best film ever'}, {3: '"a', 200: 'b"'}, {3: f"a{sign}b"}):
        with pytest.raises(DataError, match="one row in each line") as caught:
            count(notes)
        assert not any(note in str(caught.value) for note in (*notes.values(), "u3"))
        rows[3][3] = rows[200][3] = "good"
    assert count({3: "good"}) == 300


def test_lists_of_all_people_of_text_have_their_rows(remote, tmp_path):
    """An open quote in one row of the table is refused, and costs nobody else their list."""
    from tacit.cli import app as cli

    rows = [f"u{person},i{person % 7},5,good" for person in range(60)]
    file = tmp_path / "r.csv"

    def lists(*first: str) -> int:
        file.write_text("\n".join(["user,item,rating,note", *first, *rows]) + "\n")
        asked = ["recommend", str(tmp_path / "m.tacit"), "--all", str(file), "--json", "-o"]
        cluster = ["--engine", "spark", "--remote", remote]
        return cli.main([*asked, str(tmp_path / f"lists{len(first)}"), *cluster])

    file.write_text("\n".join(["user,item,rating,note", *rows]) + "\n")
    tacit.Private(1.0).fit(tacit.load(file)).save(tmp_path / "m.tacit")
    assert lists() == 0
    assert pl.read_parquet(tmp_path / "lists0" / "*.parquet")["user"].n_unique() == 60
    assert lists('eve,i1,5,"Best film ever') != 0


@pytest.mark.parametrize("source", ["folder", "file"])
def test_a_cluster_keeps_the_conditions_of_an_imported_folder(source, remote, tmp_path):
    """Of a folder on this machine, and of a file in one that perhaps the cluster alone sees: what
    the import found in the rows is on the card, as in memory."""
    from tacit.cli import app as cli
    from tacit.engine.spark import open_spark

    pairs = [(person, (person + step) % 7) for person in range(40) for step in range(3)]
    rows = [f"u{person};i{item};{(person + 2 * item) % 5 + 1};good" for person, item in pairs]
    (tmp_path / "orders.csv").write_text("\n".join(["user;item;stars;note", *rows]) + "\n")
    (tmp_path / "items.csv").write_text("item\n" + "".join(f"i{item}\n" for item in range(7)))
    shop = tmp_path / "shop"
    asked = ["data", "import", str(tmp_path / "orders.csv"), "-o", str(shop), "--scale", "1:5:1"]
    assert cli.main([*asked, "--catalogue", str(tmp_path / "items.csv"), "--yes", "--json"]) == 0
    expected = tacit.Private(1.0).fit(tacit.load(shop)).guarantees()[0]
    assert expected.basis == "conditional"

    def assumptions(path: str, given: PublicInputs) -> tuple[str, ...]:
        with open_spark(path, remote, {}, given, events=False, tasks=2) as ratings:
            return tacit.Private(1.0).fit(ratings).guarantees()[0].assumptions

    if source == "folder":
        assert assumptions(str(shop), PublicInputs()) == expected.assumptions
        with pytest.raises(DataError, match=r"Name its ratings\.parquet"):
            assumptions(f"file://{shop}", PublicInputs())
        return
    given = PublicInputs(scale=SCALE, catalogue=shop)
    for path in (f"{shop}/ratings.parquet", f"file://{shop}/ratings.parquet"):
        assert assumptions(path, given) == expected.assumptions


def test_a_pattern_has_the_conditions_of_all_its_folders(remote, tmp_path):
    """A cluster reads several descriptions; and a list of items that the caller gives replaces what
    a folder found about items, as in memory."""
    from tacit.data.tables.folder import write_folder
    from tacit.engine.spark import open_spark

    (tmp_path / "items.csv").write_text("item\n" + "".join(f"{item}\n" for item in range(7)))
    people, items = np.repeat(np.arange(20), 3), np.arange(60) % 7
    for name, guess in (("a", "rows"), ("b", "dates")):
        ratings = tacit.Ratings.from_arrays(people, items, people % 5 + 1.0, scale=SCALE)
        write_folder(ratings.with_guess(guess).with_guess("titles"), tmp_path / name)
    given = PublicInputs(scale=SCALE, catalogue=tmp_path / "items.csv")

    def guesses(source: str) -> tuple[str, ...]:
        with open_spark(str(tmp_path / source), remote, {}, given, events=False, tasks=2) as rows:
            return rows.catalogue.guesses

    assert {*guesses("[ab]/ratings.parquet")} == {"rows", "dates"}
    assert guesses("a") == ("rows",)
    assert guesses("a/rating*") == ("rows",)


class Frame:
    """A frame of batches in this process whose first task is done `times` times in each job."""

    def __init__(self, tasks, times):
        self.tasks, self.times = tasks, times

    def mapInArrow(self, work, schema):
        done = [list(work(task)) for task in self.tasks for _ in range(1)]
        return Frame([done[0] * self.times, *done[1:]], 1)

    def repartition(self, *_):
        return self

    def toArrow(self):
        import pyarrow as pa

        return pa.Table.from_batches([batch for task in self.tasks for batch in task])

    def unpersist(self):
        return self


@pytest.mark.parametrize("times", [0, 1, 2])
def test_an_answer_that_counts_a_person_twice_or_never_is_refused(times, files, monkeypatch):
    """By an engine that adds one task's table twice, or loses it, or so its last block alone: the
    bound of a person's contribution would not hold. Once is accepted."""
    from tacit.engine.spark import SparkRatings, workers

    pa = pytest.importorskip("pyarrow")
    known = public(files[1]).make_catalogue(list, np.zeros(0))
    people = np.arange(40)
    rows = pa.record_batch({"user": people, "item": people, "rating": people % 5 + 1.0})
    blocks = [blocks_of(rows[:20], known.item_ids), blocks_of(rows[20:], known.item_ids)]
    frame = Frame(blocks, 1)
    ratings = SparkRatings(None, frame, known, 4)
    monkeypatch.setattr(workers, "BLOCK_ROWS", 10)
    several = blocks_of(rows[20:], known.item_ids)
    assert len(several) == 2
    odd = SparkRatings(None, Frame([several[:1] + several[1:] * times], 1), known, 1)
    add = lambda block: np.bincount(block.items, minlength=ITEMS)  # noqa: E731
    assert ratings.total(add).sum() == 40
    frame.times = times
    if times == 1:
        assert ratings.total(add).sum() == 40
        assert odd.total(add).sum() == 20
        return
    with pytest.raises(ClusterError, match="each person exactly once"):
        odd.total(add)
    with pytest.raises(ClusterError, match="each person exactly once"):
        ratings.total(add)


def test_a_task_counts_the_same_of_reports_of_one_ticket_in_any_order():
    """A task that is done again gives the same: which of them counts hangs on their bytes alone.
    An id has one hash, in whatever part of a column it stands."""
    from tacit.engine.spark import workers
    from tacit.engine.spark.workers import hashes_of

    pa = pytest.importorskip("pyarrow")
    reports = pa.array([b"ticket-1b", b"ticket-2", b"", b"ticket-1a", b"ticket-1c", b"tick"])

    def first(found):
        """The last byte of the first report of ticket 1."""
        return np.array([next((report[8] for report in found if report[:8] == b"ticket-1"), 0)])

    counted = []
    for order in ([0, 1, 2, 3, 4, 5], [4, 5, 3, 2, 1, 0]):
        batch = pa.record_batch([reports.take(pa.array(order))], ["report"])
        packed = workers.pack_reports([batch], ticket_bounds=(0, 8), buckets=4)
        table = workers.fold_reports_of_task(packed, ticket_bounds=(0, 8), fold=first)
        counted.append([np.frombuffer(raw, np.int64) for _, raw in pieces(table)][1])
    assert counted == [ord("a"), ord("a")]
    assert (hashes_of(reports)[2:5] == hashes_of(reports[2:5])).all()


def pieces(batches):
    return [(row["piece"], row["cells"]) for batch in batches for row in batch.to_pylist()]


def test_what_is_missing_is_said(files, monkeypatch):
    """A server that does not answer, an address of another form, no pyspark, too little memory,
    numbers of plays."""
    from tacit.engine.spark import driver as spark

    with pytest.raises(ClusterError, match=r"No Spark Connect server answers at 127\.0\.0\.1:1 "):
        spark.connect("sc://127.0.0.1:1")
    for address in ("spark://somewhere:7077", "sc://", "sc://somewhere:99999", "sc://host:word"):
        with pytest.raises(ConfigError, match="sc://HOST:PORT"):
            spark.connect(address)
    for file, memory, said in ((files[0], 2**20, "1GiB or more"), (files[1], 2**30, "no Parquet")):
        with (
            pytest.raises((ConfigError, DataError), match=said),
            open_parquet(file, {}, PublicInputs(), memory, events=False),
        ):
            pytest.fail("it was opened")
    with pytest.raises(ConfigError, match="--events"):
        find_columns(["user", "item", "plays"], {}, events=False, path=None)
    monkeypatch.setattr(spark.socket, "create_connection", lambda *_, **__: open(files[1]))  # noqa: PTH123, SIM115
    monkeypatch.setitem(__import__("sys").modules, "pyspark.sql", None)
    with pytest.raises(MissingExtra, match=r"tacit-rec\[spark\]"):
        spark.connect("sc://127.0.0.1:1")


def test_a_worker_without_the_package_and_an_absent_file(remote, monkeypatch):
    """Both are said in a sentence, without what the cluster reports."""
    from tacit.engine.spark import driver as spark

    session = spark.connect(remote)
    assert session.client.get_retry_policies()[0].max_retries == 5  # the default waits ten minutes
    session.stop()
    with pytest.raises(ClusterError, match="does not find the ratings"):
        spark.open_spark("/nowhere/r.parquet", remote, {}, PublicInputs(), events=False)

    def missing(batches):
        raise ModuleNotFoundError("No module named 'tacit'")
        yield

    monkeypatch.setattr(spark.workers, "versions", missing)
    with pytest.raises(ClusterError, match="A package is missing on the workers"):
        spark.connect(remote)
    monkeypatch.setattr(spark.workers, "versions", lambda batches: iter([1 / 0, "person 17"]))
    with pytest.raises(ClusterError, match="Its own log says why") as caught:
        spark.connect(remote)
    assert "17" not in str(caught.value)


def test_reports_folded_on_a_cluster_are_counted_as_here(remote, tmp_path, capsys):
    """By the command, from a file of bytes and from Parquet: the same totals and refusals, also of
    repeated tickets, which meet in one task; nothing else of a report is kept."""
    from tacit.cli import app as cli
    from tacit.designs.sketches.campaigns import new_campaign
    from tacit.designs.sketches.messages import Report
    from tacit.designs.sketches.server import Server

    campaign = new_campaign(range(50), rated=5, epsilon=2.0)
    draws = np.random.default_rng(1)
    bits = draws.integers(0, 2**campaign.questions, 3000)
    sent = [Report(campaign.id, n + 1, int(b)).encode() for n, b in enumerate(bits)]
    sent += sent[:40]
    sent.append(Report(bytes(8), 7, 0).encode())
    (tmp_path / "c.bin").write_bytes(campaign.encode())
    (tmp_path / "r.bin").write_bytes(b"".join(sent))
    pl.DataFrame({"report": sent}).write_parquet(tmp_path / "r.parquet")
    made = []
    for number, (file, *words) in enumerate(
        [("r.bin",), ("r.parquet",), ("r.parquet", "--engine", "spark", "--remote", remote)]
    ):
        asked = ["sketches", "fold", str(tmp_path / "c.bin"), str(tmp_path / file), "--json"]
        assert cli.main([*asked, "-o", str(tmp_path / f"{number}.tacit"), *words]) == 0
        made.append(Server.load(tmp_path / f"{number}.tacit"))
    for server in made:
        assert server.reports == 3000
        assert server.rejected["duplicate"] == 40
        assert server.rejected["another campaign"] == 1
        assert (server.totals == made[0].totals).all()
        assert (server.ones == made[0].ones).all()
    assert not container.read(tmp_path / "2.tacit")[1]["tickets"].size
