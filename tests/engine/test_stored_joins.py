"""The published X-Map where ratings are stored: joins of items on a cluster (pysail)."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import polars as pl
import pytest

import tacit
from tacit.data.stored_ratings import Block
from tacit.data.tables.buckets import open_parquet
from tacit.designs.xmap.files import collect_published_arrays
from tacit.engine import item_item_tiles
from tacit.engine.item_item import make_empty_lists
from tacit.errors import ClusterError, ConfigError
from tests.support.stored_world import blocks_of, local, public

SAIL = "pysail is not installed: pip install 'tacit-rec[spark]' pysail"
MADE = {"source": "s", "target": "t", "variant": "published"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two domains of 45 items and a few people in both, who rate the first third: so there are
    items near and far from the bridge. Item 7 is in half of all profiles; one person has 30,000
    events. Ids are of text."""
    draws, folder = np.random.default_rng(5), tmp_path_factory.mktemp("layers")
    person, side = np.repeat(np.arange(600), 12), np.repeat(np.arange(600) % 2, 12)
    both = person % 15 == 0
    place = np.where(both, 0, (person // 2 * 7) % 36) + draws.integers(0, 12, len(person))
    side = np.where(both, draws.integers(0, 2, len(person)), side)
    many = draws.integers(0, 45, 30_000)
    users = np.concatenate([person, 2 * np.arange(300) + 1, np.full(30_000, 601)])
    items = np.concatenate([np.minimum(place, 44) * 2 + side, np.full(300, 7), many * 2 + 1])
    rows = {"user_id": [f"u{each}" for each in users], "item_id": items}
    rows |= {"rating": draws.integers(1, 6, len(users)).astype(float)}
    rows |= {"timestamp": draws.permutation(len(users)) + 1_600_000_000}
    pl.DataFrame(rows).write_parquet(folder / "ratings.parquet", row_group_size=5000)
    about = {"item_id": np.arange(90), "domain": ["t" if item % 2 else "s" for item in range(90)]}
    pl.DataFrame(about).write_csv(folder / "items.csv")
    return folder / "ratings.parquet", folder / "items.csv"


@pytest.fixture(scope="module")
def remote(missing):
    """The address of a pysail server in this process, with a place for checkpoints."""
    if find_spec("pysail") is None:
        missing(SAIL)
    from pysail.spark import SparkConnectServer

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAIL_EXECUTION__CHECKPOINT__PATH", "memory:///")
        server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    yield "sc://{}:{}".format(*server.listening_address)
    server.stop()


def opened(files, remote):
    from tacit.engine.spark import open_spark

    return open_spark(str(files[0]), remote, {}, public(files[1]), events=False, tasks=3)


def same(one, other):
    """All released arrays, to the bit."""
    arrays, others = (collect_published_arrays(model.published_) for model in (one, other))
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], name)


def test_a_fit_without_noise_is_equal_to_the_bit(files, remote, monkeypatch):
    """On tiles of some items each: similarities, images, neighbours and votes; item 7 is in half of
    all profiles, one person has 30,000 events, and ids are of text. Lists and stars are equal."""
    monkeypatch.setattr(item_item_tiles, "RATINGS_PER_PART", 2_500)
    asked = MADE | {"epsilon": float("inf"), "k": 6, "extender_k": 3}
    model = tacit.XMap(**asked).fit(local(files))
    shares = []
    with opened(files, remote) as ratings:
        ratings.advance = shares.append
        other = tacit.XMap(**asked).fit(ratings)
    assert shares == 8 * [1.0]  # passes, one for each layer
    same(model, other)
    assert model.published_.by_target["t"].images.max() > 0
    for history in ({1: 5.0, 7: 4.0}, {3: 1.0, 12: 5.0, 45: 4.0}):
        assert model.recommend(history=history) == other.recommend(history=history)
        items = other.item_ids_.tolist()
        np.testing.assert_array_equal(
            model.predict(items, history=history), other.predict(items, history=history)
        )


def test_blocks_are_kept_where_the_engine_has_a_place_for_them(remote):
    """What is kept is made once, though it is used twice; what is not kept is made again."""
    from tacit.engine.spark import connect, workers
    from tacit.engine.spark.sums import persist_frame

    session = connect(remote)
    made = session.range(1).mapInArrow(workers.make_token, "token string")
    again, once = (
        [frame.toArrow() for _ in range(2)] for frame in (made, persist_frame(session, made))
    )
    session.stop()
    assert again[0] != again[1]
    assert once[0] == once[1]


