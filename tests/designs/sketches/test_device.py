"""What a device answers, what it refuses, and that it answers once."""

from __future__ import annotations

import ast
import contextlib
import inspect
import math
import sys
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tacit.designs.sketches import device as device_module
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.device import Device, Limits, RefusalError, explain, new_secret
from tacit.designs.sketches.guarantees import cards
from tacit.designs.sketches.messages import UNITS, Clusters, catalogue_digest
from tacit.designs.sketches.sensing import pairs, sensed_sets

SECRET = bytes(range(32))
ITEMS = list(range(40))
ANY = Limits(epsilon=50, lifetime=500, units=("user", "rating", "moved rating"), rated_pairs=True)
HISTORY = {3: 5.0, 17: 4.0, 20: 2.0, 39: 4.5, 99: 5.0}


def honest(question):
    """A coin that always tells the truth."""
    return 0


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
    home = "tacit.designs.sketches."
    reached, waiting = set(), {"device"}
    while waiting:
        name = waiting.pop()
        reached.add(name)
        for module in imports(folder / f"{name}.py"):
            if module.startswith(home):
                waiting |= {module.removeprefix(home)} - reached
            else:
                assert module.partition(".")[0] in sys.stdlib_module_names, (name, module)
    assert reached == {"device", "messages", "sensing"}


def test_bits_are_the_sketch(campaign):
    """Without lies, bit q says whether a liked item lies in set q; others do not count."""
    found = set()
    for n in range(40):
        made = campaign(questions=3, rated=8, seed=n.to_bytes(16, "big"))
        report = Device(SECRET, {}, ANY, honest).report(made, ITEMS, HISTORY)
        for q, members in enumerate(sensed_sets(made, report.ticket)):
            hit = bool({3, 17, 39} & set(members))
            assert report.bits >> q & 1 == hit
            found.add(hit)
    assert found == {True, False}


def test_a_report_holds_no_item_and_is_as_long_for_everybody(campaign):
    """No id, no star: bits, and a ticket that the device drew, whatever was rated."""
    items = [f"canary-item-{number}" for number in range(40)]
    made = new_campaign(items, rated=4, epsilon=1.0, theta=1.0, seed=SECRET[:16])
    sizes = set()
    for history in ({}, {items[3]: 5.0}, dict.fromkeys(items, 4.0)):
        data = Device(SECRET, {}, ANY).report(made, items, history).encode()
        assert b"canary" not in data
        sizes.add(len(data))
    assert len(sizes) == 1


def test_bits_of_pairs(campaign):
    """Without lies, bit q says whether both items of pair q are liked."""
    likes = dict.fromkeys(range(30), 5.0)
    found = Counter()
    for n in range(40):
        made = campaign(method="pairwise-preference", questions=2, seed=n.to_bytes(16, "big"))
        report = Device(SECRET, {}, ANY, honest).report(made, ITEMS, likes)
        for q, pair in enumerate(pairs(made, report.ticket)):
            assert report.bits >> q & 1 == (max(pair) < 30)
            found[max(pair) < 30] += 1
    assert min(found[True], found[False]) > 10


def test_rated_pair(campaign):
    """Asked about rated items, the device names two of them and never any other."""
    seen = set()
    for n in range(60):
        made = campaign(method="pairwise-rated", seed=n.to_bytes(16, "big"))
        report = Device(SECRET, {}, ANY, honest).report(made, ITEMS, HISTORY)
        assert report.bits == (20 not in report.pair)
        seen.add(report.pair)
    assert seen == {(3, 17), (3, 20), (3, 39), (17, 20), (17, 39), (20, 39)}


