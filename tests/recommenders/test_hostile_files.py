"""Files with a right hash and hostile content: refused with one class of errors, or harmless."""

from __future__ import annotations

import hashlib
import math
import tracemalloc

import numpy as np
import pytest

from tacit import Private, StandardScheme, XMap, container, generate, load_model
from tacit.designs.prec import PRec, PRecSettings
from tacit.designs.private.device import DeviceLists
from tacit.designs.sketches.guarantees import cards as cards_of_sketches
from tacit.designs.sketches.model import Sketches
from tacit.designs.sketches.server import Server
from tacit.errors import ModelFileError, TacitError
from tacit.randomness import secure
from tacit.recommenders import baselines
from tacit.recommenders.fits_in_process import comparison
from tacit.recommenders.model_files import model_kinds
from tests.support.hostile_files import mutants, with_other_text
from tests.support.profile_worlds import make_world

QUICK, WHOLE = 60, 5000
"""Mutants of each kind of file."""
PEOPLE = generate(users=150, items=60, ratings=3600, seed=1)


def make_baseline(name, **settings):
    return getattr(baselines, name)(**settings)


def remote_user():
    return make_baseline("RemoteUser", source="s", target="t").fit(make_world(domains=True))


def ridge():
    return make_baseline("Ridge", source="s", target="t").fit(make_world(domains=True))


def xmap(**settings):
    return XMap(source="s", target="t", **settings).fit(make_world(domains=True))


def fit_plan_twice(ratings):
    """Make the second fit of a plan of three."""
    with comparison():
        first = Private(lifetime=50.0, fits=3).fit(ratings)
        return Private(previous=first).fit(ratings)


MODELS = {
    "private, taste": lambda: Private(50.0, mode="taste", stars=True).fit(make_world()),
    "private, top items": lambda: Private(50.0, mode="top-items").fit(make_world()),
    "private, plan": lambda: fit_plan_twice(make_world()),
    "private, consenting people": lambda: Private(50.0, consented=range(20)).fit(make_world()),
    "xmap": lambda: xmap(epsilon=50.0, stars=True),
    "xmap, published": lambda: xmap(variant="published", epsilon=math.inf, k=3),
    "standard-scheme": lambda: StandardScheme(service_sees_items=False, factors=2).fit(PEOPLE),
    "standard-scheme, coupling": lambda: StandardScheme(
        service_sees_items=False, factors=2, release="coupling", disclosure_epsilon=20.0
    ).fit(PEOPLE),
    "popularity": lambda: make_baseline("Popularity").fit(make_world()),
    "private-popularity": lambda: make_baseline("PrivatePopularity", epsilon=1.0).fit(make_world()),
    "ease": lambda: make_baseline("EASE").fit(make_world()),
    "ridge": ridge,
    "item-item": lambda: make_baseline("ItemItem").fit(make_world()),
    "item-knn": lambda: make_baseline("ItemKNN").fit(make_world()),
    "remote-user": remote_user,
    "item-mean": lambda: make_baseline("ItemMean").fit(make_world()),
    "user-average": lambda: make_baseline("UserAverage").fit(make_world()),
    "user-item-mean": lambda: make_baseline("UserItemMean").fit(make_world()),
    "matrix-factorization": lambda: make_baseline("MatrixFactorization", factors=2).fit(
        make_world()
    ),
}
"""A small model of each kind of file."""


def use(model) -> None:
    """Do with a model what the library, the command line and the service do with it."""
    history = {}
    for item in model.item_ids_.tolist()[:2]:
        history[item] = 4.0
    known = {"attributes": {"gender": "F"}} if isinstance(model, StandardScheme) else {}
    model.recommend(history=history, n=5, **known)
    model.recommend(history={}, n=3, **known)
    if not known:
        model.predict(model.item_ids_.tolist()[:3], history=history)
    for card in model.guarantees():
        str(card)
        card.to_dict()
    repr(model)
    if isinstance(model, Private | XMap):
        model.explain(model.item_ids_.tolist()[-1], history=history)
    if isinstance(model, Private) or (isinstance(model, XMap) and model.sound_ is not None):
        model.device_file()
    if isinstance(model, Private) and model.fitted_.plan is not None:
        with comparison():
            Private(previous=model).fit(make_world())
    if isinstance(model, Private):
        model.similar_items(model.item_ids_.tolist()[-1])


