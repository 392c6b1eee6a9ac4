"""One run: what is counted, in training and in both kinds of test."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tacit import randomness
from tacit.data import clicks
from tacit.designs.pdap.experiment.network import make_network
from tacit.designs.pdap.experiment.policy_names import NAMES
from tacit.designs.pdap.experiment.run import CellRegrets, Run, checkpoints, simulate
from tacit.designs.pdap.experiment.visitors import generate_clicks, generate_contexts
from tacit.designs.pdap.experiment.world import World
from tacit.designs.pdap.policies.base import Choice
from tacit.designs.pdap.policies.cells import Cell
from tacit.designs.pdap.vendor import Vendor, Visit
from tacit.errors import ConfigError
from tests.support.seen import require_any

SMALL = World(vendors=3, videos=2, dimensions=1, arrivals=120, lipschitz=2.0, gamma=0.0)
TESTED = replace(SMALL, arrivals=400, test=(50, 90))


class OneVideo:
    """A network that shows video 0 to everybody, explores at each third visit, and learns no
    click."""

    visit_epsilon = math.inf

    def __init__(self):
        self.visits = 0
        self.homes = []

    def set_learning(self, learning):
        """Accept either."""

    def visit(self, home, context, click):
        """Show video 0."""
        self.visits += 1
        self.homes.append(home)
        phase = "exploit" if self.visits % 3 else "explore"
        return Visit(context, Choice(0, phase, None), "0")


def rows_of(name, world, seed=1, epsilon=1.0, protocol="cumulative"):
    return [row for row in simulate(world, name, epsilon, seed).rows if row.protocol == protocol]


def test_the_default_world_is_that_of_the_results():
    """Four vendors of five videos, two features, 5,000 visits each of people drawn uniformly."""
    world = World()
    assert (world.vendors, world.videos, world.dimensions, world.arrivals) == (4, 5, 2, 5_000)
    assert (world.features, world.groups, world.lipschitz) == (0, 0, 1.0)


def test_regret_is_the_best_of_all_videos_minus_what_was_shown():
    """With one video shown to all, regret is the mean of max over videos minus that video's mean,
    computed from the world's own chances; a factor on the best reward would show."""
    world = replace(SMALL, vendors=2, arrivals=60)
    truth = generate_clicks(world, 5)
    run = Run(OneVideo(), world, truth, 5)
    run.train(60)
    row = run.make_row("one", math.inf, 5, run.training, "cumulative")
    means = truth.means(generate_contexts(world, 120, 5))
    expected = float((means.max(axis=1) - means[:, 0]).mean())
    assert row.average_regret == pytest.approx(expected, rel=1e-12)
    assert row.regret == pytest.approx(60 * expected, rel=1e-12)
    assert row.best == pytest.approx(float(means.max(axis=1).mean()), rel=1e-12)
    assert row.explored == pytest.approx(1 / 3)
    assert row.exploited == pytest.approx(2 / 3)


def test_vendors_take_turns():
    """In the training each has its visit before any has its next; in the test, too."""
    world = replace(SMALL, arrivals=4, test=(5,))
    run = Run(OneVideo(), world, generate_clicks(world, 1), 1)
    run.train(4)
    assert run.network.homes == [*world.vendor_names] * 4
    list(run.test(learning=True))
    assert run.network.homes[12:] == [*world.vendor_names, *world.vendor_names][:5]


def test_a_run_goes_on_where_it_stopped():
    """Checkpoints do not change what is counted: the visits go on with the next."""
    world = replace(SMALL, arrivals=9)
    whole, parts = (Run(OneVideo(), world, generate_clicks(world, 1), 1) for _ in range(2))
    whole.train(9)
    for arrivals in (2, 5, 9):
        parts.train(arrivals)
    assert parts.training == whole.training
    assert parts.network.homes == whole.network.homes


@pytest.mark.parametrize(
    ("name", "epsilon"), [("p-dap", 0.5), ("dap", math.inf), ("cap", math.inf)]
)
def test_a_row_has_an_epsilon_where_its_policy_has_noise(name, epsilon):
    """Run with one for all, policies without noise say that they have none."""
    world = replace(SMALL, arrivals=5, test=(3,))
    assert {row.epsilon for row in simulate(world, name, 0.5, 1).rows} == {epsilon}


def test_cells_count_the_training_alone():
    """Lemmas bound what the training costs a cell: tests add nothing to it."""
    world = replace(SMALL, arrivals=30, test=(20,))
    with randomness.simulation():
        sources = [randomness.replay(str(number)) for number in range(world.vendors)]
        run = Run(
            make_network("dap", math.inf, world, sources), world, generate_clicks(world, 1), 1
        )
        run.train(30)
        trained = run.cells.by_level()
        assert trained
        for learning in (False, True):
            list(run.test(learning=learning))
    assert run.cells.by_level() == trained