def test_bits_of_identical_pairs(campaign):
    """Without lies, bit q says whether both items of pair q are liked, or both disliked; an item
    that is not rated is neither."""
    stars = dict.fromkeys(range(15), 5.0) | dict.fromkeys(range(15, 30), 1.0)
    kinds = [item // 15 if item < 30 else None for item in ITEMS]
    found = Counter()
    for n in range(60):
        made = campaign(method="pairwise-identical", questions=2, seed=n.to_bytes(16, "big"))
        report = Device(SECRET, {}, ANY, honest).report(made, ITEMS, stars)
        for q, (one, other) in enumerate(pairs(made, report.ticket)):
            identical = kinds[one] == kinds[other] is not None
            assert report.bits >> q & 1 == identical
            found[kinds[one], kinds[other]] += 1
    assert {(0, 0), (1, 1), (0, 1), (0, None), (None, None)} <= set(found)


def test_identical_rated_pair(campaign):
    """Of rated items, the device names two and says whether it likes both or dislikes both."""
    history = HISTORY | {21: 1.0}
    seen = {}
    for n in range(80):
        made = campaign(method="pairwise-rated-identical", seed=n.to_bytes(16, "big"))
        report = Device(SECRET, {}, ANY, honest).report(made, ITEMS, history)
        seen[report.pair] = report.bits
    assert seen[20, 21] == seen[3, 17] == seen[17, 39] == 1
    assert seen[3, 20] == seen[17, 21] == 0
    with pytest.raises(RefusalError, match="which shows them"):
        Device(SECRET, {}, Limits()).report(made, ITEMS, history)


@pytest.mark.parametrize("other", [{"seed": bytes(16)}, {"closes": 7}])
def test_another_seed_or_closing_time_is_paid_for(campaign, other):
    """A campaign is known by all its bytes: what differs in one is a new answer."""
    memory = {}
    device = Device(SECRET, memory, Limits(lifetime=2.0))
    tickets = {
        device.report(made, ITEMS, HISTORY, now=0).ticket
        for made in (campaign(), campaign(**other))
    }
    assert len(tickets) == 2
    assert sum(epsilon for epsilon, _ in memory.values()) == 2_000_000


def test_rated_pairs_end_whatever_they_cost(campaign):
    """Campaigns of next to no epsilon name no more pairs than allowed; others go on."""
    asked = [
        campaign(method="pairwise-rated", epsilon=1e-6, seed=n.to_bytes(16, "big"))
        for n in range(5)
    ]
    device = Device(SECRET, {}, Limits(rated_pairs=True))
    sent = [device.report(made, ITEMS, HISTORY) for made in asked[:3]]
    for made in asked[3:]:
        with pytest.raises(RefusalError, match="named 3 pairs"):
            device.report(made, ITEMS, HISTORY)
    assert device.report(asked[0], ITEMS, HISTORY) == sent[0]
    assert device.report(campaign(), ITEMS, HISTORY).pair is None


def test_rated_pairs_are_counted_in_the_memory(campaign):
    """A restart does not begin to count again, and answers about other things do not count."""
    memory = {}
    limits = Limits(rated_pairs=True, most_rated_pairs=1)
    Device(SECRET, memory, limits).report(campaign(), ITEMS, HISTORY)
    Device(SECRET, memory, limits).report(campaign(method="pairwise-rated"), ITEMS, HISTORY)
    other = campaign(method="pairwise-rated", seed=bytes(16))
    with pytest.raises(RefusalError, match="at most 1 in all"):
        Device(SECRET, memory, limits).report(other, ITEMS, HISTORY)


def test_rated_pair_needs_two(campaign):
    """Somebody with one rated item has no pair to name."""
    with pytest.raises(RefusalError, match="two"):
        Device(SECRET, {}, ANY).report(campaign(method="pairwise-rated"), ITEMS, {3: 5.0})


def test_a_second_call_sends_the_same_bytes(campaign):
    """A retry sends what was sent, even when the stars have changed since."""
    device = Device(new_secret(), {}, ANY)
    first = device.report(campaign(questions=8, rated=8, theta=0.5), ITEMS, HISTORY)
    again = device.report(
        campaign(questions=8, rated=8, theta=0.5), ITEMS, dict.fromkeys(ITEMS, 5.0)
    )
    assert again == first


def test_a_restart_sends_the_same_bytes(campaign):
    """With its memory, and without it but with the same secret and stars."""
    memory, secret = {}, new_secret()
    made = campaign(questions=8, rated=8, theta=0.5)
    first = Device(secret, memory, ANY).report(made, ITEMS, HISTORY)
    assert Device(secret, memory, ANY).report(made, ITEMS, {}) == first
    assert Device(secret, {}, ANY).report(made, ITEMS, HISTORY) == first


def test_remembered_before_it_is_sent(campaign):
    """By the time a report is handed out, it is in the memory."""

    class Full(dict):
        def __setitem__(self, key, value):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        Device(SECRET, Full(), ANY).report(campaign(), ITEMS, HISTORY)


def test_campaigns_at_the_same_moment_share_the_lifetime(campaign):
    """Two threads of one device do not both find room for the last campaign of a lifetime."""
    both_look = threading.Barrier(2)

    class Slow(dict):
        def values(self):
            with contextlib.suppress(threading.BrokenBarrierError):
                both_look.wait(timeout=0.3)
            return super().values()

    memory = Slow()
    device = Device(SECRET, memory, Limits(epsilon=1.0, lifetime=1.0))
    refused = []

    def ask(seed):
        try:
            device.report(campaign(seed=bytes([seed] * 16)), ITEMS, HISTORY)
        except RefusalError:
            refused.append(seed)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(memory), len(refused)) == (1, 1)


