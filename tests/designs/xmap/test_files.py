"""Model files that were changed by somebody: a sentence, never numbers that mean nothing."""

from __future__ import annotations

import math

import pytest

from tacit import XMap, container, load_model
from tacit.engine import Engine
from tacit.errors import ModelFileError


@pytest.fixture(scope="module")
def files(world, tmp_path_factory):
    """A file of the sound and one of the published variant, both without noise."""
    folder = tmp_path_factory.mktemp("files")
    for variant in ("sound", "published"):
        model = XMap(
            source="books",
            target="films",
            variant=variant,
            epsilon=math.inf,
            k=10,
            engine=Engine(),
        )
        model.fit(world).save(folder / variant)
    return folder


@pytest.fixture
def tampered(files, tmp_path):
    """Load a file after a change of its header and arrays, hash made anew."""

    def load(variant, change):
        header, arrays = container.read(files / variant)
        arrays = {name: array.copy() for name, array in arrays.items()}
        change(header, arrays)
        container.write(tmp_path / "model", header, arrays)
        return load_model(tmp_path / "model")

    return load


def entry(name, value, at=0):
    def change(header, arrays):
        arrays[name].flat[at] = value

    return change


def field(name, value):
    def change(header, arrays):
        header[name] = value(header[name])

    return change


def setting(name, value):
    return field("settings", lambda settings: {**settings, name: value})


def test_an_untouched_file_loads(tampered):
    """Writing what was read changes nothing."""
    for variant in ("sound", "published"):
        assert tampered(variant, lambda header, arrays: None).recommend(history={2: 5.0})


@pytest.mark.parametrize(
    ("variant", "change", "said"),
    [
        ("sound", entry("means", math.nan), "'means' has a number that is not finite"),
        ("sound", entry("weights", math.inf), "'weights' has a number that is not finite"),
        ("sound", lambda h, a: a.update(means=a["means"][:-1]), "'means' has the shape"),
        ("sound", field("lists", lambda own: {**own, "items": own["items"][1:]}), "has the shape"),
        (
            "sound",
            field("lists", lambda own: {**own, "items": own["context"]}),
            "its lists lack a target",
        ),
        ("sound", field("lists", lambda own: None), "content cannot be used"),
        ("sound", lambda h, a: h.pop("lists"), "lists"),
        ("sound", field("items", lambda items: [items[1], *items[1:]]), "distinct whole"),
        ("sound", field("items", lambda items: [str(items[0]), *items[1:]]), "distinct whole"),
        ("sound", field("items", lambda items: [True, *items[1:]]), "distinct whole"),
        ("sound", field("items", lambda items: [2**70, *items[1:]]), "64 bits"),
        ("sound", field("titles", lambda titles: ["A"]), "its titles are not"),
        ("sound", field("domains", lambda names: ["books" for _ in names]), "domain films"),
        ("sound", field("domains", lambda names: ["films" for _ in names]), "domain books"),
        ("sound", field("domains", lambda names: [None, *names[1:]]), "its domains are not"),
        ("sound", field("taken", lambda taken: ["nothing"]), "unknown"),
        ("sound", field("version", lambda version: version + 1), "its format is 3, and this"),
        ("sound", field("version", lambda version: 1), "its format is 1, and this"),
        ("sound", lambda h, a: h.pop("version"), "its format is None, and this"),
        ("published", field("version", lambda version: version + 1), "its format is 2, and this"),
        ("published", setting("variant", "constant"), "cannot have this 'variant'"),
        (
            "published",
            entry("0.similarities", math.nan),
            "similarities' has a number that is not finite",
        ),
        ("published", entry("item_means", math.inf), "item_means' has a number that is not finite"),
        ("published", entry("0.weights", math.nan), "weights' has a number that is not finite"),
        ("published", entry("0.images", 10_000), "images' has a number outside"),
    ],
)
def test_a_tampered_file_is_refused(tampered, variant, change, said):
    """Values that no fit gives are refused on loading, with what is wrong."""
    with pytest.raises(ModelFileError, match=said):
        tampered(variant, change)


def test_a_handful_of_people_gives_a_model_that_loads(make_world, tmp_path):
    """Where noise drowns everything, the file is whole and serves."""
    few = make_world(users=12, items=14, ratings=90)
    for epsilon in (0.05, 0.3, 1.0, 3.0) * 5:
        model = XMap(source="books", target="films", epsilon=epsilon).fit(few)
        model.save(tmp_path / "model")
        assert load_model(tmp_path / "model").recommend(history={2: 5.0}) == model.recommend(
            history={2: 5.0}
        )