def test_clicks_come_with_the_chance_of_the_video():
    """Accuracy of video 0 is its mean chance; 4,000 visits, six standard errors: a false alarm
    once in 10^8."""
    world = replace(SMALL, vendors=2, arrivals=2000)
    truth = generate_clicks(world, 2)
    run = Run(OneVideo(), world, truth, 2)
    run.train(2000)
    row = run.make_row("one", math.inf, 2, run.training, "cumulative")
    expected = float(truth.means(generate_contexts(world, 4000, 2))[:, 0].mean())
    assert row.accuracy == pytest.approx(expected, abs=6 * 0.5 / math.sqrt(4000))


def test_one_more_context_than_the_training_is_tested():
    """Tests are of visitors who come after the training, the first of them first."""
    world = replace(SMALL, vendors=2, arrivals=30, test=(5,))
    truth = generate_clicks(world, 3)
    run = Run(OneVideo(), world, truth, 3)
    run.train(30)
    ((size, tally),) = run.test(learning=False)
    means = truth.means(generate_contexts(world, 65, 3)[60:])
    assert size == tally.visits == 5
    assert tally.best_chances == pytest.approx(float(means.max(axis=1).sum()))
    assert tally.chances == pytest.approx(float(means[:, 0].sum()))


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_runs_on_messages(name):
    """Each policy serves all visits of all vendors; only what is sound states a finite loss."""
    last = rows_of(name, SMALL)[-1]
    assert last.arrivals == 120
    assert 0 <= last.accuracy <= 1
    assert last.average_regret * 120 == pytest.approx(last.regret)
    assert last.best - last.average_regret == pytest.approx(last.accuracy, abs=0.15)
    sound = name.startswith("sound") or name == "uniform"
    assert math.isfinite(last.epsilon_spent_per_visit) == sound


@pytest.mark.parametrize("name", NAMES)
def test_shares_of_visits_sum_to_one(name):
    """Each visit explores, trains or exploits, in the training and in both tests."""
    rows = simulate(TESTED, name, 1.0, 1).rows
    assert {row.protocol for row in rows} == {
        "cumulative",
        "train-then-test",
        "train-then-continue",
    }
    for row in rows:
        assert row.explored + row.trained + row.exploited == pytest.approx(1.0)
        assert min(row.explored, row.trained, row.exploited) >= 0


@pytest.mark.parametrize("name", ["cap", "solo", "dup", "dap", "p-dap", "gp-dap", "sound-joint"])
def test_what_was_learned_is_tested_without_exploring(name):
    """Train, then test: every visit exploits, whatever the schedule of exploration asks for."""
    for row in require_any(rows_of(name, TESTED, protocol="train-then-test")):
        assert row.exploited == 1.0
        assert row.test in TESTED.test


def test_going_on_explores_as_the_algorithm_does():
    """DAP of 400 visits still trains its neighbours: going on, it does so in the test too."""
    last = rows_of("dap", TESTED, protocol="train-then-continue")[-1]
    assert last.trained + last.explored > 0.5
    assert last.trained > 0


def test_forwarded_training_is_counted_as_training():
    """DAP's second rule: visits that are forwarded and whose reward is not learned."""
    last = rows_of("dap", replace(SMALL, arrivals=60))[-1]
    assert last.trained > 0
    assert last.forwarded >= last.trained
    assert rows_of("cap", SMALL)[-1].trained == 0


def test_the_first_forwarded_visit_follows_from_the_schedule():
    """Two own videos are each tried ln T times, rounded up, before any neighbour is asked."""
    first = rows_of("dap", SMALL)[-1].first_forwarded
    assert first == 2 * math.ceil(math.log(120)) + 1
    assert rows_of("cap", SMALL)[-1].first_forwarded is None


@pytest.mark.parametrize("name", ["cap", "dup", "dap", "sound-joint"])
def test_a_test_without_learning_changes_nothing(name):
    """What goes on afterwards is the same, however many visits were tested without learning; of
    policies whose clicks repeat."""
    short = rows_of(name, replace(TESTED, test=(50,)), 1, math.inf, "train-then-continue")
    long = rows_of(name, replace(TESTED, test=(50, 200)), 1, math.inf, "train-then-continue")
    assert short[0] == long[0]


def test_the_training_does_not_depend_on_the_test():
    """Rows of the training are the same with and without a test."""
    assert rows_of("dap", SMALL) == rows_of("dap", replace(SMALL, test=(70,)))


def test_learning_helps_where_tastes_differ():
    """One feature, L = 4, 2,000 visits: what CAP learned is clicked more often than any arm at
    random, by both readings, in each of three worlds."""
    world = replace(SMALL, lipschitz=4.0, arrivals=2000, test=(500,))
    for seed in range(3):
        chance = rows_of("uniform", world, seed, math.inf, "train-then-test")[0]
        learned = rows_of("cap", world, seed, math.inf, "train-then-test")[0]
        assert learned.average_regret < 0.6 * chance.average_regret