@pytest.mark.parametrize("unit", UNITS)
def test_a_list_that_names_an_item_twice_is_refused(campaign, unit):
    """One rating would lie in several sets, and change more bits than epsilon is shared among."""
    twice = [0] * 20 + list(range(20, 40))
    made = replace(campaign(unit=unit), catalogue_digest=catalogue_digest(twice))
    with pytest.raises(RefusalError, match="twice"):
        Device(SECRET, {}, ANY).report(made, twice, HISTORY)


def test_other_secrets_are_unrelated(campaign):
    """Tickets of two people, and of one person in two campaigns, differ."""
    made = campaign()
    tickets = {Device(new_secret(), {}, ANY).report(made, ITEMS, {}).ticket for _ in range(50)}
    one = Device(SECRET, {}, ANY).report(made, ITEMS, {}).ticket
    other = Device(SECRET, {}, ANY).report(campaign(epsilon=0.5), ITEMS, {}).ticket
    assert len(tickets) == 50
    assert one != other


def test_chance_of_the_truth(campaign):
    """Over many secrets the bit is true as often as stated (5 sigma)."""
    made = campaign(epsilon=math.log(3))
    answers = [
        Device(n.to_bytes(32, "big"), {}, ANY).report(made, ITEMS, {}).bits for n in range(4000)
    ]
    # Nothing is liked: a 1 is a lie, with chance 1/4.
    assert abs(sum(answers) / 4000 - 0.25) < 5 * math.sqrt(0.25 * 0.75 / 4000)


def test_noise_of_a_changed_bit_is_fresh(campaign):
    """Without memory, whether the noise lied says nothing about whether it lies after a change."""
    made = campaign(rated=40, theta=39.0, epsilon=math.log(3))  # nearly everything is sensed
    both = Counter()
    for n in range(3000):
        secret = n.to_bytes(32, "big")
        nothing = Device(secret, {}, ANY).report(made, ITEMS, {}).bits
        everything = Device(secret, {}, ANY).report(made, ITEMS, dict.fromkeys(ITEMS, 5.0)).bits
        both[nothing, 1 - everything] += 1
    assert abs(both[1, 1] / 3000 - 1 / 16) < 5 * math.sqrt(1 / 16 * 15 / 16 / 3000)


