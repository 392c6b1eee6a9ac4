"""Which models are served, which are refused, and their public catalogues."""

from __future__ import annotations

import asyncio
import math
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit import container
from tacit.data.domains import on_catalogue
from tacit.data.ratings import Ratings, RatingScale
from tacit.data.synthetic import generate
from tacit.data.synthetic_worlds import generate_domains
from tacit.designs.private import Private
from tacit.designs.private.device import DeviceLists
from tacit.designs.standard_scheme import StandardScheme
from tacit.designs.xmap import XMap
from tacit.errors import ConfigError, ModelFileError
from tacit.recommenders.baselines import ItemKNN, Popularity
from tacit.service import model_watch
from tacit.service.deployment import Deployment
from tacit.service.kinds import installed_kinds
from tacit.service.model_watch import ModelWatch
from tacit.service.served_models import LONGEST_LIST, ListOptions, ServedModel
from tacit.service.served_things import Section

SLOW = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def ratings():
    return generate(users=60, items=25, ratings=1500, seed=3)


def section(folder, **values):
    return Section("shop", "films", folder, values)


def saved(folder, model):
    model.save(folder / "m.tacit")
    return section(folder, file="m.tacit")


def test_it_says_what_is_served(shared_shop):
    """Anybody sees each model's kind, variant, domains, scale and number of items."""
    lists, films = shared_shop.get(None, "/api/models").json()["models"]
    assert (lists["name"], lists["kind"]) == ("lists", "private")
    assert len(lists["device"]) == 64
    served = shared_shop.service.deployment.find_all(ServedModel)["films"]
    assert films == {
        "name": "films",
        "kind": "xmap",
        "variant": "sound",
        "items": len(served.model.item_ids_),
        "recommends": ["films"],
        "learns_from": ["books", "films"],
        "scale": {"minimum": 1.0, "maximum": 5.0, "step": 1.0},
        "item_words": {"one": "film", "many": "films"},
        "device": films["device"],
    }
    assert len(films["device"]) == 64


@SLOW
@given(limit=st.integers(1, 500))
def test_pages_are_the_catalogue(shared_shop, limit):
    """Pages of any size, one after the other, are the model's catalogue with titles, each once."""
    found, after = [], {}
    while after is not None:
        page = shared_shop.get(
            None, "/api/models/films/items", params={"limit": limit, **after}
        ).json()
        assert len(page["items"]) <= limit
        found += page["items"]
        after = None if page["next"] is None else {"after": page["next"]}
    model = shared_shop.service.deployment.find_all(ServedModel)["films"].model
    domains = model.catalogue_.domains.tolist()
    assert found == [
        {
            "item_id": str(item),
            "title": model.titles_[item],
            "domain": domain,
            "recommended": domain == "films",
            "categories": [],
            "price": None,
            "image": None,
            "cold": False,
        }
        for item, domain in zip(model.item_ids_.tolist(), domains, strict=True)
    ]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/models/books/items", 404),
        ("/api/models/Films/items", 422),
        ("/api/models/films/items?after=0", 422),
        ("/api/models/films/items?limit=0", 422),
        ("/api/models/films/items?limit=5001", 422),
        ("/api/models/films/items?after=" + "9" * 201, 422),
    ],
)
def test_what_is_not_there(shared_shop, path, status):
    """Unknown models, unknown places and pages that are too long are refused."""
    assert shared_shop.get(None, path).status_code == status


@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_the_published_x_map_is_refused(tmp_path, epsilon):
    """No budget makes the published variant one that is served."""
    made = generate_domains(40, (10, 10), 8, seed=0)
    model = XMap(source="source", target="target", variant="published", epsilon=epsilon)
    with pytest.raises(ConfigError, match="is the published variant"):
        ServedModel.from_section(saved(tmp_path, model.fit(made)))


@pytest.mark.parametrize(
    ("variant", "said"), [("published", "is the published variant"), ("sound", r"\[disclosures")]
)
def test_a_standard_scheme_is_refused(tmp_path, ratings, variant, said):
    """Its people send obfuscated ratings, and here they would send true ones."""
    model = StandardScheme(variant=variant, factors=2, service_sees_items=False).fit(ratings)
    with pytest.raises(ConfigError, match=said):
        ServedModel.from_section(saved(tmp_path, model))


