"""The world of an experiment: vendors, videos, visitors; options of `tacit simulate pdap`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.design import option
from tacit.designs.pdap import theory
from tacit.designs.pdap.settings import SIGMA, Setting
from tacit.errors import ConfigError

NOISE_READINGS = {
    "tree": "tree",
    "text": "text",
    "lemma-5": "lemma 5",
    "theorem-5": "theorem 5",
}
"""The values of --noise-reading, and the name of each in `theory.noise_scale`."""


@dataclass(frozen=True, kw_only=True)
class World:
    """The vendors, videos and visitors that all policies of an experiment share."""

    vendors: int = option("Vendors.", default=4, least=1)
    videos: int = option("Videos of each vendor.", default=5, least=1)
    arrivals: int = option("Training visits of each vendor's users.", default=5_000, least=2)
    dimensions: int = option("Features of a context, as policies see it.", default=2, least=1)
    features: int = option(
        "Sparse features of a person, streamed and reduced to --dimensions; 0: none, contexts are "
        "drawn in the cube.",
        default=0,
        least=0,
    )
    lipschitz: float = option(
        "L: how steeply clicks change with the context; policies know it.", default=1.0
    )
    groups: int = option(
        "Clusters that contexts are drawn from, of unequal size; 0: uniform.", default=0, least=0
    )
    test: tuple[int, ...] = option(
        "Visits after the training, of all vendors together; several sizes with commas. Each test "
        "is run twice: policies only show what they learned, or go on exploring and learning.",
        default=(),
    )
    gamma: float | None = option(
        "For p-dap and gp-dap: a bound of a neighbour's noise; by default Lemma 5's.",
        default=None,
        least=0,
    )
    noise_reading: str = option(
        "Noise of a neighbour's rewards, by one of the paper's statements: tree, text, lemma-5 or "
        "theorem-5.",
        default="tree",
    )

    def __post_init__(self) -> None:
        if self.noise_reading not in NOISE_READINGS:
            readings = ", ".join(NOISE_READINGS)
            raise ConfigError(f"--noise-reading is one of {readings}; got '{self.noise_reading}'.")
        if any(size < 1 for size in self.test):
            raise ConfigError("--test has sizes of at least one visit.")
        if self.features and self.groups:
            raise ConfigError("--features brings its own clusters: leave out --groups.")
        if self.features and self.features < self.dimensions:
            raise ConfigError("--features is at least --dimensions.")

    @property
    def vendor_names(self) -> tuple[str, ...]:
        """Names of the vendors."""
        return tuple(f"vendor {number}" for number in range(self.vendors))

    def videos_of(self, vendor: int) -> tuple[str, ...]:
        """Return the names of one vendor's videos: their numbers among all vendors' videos."""
        return tuple(str(vendor * self.videos + number) for number in range(self.videos))

    @property
    def sizes(self) -> dict[str, Any]:
        """Arguments that the settings of all learners share: own videos, neighbours, features."""
        neighbours = self.vendors - 1
        return {"videos": self.videos, "neighbours": neighbours, "dimension": self.dimensions}

    @property
    def setting(self) -> Setting:
        """The paper's setting of one vendor."""
        return Setting(**self.sizes, horizon=max(2, self.arrivals), lipschitz=self.lipschitz)

    @property
    def pooled_setting(self) -> Setting:
        """The setting of CAP's one learner: videos and visits of all vendors, no neighbours."""
        return Setting(
            videos=self.vendors * self.videos,
            neighbours=0,
            dimension=self.dimensions,
            horizon=max(2, self.vendors * self.arrivals),
            lipschitz=self.lipschitz,
        )

    @property
    def noise_reading_of_theory(self) -> Any:
        """The name of --noise-reading in `theory.noise_scale`, which `ForwardedUsers` takes."""
        return NOISE_READINGS[self.noise_reading]

    def gamma_at(self, epsilon: float) -> float:
        """Return Gamma, a bound of a neighbour's noise: --gamma, or Lemma 5's if it is not set."""
        if self.gamma is not None:
            return self.gamma
        return theory.gamma(self.setting.horizon, self.vendors, epsilon, SIGMA)
