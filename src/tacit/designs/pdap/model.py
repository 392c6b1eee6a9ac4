"""P-DAP at one vendor, with the words of bandit libraries: the sound learner behind `Bandit`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tacit.designs.pdap import guarantees
from tacit.designs.pdap.policies.bandit import Bandit
from tacit.designs.pdap.policies.joint.learner import Joint
from tacit.designs.pdap.policies.joint.settings import JointSetting
from tacit.privacy import Guarantee
from tacit.randomness import secure


class PDap(Bandit):
    """fit, partial_fit, predict. arms: names of the videos, in their order.

    epsilon: nats of one visit. dimension: features of a context, each in [0, 1]. horizon: visits
    that are learned from; those after them are only served. ConfigError for settings that
    `JointSetting` refuses.
    """

    def __init__(
        self,
        arms: Sequence[Hashable],
        *,
        epsilon: float = 1.0,
        dimension: int = 2,
        horizon: int = 200_000,
    ) -> None:
        self.epsilon, self.dimension, self.horizon = epsilon, dimension, horizon
        super().__init__(arms, lambda videos: Joint(self._of(videos), randomness=secure()))
        self._of(len(arms))  # refuses bad settings before there is a log

    def _of(self, videos: int) -> JointSetting:
        return JointSetting(
            videos=videos,
            neighbours=0,
            dimension=self.dimension,
            horizon=self.horizon,
            epsilon=self.epsilon,
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Of the learner, for one visit."""
        return (guarantees.joint(self._of(len(self.arms))),)

    def __repr__(self) -> str:
        return f"PDap({len(self.arms)} arms, epsilon={self.epsilon:g}, dimension={self.dimension})"
