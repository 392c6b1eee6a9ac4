"""Vendors of an experiment have the policies, settings and noise that their name says."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tacit import randomness
from tacit.designs.pdap import theory
from tacit.designs.pdap.experiment import network
from tacit.designs.pdap.experiment.network import make_network
from tacit.designs.pdap.experiment.visitors import generate_contexts
from tacit.designs.pdap.experiment.world import World
from tacit.designs.pdap.forwarding import CLEAR_SLICES, Forwarder
from tacit.designs.pdap.settings import Setting
from tacit.errors import ConfigError

WORLD = World(vendors=3, videos=2, dimensions=1, arrivals=120, lipschitz=2.0, gamma=0.0)


def vendors(name, world=WORLD, epsilon=1.0):
    made = make_network(name, epsilon, world, [randomness.secure()] * world.vendors)
    return list(made.vendors.values())


def test_cap_is_one_learner_of_all_vendors():
    """The paper's CAP has the videos and visitors of every vendor; each vendor of solo its own."""
    cap = vendors("cap")
    assert len({id(vendor.policy) for vendor in cap}) == 1
    assert len(cap[0].videos) == WORLD.vendors * WORLD.videos
    solo = vendors("solo")
    assert len({id(vendor.policy) for vendor in solo}) == WORLD.vendors
    assert len(solo[0].videos) == WORLD.videos


def test_cap_expects_the_visitors_of_all_vendors():
    """Its cells split by the horizon of all visits: A is that of 3 times 120, not of 120."""
    pooled = Setting(videos=6, neighbours=0, dimension=1, horizon=360, lipschitz=2.0)
    alone = Setting(videos=6, neighbours=0, dimension=1, horizon=120, lipschitz=2.0)
    assert pooled.first_split != alone.first_split
    assert vendors("cap")[0].policy.partition.thresholds == pooled.thresholds
    assert vendors("solo")[0].policy.partition.thresholds == WORLD.setting.thresholds


def test_gp_daps_noise_shrinks_with_the_level():
    """Of what neighbours are sent, of a draw, and of Gamma: m^(alpha l) in level l, against P-DAP,
    where all are the same at each level."""
    world = replace(WORLD, gamma=64.0)
    geometric, uniform = vendors("gp-dap", world)[0], vendors("p-dap", world)[0]
    for level in (1, 2, 3):
        sent = (
            geometric.forwarded_users.make_counter(level),
            uniform.forwarded_users.make_counter(level),
        )
        assert sent[0].epsilon == pytest.approx(2**level * sent[1].epsilon)
        drawn = geometric.policy.selection(level, 2), uniform.policy.selection(level, 2)
        assert drawn[0].epsilon == pytest.approx(2**level * drawn[1].epsilon)
        tried = geometric.policy.controls.explore_neighbour(level, 100)
        assert tried == pytest.approx(4**level * math.log(100) + 16)
        more = uniform.policy.controls.explore_neighbour(level, 100)
        assert more == pytest.approx(4**level * math.log(100) + 16 * 2**level)


def test_a_vendor_alone_pays_for_no_cell():
    """It forwards to nobody; each of two vendors pays as much again for the cell that it sends."""
    alone, two = (
        make_network("sound-joint", 1.0, replace(WORLD, vendors=n), [randomness.secure()] * n)
        for n in (1, 2)
    )
    assert two.visit_epsilon == pytest.approx(2 * alone.visit_epsilon)


@pytest.mark.parametrize(("name", "slices"), [("sound-joint", 2), ("dap", CLEAR_SLICES)])
def test_a_randomised_cell_is_a_half_of_each_feature(monkeypatch, name, slices):
    """Sound vendors send which half of each feature a visitor is in: more answers would each be
    less accurate. Without an epsilon the context goes out as it is."""
    agreements = []

    def note(agreement, *, randomness):
        agreements.append(agreement)
        return Forwarder(agreement, randomness=randomness)

    monkeypatch.setattr(network, "Forwarder", note)
    vendors(name)
    assert {agreement.slices for agreement in agreements} == {slices}


def test_the_smallest_world_keeps_its_horizon():
    """Two visits of each vendor: policies and sums are made for two, CAP's for those of all."""
    world = replace(WORLD, arrivals=2)
    assert (world.setting.horizon, world.pooled_setting.horizon) == (2, 6)
    joint = vendors("sound-joint", world)[0].policy
    assert joint.setting.horizon == 2


def test_gamma_is_lemma_5s_unless_given():
    """By default the printed Gamma at the world's horizon and vendors; 0 at epsilon inf."""
    printed = replace(WORLD, gamma=None)
    expected = theory.gamma(120, 3, 0.5, 0.05)
    assert printed.gamma_at(0.5) == expected
    assert WORLD.gamma_at(0.5) == 0
    home = vendors("p-dap", printed, 0.5)[0].policy
    assert home.controls.explore_neighbour(0, 100) == pytest.approx(math.log(100) + expected / 4)
    assert printed.gamma_at(math.inf) == 0


@pytest.mark.parametrize(
    ("reading", "scale"),
    [
        ("tree", 7.0),
        ("text", 2 * math.log2(120)),
        ("lemma-5", 2 * math.log2(120)),
        ("theorem-5", 2 * 7.0),
    ],
)
def test_the_reading_of_the_noise_reaches_the_vendors(reading, scale):
    """--noise-reading: the scale of a node at T = 120, K = 2, three vendors and epsilon 1."""
    world = replace(WORLD, noise_reading=reading)
    for name in ("p-dap", "gp-dap"):
        counter = vendors(name, world)[0].forwarded_users.make_counter(0)
        assert counter.scale == pytest.approx(scale)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"noise_reading": "line-9"}, "tree, text, lemma-5, theorem-5"),
        ({"test": (100, 0)}, "--test"),
        ({"features": 100, "groups": 2}, "--groups"),
        ({"features": 1, "dimensions": 2}, "--dimensions"),
    ],
)
def test_a_world_that_cannot_be_is_refused(change, said):
    """The message names the option."""
    with pytest.raises(ConfigError, match=said):
        replace(WORLD, **change)


def test_as_many_features_as_dimensions_are_enough():
    """Nothing is to be reduced, and the world is not refused."""
    assert replace(WORLD, features=1).features == WORLD.dimensions
    assert replace(WORLD, test=(1,)).test == (1,)


def test_frozen_vendors_answer_as_they_learned():
    """With learning switched off, the same request gets the same own video each time, and no
    visit is counted."""
    network = make_network("dap", math.inf, WORLD, [randomness.secure()] * 3)
    network.set_learning(False)
    context = generate_contexts(WORLD, 1, 1)[0]
    shown = {network.visit("vendor 0", context, lambda _: 1.0).video for _ in range(5)}
    assert len(shown) == 1
    assert network.vendors["vendor 0"].visits == 0
    network.set_learning(True)
    network.visit("vendor 0", context, lambda _: 1.0)
    assert network.vendors["vendor 0"].visits == 1
