"""What a device does with its owner's stars, and what it refuses to do."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from collections import deque
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import tacit
from tacit.recommenders.standard_scheme import device as device_module
from tacit.recommenders.standard_scheme.device import Device
from tacit.recommenders.standard_scheme.memory import Record, State
from tacit.recommenders.standard_scheme.messages import MICRO, RELEASES, Release, Rule, Scores
from tacit.recommenders.standard_scheme.population import over_epochs, release
from tacit.recommenders.standard_scheme.refusing import CAP, Refused

OWN = {"gender": "F"}
HOME = "tacit.recommenders.standard_scheme."
HALF = ("account", "device", "drawing", "item_table", "synchronised")
SOURCES = str(Path(tacit.__file__).parents[1])
HISTORY = {f"item {number}": float(1 + number % 5) for number in range(6)}


def never(item):
    raise AssertionError(f"{item} was decided again")


def always(number):
    """Every draw is this, or as near as its bound allows."""
    return lambda item: lambda bound: min(number, bound - 1)


def seeded(seed):
    """Draws that repeat."""
    generator = np.random.default_rng(seed)
    return lambda item: lambda bound: int(generator.integers(bound))


def script(waiting):
    """These draws, one after the other."""
    waiting = deque(waiting)
    return lambda item: lambda bound: waiting.popleft()


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
    reached, waiting = set(), set(HALF)
    while waiting:
        name = waiting.pop()
        reached.add(name)
        for module in imports(folder / f"{name}.py"):
            if module.startswith(HOME):
                waiting |= {module.removeprefix(HOME)} - reached
            else:
                assert module.partition(".")[0] in sys.stdlib_module_names, (name, module)
    taste = {"taste", "taste_table"}
    assert reached == {*HALF, *taste, "canonical", "epochs", "memory", "messages", "refusing"}


def test_runs_where_nothing_is_installed():
    """Every file of the device half is imported by a Python that has only its standard library."""
    modules = ", ".join(f"{HOME}{name}" for name in HALF)
    code = (
        f"import sys; sys.modules['numpy'] = None; sys.path.append({SOURCES!r}); import {modules}"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)


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
        queues = {
            f"item {levels.indices[n]}": deque(int(drawn[kind][n]) for kind in order)
            for n in entries
        }
        own = {
            attribute: table.values[labels[person, position]]
            for position, (attribute, table) in enumerate(tables.items())
        }
        device = Device(
            make_disclosure(tables, rule),
            own,
            State(created=0),
            lambda item, queues=queues: lambda bound: queues[item].popleft(),
            reproduce=True,
        )
        sent = device.release({f"item {levels.indices[n]}": levels.data[n] + 1 for n in entries}, 0)
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
    drawn = np.random.default_rng(3).integers(0, MICRO, 6)
    words = Words([drawn] if RELEASES[name].selection else [])
    whole = sparse.csr_array((stars, np.arange(6), np.array([0, 6])), shape=(1, 6))
    expected = release(
        whole, np.zeros((1, 1), int), [table], RELEASES[name], n_levels=0, source=words
    )
    disclosure = disclose(name, {"gender": table}, minimum=0.0, levels=0)
    device = Device(disclosure, OWN, State(created=0), script(drawn.tolist()), reproduce=True)
    sent = device.release({f"item {number}": star for number, star in enumerate(stars)}, 0)
    assert [level for _, level in sent.ratings] == np.round(expected.data * MICRO).tolist()


def test_item_is_decided_once(disclose, state):
    """A second release of the same stars draws nothing and repeats the first."""
    first = Device(disclose(), OWN, state, seeded(1)).release(HISTORY, 0)
    second = Device(disclose(), OWN, state, never).release(HISTORY, 0)
    assert second.encode() == first.encode()


def test_memory_survives_a_restart(disclose, state):
    """With the memory read back from its bytes, the release has the same bytes."""
    first = Device(disclose(), OWN, state, seeded(1)).release(HISTORY, 0)
    saved = State.decode(state.encode())
    assert Device(disclose(), OWN, saved, never).release(HISTORY, 0).encode() == first.encode()


@pytest.mark.parametrize("release", ["coupling", "scheme+selection+rounding"])
def test_changed_star_changes_nothing(disclose, state, release):
    """The first released level stands, whatever becomes of the star; nothing is drawn again."""
    first = Device(disclose(release), OWN, state, seeded(2)).release(HISTORY, 0)
    changed = {item: 6.0 - star for item, star in HISTORY.items()}
    second = Device(disclose(release), OWN, state, never).release(changed, 1)
    assert second.ratings == first.ratings


def test_held_back_stays_held_back(disclose, state):
    """An item held back once is held back for good, whatever later tables say."""
    held = Device(disclose(), OWN, state, always(MICRO)).release(HISTORY, 0)
    assert held.ratings == ()
    assert all(record.level is None for record in state.records.values())
    later = disclose("scheme+selection+rounding", minimum=1.0)
    assert Device(later, OWN, state, always(0)).release(HISTORY, 1).ratings == ()


def test_new_item_leaves_the_others_alone(disclose, state):
    """A longer history adds its new item and changes none that was released."""
    fewer = {item: stars for item, stars in HISTORY.items() if item != "item 5"}
    first = dict(Device(disclose(), OWN, state, seeded(3)).release(fewer, 0).ratings)
    second = dict(Device(disclose(), OWN, state, seeded(4)).release(HISTORY, 1).ratings)
    second.pop("item 5", None)
    assert second == first


def test_refit_changes_nothing_that_was_decided(disclose, tables, state):
    """Under new tables the old set is sent under the new digest; they count for new items only."""
    fewer = {item: stars for item, stars in HISTORY.items() if item != "item 5"}
    first = Device(disclose(), OWN, state, seeded(3)).release(fewer, 0)
    other = disclose(tables={"gender": tables(99)})
    second = Device(other, OWN, state, always(0)).release(HISTORY, 1)
    assert second.disclosure == other.digest != first.disclosure
    assert dict(second.ratings).items() > dict(first.ratings).items()
    assert state.records["item 5"].digest == other.digest


def test_release_tells_no_order(disclose, state):
    """The order in which stars were given, or stand in the memory, does not show."""
    first = Device(disclose(), OWN, state, bytes(32)).release(HISTORY, 0)
    state.records = dict(reversed(state.records.items()))
    second = Device(disclose(), OWN, state, never).release(dict(reversed(HISTORY.items())), 0)
    assert second.encode() == first.encode()
    again = Device(disclose(), OWN, State(created=0), bytes(32))
    assert again.release(dict(reversed(HISTORY.items())), 0).encode() == first.encode()


def test_release_tells_no_more_than_its_items(disclose, state):
    """Neither the attribute, nor the items held back, nor their number is in the bytes."""
    state.records = {f"item {n}": Record(None, "", 0) for n in range(3)}
    sent = Device(disclose(), OWN, state, always(0)).release(HISTORY, 7)
    shown = [item for item, _ in sent.ratings]
    assert shown == ["item 3", "item 4", "item 5"]
    content = json.loads(sent.encode())
    assert set(content) == {"version", "message", "disclosure", "epoch", "ratings"}
    assert content["ratings"] == [list(pair) for pair in sent.ratings]
    assert content["epoch"] == 7
    assert not any(item in sent.encode().decode() for item in set(HISTORY) - set(shown))


def test_an_item_without_a_chance_waits(disclose, tables, state):
    """Where every value's chance is 0 an item is not decided; a later table decides it."""
    none = replace(tables(), keep=np.where(np.arange(6) == 2, 0, tables().keep))
    Device(disclose(tables={"gender": none}), OWN, state, always(0)).release(HISTORY, 0)
    assert set(state.records) == set(HISTORY) - {"item 2"}
    Device(disclose(), OWN, state, always(0)).release(HISTORY, 1)
    assert state.records["item 2"].epoch == 1


