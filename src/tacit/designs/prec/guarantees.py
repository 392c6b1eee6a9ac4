"""Guarantee cards of a p-REC run: what is promised to voters, against whom, on what evidence."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from tacit.accounting.rounding import float_above, round_up
from tacit.designs.prec import theory
from tacit.designs.prec.output_distribution import OutputDistribution
from tacit.designs.prec.settings import Plan, PRecSettings
from tacit.privacy import Adjacency, Basis, Claim, Guarantee, Trust, format_upper_bound

_PAPER = (
    "Gilbert, Liu, Yu: On differentially private online collaborative recommendation systems (2015)"
)
_PROTECTS = "one voter's whole history of votes, present or absent, from clients"
"""What the cards protect."""
_NOT_COVERED = (
    "the platform, which sees all votes, and anyone who reads the run's file",
    "which candidates there are in a round, and how many clients are served",
    "whether the number of voters has reached its stated bound, at which new ones are refused",
    "how long a call takes",
    "what other voters' histories reveal about a voter even if that voter does not take part",
)
"""What the cards of both variants do not cover."""
_NO_GUARANTEE = Guarantee(
    name="p-REC without a gate or a promise",
    sentence="Nobody is protected: this is for comparison and simulation, not for use.",
    protects="nobody",
    adjacency=Adjacency("vote history", "add or remove"),
    against="clients, who see what they are recommended",
    trust=Trust.PLATFORM,
    basis=Basis.NONE,
    epsilon=None,
    delta=None,
    lifetime="nothing bounds it",
    assumptions=(),
    not_covered=("everything",),
    sources=(_PAPER,),
)
"""The card of a run that guarantees nothing; the other cards replace its fields."""


def cards(
    settings: PRecSettings, *, private: bool = True, plan: Plan | None = None
) -> tuple[Guarantee, ...]:
    """Return the cards of a run with these settings.

    The sound variant with a finite epsilon has a card for the view of one client, one for
    `clients_together` clients and one for all `clients`, in the order of these numbers; equal
    numbers have one card together. A card whose delta would reach 1 is left out. In all other cases
    there is one card.

    Args:
        settings: Settings of the run.
        private: Whether draws come from the operating system's generator. With a replayed seed
            nothing is promised.
        plan: Plan of a run's gates, if another version of tacit began them; None for
            `settings.plan`.

    Raises:
        ConfigError: The sound variant with these settings has no plan (`PRecSettings.plan`).
    """
    if not private:
        return (replace(_NO_GUARANTEE, name="p-REC with a replayed seed"),)
    if settings.noiseless:
        return (_NO_GUARANTEE,)
    if settings.variant == "published":
        return (_card_of_published(settings),)
    plan = settings.plan if plan is None else plan
    # Names of views by the number of clients; equal numbers have one card, with the later name
    view_names = {settings.clients_together: "several clients together"}
    if settings.clients is not None:
        view_names[settings.clients] = "all clients together"
    view_names[1] = "one client"
    sound_cards = []
    for clients, view_name in sorted(view_names.items()):
        if clients * plan.delta < 1:
            sound_cards.append(_card_of_sound(settings, plan, clients, view_name))
    return tuple(sound_cards)


def _card_of_sound(settings: PRecSettings, plan: Plan, clients: int, view_name: str) -> Guarantee:
    """Make the card of the sound variant for what `clients` clients see together."""
    epsilon = float_above(clients * Fraction(plan.epsilon))
    delta = float_above(clients * Fraction(plan.delta))
    has_lifetime_bound = clients == settings.clients
    basis_words = "the exact worst case" if plan.basis == "exact" else "a proved bound"
    if clients == 1:
        viewers = "one client"
        see = "sees"
        know = "knows"
        sharing = "clients do not share with each other what they were recommended"
    else:
        viewers = f"{clients} clients together"
        see = "see"
        know = "know"
        sharing = (
            "the views of several clients add up (Vadhan, Wang: Concurrent composition of "
            "differential privacy, TCC 2021; with delta: Lyu, NeurIPS 2022)"
        )
    if settings.clients is None:
        client_limit = "no bound on the number of clients was set"
    else:
        client_limit = f"{settings.clients} clients may join, then new ones are refused"
    return replace(
        _NO_GUARANTEE,
        name=f"p-REC (sound), {view_name}",
        sentence=(
            f"Whatever {viewers} {see} in all rounds is "
            f"({_epsilon_text(epsilon)}, {_delta_text(delta)})-differentially private for each "
            "voter's whole history of votes. This also holds if no other voter agrees with a "
            "client."
        ),
        protects=_PROTECTS,
        against=(
            f"{viewers}, who {know} all other votes, and whose answers may depend on everything "
            "seen before"
        ),
        basis=Basis.PROVED,
        epsilon=epsilon,
        delta=delta,
        lifetime=(
            f"a client gets at most {settings.rounds} recommendations; each further client who "
            f"shares what they see adds epsilon {_epsilon_text(plan.epsilon)} and delta "
            f"{_delta_text(plan.delta)}; {client_limit}"
        ),
        lifetime_epsilon=epsilon if has_lifetime_bound else None,
        lifetime_delta=delta if has_lifetime_bound else None,
        assumptions=(
            (
                "survivors are the voters who still count for a client. A client's gate is open "
                f"with fewer than {plan.peers} survivors, the voter among them, with a chance of "
                f"at most {_delta_text(plan.delta)}: this is the delta of one client"
            ),
            (
                "the epsilon of one client is that of the gate's answers, "
                f"{_epsilon_text(plan.gate_epsilon)}, and that of all {settings.rounds} "
                f"recommendations with at least {plan.peers} survivors, "
                f"{_epsilon_text(plan.rounds_epsilon)} ({basis_words})"
            ),
            f"with and without the voter there are at most {settings.voters} voters",
            (
                "other people's votes depend on the voter's votes only through these clients' "
                "recommendations"
            ),
            sharing,
            "noise from the operating system's generator",
        ),
        not_covered=_NOT_COVERED,
        sources=(
            _PAPER,
            "Dwork, Roth: The algorithmic foundations of differential privacy (2014), Theorem 3.23",
            "Lyu, Su, Li: Understanding the sparse vector technique (VLDB 2017)",
            "the proof: p-REC, in the documentation",
        ),
    )


def _epsilon_text(epsilon: float) -> str:
    """Format nats with four digits, rounded up."""
    return format_upper_bound(epsilon, digits=4)


def _delta_text(delta: float) -> str:
    """Format a delta with three digits, rounded up."""
    return format_upper_bound(delta, digits=3)


def _card_of_published(settings: PRecSettings) -> Guarantee:
    """Make the card of the published variant, which holds only if the client has P peers."""
    peers = settings.peers
    assert peers is not None, "`PRecSettings` refuses the published variant without peers"
    promised = round_up(theory.eps_tight(*settings.sizes, peers))
    return replace(
        _NO_GUARANTEE,
        name="p-REC (published), one client, if the client has peers",
        sentence=(
            f"What a client sees is {_epsilon_text(promised)}-differentially private for each "
            f"voter, if the client has {peers} peers whether or not that voter takes part. Nobody "
            "checks that: the client's own answers decide it, and a client without peers can read "
            "a voter's whole history."
        ),
        protects=f"{_PROTECTS} who keep a promise about other voters",
        against="one client whose answers keep the promise, and who knows all other votes",
        basis=Basis.CONDITIONAL,
        epsilon=promised,
        delta=0.0,
        lifetime=(
            "what one client sees in all rounds; each further client who shares what they see "
            "costs as much again"
        ),
        assumptions=(
            (
                f"the client has {peers} peers or more: voters each of whom votes at most "
                f"{settings.radius} times for an object that the client dislikes. A peer who "
                "abstains votes as well: a hash chooses the object, often one that the client "
                "dislikes"
            ),
            (
                f"the client likes more than one object in at most {settings.diversity} rounds, "
                "and answers each recommendation: a missing answer counts as a dislike, even if "
                "the peers voted for the object"
            ),
            "the client has that many peers whether or not the voter takes part",
            f"with and without the voter there are at most {settings.voters} voters",
        ),
        not_covered=("clients who break the promise, which nobody can detect", *_NOT_COVERED),
        sources=(_PAPER, "the constants: p-REC, in the documentation"),
        claims=(_claim(settings, promised),),
    )


class LogRatios(NamedTuple):
    """Log ratios of two events' probabilities: P with one voter, and P' without any voter."""

    all_are_votes: float
    """ln(P / P') of the event that every recommendation is the voter's vote of its round."""
    none_is_a_vote: float
    """ln(P' / P) of the event that no recommendation is the voter's vote of its round."""


def log_ratios_without_peers(distribution: OutputDistribution, rounds: int) -> LogRatios:
    """Compute how well a client without peers can tell whether one voter is present.

    Nobody else votes. The client likes an object if and only if the voter voted for it, so the
    voter counts for the client in every round. Without the voter, each of m objects has the chance
    1 / m.

    Args:
        distribution: The output distribution of a round.
        rounds: How many rounds the client takes part in.
    """
    objects = distribution.objects
    one_vote = np.zeros(objects, dtype=np.int64)
    one_vote[0] = 1
    chances = distribution.chances(one_vote)
    log_ratio_of_vote = math.log(chances[0] * objects)
    log_ratio_of_other = math.log(chances[1] * objects)
    return LogRatios(rounds * log_ratio_of_vote, -rounds * log_ratio_of_other)


def _claim(settings: PRecSettings, promised: float) -> Claim:
    """Make the paper's claim, with the log ratios that a client without peers reaches.

    Args:
        settings: Settings of the published variant.
        promised: Epsilon that the paper proves for these settings, in nats.
    """
    distribution = settings.output_distribution
    ratios_of_settings = log_ratios_without_peers(distribution, settings.rounds)
    example_distribution = OutputDistribution(rounds=20, objects=2)
    ratios_of_example = log_ratios_without_peers(example_distribution, rounds=20)
    claim_of_example = theory.eps_tight(m=2, T=20, D=0, R=0, P=100)
    return Claim(
        "Theorems 11 and 17: recommendations are differentially private, if P peers exist",
        "true under this assumption, which depends on the adversary's own answers; false without "
        "it",
        (
            (
                f"these settings, with epsilon {_epsilon_text(promised)} claimed: a client without "
                "peers, who likes exactly what one voter votes for, reaches a log ratio of "
                f"{ratios_of_settings.all_are_votes:.4g} if all recommendations are that voter's "
                f"votes, and of {ratios_of_settings.none_is_a_vote:.4g} in the other direction if "
                "none is"
            ),
            (
                f"20 rounds of 2 objects, with epsilon {_epsilon_text(claim_of_example)} claimed "
                "for 100 peers: the same client reaches "
                f"{ratios_of_example.all_are_votes:.4g} and "
                f"{ratios_of_example.none_is_a_vote:.4g}"
            ),
        ),
    )