@pytest.mark.parametrize(
    ("limits", "wanted", "message"),
    [
        (Limits(epsilon=0.5), {}, "at most 0.5"),
        (Limits(lifetime=0.5), {}, "0.5 in all"),
        (Limits(), {"unit": "rating"}, "protects a rating only"),
        (Limits(), {"unit": "moved rating"}, "protects a moved rating only"),
        (Limits(), {"method": "pairwise-rated"}, "rated"),
        (ANY, {"epsilon": math.inf}, "without noise"),
    ],
)
def test_too_much_is_refused(campaign, limits, wanted, message):
    """Whatever a campaign says, the owner's limits hold, and nothing is remembered or sent."""
    memory = {}
    with pytest.raises(RefusalError, match=message):
        Device(SECRET, memory, limits).report(campaign(**wanted), ITEMS, HISTORY)
    assert memory == {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": math.nan},
        {"epsilon": -1.0},
        {"epsilon": "4"},
        {"epsilon": True},
        {"lifetime": math.nan},
        {"lifetime": -0.5},
        {"units": "moved rating"},
        {"units": ("user", "item")},
        {"units": ["user"]},
        {"rated_pairs": "no"},
        {"most_rated_pairs": -1},
        {"most_rated_pairs": math.nan},
    ],
)
def test_limits_are_limits(wrong):
    """What would let a campaign through by mistake is no limit."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Limits(**wrong)


@given(st.floats(1e-5, 8))
@example(2.01)
@example(0.29)
def test_a_limit_is_reached_and_no_more(epsilon):
    """A campaign for the very number that is allowed is answered, one millionth more is not."""
    made = new_campaign(ITEMS, rated=4, epsilon=epsilon)
    limits = Limits(epsilon=epsilon, lifetime=epsilon)
    assert Device(SECRET, {}, limits).report(made, ITEMS, HISTORY).campaign == made.id
    above = replace(made, epsilon=made.epsilon + 1)
    with pytest.raises(RefusalError, match="at most"):
        Device(SECRET, {}, limits).report(above, ITEMS, HISTORY)


def test_an_endless_limit(campaign):
    """inf allows whatever has noise."""
    limits = Limits(epsilon=math.inf, lifetime=math.inf)
    assert Device(SECRET, {}, limits).report(campaign(epsilon=30), ITEMS, HISTORY)
    with pytest.raises(RefusalError, match="without noise"):
        Device(SECRET, {}, limits).report(campaign(epsilon=math.inf), ITEMS, HISTORY)


def test_default_limits_take_a_modest_campaign(campaign):
    """Epsilon 1 for the person is within what a device allows by itself."""
    assert Device(SECRET, {}).report(campaign(), ITEMS, HISTORY).campaign == campaign().id


def test_a_lifetime_ends(campaign):
    """The same question under another name is a second answer: it is paid for, then refused."""
    device = Device(SECRET, {}, Limits(epsilon=1.0, lifetime=2.0))
    for n in range(2):
        device.report(campaign(seed=bytes([n]) * 16), ITEMS, HISTORY)
    with pytest.raises(RefusalError, match="in all"):
        device.report(campaign(seed=bytes([2]) * 16), ITEMS, HISTORY)
    assert device.report(campaign(seed=bytes([1]) * 16), ITEMS, HISTORY).bits in (0, 1)


@pytest.mark.parametrize(("unit", "cost"), [("rating", 32.0), ("moved rating", 16.0)])
def test_limits_are_for_everything_the_owner_rated(unit, cost):
    """Epsilon 1 for one rating and 32 questions cost 32 for everything: the limits count that."""
    made = [
        new_campaign(
            ITEMS, rated=40, theta=1.0, questions=32, epsilon=1.0, unit=unit, seed=bytes([n]) * 16
        )
        for n in range(3)
    ]
    units = (unit,)
    below = Device(SECRET, {}, Limits(epsilon=cost - 1e-6, lifetime=4 * cost, units=units))
    with pytest.raises(RefusalError, match=f"epsilon {cost:g} for everything its owner rated"):
        below.report(made[0], ITEMS, HISTORY)
    memory = {}
    device = Device(SECRET, memory, Limits(epsilon=cost, lifetime=2 * cost, units=units))
    for campaign in made[:2]:
        report = device.report(campaign, ITEMS, HISTORY)
        assert (
            f"everything you rated, they cost epsilon {cost:g}"
            in (explain(campaign, report, ITEMS)[4][1])
        )
    assert sum(epsilon for epsilon, _ in memory.values()) == 2 * cost * 1e6
    with pytest.raises(RefusalError, match=f"epsilon for everything .* adds up to {3 * cost:g}"):
        device.report(made[2], ITEMS, HISTORY)


@given(st.sampled_from(UNITS), st.integers(1, 32), st.integers(1, 40), st.floats(1e-5, 9))
def test_what_is_counted_is_the_card_of_everything(unit, questions, rated, epsilon):
    """To a millionth it is that card's epsilon, and never below what the campaign states."""
    made = new_campaign(
        ITEMS, rated=rated, theta=1e-6, questions=questions, epsilon=epsilon, unit=unit
    )
    memory = {}
    limits = Limits(epsilon=math.inf, lifetime=math.inf, units=UNITS)
    Device(SECRET, memory, limits).report(made, ITEMS, HISTORY)
    ((counted, _),) = memory.values()
    assert counted >= made.epsilon
    of_everything = next(card for card in cards(made) if card.adjacency.unit == "user").epsilon
    assert counted == pytest.approx(max(made.epsilon, of_everything * 1e6), abs=1.001)
    assert counted >= of_everything * 1e6 * (1 - 1e-12)


