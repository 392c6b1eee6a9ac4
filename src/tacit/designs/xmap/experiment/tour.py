"""One screen about X-Map: books to films, and the audit's attack on who was in the data."""

from __future__ import annotations

from tacit.data.synthetic_domains import generate_domains
from tacit.design import Tour
from tacit.designs.xmap import XMap
from tacit.designs.xmap.audit.membership import GAMES, play
from tacit.evaluation.lists import judge_lists, list_trial
from tacit.recommenders.baselines import Popularity

PEOPLE, ITEMS, EPSILON, SEED = 3000, 80, 3.0, 1
FITS = 2


def tour() -> Tour:
    ratings = generate_domains(PEOPLE, (ITEMS, ITEMS), 30, seed=SEED)
    model = XMap(source="source", target="target", epsilon=EPSILON).fit(ratings)
    books = [int(item) for item in ratings.item_ids[:3]]
    best = model.recommend(history=dict.fromkeys(books, 5.0), n=3)
    read = {row.method: row.auc for game in GAMES for row in play(game, fits=FITS)[:1]}
    without, private = read["nx-map"], read["x-map-sound"]
    card = model.guarantees()[0]
    trial = list_trial(ratings, source="source", target="target", seed=SEED)
    ndcg = {
        "popularity": judge_lists(Popularity(likes=True), trial).ndcg,
        "private": judge_lists(XMap(source="source", target="target", epsilon=EPSILON), trial).ndcg,
    }
    return Tour(
        asked=f"{PEOPLE:,} generated people rated books and films. A person who rated three books "
        f"and no film gets {', '.join(f'film {row.item_id}' for row in best)}.",
        left="From the platform: a few noisy sums over people, released once, and the lists that "
        "are made of them. The platform itself sees all ratings and must be trusted.",
        learned="An attacker who makes accounts with one item of a person each, and reads their "
        f"lists, recognises who was in the data with an AUC of {without:.2f} from the paper's "
        f"method without noise, and {private:.2f} from the private one. 0.5 is guessing.",
        cost=f"Epsilon {card.epsilon:.3g}, delta {card.delta:g}, for each person's whole profile "
        f"in both domains, once for each fit. NDCG@10 of lists for people new to films: "
        f"{ndcg['private']:.3f}, where popularity has {ndcg['popularity']:.3f}.",
        read_on="docs/xmap.md",
        figures={"auc": read, "epsilon": card.epsilon, "delta": card.delta, "ndcg": ndcg},
    )
