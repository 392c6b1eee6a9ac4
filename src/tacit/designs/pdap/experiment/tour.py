"""One screen about P-DAP: what a vendor learns from clicks, and a neighbour from a message."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tacit import randomness
from tacit.data import clicks
from tacit.design import Bar, Tour
from tacit.design.people_needed import people_needed
from tacit.designs.pdap.forwarding import Agreement, Forwarder
from tacit.designs.pdap.model import PDap

DRAWS = 1000
"""How often one context is sent to a neighbour."""
EPSILON = 1.0
"""Nats of one visit, for the learner and for the context that is sent."""
VISITS = 30_000
"""Number of visits of the vendor, each with one click or none."""
VIDEOS = 10
"""Number of videos of the vendor."""
FEATURES = 2
"""Number of features of a context."""
BLOCK = 500
"""Number of visits that are served before their clicks are learned."""
SEED = 1
"""Seed of the videos, the visitors and their clicks; the learner's noise has none."""
CONTEXT = (0.9, 0.1)
"""The context that is sent DRAWS times."""
CELL = (1, 0)
"""The cell of CONTEXT among two slices of each feature."""


def tour() -> Tour:
    """Learn from the clicks of one vendor's visitors, and send one context many times.

    A message has a randomised cell. The share of the messages that have the true cell is how often
    a neighbour is right if it believes them.
    """
    world = clicks.generate(vendors=1, videos=VIDEOS, dimension=FEATURES, lipschitz=2.0, seed=SEED)
    generator = np.random.default_rng(SEED)
    contexts = generator.random((VISITS, FEATURES))
    chances = world.means(contexts)
    would_click = generator.random((VISITS, 1)) < chances
    click_shares = {
        "private": _share_clicked(contexts, would_click, EPSILON),
        "without noise": _share_clicked(contexts, would_click, math.inf),
        "best single video": float(chances.mean(axis=0).max()),
        "chance": float(chances.mean()),  # every video shown equally often
    }
    agreement = Agreement(features=FEATURES, slices=2, epsilon=EPSILON)
    forwarder = Forwarder(agreement, randomness=randomness.secure())
    messages = [forwarder.forward(np.array(CONTEXT)) for _ in range(DRAWS)]
    messages_with_true_cell = [message for message in messages if message.places == CELL]
    right = len(messages_with_true_cell) / DRAWS
    return Tour(
        headline=f"{click_shares['private']:.0%} of visitors click; "
        f"{click_shares['best single video']:.0%} would if all were shown the best single video. "
        f"A neighbour is right about a visitor's cell in {right:.0%} of visits.",
        bars=(
            Bar("clicks, private", click_shares["private"]),
            Bar("clicks, best video", click_shares["best single video"]),
        ),
        trusted="the vendor that a person visits",
        real_data=people_needed("pdap").real_data,
        asked=f"A generated vendor shows {VIDEOS} videos to {VISITS:,} visitors, learns from their "
        "clicks, and asks other vendors where a visitor may find something better.",
        left=f"To the other vendors: {len(messages[0].encode())} bytes a visit, which name one of "
        "four cells for the visitor's context. A random choice makes it a wrong cell at times: the "
        "smaller epsilon, the more often. In what others are recommended: noisy sums of clicks.",
        learned="Another vendor that believes the cell it was sent is right in "
        f"{right:.0%} of {DRAWS:,} visits; guessing is right in 25%. What other visitors "
        "are recommended reveals little about a visit, because the sums are noisy.",
        cost=f"Epsilon {EPSILON:g} for learning from a visit, and as much again for sending its "
        f"context; a person's visits add up. Clicks: {click_shares['private']:.0%} of visits, "
        f"without noise {click_shares['without noise']:.0%}, if all were shown the best single "
        f"video {click_shares['best single video']:.0%}, with videos chosen by chance "
        f"{click_shares['chance']:.0%}.",
        read_on="docs/pdap.md",
        figures={"right": right, "clicked": click_shares, "epsilon": EPSILON},
    )


def _share_clicked(
    contexts: NDArray[np.float64], would_click: NDArray[np.bool_], epsilon: float
) -> float:
    """Serve all visits in blocks, learn their clicks, and return the share of visits with a click.

    Args:
        contexts: (VISITS, FEATURES) in [0, 1].
        would_click: (VISITS, VIDEOS) whether the visitor would click the video.
        epsilon: nats of one visit.
    """
    bandit = PDap(range(VIDEOS), epsilon=epsilon, dimension=FEATURES, horizon=VISITS).fit()
    clicks = 0.0
    for start in range(0, VISITS, BLOCK):
        visits = bandit.choose(contexts[start : start + BLOCK])
        arms = np.asarray(visits.arms, dtype=np.int64)
        rows = np.arange(start, start + len(arms))
        rewards = would_click[rows, arms].astype(float)
        bandit.learn(visits, rewards)
        clicks += float(rewards.sum())
    return clicks / VISITS
