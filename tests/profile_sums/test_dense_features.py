"""Dense public features: texts of the catalogue, and vectors from a file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from tacit import Private, load_model
from tacit.data import Ratings
from tacit.data.domains import on_catalogue
from tacit.data.tables.vectors import read_ids, read_vectors
from tacit.errors import ConfigError, DataError
from tacit.privacy import Basis
from tacit.profile_sums.dense_features import join_features, limit_rows, vector_features
from tacit.profile_sums.text_features import text_features
from tacit.recommenders.fits_in_process import comparison


@pytest.fixture
def with_texts(world: Ratings) -> Ratings:
    """The items of the world with texts: two themes."""
    words = {item: "space ship star" if item % 2 else "love letter rose" for item in range(24)}
    genres = dict(enumerate(world.item_metadata["genres"].tolist()))
    return on_catalogue(
        world, dict.fromkeys(range(24)), metadata={"about": words, "genres": genres}
    )


def test_joined_rows_have_length_one_at_most():
    """Two parts of length 1 are divided by sqrt(2); a part without columns is none."""
    columns = sparse.csr_array(np.eye(3))
    joined = join_features(columns, [np.ones((3, 1)), np.zeros((3, 0))])
    assert joined.shape == (3, 4)
    np.testing.assert_allclose((joined**2).sum(axis=1), 1)
    assert join_features(sparse.csr_array((3, 0)), []).shape == (3, 0)


def test_short_rows_stay_short():
    """Rows are divided by their length, or by the 80th percentile of all where that is longer."""
    rows = np.array([[10.0], [5.0], [4.0], [1.0], [0.0]])
    made = limit_rows(rows, np.array([True, True, True, True, False]))
    usual = np.percentile([10, 5, 4, 1], 80)
    np.testing.assert_allclose(made[:, 0], [1, 5 / usual, 4 / usual, 1 / usual, 0])


def test_texts_of_one_theme_are_alike(with_texts):
    """Items with the same words have the same row; with others, another."""
    made = text_features(with_texts, ["about"], columns=4)
    np.testing.assert_allclose(made[1], made[3], atol=1e-9)
    assert abs(made[0] @ made[1]) < 1e-9
    with pytest.raises(DataError, match="no 'blurb'"):
        text_features(with_texts, ["blurb"], columns=4)


def test_texts_that_share_one_word_are_refused(with_texts):
    """One shared word makes no feature, however many other words there are."""
    words = {item: f"ship only{item}" for item in range(24)}
    alike = on_catalogue(with_texts, dict.fromkeys(range(24)), metadata={"about": words})
    with pytest.raises(DataError, match="share only one word"):
        text_features(alike, ["about"], columns=4)


def test_a_fit_with_texts(with_texts):
    """Texts come beside the named columns, and no reason names one of them."""
    model = Private(float("inf"), features=("genres",), text=("about",)).fit(with_texts)
    assert model.fitted_.dense_columns > 0
    assert model.fitted_.feature_names[-1].startswith("text ")
    reasons = model.explain(2, history={4: 5.0, 6: 5.0})
    assert not any(str(reason.name).startswith("text") for reason in reasons)


@pytest.mark.parametrize("kind", ["parquet", "lists", "npy"])
def test_vectors_from_a_file(world, tmp_path, kind):
    """Columns of numbers, one column of lists, or a NumPy file beside its ids: the same rows."""
    numbers = np.random.default_rng(1).normal(size=(24, 3))
    path = tmp_path / ("v.npy" if kind == "npy" else "v.parquet")
    if kind == "npy":
        np.save(path, numbers)
        (tmp_path / "v.ids.txt").write_text("\n".join(map(str, range(24))))
    elif kind == "lists":
        pl.DataFrame({"item": range(24), "vector": numbers.tolist()}).write_parquet(path)
    else:
        columns = {f"x{column}": numbers[:, column] for column in range(3)}
        pl.DataFrame({"item": range(24), **columns}).write_parquet(path)
    vectors = read_vectors(path)
    assert (vectors[7] == numbers[7]).all()
    made = vector_features(world, vectors)
    assert made.shape == (24, 3)
    assert np.linalg.norm(made, axis=1).max() == pytest.approx(1)
    model = Private(float("inf"), vectors=path).fit(world)
    assert model.fitted_.dense_columns == 3


def test_vectors_that_fit_nothing_are_refused(world, tmp_path):
    """Another form of file, other ids, or a number that is not finite: a sentence."""
    with pytest.raises(ConfigError, match=r"parquet or \.npy"):
        read_vectors(tmp_path / "v.csv")
    with pytest.raises(DataError, match="cannot be read"):
        read_vectors(tmp_path / "v.parquet")
    with pytest.raises(DataError, match="no item of the catalogue"):
        vector_features(world, {"other": np.ones(3)})
    with pytest.raises(DataError, match="not finite"):
        vector_features(world, {3: np.array([np.nan])})


def test_ids_of_a_file(tmp_path):
    """One id a line; ASCII digits without a leading zero are numbers."""
    path = tmp_path / "v.ids.txt"
    path.write_text("7\n007\n\nann, b\n\u00b2\n\u0663\n")
    assert read_ids(path) == [7, "007", "ann, b", "\u00b2", "\u0663"]


def test_texts_of_rows_are_not_read(with_texts):
    """Words that stood beside people's ratings are theirs: no feature is made of them."""
    of_people = replace(with_texts, row_texts=("about",))
    with pytest.raises(DataError, match="people's rows"):
        text_features(of_people, ["about"], columns=4)
    with pytest.raises(DataError, match="people's rows"):
        Private(1.0, features=("genres",), text=("about",)).fit(of_people)


