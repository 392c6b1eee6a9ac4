"""The standard scheme on 4,000 generated people: what one device sends, and what it gives away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text
from scipy import sparse

from tacit.cli import output
from tacit.data.ratings import Ratings

LINE = "Hide an attribute from the recommender"
STEPS = 5
PEOPLE, ITEMS, RATINGS, SEED = 4000, 600, 260_000, 1
HELD_BACK = 1000
"""People whom neither the recommender nor the attacker has seen."""


def run(advance: Callable[[int], None]) -> dict[str, Any]:
    """The story as numbers. Releases are drawn anew in every run; the population is not."""
    from tacit.auditing.attacks import LogisticRegression
    from tacit.data.synthetic import generate
    from tacit.designs.standard_scheme import StandardScheme

    ratings = generate(users=PEOPLE, items=ITEMS, ratings=RATINGS, seed=SEED)
    advance(1)
    order = np.random.default_rng(SEED).permutation(ratings.n_users)
    others, askers = ratings.of_users(order[HELD_BACK:]), ratings.of_users(order[:HELD_BACK])
    model = StandardScheme(service_sees_items=False).fit(others)
    advance(1)
    women = (others.attribute("gender") == "F").astype(np.int64)
    attacker = LogisticRegression().fit(others.matrix, women)
    advance(1)
    released = _releases(model, askers)
    before, after = attacker.probability(askers.matrix), attacker.probability(released)
    advance(1)
    person = _readable(askers, before)
    result = _story(model, askers, person) | {
        "gender": str(askers.attribute("gender")[person]),
        "share_of_women": float(women.mean()),
        "belief_before": float(before[person]),
        "belief_after": float(after[person]),
        "attack": _population(askers, before, after),
        "accuracy": _accuracy(model, askers, np.random.default_rng(SEED)),
    }
    advance(1)
    return result


def _readable(askers: Ratings, belief: NDArray[np.float64]) -> int:
    """The woman at the upper quarter of the attacker's beliefs about women, from true stars."""
    women = np.flatnonzero(askers.attribute("gender") == "F")
    return int(women[np.argsort(belief[women])[3 * len(women) // 4]])


def _releases(model: Any, askers: Ratings) -> sparse.csr_array:
    """(people, items) CSR of released stars, one device each, secure randomness."""
    rows, columns, stars = [], [], []
    for number, user in enumerate(askers.user_ids.tolist()):
        own = {"gender": str(askers.attribute("gender")[number])}
        release = model.device(own).release(askers.history(user), 0)
        for item, level in release.ratings:
            rows.append(number)
            columns.append(askers.item_number(item))
            stars.append(askers.scale.minimum + askers.scale.step * level / 1_000_000)
    shape = (askers.n_users, askers.n_items)
    return sparse.csr_array(sparse.coo_array((stars, (rows, columns)), shape=shape).tocsr())


def _story(model: Any, askers: Ratings, person: int) -> dict[str, Any]:
    """One person's release and list."""
    user = askers.user_ids[person]
    history = askers.history(user)
    made = model.exchange(history, {"gender": str(askers.attribute("gender")[person])}, n=5)
    sent = made.release.encode()
    return {
        "person": user,
        "rated": len(history),
        "shown": len(made.release.ratings),
        "bytes": sent.decode(),
        "n_bytes": len(sent),
        "recommendations": [
            {
                "rank": row.rank,
                "item": row.item_id,
                "title": model.titles_.get(row.item_id),
                "stars": row.score,
            }
            for row in made.recommendations
        ],
    }


def _population(askers: Ratings, before: Any, after: Any) -> dict[str, float]:
    """The same attacker against everybody who asks."""
    from tacit.auditing.attacks import auc

    women = (askers.attribute("gender") == "F").astype(np.int64)
    return {"auc_before": auc(women, before), "auc_after": auc(women, after)}


def _accuracy(model: Any, askers: Ratings, generator: np.random.Generator) -> dict[str, float]:
    """RMSE on a third of everybody's ratings, predicted from the others: as released, and exact.

    The exact prediction takes out the person's own offsets and adds them again, but rounds nothing
    and holds nothing back; it could only be made on the device.
    """
    from tacit.designs.standard_scheme import RELEASES, Device, Server, State
    from tacit.evaluation.accuracy import rmse

    exact = replace(model.disclosure_, rule=RELEASES["scheme"])
    server = Server(exact.digest, exact.items, model.profiles_, model.ease_)
    truth: list[float] = []
    plain: list[float] = []
    hidden: list[float] = []
    for number, user in enumerate(askers.user_ids.tolist()):
        own = {"gender": str(askers.attribute("gender")[number])}
        history = askers.history(user)
        held = [item for item in history if generator.random() < 1 / 3]
        known = {item: stars for item, stars in history.items() if item not in held}
        at_home = Device(exact, own, State(created=0), bytes(32), reproduce=True)
        for device, answer, found in (
            (at_home, server, plain),
            (model.device(own), model.server_, hidden),
        ):
            scores = device.complete(answer.score(device.release(known, 0)))
            found += [scores[item] for item in held]
        truth += [history[item] for item in held]
    lowest, highest = askers.scale.minimum, askers.scale.maximum
    return {
        "rmse_true_stars": rmse(np.array(truth), np.clip(plain, lowest, highest)),
        "rmse_released": rmse(np.array(truth), np.clip(hidden, lowest, highest)),
    }


def show(result: dict[str, Any]) -> None:
    """The story for a person."""
    say = output.console.print
    say(Text("Hide an attribute from the recommender", style="bold"))
    say(
        f"{PEOPLE:,} generated people rate {ITEMS} items. {PEOPLE - HELD_BACK:,} agreed to train "
        f"the recommender; {HELD_BACK:,} others ask it for a list and want to keep their gender to "
        "themselves.\n"
    )
    output.table(
        f"Five recommendations for person {result['person']}, made from obfuscated stars only",
        ("rank", "item", "predicted stars"),
        [
            (row["rank"], row["title"] or row["item"], row["stars"])
            for row in result["recommendations"]
        ],
    )
    say(
        f"They rated {result['rated']} items. Their device sent {result['n_bytes']} bytes about "
        f"{result['shown']} of them (stars counted from 0, in millionths). These, exactly:"
    )
    say(Text(result["bytes"], style="cyan"))
    attack, accuracy = result["attack"], result["accuracy"]
    output.table(
        "What an attacker believes who learned from the training people",
        ("", "from true stars", "from what was sent"),
        [
            (
                f"that person {result['person']} is a woman (true)",
                f"{result['belief_before']:.0%}",
                f"{result['belief_after']:.0%}",
            ),
            (
                f"ranks a woman above a man, {HELD_BACK} people (AUC, 50 % is guessing)",
                f"{attack['auc_before']:.0%}",
                f"{attack['auc_after']:.0%}",
            ),
            (
                "error of predicted stars (RMSE)",
                f"{accuracy['rmse_true_stars']:.3f}",
                f"{accuracy['rmse_released']:.3f}",
            ),
        ],
    )
    say(
        "This person was chosen so that the attacker is more certain about one woman in four and "
        "less certain about the others. "
        f"Without any stars it believes {result['share_of_women']:.0%}. This is measured, not "
        "proved: tacit guarantee standard-scheme  says what it rests on.",
        style="dim",
    )
    output.next_step(
        "Next:  tacit data generate ratings.csv --seed 1   then   tacit fit standard-scheme "
        "ratings.csv --users ratings-users.csv --attribute gender --service-sees-items no "
        "-o m.tacit"
    )