def check(file: bytes, path, said: str) -> bool:
    """Load and use a file; whether it was refused. Errors that are not of tacit fail."""
    path.write_bytes(file)
    try:
        model = load_model(path)
    except ModelFileError:
        return True
    except Exception as error:
        pytest.fail(f"{said}: load raised {error!r}")
    try:
        use(model)
        model.save(path)
    except TacitError:
        return False
    except Exception as error:
        raise AssertionError(f"{said}: use raised {error!r}") from error
    return False


def fuzz(kind, count, path, seed):
    model = MODELS[kind]()
    model.save(path)
    original = path.read_bytes()
    header, arrays = container.unpack(original)
    use(load_model(path))
    refused = 0
    for said, file in mutants(header, arrays, count, seed):
        refused += check(file, path, said)
    for place in range(count // 5):
        refused += check(with_other_text(original, seed + place), path, f"text {seed + place}")
    assert refused > count / 4


@pytest.mark.parametrize("kind", MODELS)
def test_some_hostile_files_of_each_kind_are_refused_in_words(kind, tmp_path):
    """Mutants with a right hash: a ModelFileError on load, or errors of tacit alone on use."""
    fuzz(kind, QUICK, tmp_path / "m.tacit", seed=1)


@pytest.mark.long
@pytest.mark.parametrize("kind", MODELS)
def test_many_hostile_files_of_each_kind_are_refused_in_words(kind, tmp_path):
    """The same for 5,000 mutants of each kind of file."""
    fuzz(kind, WHOLE, tmp_path / "m.tacit", seed=1000)


def prec_run(path):
    """A run with votes, a client and an answer, in a file; how it is read and used."""
    run = PRec(PRecSettings(rounds=5, objects=3, voters=100, epsilon=math.inf), randomness=secure())
    run.join("ann")
    run.open_round(["a", "b"], (np.arange(40), ["a", "b"] * 20))
    run.recommend("ann")
    run.feedback("ann", True)
    run.save(path)

    def go_on(place):
        read = PRec.load(place, randomness=secure())
        for client in read.clients:
            read.transcript(client)
        read.guarantees()
        read.join("bob")
        read.open_round(["a", "b"], (np.arange(40), ["a", "b"] * 20))
        read.recommend("bob")

    return go_on


def sketches_checkpoint(path):
    """Counts of a small campaign; how they are read and used."""
    campaign = Sketches([f"film {n}" for n in range(30)], rated=5)
    history = {"film 1": 5.0, "film 2": 1.0, "film 7": 4.0}
    for _ in range(20):
        device = campaign.device()
        campaign.receive(device.report(campaign.campaign, campaign.items, history))
    campaign.server.save(path)

    def go_on(place):
        server = Server.load(place)
        server.save(place)
        cards_of_sketches(server.campaign)

    return go_on


def device_lists(path):
    """What a device makes lists from; how it is read and used."""
    path.write_bytes(Private(50.0, mode="taste").fit(make_world()).device_file())

    def go_on(place):
        lists = DeviceLists.decode(place.read_bytes())
        lists.rank(dict.fromkeys(lists.items[:2], 5.0), n=5)

    return go_on


OTHERS = {"p-REC run": prec_run, "sketches": sketches_checkpoint, "device lists": device_lists}


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        *[(kind, QUICK) for kind in OTHERS],
        *[pytest.param(kind, WHOLE, marks=pytest.mark.long) for kind in OTHERS],
    ],
)
def test_hostile_runs_counts_and_device_files_are_refused_in_words(kind, count, tmp_path):
    """Files that are no models: bytes of the header changed, and parts of it, under a right
    hash."""
    path = tmp_path / "file"
    go_on = OTHERS[kind](path)
    original = path.read_bytes()
    if kind != "p-REC run":  # which goes on once
        go_on(path)
    files = [with_other_text(original, seed) for seed in range(count)]
    if kind != "device lists":  # its arrays have a layout of their own
        files += [file for _, file in mutants(*container.unpack(original), count, seed=2)]
    refused = 0
    for place, file in enumerate(files):
        path.write_bytes(file)
        try:
            go_on(path)
        except TacitError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"file {place} raised {error!r}") from error
    assert refused > len(files) / 3