def test_deleted_items_leave_and_come_back(disclose, state):
    """A shown item whose rating is deleted is left out; rated again, it is what it was."""
    first = Device(disclose(), OWN, state, always(0)).release(HISTORY, 0)
    fewer = {item: stars for item, stars in HISTORY.items() if item != "item 1"}
    second = Device(disclose(), OWN, state, never).release(fewer, 1)
    assert set(first.ratings) - set(second.ratings) == {first.ratings[1]}
    third = Device(disclose(), OWN, state, never).release(HISTORY | {"item 1": 5.0}, 2)
    assert third.ratings == first.ratings


def test_an_item_that_leaves_the_catalogue_comes_back_as_it_was(disclose, state):
    """An item that the disclosure does not have is left out; its record stays."""
    first = Device(disclose(), OWN, state, always(0)).release(HISTORY, 0)
    whole = disclose()
    table = replace(
        whole.attributes[0],
        offsets=tuple(row[:-1] for row in whole.attributes[0].offsets),
        keep=tuple(row[:-1] for row in whole.attributes[0].keep),
    )
    fewer = replace(whole, items=whole.items[:-1], attributes=(table,))
    second = Device(fewer, OWN, state, never).release(HISTORY, 1)
    assert second.ratings == first.ratings[:-1]
    assert Device(whole, OWN, state, never).release(HISTORY, 2).ratings == first.ratings