def test_a_campaign_that_is_over_costs_nothing(campaign):
    """A late report does not count, so the device sends none; one that was sent stays the same."""
    made = campaign(closes=1_000_000)
    memory = {}
    device = Device(SECRET, memory, ANY)
    for late in ({"now": 1_000_000.5}, {}):
        with pytest.raises(RefusalError, match="this campaign is over, by this device's clock"):
            device.report(made, ITEMS, HISTORY, **late)
    assert memory == {}
    sent = device.report(made, ITEMS, HISTORY, now=1_000_000)
    assert device.report(made, ITEMS, HISTORY, now=1_000_001) == sent


@pytest.mark.parametrize("catalogue", [ITEMS[:-1], ITEMS[::-1], [str(item) for item in ITEMS]])
def test_another_catalogue_is_refused(campaign, catalogue):
    """Numbers that would mean other items are not answered."""
    with pytest.raises(RefusalError, match="another list"):
        Device(SECRET, {}, ANY).report(campaign(), catalogue, HISTORY)


def test_questions_do_not_depend_on_the_answer(campaign):
    """The ticket, and with it every question, is the same whatever was rated."""
    made = campaign()
    histories = ({}, HISTORY, dict.fromkeys(ITEMS, 5.0))
    assert len({Device(SECRET, {}, ANY).report(made, ITEMS, h).ticket for h in histories}) == 1


def test_likes_are_capped_for_a_person(campaign):
    """Under unit user at most `rated` likes count; under rating all do."""
    made = new_campaign(ITEMS, rated=2, theta=0.05, questions=32, epsilon=32, seed=bytes(16))
    everything = dict.fromkeys(ITEMS, 5.0)
    capped = Device(SECRET, {}, ANY, honest).report(made, ITEMS, everything).bits
    assert 1 <= capped.bit_count() <= 2
    free = new_campaign(
        ITEMS, rated=2, theta=0.05, questions=32, epsilon=1, seed=bytes(16), unit="rating"
    )
    assert Device(SECRET, {}, ANY, honest).report(free, ITEMS, everything).bits.bit_count() > 28


def test_short_secrets_are_refused():
    """A secret that could be guessed is none."""
    with pytest.raises(ValueError, match="32 bytes"):
        Device(b"password", {})


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"questions": 3, "theta": 0.5},
        {"method": "pairwise-preference"},
        {"method": "pairwise-rated"},
        {"method": "pairwise-identical"},
        {"method": "pairwise-rated-identical"},
    ],
)
def test_explain_shows_every_byte(campaign, wanted):
    """The bytes of the rows, in order, are the report; and every question is spelled out."""
    made = campaign(**wanted)
    report = Device(SECRET, {}, ANY).report(made, ITEMS, HISTORY)
    rows = explain(made, report, ITEMS)
    assert "".join(b for b, _ in rows if not b.startswith("bit")) == report.encode().hex()
    assert sum(b.startswith("bit") for b, _ in rows) == made.questions
    lie = 1 / (1 + math.exp(made.epsilon / made.questions / 1e6))
    assert f"flipped with probability {lie:.4f}" in rows[4][1]
    assert ("NOT protected" in rows[-1][1]) == made.names_pair
    assert any("or dislike both" in meaning for _, meaning in rows) == made.asks_identical