@pytest.mark.parametrize(
    "model", [Popularity(), XMap(source="source", target="target", epsilon=math.inf)]
)
def test_no_privacy_is_asked_for_by_name(tmp_path, model):
    """A model that promises nothing is served only where tacit.toml says so."""
    asked = saved(tmp_path, model.fit(generate_domains(40, (10, 10), 8, seed=0)))
    with pytest.raises(ConfigError, match="promises no privacy"):
        ServedModel.from_section(asked)
    by_name = section(tmp_path, file="m.tacit", without_guarantee=True, scale="1:5:1")
    assert all(card.epsilon is None for card in ServedModel.from_section(by_name).guarantees())


def test_a_scale_is_named_where_the_file_has_none(tmp_path, ratings):
    """Baselines know no scale, so the section gives it, and ratings off it are passed over."""
    asked = {"file": "m.tacit", "without_guarantee": True}
    Popularity().fit(ratings).save(tmp_path / "m.tacit")
    with pytest.raises(ConfigError, match="scale is missing"):
        ServedModel.from_section(section(tmp_path, **asked))
    served = ServedModel.from_section(section(tmp_path, **asked, scale="0:10:0"))
    assert served.scale == RatingScale(0, 10, 0)
    assert served.usable_ratings({"1": 9.5, "2": 11.0, "no": 1.0}) == {"1": 9.5}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "file is missing"),
        ({"file": "other.tacit"}, "no file in the folder"),
        ({"file": "../m.tacit"}, "outside of the folder"),
        ({"file": "films.tacit", "epsilon": 3}, "no setting 'epsilon'"),
        ({"file": "films.tacit", "scale": "1:10:1"}, "the model's own is 1:5:1"),
        ({"file": "films.tacit", "scale": "much"}, "MIN:MAX:STEP"),
        ({"file": "films.tacit", "without_guarantee": "yes"}, "true or false"),
    ],
)
def test_a_wrong_section_is_a_sentence(folder, values, said):
    """Whatever is wrong in a section is told before anybody is answered."""
    with pytest.raises(ConfigError, match=said):
        ServedModel.from_section(section(folder, **values))


def test_a_file_that_is_no_model_is_refused(folder):
    """A damaged file is not served, and nothing of it is used."""
    content = bytearray((folder / "films.tacit").read_bytes())
    content[-40] ^= 1
    (folder / "films.tacit").write_bytes(content)
    with pytest.raises(ModelFileError, match="damaged"):
        Deployment.read(folder, installed_kinds())


def test_texts_as_ids(tmp_path, ratings):
    """A model whose ids are texts has them as they are; its lists are the model's own."""
    renamed = generate(users=60, items=25, ratings=1500, seed=3)
    ids = np.array([f"é {number:02}" for number in renamed.item_ids], dtype=object)
    object.__setattr__(renamed, "item_ids", ids)
    model = ItemKNN(k=5).fit(renamed)
    model.save(tmp_path / "m.tacit")
    served = ServedModel.from_section(
        section(tmp_path, file="m.tacit", without_guarantee=True, scale="1:5:1")
    )
    assert [item.item_id for item in served.items] == ids.tolist()
    history = {"é 03": 5.0, "é 07": 1.0}
    wanted = [(r.item_id, r.score) for r in model.recommend(history=history, n=5)]
    assert [(r.item_id, r.score) for r in served.recommend(history, ListOptions(n=5))] == wanted


def test_the_list_of_nobody_is_a_prefix_of_the_longest(shared_shop):
    """The list that is made once for everybody is the model's, at any length."""
    served = shared_shop.service.deployment.find_all(ServedModel)["films"]
    for n in (1, 10, LONGEST_LIST):
        wanted = [(r.item_id, r.score, r.rank) for r in served.model.recommend(history={}, n=n)]
        assert [
            (r.item_id, r.score, r.rank) for r in served.recommend({}, ListOptions(n=n))
        ] == wanted


def test_two_models(demo, folder, shops):
    """Models are told apart by name; the first one is asked where none is named."""
    shutil.copy(folder / "films.tacit", folder / "again.tacit")
    text = (folder / "tacit.toml").read_text()
    (folder / "tacit.toml").write_text(text + '\n[models.again]\nfile = "again.tacit"\n')
    with shops(demo, folder) as shop:
        rating = {"model": "again", "item": "1", "stars": 5}
        assert shop.post("subject", "/api/feedback", json=rating).status_code == 200
        told = [
            shop.get("subject", f"/api/recommend/ann{asked}").json()
            for asked in ("", "?model=films", "?model=again")
        ]
        assert [(one["model"], one["personal"]) for one in told] == [
            ("lists", False),
            ("films", False),
            ("again", True),
        ]