def test_a_renamed_item_keeps_its_record(disclose, state):
    """What was decided about an old id counts for the new one, under either id of the rating."""
    old = HISTORY | {"old": 3.0}
    del old["item 0"]
    state.records["old"] = Record(MICRO, "", 0)
    renamed = disclose(aliases=(("old", "item 0"),))
    for history in (old, HISTORY, old | HISTORY):
        sent = Device(renamed, OWN, state, always(0)).release(history, 1)
        assert dict(sent.ratings)["item 0"] == MICRO
    assert "old" not in state.records


def test_of_merged_items_one_held_back_wins(disclose, state):
    """An item that any record holds back stays at home."""
    state.records = {
        "old": Record(None, "", 0),
        "item 0": Record(MICRO, "", 0),
        "item 1": Record(MICRO, "", 0),
        "other": Record(2 * MICRO, "", 0),
    }
    merged = disclose(aliases=(("old", "item 0"), ("other", "item 1")))
    sent = dict(
        Device(merged, OWN, state, never).release({"item 0": 3.0, "item 1": 3.0}, 1).ratings
    )
    assert sent == {"item 1": MICRO}


def test_frozen_items_are_neither_decided_nor_sent(disclose, state):
    """Another memory may have decided them."""
    state.frozen = {"item 0", "old"}
    state.records["item 0"] = Record(MICRO, "", 0)
    renamed = disclose(aliases=(("old", "item 1"),))
    sent = Device(renamed, OWN, state, always(0)).release(HISTORY, 0)
    assert [item for item, _ in sent.ratings] == [f"item {n}" for n in range(2, 6)]
    assert state.frozen == {"item 0", "item 1"}


def test_same_release_whoever_sends_it(disclose, tables):
    """Where the tables of two values agree, their releases under one draw are the same bytes."""
    table = tables(5)
    same = replace(
        table,
        offsets=table.offsets[[0, 0]],
        keep=np.full((2, 6), CAP),
        coupling=table.coupling[[0, 0]],
    )
    disclosure = disclose("coupling+selection", {"gender": same})
    sent = []
    for value in ("F", "M"):
        device = Device(disclosure, {"gender": value}, State(created=0), seeded(5))
        sent.append(device.release(HISTORY, 0).encode())
    assert sent[0] == sent[1]


def test_swapped_tables_swap_the_values(disclose, tables):
    """A person with one value under tables turned round releases as one with the other."""
    table = tables(6)
    turned = replace(
        table,
        offsets=table.offsets[::-1],
        keep=table.keep[::-1],
        coupling=table.coupling[::-1],
    )
    sent = []
    for value, made in (("F", table), ("M", turned)):
        device = Device(
            disclose(tables={"gender": made}), {"gender": value}, State(created=0), seeded(6)
        )
        sent.append(device.release(HISTORY, 0).ratings)
    assert sent[0] == sent[1]


def test_unknown_items_stay_at_home(disclose):
    """Items that the disclosure does not name are neither sent nor drawn nor counted."""
    first = Device(disclose(), OWN, State(created=0), always(123_456)).release(HISTORY, 0)
    more = HISTORY | {f"secret {n}": 5.0 for n in range(50)}
    second = Device(disclose(), OWN, State(created=0), always(123_456)).release(more, 0)
    assert second.encode() == first.encode()


@pytest.mark.parametrize("name", sorted(set(RELEASES) - {"none", "selection"}))
def test_unrounded_whole_stars_are_refused(disclose, name):
    """On whole stars, the device takes no part in a release that is not rounded."""
    leaks = RELEASES[name].transform == "scheme" and not RELEASES[name].rounding
    if not leaks:
        Device(disclose(name), OWN, State(created=0), always(0))
        return
    with pytest.raises(Refused, match="exactly"):
        Device(disclose(name), OWN, State(created=0), always(0))
    Device(disclose(name), OWN, State(created=0), always(0), reproduce=True)


def test_unrounded_is_refused_on_a_continuous_scale_too(disclose):
    """Saying that a scale has no levels does not make people's stars any less round."""
    with pytest.raises(Refused, match="exactly"):
        Device(disclose("scheme", levels=0), OWN, State(created=0), always(0))


