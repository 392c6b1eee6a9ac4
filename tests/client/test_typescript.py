"""The TypeScript client: its own tests, and hundreds of cases made here and answered by both."""

from __future__ import annotations

import json
import subprocess

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from golden import item_table as golden_item_table
from golden import private_lists as private
from golden import scheme, sketches, vectors
from golden import scheme_lives as lives
from tacit.designs.sketches.messages import (
    METHODS,
    UNITS,
    Campaign,
    Clusters,
    Report,
    catalogue_digest,
)
from tacit.designs.standard_scheme.disclosure import RELEASES, Disclosure, Rule
from tacit.designs.standard_scheme.epochs import calendar_epoch
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import DAY, WEEK, ItemTable, Release, Scores
from tacit.errors import ConfigError

CASES = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@pytest.fixture(scope="module")
def ask(built):
    """Give one vector to the TypeScript client; what it makes of it comes back."""
    command = ["node", str(built / "test" / "answering.js")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as node:

        def answered(do, vector):
            node.stdin.write(json.dumps({"do": do} | vector) + "\n")
            node.stdin.flush()
            return json.loads(node.stdout.readline())

        yield answered
        node.stdin.close()
        assert node.wait() == 0


def test_own_tests(npm):
    """`npm test` passes."""
    done = npm("test")
    assert done.returncode == 0, done.stdout + done.stderr


def test_types(npm):
    """Sources and tests are free of type errors under strict settings."""
    done = npm("run", "check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_build(npm, sources, tmp_path):
    """`npm run build` writes plain modules with their types, for every source file."""
    done = npm("run", "build", "--", "--outDir", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    expected = {file.relative_to(sources / "src") for file in (sources / "src").rglob("*.ts")}
    for ending in (".js", ".d.ts"):
        built = {file.relative_to(tmp_path) for file in tmp_path.rglob(f"*{ending}")}
        assert built == {source.with_suffix(ending) for source in expected}


def test_lock_names_no_host(sources):
    """The lock of the client works behind any mirror: no package is tied to an address."""
    lock = json.loads((sources / "package-lock.json").read_text())
    packages = [entry for name, entry in lock["packages"].items() if name]
    assert packages
    assert all("resolved" not in entry and "integrity" in entry for entry in packages)


def same(vector, found):
    """Both made the same of it; what a refusal says is read by people, and is the same too."""
    given_ = {"campaigns", "catalogue", "history", "secret", "limits", "clusters", "liked_from"}
    given_ |= {"n", "disclosures", "disclosure", "visits", "values", "scores", "kind", "bytes"}
    given_ |= {"table", "items", "levels", "model"}
    expected = {key: value for key, value in vector.items() if key not in given_}
    if expected.get("error") in ("ValueError", "MessageError"):
        expected["says"] = found.get("says")
    assert found == expected


ids = st.integers(-(2**70), 2**70) | st.text(max_size=3) | st.sampled_from(["\ud800", "1", 1])
lists = st.lists(ids, min_size=2, max_size=30, unique=True)
secrets = st.binary(min_size=32, max_size=70)
star = st.floats(-20, 20) | st.sampled_from([0.5 * number for number in range(11)])


def histories(items):
    return st.dictionaries(st.sampled_from(items), star, max_size=30)


@st.composite
def campaigns(draw, items):
    wanted = {
        "method": draw(st.sampled_from(METHODS)),
        "unit": draw(st.sampled_from(UNITS)),
        "questions": draw(st.integers(1, 5) | st.just(32)),
        "epsilon": draw(st.floats(1e-6, 4) | st.floats(4, 30)),
        "theta": draw(st.floats(0.01, 2)),
        "rated": draw(st.integers(1, len(items))),
        "liked_from": draw(st.sampled_from([-1.5, 3.0, 3.333, 4.0])),
        "seed": draw(st.binary(min_size=16, max_size=16)),
    }
    try:
        return sketches.asked(items, **wanted)
    except ConfigError:  # these sets do not fit into this list; those do
        few = {"questions": 1, "theta": 0.01}
        return sketches.asked(items, **(wanted | few))


@CASES
@given(st.data())
def test_reports_are_equal(ask, data):
    """Whatever campaigns, lists, stars, secrets and limits: the same bytes, or the same refusal."""
    items = data.draw(lists)
    asked = data.draw(st.lists(campaigns(items), min_size=1, max_size=3))
    limits = {
        "epsilon": data.draw(st.floats(0, 10)),
        "lifetime": data.draw(st.floats(0, 20)),
        "units": data.draw(st.sampled_from([UNITS, UNITS[:1], UNITS[1:]])),
        "rated_pairs": data.draw(st.booleans()),
        "most_rated_pairs": data.draw(st.integers(0, 2)),
    }
    if data.draw(st.booleans()):
        limits = {"epsilon": 3000.0, "lifetime": 9000.0, "units": UNITS, "rated_pairs": True}
    history = data.draw(histories([*items, "elsewhere"]))
    encoded = [campaign.encode() for campaign in asked]
    vector = vectors.answer(encoded, items, history, data.draw(secrets), limits)
    same(vector, ask("answer", vector))


@CASES
@given(st.data())
def test_recommendations_are_equal(ask, data):
    """Whatever clusters and stars: the same items in the same order."""
    items = data.draw(lists)
    labels = data.draw(st.binary(min_size=len(items), max_size=len(items)))
    scores = data.draw(st.tuples(*[st.integers(-(2**31) + 1, 2**31 - 1)] * len(items)))
    clusters = Clusters(bytes(32), catalogue_digest(items), labels, scores)
    history, liked_from = data.draw(histories(items)), data.draw(star)
    n = data.draw(st.integers(0, 40))
    vector = vectors.recommendation(clusters.encode(), items, history, liked_from=liked_from, n=n)
    same(vector, ask("recommendation", vector))


rules = st.builds(
    Rule,
    st.sampled_from(["scheme", "coupling", "movie-average", "attribute-average"]),
    selection=st.booleans(),
    rounding=st.booleans(),
    mix=st.just(1_000_000) | st.just(1_000_000) | st.integers(1, 1_000_000),
) | st.sampled_from(list(RELEASES.values()))
wire_ids = st.integers(-(2**70), 2**70) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=3
)
scales = st.sampled_from(
    [scheme.WHOLE_STARS, scheme.HALF_STARS, scheme.RULER, scheme.INTEGERS, scheme.Scale(0, 0.1, 7)]
)


@st.composite
def disclosed(draw):
    """A disclosure, its scale and its person's values."""
    scale = draw(scales)
    rule = draw(rules)
    assume(scale.levels or rule.transform != "coupling")
    items = draw(st.lists(wire_ids, max_size=8, unique=True).map(tuple))
    attributes = draw(st.sampled_from([(scheme.GENDER,), (scheme.AGE, scheme.GENDER)]))
    shown = scheme.disclosure(
        rule, scale=scale, items=items, attributes=attributes, seed=draw(st.integers(0, 2**20))
    )
    values = {name: draw(st.sampled_from(known)) for name, known in attributes}
    return shown, scale, values


@CASES
@given(st.data())
def test_releases_are_equal(ask, data):
    """Whatever disclosure, secret and stars, epoch after epoch: the same bytes or refusal, and the
    same memory."""
    shown, scale, values = data.draw(disclosed())
    on_scale = st.integers(0, 30).map(scale.stars)
    stars = st.one_of([on_scale] * 20 + [star])
    keys = st.sampled_from([*shown.items, "elsewhere"])
    visits = data.draw(st.lists(st.dictionaries(keys, stars), min_size=1, max_size=3))
    vector = vectors.release(
        [shown.encode()] * len(visits), [values] * len(visits), visits, data.draw(secrets)
    )
    same(vector, ask("release", vector))


@st.composite
def refits(draw):
    """A disclosure of some items and values; some of the other items are renamed."""
    shown = draw(st.lists(st.sampled_from(scheme.ITEMS), min_size=1, unique=True).map(tuple))
    gone = [item for item in scheme.ITEMS if item not in shown] or ["gone"]
    names = st.tuples(st.sampled_from(gone), st.sampled_from(shown))
    aliases = draw(st.lists(names, max_size=2, unique_by=lambda pair: pair[0]).map(tuple))
    seed = draw(st.integers(0, 2**20))
    listed = draw(st.sampled_from([("F", "M"), ("F", "M"), ("F", "Z"), ("F", "M", "Z")]))
    attributes = (("gender", listed),)
    return scheme.disclosure(
        lives.RULE, items=shown, aliases=aliases, seed=seed, attributes=attributes
    )


@CASES
@given(st.data())
def test_lives_are_equal(ask, data):
    """Whatever days, stars, refits, values and names: the same letters, sentences and memory."""
    life = lives.Life(secret=data.draw(secrets))
    at = lives.CREATED
    for _ in range(data.draw(st.integers(1, 8))):
        at += data.draw(st.integers(0, 2 * DAY) | st.integers(0, 3 * WEEK))
        if data.draw(st.integers(0, 3)) == 0:
            epoch = calendar_epoch(at, WEEK) + data.draw(st.sampled_from([0, 0, 0, -1, 1]))
            life.refit(data.draw(refits()), epoch)
        life.values = {"gender": data.draw(st.sampled_from("FFFFMZ"))}
        stars = st.integers(1, 5).map(float) | st.sampled_from([None, "4", [4.0], True, 4])
        rated = st.dictionaries(st.sampled_from(scheme.ITEMS), stars)
        history = data.draw(rated)
        second = st.integers(at - WEEK, at)
        entered = {item: data.draw(second) for item in history if data.draw(st.booleans())}
        life.on(at, history, entered)
    vector = life.vector("drawn")
    said = [{"letter": step["letter"], "told": step["told"]} for step in vector["steps"]]
    assert ask("life", vector) == {"said": said, "memory": vector["memory"]}


@CASES
@given(st.data())
def test_lists_at_home_are_equal(ask, data):
    """Whatever table and levels: the same items in the same order, with the same sums."""
    items = data.draw(st.lists(wire_ids, max_size=12, unique=True))
    scale = data.draw(st.integers(2, 11))
    table = golden_item_table.table(len(items), scale, data.draw(st.integers(0, 2**20)))
    keys = st.sampled_from([*items, "elsewhere"])
    levels = data.draw(st.dictionaries(keys, st.integers(0, scale - 1)))
    vector = golden_item_table.ranking(table, items, levels)
    same(vector, ask("ranking", vector))


@CASES
@given(
    st.sampled_from(["taste", "top-items", "popularity"]),
    st.sampled_from([None, ["a", "b", 3, 4, "7"]]),
    st.integers(0, 2**20),
    st.dictionaries(st.sampled_from([*private.ITEMS, "a", "b", "elsewhere"]), st.floats(1, 5)),
)
def test_lists_of_private_models_are_equal(ask, mode, context, seed, history):
    """Whatever model and history: the same items in the same order, scores to the last bit."""
    vector = private.ranking(private.model(mode, seed=seed, context=context), history)
    same(vector, ask("privateRanking", vector))


@CASES
@given(st.data())
def test_predictions_are_equal(ask, data):
    """Whatever scores: the same stars, to the last bit of the float."""
    shown, _, values = data.draw(disclosed())
    assume(not scheme.unsafe(shown.rule) and shown.rule.mix == 1_000_000)
    level = st.integers(-(2**53), 2**53) | st.integers(-10_000_000, 10_000_000)
    scores = tuple((item, data.draw(level), data.draw(level)) for item in shown.items)
    vector = vectors.completion(shown.encode(), values, Scores(shown.digest, scores).encode())
    same(vector, ask("completion", vector))


def test_predictions_of_levels_beyond_exact_floats_are_equal(ask):
    """A level beyond 2^53 is rounded before it is scaled, here as there."""
    shown = scheme.disclosure(RELEASES["scheme+rounding"], scale=scheme.INTEGERS)
    for level in range(-(2**53), -(2**53) + 300_000, 9_973):
        scores = Scores(shown.digest, tuple((item, level, 0) for item in shown.items))
        vector = vectors.completion(shown.encode(), {"gender": "F"}, scores.encode())
        same(vector, ask("completion", vector))


MESSAGES = [
    *((Campaign, sketches.asked(sketches.NUMBERS, **wanted)) for wanted in sketches.ASKED[:4]),
    (Report, Report(bytes(8), 2**64 - 1, 2**32 - 1)),
    (Report, Report(bytes(8), 0, 0, (0, 1))),
    (Clusters, Clusters(bytes(32), bytes(32), bytes(3), (1, -1, 0))),
    (Disclosure, scheme.disclosure(RELEASES["coupling"], items=("a", 7))),
    (Disclosure, scheme.disclosure(RELEASES["scheme"], items=(2**60,), scale=scheme.RULER)),
    (Release, Release("x", 7, (("é😀", 2**53), (-7, -(2**53)), ("\u2028\x7f\x1f", 0)))),
    (Scores, Scores("", ((2**64, 5, -5),))),
    (State, scheme.memory()),
    (ItemTable, golden_item_table.SMALL),
]


@CASES
@given(st.sampled_from(MESSAGES), st.data())
def test_changed_messages_are_read_alike(ask, message, data):
    """A message with some bytes changed, cut out or put in is the same to both, or none to both."""
    kind, whole = message
    encoded = bytearray(whole.encode())
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(encoded)))
        cut = data.draw(st.integers(0, 2))
        encoded[at : at + cut] = data.draw(
            st.binary(max_size=2) | st.sampled_from([b"0", b"1", b"-", b".5", b"e1", b'"', b"1.0"])
        )
    vector = {
        "kind": kind.__name__,
        "bytes": encoded.hex(),
        **vectors.outcome("encoded", lambda: kind.decode(bytes(encoded)).encode().hex()),
    }
    same(vector, ask("message", vector))