def test_a_private_model_goes_to_devices(demo, folder, shops):
    """Anybody gets the released file, its digest stands in the list of models, and it lists as the
    model does; the sound variant of X-Map has one, too."""
    listed = dict.fromkeys(range(1, 26))
    made = on_catalogue(generate(users=60, items=25, ratings=1500, seed=3), listed)
    model = Private(3.0).fit(made)
    model.save(folder / "private.tacit")
    text = (folder / "tacit.toml").read_text()
    (folder / "tacit.toml").write_text(text + '\n[models.private]\nfile = "private.tacit"\n')
    with shops(demo, folder) as shop:
        told = {one["name"]: one for one in shop.get(None, "/api/models").json()["models"]}
        answer = shop.get(None, "/api/models/private/device")
        assert answer.headers["content-type"] == "application/octet-stream"
        lists = DeviceLists.decode(answer.content)
        assert told["private"]["device"] == lists.digest
        assert len(told["films"]["device"]) == 64
    history = {1: 5.0, 4: 2.0}
    ranked = [item for item, _ in lists.rank(history, n=8)]
    assert ranked == model.recommend(history=history, n=8).item_ids


@pytest.fixture(scope="module")
def colours():
    """A model of tastes without noise: people like items of one colour."""
    return Private(math.inf, mode="taste").fit(ratings_of_colours(5))


def ratings_of_colours(seed):
    """Make ratings of people who like items of one colour."""
    generator = np.random.default_rng(seed)
    names = ("blue", "green", "red", "yellow")
    users, items, stars = [], [], []
    for person in range(400):
        chosen = generator.choice(40, 12, replace=False)
        users += [person] * len(chosen)
        items += chosen.tolist()
        stars += np.where(chosen % 4 == person % 4, 5.0, 2.0).tolist()
    ratings = Ratings.from_arrays(np.array(users), np.array(items), np.array(stars))
    genres = [names[item % 4] for item in ratings.item_ids.tolist()]
    return replace(ratings, item_metadata={"genre": np.array(genres, dtype=object)})


def with_cold_items(folder, model, text, **more):
    """The section of a model beside a table of cold items."""
    model.save(folder / "m.tacit")
    (folder / "new.csv").write_text(text)
    given = {"file": "m.tacit", "cold_items": "new.csv", "without_guarantee": True, **more}
    return section(folder, **given)


NEW = """sku,genre,title,price
N-1,red,A red one,9.90
N-2,purple,Nobody knows,1
3,blue,It is rated,1
"""


def test_cold_items_are_in_the_catalogue_and_on_devices(colours, tmp_path):
    """Those with a known feature, marked; what the model has by now, or nothing is known of, is
    left out of both."""
    served = ServedModel.from_section(with_cold_items(tmp_path, colours, NEW))
    (row,) = [item for item in served.items if item.cold]
    assert (row.item_id, row.title, row.price) == ("N-1", "A red one", "9.90")
    assert (row.categories, row.recommended) == (("red",), True)
    lists = DeviceLists.decode(served.device_file)
    assert list(lists.cold) == ["N-1"]
    red, blue = (dict.fromkeys(range(place, 24, 4), 5.0) for place in (2, 0))
    score = [dict(lists.rank(history, n=50))["N-1"] for history in (red, blue)]
    assert score[0] > score[1]


def test_a_picture_that_the_page_may_load_has_its_origin_named(colours, tmp_path):
    """Also where the scheme is written in capitals, as addresses may be."""
    table = "item,genre,title,image\nN-1,red,One,HTTPS://img.example/a.png\n"
    table += "N-2,red,Two,https://two.example:8443/a.png\nN-3,red,Three,http://no.example/a.png\n"
    served = ServedModel.from_section(with_cold_items(tmp_path, colours, table))
    images = {item.item_id: item.image for item in served.items if item.cold}
    assert images == {
        "N-1": "HTTPS://img.example/a.png",
        "N-2": "https://two.example:8443/a.png",
        "N-3": None,
    }
    assert served.image_origins == {"https://img.example", "https://two.example:8443"}


def test_a_cold_item_is_no_rating(colours, tmp_path):
    """Nobody can rate it: it is not in the model."""
    served = ServedModel.from_section(with_cold_items(tmp_path, colours, NEW))
    assert served.usable_ratings({"N-1": 5.0, "3": 5.0}) == {"3": 5.0}


def test_models_that_score_no_cold_items_are_refused_with_some(ratings, tmp_path):
    """The sentence names the setting."""
    popular = Popularity().fit(ratings)
    tasteless = Private(math.inf, mode="top-items").fit(ratings)
    for model in (popular, tasteless):
        with pytest.raises(ConfigError, match=r"models\.films\.cold_items"):
            ServedModel.from_section(with_cold_items(tmp_path, model, NEW, scale="1:5:1"))