def test_a_continuous_scale_is_rounded_to_quarters(disclose):
    """Real-valued stars leave as one of five whole levels."""
    device = Device(disclose("scheme+rounding", levels=0), OWN, State(created=0), seeded(7))
    sent = device.release({f"item {n}": 1.0 + 0.7 * n for n in range(6)}, 0)
    assert {level % MICRO for _, level in sent.ratings} == {0}
    assert all(0 <= level <= 4 * MICRO for _, level in sent.ratings)


@pytest.mark.parametrize("change", ["rule", "value", "scale", "epoch"])
def test_a_foreign_memory_is_refused(disclose, state, change):
    """Under another rule, scale, epoch length or own value nothing is decided."""
    Device(disclose(), OWN, state, always(0)).release(HISTORY, 0)
    before = state.encode()
    own = {"gender": "M"} if change == "value" else OWN
    other = {
        "rule": disclose("coupling"),
        "scale": disclose(step=0.5, levels=9),
        "epoch": disclose(epoch_length=86_400),
        "value": disclose(),
    }[change]
    with pytest.raises(Refused, match="another rule, scale, epoch or attribute"):
        Device(other, own, state, always(0))
    assert state.encode() == before


def test_scores_of_another_disclosure_are_refused(disclose):
    """The device completes only what was made for it, and only items it knows."""
    device, digest = Device(disclose(), OWN, State(created=0), never), disclose().digest
    with pytest.raises(ValueError, match="another disclosure"):
        device.complete(Scores("0" * 16, (("item 0", 0, 0),)))
    with pytest.raises(ValueError, match="does not have"):
        device.complete(Scores(digest, (("nothing", 0, 0),)))


@pytest.mark.parametrize(
    ("name", "mix"),
    [("none", MICRO), ("selection", MICRO), ("coupling", 0), ("coupling", MICRO - 1)],
)
def test_true_stars_are_refused(disclose, state, name, mix):
    """A rule that sends true stars, by name or by its mix, is refused."""
    with pytest.raises(Refused, match="true stars"):
        Device(disclose(name, mix=mix), OWN, state, always(0))


def test_true_stars_are_reproduced(disclose, state):
    """For experiments on the paper they are sent."""
    device = Device(disclose("selection"), OWN, state, always(0), reproduce=True)
    sent = device.release(HISTORY, 0)
    assert [level for _, level in sent.ratings] == [(n % 5) * MICRO for n in range(6)]


@pytest.mark.parametrize("own", [{"gender": "X"}, {}, {"gender": None}, {"age": "F"}])
def test_unknown_value_is_refused(disclose, own):
    """A value that the disclosure does not know is refused; the message repeats no value."""
    with pytest.raises(ValueError, match="one of: F, M") as refused:
        Device(disclose(), own, State(created=0), never)
    assert "X" not in str(refused.value)


@pytest.mark.parametrize("stars", [0.0, 6.0, 3.5, -1.0, float("nan"), float("inf"), 1e300])
def test_stars_off_the_scale_are_refused(disclose, stars):
    """Stars that are not on the scale are refused; the message names the item, not the stars."""
    with pytest.raises(ValueError, match=r"item 1.*off the scale") as refused:
        Device(disclose(), OWN, State(created=0), never).release({"item 1": stars}, 0)
    assert str(stars) not in str(refused.value)


@pytest.mark.parametrize("stars", [-0.1, 4.1, float("nan"), float("-inf"), 1e300])
def test_stars_off_a_continuous_scale_are_refused(disclose, stars):
    """A continuous scale has ends too."""
    disclosure = disclose("scheme+rounding", minimum=0.0, levels=0)
    device = Device(disclosure, OWN, State(created=0), never)
    with pytest.raises(ValueError, match="off the scale"):
        device.release({"item 1": stars}, 0)


def test_half_stars(disclose, tables, state):
    """On a scale of half stars every half is a level."""
    disclosure = disclose("none", {"gender": tables(levels=10)}, minimum=0.5, step=0.5, levels=10)
    device = Device(disclosure, OWN, state, always(0), reproduce=True)
    sent = device.release({"item 0": 0.5, "item 1": 3.5, "item 2": 5.0}, 0)
    assert [level for _, level in sent.ratings] == [0, 6 * MICRO, 9 * MICRO]


