"""Published designs in the words of the rule engine, with what each of them claims.

Source   for the gates: Lyu, Su, Li: Understanding the sparse vector technique (VLDB 2017), which
         numbers six published variants and says which of them hold.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.auditing.rules import Chosen, FirstPast, Noised, Private, Rule, Together, upper_bound


@dataclass(frozen=True)
class Design:
    """epsilon: what is claimed for `rule`, which is the design at that epsilon."""

    name: str
    source: str
    epsilon: float
    rule: Rule

    @property
    def bound(self) -> float:
        """Nats; infinite if the description allows none."""
        return upper_bound(self.rule)


PUBLISHED: tuple[Design, ...] = (
    Design("Laplace noise on a count", "Dwork et al., 2006", 1.0, Noised(1, 1)),
    Design(
        "gate, threshold and counts noisy", "Lyu et al., 2017, Algorithm 1", 1.0, FirstPast(1, 2, 4)
    ),
    Design(
        "gate that releases the noisy count",
        "Lyu et al., 2017, Algorithm 3",
        1.0,
        Together((FirstPast(1, 2, 2), Private())),
    ),
    Design(
        "gate with a quarter of epsilon on the threshold",
        "Lyu et al., 2017, Algorithm 4",
        1.0,
        FirstPast(1, 4, 4 / 3),
    ),
    Design(
        "gate without noise on counts", "Lyu et al., 2017, Algorithm 5", 1.0, FirstPast(1, 2, 0)
    ),
    Design(
        "tree over two steps with log2 T levels",
        "a misreading of Chan et al., 2011",
        1.0,
        Noised(2, 1),
    ),
    Design(
        "choice among the items that the data hold",
        "candidates cut by the profile",
        1.0,
        Chosen(1, 0.5, candidates_are_public=False),
    ),
    Design(
        "noise scaled by the largest change seen in the data",
        "local sensitivity as scale",
        1.0,
        Noised(1, 1, scale_is_public=False),
    ),
    Design("the top item, every time", "a private mode without randomness", 1.0, Private()),
)
"""Right ones and wrong ones; `bound` against `epsilon` tells which."""
