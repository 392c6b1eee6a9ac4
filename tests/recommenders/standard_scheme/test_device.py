"""What a device does with its owner's stars, and what it refuses to do."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections import deque
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tacit.recommenders.standard_scheme import device as device_module
from tacit.recommenders.standard_scheme.device import Device, Refused
from tacit.recommenders.standard_scheme.messages import MICRO, RELEASES, Release, Rule, Scores
from tacit.recommenders.standard_scheme.population import release

OWN = {"gender": "F"}
HISTORY = {f"item {number}": float(1 + number % 5) for number in range(6)}


def never(bound):
    raise AssertionError("a star was drawn again")


def seeded(seed):
    """Draws that repeat."""
    generator = np.random.default_rng(seed)
    return lambda bound: int(generator.integers(bound))


def imports(file):
    """Modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(Path(file).read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def test_needs_the_standard_library_alone():
    """The device, and every file of the package that it reaches, imports nothing from elsewhere."""
    folder = Path(inspect.getfile(device_module)).parent
    home = "tacit.recommenders.standard_scheme."
    reached, waiting = set(), {"device"}
    while waiting:
        name = waiting.pop()
        reached.add(name)
        for module in imports(folder / f"{name}.py"):
            if module.startswith(home):
                waiting |= {module.removeprefix(home)} - reached
            else:
                assert module.partition(".")[0] in sys.stdlib_module_names, (name, module)
    assert reached == {"device", "messages", "canonical"}


class Script:
    """Draws by name, for one person: handed to the device item by item."""

    def __init__(self, per_item):
        self.per_item = per_item
        self.memory = self.Memory(self)

    class Memory(dict):
        """The device looks an item up before it draws for it."""

        def __init__(self, script):
            self.script = script

        def get(self, item, default=None):
            self.script.queue = deque(self.script.per_item[item])
            return super().get(item, default)

    def draw(self, bound):
        _kind, value = self.queue.popleft()
        assert value < bound
        return value


class Words:
    """The same draws as arrays, in the order in which the simulation asks for them."""

    private = False

    def __init__(self, arrays):
        self.arrays = deque(arrays)

    def words(self, count):
        array = self.arrays.popleft()
        assert len(array) == count
        return array.astype(np.uint64)


@given(st.integers(0, 2**32), st.sampled_from(sorted(RELEASES)), st.booleans(), st.booleans())
def test_equals_the_simulation(make_tables, make_disclosure, seed, name, several, mixed):
    """Given the same draws, devices and the simulation release the same ratings.

    Draws and tables are in tenths, so that draws often meet a threshold exactly.
    """
    generator = np.random.default_rng(seed)
    tables = {"gender": make_tables(seed)}
    if several:
        tables["age"] = make_tables(seed + 1, values=("a", "b", "c"))
    rule = replace(RELEASES[name], mix=400_000 if mixed else MICRO)
    people, items = 4, 6
    dense = np.where(
        generator.random((people, items)) < 0.6, generator.integers(1, 6, (people, items)), 0
    )
    levels = sparse.csr_array(dense.astype(float))
    levels.data -= 1
    labels = np.stack(
        [generator.integers(0, len(table.values), people) for table in tables.values()], axis=1
    )

    def some(bound=MICRO):
        if bound < MICRO:
            return generator.integers(0, bound, levels.nnz)
        return generator.integers(0, 10, levels.nnz) * (MICRO // 10)

    drawn = {}
    if rule.selection:
        drawn |= {f"selection {attribute}": some() for attribute in tables}
    if rule.transform == "coupling":
        drawn |= {f"coupling {attribute}": some() for attribute in tables}
    if rule.transform == "attribute-average":
        drawn["average"] = some(2)
    if rule.rounding:
        drawn["rounding"] = some()
    if mixed:
        drawn["mix"] = some()
    simulated = release(
        levels,
        labels,
        list(tables.values()),
        rule,
        n_levels=5,
        source=Words(drawn.values()),
    )

    for person in range(people):
        entries = range(levels.indptr[person], levels.indptr[person + 1])
        order = [*(kind for kind in drawn if kind == "mix"), *(k for k in drawn if k != "mix")]
        script = Script(
            {
                f"item {levels.indices[n]}": [(kind, int(drawn[kind][n])) for kind in order]
                for n in entries
            }
        )
        own = {
            attribute: table.values[labels[person, position]]
            for position, (attribute, table) in enumerate(tables.items())
        }
        device = Device(
            make_disclosure(tables, rule), own, script.memory, script.draw, reproduce=True
        )
        sent = device.release({f"item {levels.indices[n]}": levels.data[n] + 1 for n in entries})
        mine = slice(simulated.indptr[person], simulated.indptr[person + 1])
        assert list(sent.ratings) == [
            (f"item {item}", round(level * MICRO))
            for item, level in zip(simulated.indices[mine], simulated.data[mine], strict=True)
        ]


@pytest.mark.parametrize("name", ["scheme", "scheme+selection", "movie-average"])
def test_equals_the_simulation_on_a_continuous_scale(tables, disclose, name):
    """The same holds where stars are not whole."""
    table = tables(3, levels=0)
    stars = np.array([0.0, 1.25, 2.7182818, 4.0, 3.3, 0.1])
    script = np.random.default_rng(3).integers(0, MICRO, 6)
    words = Words([script] if RELEASES[name].selection else [])
    whole = sparse.csr_array((stars, np.arange(6), np.array([0, 6])), shape=(1, 6))
    expected = release(
        whole, np.zeros((1, 1), int), [table], RELEASES[name], n_levels=0, source=words
    )
    disclosure = disclose(name, {"gender": table}, minimum=0.0, levels=0)
    draws = deque(script.tolist())
    sent = Device(disclosure, OWN, {}, lambda bound: draws.popleft(), reproduce=True).release(
        {f"item {number}": star for number, star in enumerate(stars)}
    )
    assert [level for _, level in sent.ratings] == np.round(expected.data * MICRO).tolist()


def test_star_is_drawn_once(disclose):
    """A second release of the same stars draws nothing and repeats the first."""
    memory = {}
    first = Device(disclose(), OWN, memory).release(HISTORY)
    second = Device(disclose(), OWN, memory, never).release(HISTORY)
    assert second.encode() == first.encode()


def test_memory_survives_a_restart(disclose, tmp_path):
    """With the memory read back from a file, the release has the same bytes."""
    memory = {}
    first = Device(disclose(), OWN, memory).release(HISTORY)
    (tmp_path / "memory").write_text(json.dumps(memory))
    saved = {k: tuple(v) for k, v in json.loads((tmp_path / "memory").read_text()).items()}
    assert Device(disclose(), OWN, saved, never).release(HISTORY).encode() == first.encode()


def test_changed_star_is_drawn_again(disclose):
    """A changed star is drawn again, alone; all others stay as they were."""
    memory, calls = {}, []
    first = Device(disclose("coupling"), OWN, memory).release(HISTORY)

    def counted(bound):
        calls.append(bound)
        return 0

    changed = HISTORY | {"item 2": 5.0}
    second = Device(disclose("coupling"), OWN, memory, counted).release(changed)
    assert calls == [MICRO]
    before, after = dict(first.ratings), dict(second.ratings)
    assert {item for item in after if after[item] != before[item]} <= {"item 2"}


def test_held_back_stays_held_back(disclose):
    """An item held back once is held back for good, however often it could be drawn."""
    memory = {}
    held = Device(disclose(), OWN, memory, lambda bound: bound - 1).release(HISTORY)
    assert held.ratings == ()
    assert Device(disclose(), OWN, memory, lambda bound: 0).release(HISTORY).ratings == ()


def test_new_item_leaves_the_others_alone(disclose):
    """A longer history adds its new item and changes none that was released."""
    memory = {}
    fewer = {item: stars for item, stars in HISTORY.items() if item != "item 5"}
    first = dict(Device(disclose(), OWN, memory).release(fewer).ratings)
    second = dict(Device(disclose(), OWN, memory).release(HISTORY).ratings)
    second.pop("item 5", None)
    assert second == first


def test_release_tells_no_order(disclose):
    """The order in which stars were given, or stand in the memory, does not show."""
    memory = {}
    first = Device(disclose(), OWN, memory).release(HISTORY)
    turned = dict(reversed(memory.items()))
    second = Device(disclose(), OWN, turned, never).release(dict(reversed(HISTORY.items())))
    assert second.encode() == first.encode()


def test_release_tells_no_more_than_its_items(disclose, tables):
    """Neither the attribute, nor the items held back, nor their number is in the bytes."""
    half = replace(tables(), keep=np.broadcast_to([0, 0, 0, MICRO, MICRO, MICRO], (2, 2, 6)))
    sent = Device(disclose(tables={"gender": half}), OWN, {}).release(HISTORY)
    shown = [item for item, _ in sent.ratings]
    assert shown == ["item 3", "item 4", "item 5"]
    content = json.loads(sent.encode())
    assert set(content) == {"version", "message", "disclosure", "ratings"}
    assert content["ratings"] == [list(pair) for pair in sent.ratings]
    assert not any(item in sent.encode().decode() for item in set(HISTORY) - set(shown))


def test_same_release_whoever_sends_it(disclose, tables):
    """Where the tables of two values agree, their releases under one draw are the same bytes."""
    table = tables(5)
    same = replace(
        table,
        offsets=table.offsets[[0, 0]],
        keep=table.keep[[0, 0]],
        bounds=table.bounds[[0, 0]],
        coupling=table.coupling[[0, 0]],
    )
    disclosure = disclose("coupling+selection", {"gender": same})
    sent = []
    for value in ("F", "M"):
        device = Device(disclosure, {"gender": value}, {}, seeded(5))
        sent.append(device.release(HISTORY).encode())
    assert sent[0] == sent[1]


def test_swapped_tables_swap_the_values(disclose, tables):
    """A person with one value under tables turned round releases as one with the other."""
    table = tables(6)
    turned = replace(
        table,
        offsets=table.offsets[::-1],
        keep=table.keep[::-1],
        bounds=table.bounds[::-1],
        coupling=table.coupling[::-1],
    )
    sent = []
    for value, made in (("F", table), ("M", turned)):
        device = Device(disclose(tables={"gender": made}), {"gender": value}, {}, seeded(6))
        sent.append(device.release(HISTORY).ratings)
    assert sent[0] == sent[1]


def test_unknown_items_stay_at_home(disclose):
    """Items that the disclosure does not name are neither sent nor drawn nor counted."""
    first = Device(disclose(), OWN, {}, lambda bound: 123_456 % bound).release(HISTORY)
    more = HISTORY | {f"secret {n}": 5.0 for n in range(50)}
    second = Device(disclose(), OWN, {}, lambda bound: 123_456 % bound).release(more)
    assert second.encode() == first.encode()


@pytest.mark.parametrize("name", sorted(set(RELEASES) - {"none", "selection"}))
def test_unrounded_whole_stars_are_refused(disclose, name):
    """On whole stars, the device takes no part in a release that is not rounded."""
    leaks = RELEASES[name].transform == "scheme" and not RELEASES[name].rounding
    if not leaks:
        Device(disclose(name), OWN, {})
        return
    with pytest.raises(Refused, match="exactly"):
        Device(disclose(name), OWN, {})
    Device(disclose(name), OWN, {}, reproduce=True)


def test_unrounded_is_refused_on_a_continuous_scale_too(disclose):
    """Saying that a scale has no levels does not make people's stars any less round."""
    with pytest.raises(Refused, match="exactly"):
        Device(disclose("scheme", levels=0), OWN, {})


def test_a_continuous_scale_is_rounded_to_quarters(disclose):
    """Real-valued stars leave as one of five whole levels."""
    device = Device(disclose("scheme+rounding", levels=0), OWN, {})
    sent = device.release({f"item {n}": 1.0 + 0.7 * n for n in range(6)})
    assert {level % MICRO for _, level in sent.ratings} == {0}
    assert all(0 <= level <= 4 * MICRO for _, level in sent.ratings)


@pytest.mark.parametrize("change", ["rule", "value", "scale"])
def test_a_foreign_memory_is_refused(disclose, change):
    """Draws made under another rule, scale or own value are neither sent nor made anew."""
    memory = {}
    Device(disclose("none"), OWN, memory, reproduce=True).release(HISTORY)
    if change != "rule":
        memory.clear()
        Device(disclose(), OWN, memory).release(HISTORY)
    before = dict(memory)
    own = {"gender": "M"} if change == "value" else OWN
    other = disclose(step=0.5, levels=9) if change == "scale" else disclose()
    with pytest.raises(Refused, match="another rule, scale or attribute"):
        Device(other, own, memory).release(HISTORY)
    assert memory == before


def test_selection_dice_are_thrown_once(disclose):
    """A changed star is drawn again, but not whether its item is shown."""
    for die in (0, MICRO - 1):
        memory = {}
        first = Device(disclose(), OWN, memory, lambda bound, die=die: die % bound).release(HISTORY)
        changed = {item: 6.0 - star for item, star in HISTORY.items()}
        second = Device(disclose(), OWN, memory, lambda bound: 1).release(changed)
        assert [item for item, _ in first.ratings] == [item for item, _ in second.ratings]


def test_scores_of_another_disclosure_are_refused(disclose):
    """The device completes only what was made for it, and only items it knows."""
    device, digest = Device(disclose(), OWN, {}), disclose().digest
    with pytest.raises(ValueError, match="another disclosure"):
        device.complete(Scores("0" * 16, (("item 0", 0),)))
    with pytest.raises(ValueError, match="does not have"):
        device.complete(Scores(digest, (("nothing", 0),)))


@pytest.mark.parametrize(("name", "mix"), [("none", MICRO), ("selection", MICRO), ("coupling", 0)])
def test_true_stars_are_refused(disclose, name, mix):
    """A rule that sends true stars, by name or by its mix, is refused."""
    with pytest.raises(Refused, match="true stars"):
        Device(disclose(name, mix=mix), OWN, {})
    sent = Device(disclose(name, mix=mix), OWN, {}, reproduce=True, draw=lambda b: 0).release(
        HISTORY
    )
    assert [level for _, level in sent.ratings] == [(n % 5) * MICRO for n in range(6)]


def test_a_star_that_was_sent_true_is_selected_when_it_changes(disclose):
    """No dice were thrown for it: they are thrown then, and not left out."""
    draws = iter([MICRO - 1, 0, MICRO - 1])  # sent as it is; then not, and its die says no
    rule = disclose("selection", mix=MICRO // 2)
    device = Device(rule, OWN, {}, draw=lambda b: next(draws), reproduce=True)
    first = device.release({"item 1": 3})
    assert [item for item, _ in first.ratings] == ["item 1"]
    assert device.release({"item 1": 4}).ratings == ()


@pytest.mark.parametrize("own", [{"gender": "X"}, {}, {"gender": None}, {"age": "F"}])
def test_unknown_value_is_refused(disclose, own):
    """A value that the disclosure does not know is refused; the message repeats no value."""
    with pytest.raises(ValueError, match="one of: F, M") as refused:
        Device(disclose(), own, {})
    assert "X" not in str(refused.value)


@pytest.mark.parametrize("stars", [0.0, 6.0, 3.5, -1.0, float("nan"), float("inf"), 1e300])
def test_stars_off_the_scale_are_refused(disclose, stars):
    """Stars that are not on the scale are refused; the message names the item, not the stars."""
    with pytest.raises(ValueError, match=r"item 1.*off the scale") as refused:
        Device(disclose(), OWN, {}).release({"item 1": stars})
    assert str(stars) not in str(refused.value)


@pytest.mark.parametrize("stars", [-0.1, 4.1, float("nan"), float("-inf"), 1e300])
def test_stars_off_a_continuous_scale_are_refused(disclose, stars):
    """A continuous scale has ends too."""
    device = Device(disclose("scheme+rounding", minimum=0.0, levels=0), OWN, {})
    with pytest.raises(ValueError, match="off the scale"):
        device.release({"item 1": stars})


def test_half_stars(disclose, tables):
    """On a scale of half stars every half is a level."""
    table = tables(levels=10)
    disclosure = disclose("coupling", {"gender": table}, minimum=0.5, step=0.5, levels=10)
    memory = {}
    Device(disclosure, OWN, memory).release({"item 0": 0.5, "item 1": 3.5, "item 2": 5.0})
    assert [memory[f"item {n}"][0] for n in range(3)] == [0, 6 * MICRO, 9 * MICRO]


def test_completion_adds_the_own_offset(disclose, tables):
    """At home a score is turned into stars and gets the offsets of the own values, exactly."""
    table, ages = tables(8), tables(9, values=("a", "b", "c"))
    disclosure = disclose(tables={"gender": table, "age": ages})
    device = Device(disclosure, {"gender": "M", "age": "c"}, {})
    scores = Scores(disclosure.digest, (("item 4", 2_000_000), ("item 0", -7)))
    offsets = table.offsets[1] + ages.offsets[2]
    assert device.complete(scores) == {
        "item 4": 1 + (2_000_000 + int(offsets[4])) / MICRO,
        "item 0": 1 + (-7 + int(offsets[0])) / MICRO,
    }


def test_release_names_its_disclosure(disclose):
    """A release says which disclosure it was made for."""
    disclosure = disclose()
    sent = Device(disclosure, OWN, {}).release(HISTORY)
    assert isinstance(sent, Release)
    assert sent.disclosure == disclosure.digest


def test_stratum_counts_the_known_items(disclose, tables):
    """The chance to be shown is that of the person's own stratum of activity."""
    table = replace(
        tables(),
        bounds=np.array([[4], [2]]),
        keep=np.array([[[0] * 6, [MICRO] * 6], [[0] * 6, [MICRO] * 6]]),
    )
    disclosure = disclose(tables={"gender": table})
    for value, shown in (("F", 0), ("M", 3)):
        device = Device(disclosure, {"gender": value}, {})
        three = {item: HISTORY[item] for item in list(HISTORY)[:3]} | {"unknown": 3.0}
        assert len(device.release(three).ratings) == shown


def test_rule_has_no_other_switch():
    """What is tested here is all a rule can say."""
    assert set(Rule.__dataclass_fields__) == {"transform", "selection", "rounding", "mix"}


@pytest.mark.parametrize(
    ("name", "draws", "expected"),
    [
        ("scheme+rounding", [299_999], 3 * MICRO),
        ("scheme+rounding", [300_000], 2 * MICRO),
        ("coupling", [199_999], 0),
        ("coupling", [200_000], MICRO),
        ("coupling", [MICRO - 1], 4 * MICRO),
        ("coupling+selection", [399_999, 0], 0),
        ("coupling+selection", [400_000], None),
    ],
)
def test_draws_at_the_threshold(disclose, tables, name, draws, expected):
    """An event of chance t millionths happens for the draws 0 to t - 1 and for no other."""
    made = tables()
    made = replace(
        made,
        offsets=np.full((2, 6), 700_000),
        keep=np.full((2, 2, 6), 400_000),
        coupling=np.broadcast_to([200_000, 400_000, 600_000, 800_000, MICRO], (2, 6, 5, 5)),
    )
    waiting = list(draws)
    device = Device(disclose(name, {"gender": made}), OWN, {}, lambda bound: waiting.pop(0))
    sent = device.release({"item 0": 4.0}).ratings
    assert (sent[0][1] if sent else None) == expected