def test_completion_adds_the_own_offset(disclose, tables):
    """At home a score is turned into stars and gets the offsets of the own values, exactly."""
    table, ages = tables(8), tables(9, values=("a", "b", "c"))
    disclosure = disclose(tables={"gender": table, "age": ages})
    device = Device(disclosure, {"gender": "M", "age": "c"}, State(created=0), never)
    scores = Scores(disclosure.digest, (("item 4", 2_000_000, 0), ("item 0", -7, 0)))
    offsets = table.offsets[1] + ages.offsets[2]
    assert device.complete(scores) == {
        "item 4": 1 + (2_000_000 + int(offsets[4])) / MICRO,
        "item 0": 1 + (-7 + int(offsets[0])) / MICRO,
    }


def test_release_names_its_disclosure(disclose):
    """A release says which disclosure it was made for."""
    disclosure = disclose()
    sent = Device(disclosure, OWN, State(created=0), seeded(8)).release(HISTORY, 0)
    assert isinstance(sent, Release)
    assert sent.disclosure == disclosure.digest


def test_rule_has_no_other_switch():
    """What is tested here is all a rule can say."""
    assert set(Rule.__dataclass_fields__) == {"transform", "selection", "rounding", "mix"}


@pytest.mark.parametrize(
    ("name", "draws", "expected"),
    [
        ("scheme+rounding", [699_999], 3 * MICRO),
        ("scheme+rounding", [700_000], 2 * MICRO),
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
        offsets=np.full((2, 6), 300_000),
        keep=np.array([[400_000] * 6, [CAP] * 6]),
        coupling=np.broadcast_to([200_000, 400_000, 600_000, 800_000, MICRO], (2, 6, 5, 5)),
    )
    device = Device(disclose(name, {"gender": made}), OWN, State(created=0), script(draws))
    sent = device.release({"item 0": 4.0}, 0).ratings
    assert (sent[0][1] if sent else None) == expected


@given(st.integers(0, 2**32))
def test_equals_the_simulation_over_epochs(make_tables, make_disclosure, seed):
    """Given the same draws, devices that speak in several epochs end with what the simulation says.

    Tables change with each epoch and hold items without a chance; some epochs are missed.
    """
    generator = np.random.default_rng(seed)
    rule = RELEASES["scheme+selection+rounding"]
    spoken = sorted(generator.choice(8, 3, replace=False).tolist())
    tables_of = {}
    for epoch in spoken:
        made = make_tables(int(generator.integers(2**32)))
        waits = generator.random(6) < 0.3
        tables_of[epoch] = [replace(made, keep=np.where(waits, 0, made.keep))]
    rated = generator.random((3, 6)) < 0.7
    levels = sparse.csr_array(np.where(rated, generator.integers(1, 6, (3, 6)), 0).astype(float))
    levels.data -= 1
    epochs = generator.integers(0, 8, levels.nnz)
    labels = generator.integers(0, 2, (3, 1))
    dice = generator.integers(0, 10, (2, levels.nnz)) * (MICRO // 10)

    class PerRating:
        """One die for selection and one for rounding of each rating, asked for by epoch."""

        private = False

        def __init__(self):
            self.asked = deque()

        def words(self, count):
            which = self.asked.popleft()
            assert len(which) == count
            return which.astype(np.uint64)

    source = PerRating()
    rows = np.repeat(np.arange(3), np.diff(levels.indptr))
    waiting = np.ones(levels.nnz, dtype=bool)
    for epoch in spoken:
        keep = tables_of[epoch][0].keep[labels[rows, 0], levels.indices]
        now = waiting & (epochs <= epoch) & (keep > 0)
        source.asked += [dice[0][now], dice[1][now]]
        waiting &= ~now
    released, labelled = over_epochs(
        levels, labels, tables_of, epochs, rule, n_levels=5, source=source
    )

    for person in range(3):
        state, sent = State(created=0), None
        mine = range(levels.indptr[person], levels.indptr[person + 1])
        queues = {f"item {levels.indices[n]}": deque(dice[:, n].tolist()) for n in mine}
        own = {"gender": ("F", "M")[labels[person, 0]]}
        for epoch in spoken:
            history = {
                f"item {levels.indices[n]}": levels.data[n] + 1 for n in mine if epochs[n] <= epoch
            }
            disclosure = make_disclosure({"gender": tables_of[epoch][0]}, rule)
            device = Device(
                disclosure, own, state, lambda item, q=queues: lambda bound: q[item].popleft()
            )
            sent = device.release(history, epoch)
        cut = slice(released.indptr[person], released.indptr[person + 1])
        assert list(sent.ratings) == [
            (f"item {item}", round(level * MICRO))
            for item, level in zip(released.indices[cut], released.data[cut], strict=True)
        ]
        assert [state.records[item].epoch for item, _ in sent.ratings] == labelled.data[
            cut
        ].tolist()
