"""What a device does with its owner's stars, and what it refuses to do."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.designs.standard_scheme import device as device_module
from tacit.designs.standard_scheme.device import Device, follow_aliases
from tacit.designs.standard_scheme.disclosure import CAP, RELEASES, RefusalError, Rule
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import MICRO, Release, Scores
from tests.support.scripted_dice import always, never, script, seeded

OWN = {"gender": "F"}
HOME = "tacit.designs.standard_scheme."
HALF = ("account", "device", "dice", "epochs", "selection", "rounding")
SOURCES = str(Path(tacit.__file__).parents[1])
HISTORY = {f"item {number}": float(1 + number % 5) for number in range(6)}


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
    assert reached == {*HALF, "disclosure", "memory", "messages"}


def test_runs_where_nothing_is_installed():
    """Every file of the device half is imported by a Python that has only its standard library."""
    modules = ", ".join(f"{HOME}{name}" for name in HALF)
    code = (
        f"import sys; sys.modules['numpy'] = None; sys.path.append({SOURCES!r}); import {modules}"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)


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
    with pytest.raises(RefusalError, match="exactly"):
        Device(disclose(name), OWN, State(created=0), always(0))
    Device(disclose(name), OWN, State(created=0), always(0), reproduce=True)


def test_unrounded_is_refused_on_a_continuous_scale_too(disclose):
    """Saying that a scale has no levels does not make people's stars any less round."""
    with pytest.raises(RefusalError, match="exactly"):
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
    with pytest.raises(RefusalError, match="another rule, scale, epoch or attribute"):
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
    with pytest.raises(RefusalError, match="true stars"):
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


@pytest.mark.parametrize(("stars", "taken"), [(3 + 9e-7, True), (3 + 1.1e-6, False)])
def test_whole_stars_may_be_off_by_a_millionth(disclose, state, stars, taken):
    """Floats of other programs round; what is further off is no star of the scale."""
    device = Device(disclose("none"), OWN, state, always(0), reproduce=True)
    if taken:
        assert device.release({"item 1": stars}, 0).ratings == (("item 1", 2 * MICRO),)
    else:
        with pytest.raises(ValueError, match="off the scale"):
            device.release({"item 1": stars}, 0)


@pytest.mark.parametrize(
    ("levels", "stars", "taken"),
    [
        (5, -1e-6, True),
        (5, 4 + 9e-7, True),
        (5, -1.1e-6, False),
        (0, -9e-7, True),
        (0, 4 + 9e-7, True),
        (0, 4 + 1.1e-6, False),
    ],
)
def test_the_ends_may_be_off_by_a_millionth(disclose, levels, stars, taken):
    """On whole stars and on a continuous scale, from 0 to 4."""
    disclosure = disclose("scheme+rounding", minimum=0.0, levels=levels)
    device = Device(disclosure, OWN, State(created=0), always(0))
    assert (device.off_scale({"item 1": stars}, 0) == []) == taken


@pytest.mark.parametrize(
    ("levels", "offset", "stars", "draw", "expected"),
    [
        (0, 0, 2.5, 499_999, 3),
        (0, 0, 2.5, 500_000, 2),
        (0, 300_000, 0.0, 999_999, 0),
        (0, -300_000, 4.0, 0, 4),
        (5, 300_000, 0.0, 999_999, 0),
        (5, -300_000, 4.0, 0, 4),
    ],
)
def test_what_is_rounded_stays_on_the_scale(
    disclose, tables, levels, offset, stars, draw, expected
):
    """2.5 is rounded up by half of the draws, and nothing leaves the scale from 0 to 4."""
    made = replace(tables(levels=levels), offsets=np.full((2, 6), offset))
    disclosure = disclose("scheme+rounding", {"gender": made}, minimum=0.0, levels=levels)
    device = Device(disclosure, OWN, State(created=0), script([draw]))
    assert device.release({"item 0": stars}, 0).ratings == (("item 0", expected * MICRO),)


@pytest.mark.parametrize(
    ("draws", "expected"), [([300_000], 3), ([299_999, 700_000], 2), ([299_999, 699_999], 3)]
)
def test_a_mix_follows_the_rule_with_its_chance(disclose, tables, draws, expected):
    """For the draws 0 to mix - 1 the stars are obfuscated, for the others they are the true ones.
    The next draw rounds 2.7."""
    made = replace(tables(), offsets=np.full((2, 6), 300_000))
    disclosure = disclose("scheme+rounding", {"gender": made}, mix=300_000)
    device = Device(disclosure, OWN, State(created=0), script(draws), reproduce=True)
    assert device.release({"item 0": 4.0}, 0).ratings == (("item 0", expected * MICRO),)


def test_an_average_of_the_first_attribute(disclose, tables):
    """Of several attributes, the first one's averages are released, of a value that is drawn."""
    gender, age = tables(8), tables(9, values=("a", "b", "c"))
    assert gender.means[1, 0] not in (gender.means[0, 0], *age.means[:, 0])
    disclosure = disclose("attribute-average", {"gender": gender, "age": age})
    own = {"gender": "F", "age": "c"}
    sent = Device(disclosure, own, State(created=0), script([1])).release({"item 0": 4.0}, 0)
    assert sent.ratings == (("item 0", int(gender.means[1, 0])),)


def test_renamed_items(disclose):
    """What stands under an old id moves to the new one, unless that has something of its own."""
    aliases = (("a", "item 0"), ("b", "item 1"))
    found = follow_aliases({"a": 1, "b": 2, "item 1": 3, "item 2": 4}, aliases)
    assert found == {"item 0": 1, "item 1": 3, "item 2": 4}


def test_two_items_renamed_to_one():
    """The last pair counts whose old id has something; a pair without moves nothing."""
    aliases = (("a", "item 0"), ("b", "item 0"), ("c", "item 0"))
    assert follow_aliases({"a": 1, "b": 2}, aliases) == {"item 0": 2}


def test_a_memory_is_bound_by_sixteen_digits(disclose, state):
    """Hexadecimal ones."""
    Device(disclose(), OWN, state, never)
    assert re.fullmatch("[0-9a-f]{16}", state.binding)