def test_a_card_names_the_source_of_dense_features(with_texts, tmp_path):
    """Nothing checks where vectors and texts come from: the claim is conditional, and says so."""
    path = tmp_path / "v.parquet"
    pl.DataFrame({"item": list(range(24)), "a": np.arange(24.0)}).write_parquet(path)
    with comparison():
        (plain,) = Private(1.0).fit(with_texts).guarantees()
        (card,) = Private(1.0, vectors=path).fit(with_texts).guarantees()
        model = Private(1.0, features=("genres",), text=("about",)).fit(with_texts)
    assert not any("vectors" in line for line in plain.assumptions)
    assert card.basis is Basis.CONDITIONAL
    assert any("source of the item vectors" in line for line in card.assumptions)
    assert any("source of the item texts" in line for line in model.guarantees()[0].assumptions)
    model.save(tmp_path / "m.tacit")
    assert load_model(tmp_path / "m.tacit").guarantees() == model.guarantees()


def test_a_model_file_holds_no_path(world, tmp_path):
    """The file of vectors is named, and not where it lies on the operator's machine."""
    path = tmp_path / "v.parquet"
    pl.DataFrame({"item": list(range(24)), "a": np.arange(24.0)}).write_parquet(path)
    Private(float("inf"), vectors=path).fit(world).save(tmp_path / "m.tacit")
    assert str(tmp_path).encode() not in (tmp_path / "m.tacit").read_bytes()


@pytest.mark.parametrize("cells", [[[1.0, 2.0], [3.0]], [[1.0], None]])
def test_vectors_of_different_lengths_are_refused(tmp_path, cells):
    """A shorter vector, and a missing one."""
    pl.DataFrame({"item": ["a", "b"], "vector": cells}).write_parquet(tmp_path / "v.parquet")
    with pytest.raises(DataError, match="different lengths"):
        read_vectors(tmp_path / "v.parquet")


def test_an_empty_array_file_is_refused(tmp_path):
    """The file is named."""
    (tmp_path / "v.npy").write_bytes(b"")
    (tmp_path / "v.ids.txt").write_text("a\n")
    with pytest.raises(DataError, match="cannot be read"):
        read_vectors(tmp_path / "v.npy")