def test_a_header_that_would_take_much_memory_is_refused_before_it_is_parsed(tmp_path):
    """22 MiB of brackets, or of values, under a right hash: no more memory than a few files."""
    for filling in (b"[],", b'"ab",', b"1234,"):
        text = b'{"format":1,"header":{"items":[' + filling * (22 * 2**20 // len(filling))
        body = container.MAGIC + len(text).to_bytes(8, "little") + text
        path = tmp_path / "large"
        path.write_bytes(body + hashlib.sha256(body).digest())
        tracemalloc.start()
        with pytest.raises(ModelFileError, match="its header has"):
            load_model(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 100 * 2**20


def test_each_kind_of_model_file_is_among_them():
    """A kind that is added to the registry is fuzzed here."""
    left_out = {"als", "x-map"}  # of an extra, and another name of xmap
    assert {name.split(",")[0] for name in MODELS} >= set(model_kinds()) - left_out


@pytest.mark.parametrize("fits", [0, 1.5, True, 10**6, 2**31, 10**40])
def test_a_plan_of_no_or_countless_fits_is_refused_on_load(tmp_path, fits):
    """Every fit of a plan is listed to add up what all cost: so many would fill the memory."""
    header, arrays = fit_plan_twice(make_world()).parts()
    header["plan"]["plan"]["fits"] = fits
    container.write(tmp_path / "m.tacit", header, arrays)
    with pytest.raises(ModelFileError, match="number of fits"):
        load_model(tmp_path / "m.tacit")


def test_a_plan_of_no_number_of_people_is_refused_on_load(tmp_path):
    """Its state has one sum of people, with its weight and squares before it."""
    header, arrays = fit_plan_twice(make_world()).parts()
    arrays["plan_people"] = arrays["plan_people"][:2]
    container.write(tmp_path / "m.tacit", header, arrays)
    with pytest.raises(ModelFileError, match="plan_people"):
        load_model(tmp_path / "m.tacit")


def test_a_plan_between_no_items_is_refused_on_load(tmp_path):
    """An empty list of context items says two domains, and has no sums of the first one."""
    header, arrays = fit_plan_twice(make_world()).parts()
    header["plan"]["context"] = []
    container.write(tmp_path / "m.tacit", header, arrays)
    with pytest.raises(ModelFileError, match="no items"):
        load_model(tmp_path / "m.tacit")


def test_a_plan_with_negative_weights_is_refused_on_load(tmp_path):
    """Roots of them are taken when the next fit is made."""
    header, arrays = fit_plan_twice(make_world()).parts()
    arrays["plan_counts"] = arrays["plan_counts"].copy()
    arrays["plan_counts"][2, 0] = -1.0
    container.write(tmp_path / "m.tacit", header, arrays)
    with pytest.raises(ModelFileError, match="plan_counts"):
        load_model(tmp_path / "m.tacit")


@pytest.mark.parametrize("levels", [0, 10_001, 2**31, 2**63, 1.5, True])
def test_a_scale_of_countless_levels_is_refused_on_load(tmp_path, levels):
    """A weight is made for each level of a standard scheme's model: so many would fill the
    memory."""
    path = tmp_path / "m.tacit"
    MODELS["standard-scheme"]().save(path)
    header, arrays = container.unpack(path.read_bytes())
    container.write(path, {**header, "levels": levels}, arrays)
    with pytest.raises(ModelFileError, match="whole number"):
        load_model(path)


@pytest.mark.parametrize(
    ("kind", "name"), [("item-item", "similar offsets"), ("standard-scheme", "columns")]
)
def test_rows_that_do_not_end_where_their_entries_do_are_refused_on_load(tmp_path, kind, name):
    """A last offset of 0 passes SciPy's check, and products then read beyond the memory."""
    path = tmp_path / "m.tacit"
    MODELS[kind]().save(path)
    header, arrays = container.unpack(path.read_bytes())
    offsets = arrays[name].copy()
    assert offsets[-1] > 0
    offsets[-1] = 0
    container.write(path, header, {**arrays, name: offsets})
    with pytest.raises(ModelFileError, match="does not rise from 0"):
        load_model(path)