def test_the_command_and_what_is_not_supported(files, remote, tmp_path, capsys):
    """`fit xmap --engine spark` writes a model that recommends. Streaming says what to do, and
    writes nothing."""
    from tacit.cli import app as cli

    out = str(tmp_path / "m.tacit")
    words = ["fit", "xmap", str(files[0]), "--scale", "1:5:1", "--catalogue", str(files[1])]
    words += ["--source", "s", "--target", "t", "--epsilon", "inf", "-o", out]
    cluster = ["--engine", "spark", "--remote", remote]
    drawn = [*words, "--variant", "published", *cluster, "--epsilon", "1"]
    assert cli.main(drawn) == 2
    assert "leave out --engine" in capsys.readouterr().err
    assert cli.main([*words, "--variant", "published", "--memory", "1GiB"]) == 2
    assert "--engine spark" in capsys.readouterr().err
    assert not (tmp_path / "m.tacit").exists()
    assert cli.main([*words, "--variant", "published", *cluster]) == 0
    pl.DataFrame({"item": [1, 3], "rating": [5.0, 4.0]}).write_csv(tmp_path / "own.csv")
    asked = ["recommend", out, "--history", str(tmp_path / "own.csv"), "--json"]
    capsys.readouterr()
    assert cli.main(asked) == 0
    assert '"item' in capsys.readouterr().out
    with (
        open_parquet(files[0], {}, public(files[1]), 2**30, events=False) as ratings,
        pytest.raises(ConfigError, match="joins items"),
    ):
        tacit.XMap(**MADE, epsilon=float("inf")).fit(ratings)


@pytest.mark.parametrize("lost", [False, True])
def test_a_strip_that_comes_twice_or_never_is_refused(lost):
    """A tile counts the raters of each item, and a person's strips; the reason reaches the user
    without the person."""
    from tacit.engine.spark import sums

    pa = pytest.importorskip("pyarrow")
    rows = pa.record_batch({"user": ["ann", "bob"], "item": [0, 1], "rating": [1.0, 5.0]})
    known = np.arange(2)
    blocks = blocks_of(rows, known)
    cut = lambda block: (block.matrix, np.zeros(2))  # noqa: E731
    to_ratings = item_item_tiles.partial(Block.to_ratings, n_items=2, scale=local_scale())
    strips = [*sums.cut_strips(blocks, cut=cut, tiles=[known], to_ratings=to_ratings)]
    work = item_item_tiles.partial(
        item_item_tiles.find_on_tile,
        make=lambda *_: None,
        raters=np.array([1, 2 if lost else 1]),
        tiles=[known],
        couples=[(0, 0)],
        joins=[item_item_tiles.Join(5, 0, 0)],
        parts=[known],
        find=lambda _, items, __: make_empty_lists(items, 1),
    )
    if not lost:
        good = sums.work_on_tile(pa.Table.from_batches(strips), work=work, width=2)
        assert [(row["line"], row["tile"]) for row in good.to_pylist()] == [(5, 0)]
    given = pa.Table.from_batches(strips if lost else 2 * strips)

    class PythonException(Exception):
        __module__ = "pyspark.errors"

    def failing():
        try:
            sums.work_on_tile(given, work=work, width=2)
        except ClusterError as error:
            raise PythonException(f"{error} ann") from None

    with (
        pytest.raises(ClusterError, match="each person exactly once") as caught,
        sums.described_errors(),
    ):
        failing()
    assert "ann" not in str(caught.value)


def test_an_answer_that_comes_twice_or_never_is_refused():
    """Of a tile to a line: a list would be too short, or have an item twice."""
    from tacit.data.stored_ratings import StoredRatings
    from tacit.engine.spark import sums

    pa = pytest.importorskip("pyarrow")
    answer = sums.lines_to_arrow([(5, 0, b"a")])
    with pytest.raises(ClusterError, match="was missing, or was there twice"):
        sums.merge_line(pa.concat_tables([answer, answer]), merge=b"".join)

    class Lossy(StoredRatings):
        catalogue = local_world()

        def total(self, add):
            return add(self.catalogue)

        def join_tiles(self, *_):
            return {}

    table = item_item_tiles.TiledTable.of_ratings(
        Lossy(), lambda block: (block.matrix, np.zeros(2)), None
    )
    both = np.arange(2, dtype=np.int32)
    with pytest.raises(ClusterError, match="was missing, or was there twice"):
        table.neighbours([(both, both)], None, 3)


def local_world():
    return tacit.Ratings.from_arrays([1, 2], [0, 1], [1.0, 5.0], scale=local_scale())


def local_scale():
    return tacit.RatingScale(1, 5, 1)