def test_what_is_spent_is_learning_and_forwarding():
    """Sound context: at most epsilon. Sound joint: epsilon of sums, and of the forwarded cell."""
    names = ("sound-context", "sound-joint", "uniform")
    spent = {name: rows_of(name, SMALL)[0].epsilon_spent_per_visit for name in names}
    assert spent["sound-context"] <= 1.0
    assert spent["sound-joint"] == pytest.approx(2.0)
    assert spent["uniform"] == 0.0


@pytest.mark.parametrize("name", ["sound-context", "sound-joint", "uniform"])
def test_a_click_that_only_the_device_reports_is_told_to_no_neighbour(name, monkeypatch):
    """What crosses besides the device's report would be spent, and is not counted: nothing does."""
    reported = []
    monkeypatch.setattr(Vendor, "observe_guest_click", lambda *given: reported.append(given))
    assert rows_of(name, SMALL)[-1].forwarded > 0
    assert reported == []


def test_a_vendor_alone_forwards_nothing_and_spends_nothing_on_it():
    """Without neighbours sound joint costs epsilon of its sums, and no more."""
    alone = World(vendors=1, videos=2, dimensions=1, arrivals=20)
    assert rows_of("sound-joint", alone)[0].epsilon_spent_per_visit == pytest.approx(1.0)


def test_a_seed_repeats():
    """The same seed gives the same result, another one others; of policies that add no noise."""
    first, again, other = (simulate(TESTED, "dap", 1.0, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_without_noise_the_private_policies_are_dap():
    """At epsilon inf and Gamma 0, P-DAP and GP-DAP make the clicks of DAP, tests included."""
    dap = [row.accuracy for row in simulate(TESTED, "dap", math.inf, 3).rows]
    for name in ("p-dap", "gp-dap"):
        rows = simulate(TESTED, name, math.inf, 3).rows
        assert [row.accuracy for row in rows] == dap


def test_cap_never_forwards():
    """One learner shows its own videos only; DAP forwards."""
    assert rows_of("cap", SMALL)[-1].forwarded == 0
    assert rows_of("dap", SMALL)[-1].forwarded > 0


def test_checkpoints_hold_the_papers_numbers():
    """Curves have equal steps and the rows of the paper's tables; the last visit is one."""
    found = checkpoints(20_000)
    assert {5_000, 10_000, 15_000, 20_000} <= set(found)
    assert found[-1] == 20_000
    assert checkpoints(3) == [1, 2, 3]
    with pytest.raises(ConfigError):
        checkpoints(0)


def test_regret_of_cells_is_parted_by_what_a_visit_was_for():
    """The largest sum of an own video, a neighbour and exploitation, level by level."""
    cells = CellRegrets(videos=2)
    whole, half = Cell(0, ()), Cell(1, (0,))

    def visit(arm, phase, cell):
        return SimpleNamespace(choice=Choice(arm, phase, cell))

    for vendor, arm, phase, cell, regret in (
        (0, 0, "explore", whole, 0.25),
        (0, 0, "explore", whole, 0.5),
        (0, 1, "explore", whole, 0.625),
        (1, 0, "explore", whole, 0.125),
        (0, 2, "train", whole, 1.0),
        (0, 2, "explore", whole, 0.5),
        (0, 1, "exploit", whole, 0.375),
        (0, 2, "exploit", whole, 0.25),
        (0, 0, "exploit", half, 0.75),
        (0, 0, "explore", None, 9.0),
    ):
        cells.add(vendor, visit(arm, phase, cell), regret)
    whole_cube, halves = cells.by_level()
    assert (whole_cube.level, whole_cube.cells) == (0, 1)
    assert whole_cube.own_video == 0.75
    assert whole_cube.neighbour == 1.5
    assert whole_cube.exploitation == 0.625
    assert (halves.own_video, halves.neighbour, halves.exploitation) == (0.0, 0.0, 0.75)


def test_a_world_in_clusters_differs_from_a_uniform_one():
    """--groups reaches the visitors: they are those of three clusters."""
    clustered = generate_contexts(replace(SMALL, groups=3, dimensions=2), 200, 1)
    assert np.array_equal(clustered, clicks.contexts(200, 2, seed=1, clusters=3))
    assert not np.array_equal(clustered, clicks.contexts(200, 2, seed=1))


def test_make_refuses_a_policy_that_there_is_not():
    """The message names those that there are."""
    with pytest.raises(ConfigError, match="sound-joint"):
        make_network("best", 1.0, SMALL, [randomness.secure()] * 3)


def test_every_size_of_the_papers_tables_is_a_checkpoint():
    """5,000 to 30,000 visits in steps of 5,000, and 50,000, whatever the equal steps are."""
    found = {number for number in checkpoints(61_003) if number % 5_000 == 0}
    assert found == {5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 50_000}