@pytest.mark.parametrize("wrong", [None, [], {"variant": {}}, {"variant": []}])
def test_a_header_with_wrong_settings_is_a_sentence_and_the_old_model_stays(
    ratings, tmp_path, wrong
):
    """Settings that are no table, or a variant that is no text."""
    saved(tmp_path, Private(math.inf).fit(ratings))
    at = section(tmp_path, file="m.tacit", without_guarantee=True)
    watch = ModelWatch(
        Deployment("shop", {"models/films": ServedModel.from_section(at)}, {"models/films": at})
    )
    header, arrays = container.read(tmp_path / "m.tacit")
    container.write(tmp_path / "m.tacit", {**header, "settings": wrong}, arrays)
    with pytest.raises(ModelFileError, match=r"m\.tacit: the settings in its header"):
        ServedModel.from_section(at)
    faults = []
    assert watch.reload_changed_models(faults.append) == []
    assert [type(fault) for fault in faults] == [ModelFileError]


def test_the_watch_survives_any_error(monkeypatch):
    """Each is reported, and the next look comes."""
    looks = []

    def fail(*_):
        looks.append(1)
        raise AttributeError

    monkeypatch.setattr(ModelWatch, "reload_changed_models", fail)
    monkeypatch.setattr(model_watch, "SECONDS_BETWEEN_LOOKS", 0.001)
    faults = []

    async def look_three_times():
        async with model_watch.watch_models(Deployment("shop", {}, {}), faults.append, pytest.fail):
            async with asyncio.timeout(20):
                while len(faults) < 3:
                    await asyncio.sleep(0.001)

    asyncio.run(look_three_times())
    assert len(looks) >= 3


def test_a_model_that_fails_in_its_own_code_is_reported(ratings, tmp_path, monkeypatch):
    """The old one stays, whatever the new one raises."""
    saved(tmp_path, Private(math.inf).fit(ratings))
    at = section(tmp_path, file="m.tacit", without_guarantee=True)
    served = ServedModel.from_section(at)
    watch = ModelWatch(Deployment("shop", {"models/films": served}, {"models/films": at}))
    saved(tmp_path, Private(math.inf, mode="top-items").fit(ratings))
    monkeypatch.setattr(Private, "guarantees", lambda _: 1 / 0)
    faults = []
    assert watch.reload_changed_models(faults.append) == []
    assert [type(fault) for fault in faults] == [ZeroDivisionError]


def test_a_changed_table_of_cold_items_is_taken_up(colours, tmp_path):
    """The device file changes with it, without a restart and without another fit."""
    one = with_cold_items(tmp_path, colours, NEW)
    served = {"models/films": ServedModel.from_section(one)}
    deployment = Deployment("shop", dict(served), {"models/films": one})
    watch = ModelWatch(deployment)
    assert watch.reload_changed_models(pytest.fail) == []
    (tmp_path / "new.csv").write_text(NEW + "N-3,green,A green one,2\n")
    assert watch.reload_changed_models(pytest.fail) == ["models/films"]
    lists = DeviceLists.decode(deployment.served["models/films"].device_file)
    assert list(lists.cold) == ["N-1", "N-3"]


@pytest.mark.parametrize("table", [None, "no,ids\n", "mode"])
def test_a_table_that_cannot_be_used_holds_no_new_model_back(colours, tmp_path, table):
    """Gone, of another form, or beside a model that scores no cold items: it is served without
    them, and the fault is reported, since a withdrawal takes effect with the next file."""
    one = with_cold_items(tmp_path, colours, NEW)
    deployment = Deployment(
        "shop", {"models/films": ServedModel.from_section(one)}, {"models/films": one}
    )
    watch = ModelWatch(deployment)
    before = deployment.served["models/films"]
    if table is None:
        (tmp_path / "new.csv").unlink()
    elif table != "mode":
        (tmp_path / "new.csv").write_text(table)
    mode = "top-items" if table == "mode" else "taste"
    Private(math.inf, mode=mode).fit(ratings_of_colours(6)).save(tmp_path / "m.tacit")
    faults = []
    assert watch.reload_changed_models(faults.append) == ["models/films"]
    after = deployment.served["models/films"]
    assert after.digest != before.digest
    assert not after.cold
    assert len(faults) == 1
    assert watch.reload_changed_models(pytest.fail) == []