def test_explain_is_not_repainted_by_ids(campaign):
    """What a terminal would obey is written out: the recommender chooses the ids."""
    items = [f"film {n}\x1b[2J\u202e\n" for n in range(40)]
    made = replace(campaign(), catalogue_digest=catalogue_digest(items))
    report = Device(SECRET, {}, ANY).report(made, items, {})
    said = [meaning for _, meaning in explain(made, report, items)]
    assert all(meaning.isprintable() for meaning in said)
    assert "\\u001b[2J\\u202e\\u000a" in said[-1]


@pytest.mark.parametrize("unit", UNITS)
def test_explain_promises_no_more_than_stars_of_rated_pairs(campaign, unit):
    """Epsilon covers the answer alone: no row says that it is for ratings, or the ticket asks."""
    made = campaign(method="pairwise-rated", unit=unit)
    report = Device(SECRET, {}, ANY).report(made, ITEMS, HISTORY)
    said = " ".join(meaning for _, meaning in explain(made, report, ITEMS))
    assert "stated for your stars for these two items, and NOT for which items you rated" in said
    assert "everything you rated" not in said
    assert "one rating" not in said
    assert "chooses the questions" not in said


SIX = ["a", "b", "c", "d", "e", "f"]
CLUSTERS = Clusters(bytes(32), catalogue_digest(SIX), bytes([0, 0, 0, 1, 1, 1]), (5, 9, 7, 1, 3, 2))


def test_recommends_the_liked_cluster_first():
    """The owner's own cluster counts first, the published score second; rated ones are out."""
    device = Device(SECRET, {})
    liked = device.recommend(CLUSTERS, SIX, {"d": 5.0, "a": 1.0}, liked_from=4.0)
    assert liked == ["e", "f", "b", "c"]
    assert device.recommend(CLUSTERS, SIX, {}, liked_from=4.0, n=3) == ["b", "c", "a"]


def test_recommending_sends_and_remembers_nothing():
    """A list at home touches neither memory nor secret."""
    memory = {}
    Device(SECRET, memory).recommend(CLUSTERS, SIX, {"d": 5.0}, liked_from=4.0)
    assert memory == {}


@pytest.mark.parametrize("other", [SIX[:-1], SIX[::-1], [*SIX[:-1], "g"], [*SIX, "g"]])
def test_clusters_of_another_catalogue_are_refused(other):
    """Labels are by place in the catalogue: they name the ids and the order that they are for."""
    with pytest.raises(ValueError, match="another list"):
        Device(SECRET, {}).recommend(CLUSTERS, other, {}, liked_from=4.0)


@given(st.dictionaries(st.sampled_from(SIX), st.floats(0.5, 5)), st.integers(1, 10))
def test_lists_are_of_unseen_items(history, n):
    """Never a rated item, never one twice, as many as there are."""
    found = Device(SECRET, {}).recommend(CLUSTERS, SIX, history, liked_from=4.0, n=n)
    assert len(found) == min(n, 6 - len(history))
    assert not set(found) & set(history)


def test_recommends_by_the_smoothed_share():
    """With one like and one dislike added, 1 of 1 and 3 of 4 are both 2/3, so that scores decide
    between their items; then come 0 of 0 and 0 of 1. A like begins at `liked_from`."""
    names = ["seen", *"pqrs", "t", "high", "middle", "low", "none", "bad"]
    labels, scores = [0, 2, 2, 2, 2, 3, 0, 2, 0, 1, 3], (0, 0, 0, 0, 0, 0, 9, 5, 1, 99, 99)
    clusters = Clusters(bytes(32), catalogue_digest(names), bytes(labels), scores)
    history = {"seen": 4.0, "p": 4.0, "q": 5.0, "r": 4.5, "s": 3.5, "t": 1.0}
    found = Device(SECRET, {}).recommend(clusters, names, history, liked_from=4.0)
    assert found == ["high", "middle", "low", "none", "bad"]


