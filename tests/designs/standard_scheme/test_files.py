"""A model of the standard scheme as a file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit import StandardScheme, container, load_model
from tacit import generate as generated
from tacit.data.ratings import Ratings
from tacit.designs.standard_scheme import State
from tacit.errors import ModelFileError

SMALL = {"factors": 3, "service_sees_items": False}


@pytest.fixture(scope="module")
def ratings():
    return generated(users=150, items=60, ratings=3600, seed=1)


@pytest.fixture(scope="module")
def history(ratings):
    return dict(list(ratings.history(1).items())[:12])


@pytest.mark.parametrize("release", ["scheme+selection+rounding", "coupling+selection"])
@pytest.mark.parametrize("attributes", [("gender",), ("gender", "age")])
def test_model_file(ratings, history, tmp_path, release, attributes):
    """Saved and loaded, the disclosure, the cards and lists are the same to the last bit."""
    ages = np.resize(["young", "old", "older"], ratings.n_users)
    columns = {"gender": ratings.attribute("gender"), "age": np.array(ages, dtype=object)}
    both = replace(ratings, user_attributes=columns)
    model = StandardScheme(attributes=attributes, release=release, **SMALL).fit(both)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.disclosure_.encode() == model.disclosure_.encode()
    assert loaded.guarantees() == model.guarantees()
    assert loaded.recommend(history=history) == model.recommend(history=history)
    own, memory = dict(zip(attributes, ("F", "old"), strict=False)), State(created=0)
    first = model.exchange(history, own, memory=memory)
    assert loaded.exchange(history, own, memory=memory) == first


def test_model_file_holds_no_person(tmp_path):
    """No id of a person is in the file, and once for each of them a keyed hash alone."""
    people = {f"canary-{number}": f"value-{number % 2}" for number in range(60)}
    generator = np.random.default_rng(1)
    rows, columns = np.nonzero(generator.random((60, 30)) < 0.6)
    data = Ratings.from_arrays(
        [f"canary-{row}" for row in rows],
        columns,
        generator.integers(1, 6, len(rows)),
        user_attributes={"secret": people},
    )
    StandardScheme(attributes=["secret"], **SMALL).fit(data).save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    assert b"canary" not in content
    assert content.count(b"value-1") == 1  # the name of a value, not somebody's
    header, arrays = container.read(tmp_path / "model")
    assert [name for name, array in arrays.items() if 60 in array.shape] == ["hashes"]
    assert not any(len(v) == 60 for v in header.values() if isinstance(v, list))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("settings", {}),
        ("settings", None),
        ("items", [1]),
        ("items", "abc"),
        ("scale", [1, 5]),
        ("scale", [5, 1, 1]),
        ("values", {"gender": ["F"]}),
        ("values", {}),
        ("measurements", [{}]),
        ("recommender", ["standard-scheme"]),
        ("recommender", "other"),
    ],
)
def test_model_file_with_another_header(ratings, tmp_path, key, value):
    """A whole file whose header does not fit its arrays is refused as a model file."""
    StandardScheme(**SMALL).fit(ratings).save(tmp_path / "model")
    header, arrays = container.read(tmp_path / "model")
    container.write(tmp_path / "model", header | {key: value}, arrays)
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "model")


@pytest.mark.parametrize("name", ["0.offsets", "0.keep", "0.item_means", "intercepts", "factors"])
def test_model_file_with_another_array(ratings, tmp_path, name):
    """A whole file in which an array is missing or too short is refused as a model file."""
    StandardScheme(**SMALL).fit(ratings).save(tmp_path / "model")
    header, arrays = container.read(tmp_path / "model")
    for changed in (
        {key: array for key, array in arrays.items() if key != name},
        arrays | {name: arrays[name][..., None]},
        arrays | {name: arrays[name][:1]},
    ):
        container.write(tmp_path / "other", header, changed)
        with pytest.raises(ModelFileError):
            load_model(tmp_path / "other")


def test_a_model_file_of_another_format(ratings, tmp_path):
    """A file of another format is refused in one sentence that says what to do."""
    StandardScheme(**SMALL).fit(ratings).save(tmp_path / "model")
    header, arrays = container.read(tmp_path / "model")
    del header["format"]
    container.write(tmp_path / "model", header, arrays)
    with pytest.raises(ModelFileError, match=r"its format is None.*Fit it again\."):
        load_model(tmp_path / "model")
