"""The screen of `tacit demo` about p-REC."""

from __future__ import annotations

from dataclasses import replace

from tacit.design import Bar, Tour
from tacit.design.people_needed import people_needed
from tacit.designs.prec.experiment.game import Game
from tacit.designs.prec.experiment.simulation import play


def tour() -> Tour:
    """Make the screen: a client with many peers, and one who wants to learn a voter's votes."""
    game = Game(rounds=300, objects=2, voters=600, peers=300)
    seed = 1
    row_of_method = {}
    for method in ("p-rec", "exponential", "uniform"):
        row_of_method[method] = play(game, method, seed)
    disliked = {method: row.loss for method, row in row_of_method.items()}
    threshold = row_of_method["p-rec"].threshold
    victim_game = replace(game, world="victim")
    votes_learned = {}
    share_learned = {}
    for method in ("p-rec-no-gate", "p-rec"):
        votes_learned[method] = game.rounds - play(victim_game, method, seed).loss
        share_learned[method] = votes_learned[method] / game.rounds
    return Tour(
        headline="A client who wants to learn one voter's votes learns "
        f"{share_learned['p-rec-no-gate']:.0%} of the votes by the paper's algorithm and "
        f"{share_learned['p-rec']:.0%} through the gate; guessing: 50%.",
        bars=(
            Bar("votes, as published", share_learned["p-rec-no-gate"]),
            Bar("votes, with the gate", share_learned["p-rec"]),
        ),
        trusted="the curator of the votes",
        real_data=people_needed("prec").real_data,
        asked=f"{game.voters} generated voters vote on two objects in {game.rounds} rounds; "
        f"{game.peers} of them like what the client likes. The client asks for one object in each "
        "round.",
        left="To the client: one recommendation a round, drawn from the votes of the voters who "
        "agreed with the client so far. The platform sees all votes and must be trusted.",
        learned="A client who likes exactly what one voter votes for learns that vote in "
        f"{votes_learned['p-rec-no-gate']:.0f} of {game.rounds} rounds by the paper's algorithm. "
        f"The private gate stops that: {votes_learned['p-rec']:.0f} rounds, where guessing gives "
        f"{game.rounds // 2}.",
        cost=f"Epsilon {game.epsilon:g}, delta {game.delta:g}, for a voter's whole history "
        f"and one client. The client with {game.peers} peers disliked {disliked['p-rec']:.0f} of "
        f"{game.rounds} recommendations; of random objects they would have disliked "
        f"{disliked['uniform']:.0f}. With fewer than about {threshold} peers the gate shuts, and "
        "recommendations are random.",
        read_on="docs/prec.md",
        figures={
            "disliked": disliked,
            "votes_learned": votes_learned,
            "share_learned": share_learned,
            "threshold": threshold,
        },
    )