def test_a_list_has_ten_items_by_default():
    """Of twelve."""
    clusters = Clusters(bytes(32), catalogue_digest(range(12)), bytes(12), tuple(range(12)))
    assert len(Device(SECRET, {}).recommend(clusters, range(12), {}, liked_from=4.0)) == 10


def test_a_device_gives_one_nat_four_times_by_itself(campaign):
    """The default limits: 1 nat in a campaign, 4 in all, not a millionth more."""
    device = Device(SECRET, {})
    with pytest.raises(
        RefusalError, match=r"asks for epsilon 1\.000001; this device gives at most 1 in"
    ):
        device.report(campaign(epsilon=1.000001), ITEMS, HISTORY)
    for n in range(4):
        device.report(campaign(seed=bytes([n] * 16)), ITEMS, HISTORY)
    with pytest.raises(RefusalError, match=r"adds up to 4\.000001; this device gives 4 in all"):
        device.report(campaign(epsilon=1e-6), ITEMS, HISTORY)


def test_limits_of_nothing(campaign):
    """0 is a limit: no campaign and no pair passes it."""
    with pytest.raises(RefusalError, match="at most 0"):
        Device(SECRET, {}, Limits(epsilon=0, lifetime=0)).report(campaign(), ITEMS, HISTORY)
    pairs_of_none = Limits(rated_pairs=True, most_rated_pairs=0)
    with pytest.raises(RefusalError, match="named 0 pairs"):
        Device(SECRET, {}, pairs_of_none).report(campaign(method="pairwise-rated"), ITEMS, HISTORY)


def test_a_new_secret_has_32_bytes():
    """As the device asks for."""
    assert len(new_secret()) == 32


def test_two_rated_items_are_a_pair(campaign):
    """Who rated two of the items names them, the lower number first."""
    made = campaign(method="pairwise-rated")
    assert Device(SECRET, {}, ANY).report(made, ITEMS, {30: 1.0, 7: 5.0}).pair == (7, 30)


@pytest.mark.parametrize(("stars", "bit"), [(4.0, 1), (3.9995, 0)])
def test_a_like_begins_at_the_campaigns_stars(campaign, stars, bit):
    """Half a thousandth of a star below is none."""
    made = campaign(method="pairwise-rated", liked_from=4.0)
    assert Device(SECRET, {}, ANY, honest).report(made, ITEMS, {1: stars, 2: 5.0}).bits == bit


@pytest.mark.parametrize(("coin", "bit"), [(-1, 1), (0, 0)])
def test_a_coin_at_the_threshold_lies(campaign, coin, bit):
    """The truth is told by `truth` of the 2^53 coins: 0 to truth - 1."""
    made = campaign(method="pairwise-rated")
    device = Device(SECRET, {}, ANY, lambda question: made.truth + coin)
    assert device.report(made, ITEMS, {1: 5.0, 2: 5.0}).bits == bit


@pytest.mark.parametrize("size", [4, 5])
def test_explain_names_three_items_of_a_set(campaign, size):
    """It says what was asked and answered, how many items it leaves out, and what it cost."""
    made = campaign(theta=size / 10, questions=3)
    ticket = Device(SECRET, {}).report(made, ITEMS, {}).ticket
    sets = sensed_sets(made, ticket)
    likes = dict.fromkeys(sets[1], 5.0)
    report = Device(SECRET, {}, coin=honest).report(made, ITEMS, likes)
    rows = explain(made, report, ITEMS)
    assert "the answers, 3 in all" in rows[4][1]
    assert "they cost epsilon 1, stated for everything you rated" in rows[4][1]
    assert {len(members) for members in sets} == {size - 1, size}
    for members, answer, row in zip(sets, ("no", "yes", "no"), rows[5:], strict=True):
        titles = ", ".join(map(str, members[:3]))
        more = {3: "", 4: " and 1 more", 5: " and 2 more"}[len(members)]
        assert row[1] == f"{answer}, to: do you like at least one of {titles}{more}?"
