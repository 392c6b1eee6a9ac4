"""One screen about p-REC: a client with many peers, and a client who hunts one voter."""

from __future__ import annotations

from tacit.design import Tour
from tacit.designs.prec.experiment.methods import Budget
from tacit.designs.prec.experiment.simulation import Setting, play
from tacit.designs.prec.experiment.worlds import Game

ROUNDS, VOTERS, PEERS, SEED = 300, 600, 300, 1
BUDGET = Budget(1.0, 1e-6)


def tour() -> Tour:
    game = Game(rounds=ROUNDS, objects=2, voters=VOTERS, peers=PEERS)
    kind = {
        name: play(Setting("planted", game, BUDGET), name, SEED).loss
        for name in ("p-rec", "exponential", "uniform")
    }
    hunted = {
        name: ROUNDS - play(Setting("victim", game, BUDGET), name, SEED).loss
        for name in ("p-rec-no-gate", "p-rec")
    }
    row = play(Setting("planted", game, BUDGET), "p-rec", SEED)
    return Tour(
        asked=f"{VOTERS} generated voters vote on two objects in {ROUNDS} rounds; {PEERS} of them "
        "like what the client likes. The client asks for one object in each round.",
        left="To the client: one recommendation a round, drawn from the votes of the voters who "
        "agreed with the client so far. The platform sees all votes and must be trusted.",
        learned="A client who likes exactly what one voter votes for learns that vote in "
        f"{hunted['p-rec-no-gate']:.0f} of {ROUNDS} rounds by the paper's algorithm. The private "
        f"gate stops that: {hunted['p-rec']:.0f} rounds, where guessing gives {ROUNDS // 2}.",
        cost=f"Epsilon {BUDGET.epsilon:g}, delta {BUDGET.delta:g}, for a voter's whole history "
        f"and one client. The client with {PEERS} peers disliked {kind['p-rec']:.0f} of {ROUNDS} "
        f"recommendations, with any object {kind['uniform']:.0f}. With fewer than "
        f"{row.threshold} peers the gate shuts, and lists are any object.",
        read_on="docs/prec.md",
        figures={"disliked": kind, "votes_learned": hunted, "threshold": row.threshold},
    )
