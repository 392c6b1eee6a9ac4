"""The setting of a simulated run, and the names of worlds and methods."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.errors import ConfigError

WORLD_NAMES = (
    "planted",
    "opposed",
    "adaptive",
    "search",
    "stubborn",
    "one-round",
    "both-ways",
    "sybils",
    "victim",
)
"""Names of worlds; `worlds.WORLDS` has their generators."""
WITHOUT_PEERS = ("one-round", "victim")
"""Worlds in which the client may have fewer than P peers: no bound of the loss is proved."""
_ANY_DIVERSITY_AND_RADIUS = ("planted", "stubborn", "both-ways")
"""Worlds that are defined for any diversity and radius; the others have D = R = 0."""
METHODS = (
    "p-rec",
    "p-rec-no-gate",
    "exponential",
    "majority",
    "weighted-majority",
    "uniform",
)
"""Names of methods; `methods.PLAYERS` makes a player of each."""
PRIVATE = ("p-rec", "exponential")
"""Methods that spend an epsilon."""


@dataclass(frozen=True)
class Game:
    """Setting of one run.

    Raises:
        ConfigError: A value is out of range.
    """

    rounds: int
    """T, the number of rounds."""
    objects: int
    """m, the number of objects in each round."""
    voters: int
    """n, the number of voters."""
    peers: int
    """P, the number of voters who agree with the client."""
    diversity: int = 0
    """D, the most rounds in which the client likes more than one object."""
    radius: int = 0
    """R, the largest number of votes of one peer for objects that the client dislikes."""
    clients: int = 1
    """How many clients there are, all with the same taste."""
    clients_together: int = 1
    """How many clients epsilon and delta are for, together."""
    epsilon: float = 1.0
    """Nats that private methods spend on the views of `clients_together` clients; inf: no noise."""
    delta: float = 1e-6
    """Delta of private methods."""
    world: str = "planted"
    """One of `WORLD_NAMES`."""
    pattern: int = 1
    """Which of the two voting patterns of `both-ways`, 1 or 2; 1 in all other worlds."""

    def __post_init__(self) -> None:
        if not (self.rounds >= 3 and self.objects >= 2 and 0 <= self.radius <= self.rounds):
            raise ConfigError(
                "A simulation needs 3 rounds or more, 2 objects or more, and a radius from 0 to "
                f"the number of rounds; got {self.rounds}, {self.objects} and {self.radius}."
            )
        if not 1 <= self.peers <= self.voters:
            raise ConfigError(
                f"Between 1 and all {self.voters} voters are peers; got {self.peers}."
            )
        if not 0 <= self.diversity <= self.rounds:
            raise ConfigError("diversity is 0 to the number of rounds.")
        if not 1 <= self.clients_together <= self.clients:
            raise ConfigError(
                f"Epsilon is for the views of 1 to {self.clients} clients together; "
                f"got {self.clients_together}."
            )
        if self.world not in WORLD_NAMES:
            raise ConfigError(f"A world is one of {', '.join(WORLD_NAMES)}; got {self.world!r}.")
        patterns = (1, 2) if self.world == "both-ways" else (1,)
        if self.pattern not in patterns:
            raise ConfigError(
                "The world 'both-ways' has the patterns 1 and 2, every other world has the pattern "
                f"1 alone; got {self.pattern}."
            )
        if self.world not in _ANY_DIVERSITY_AND_RADIUS and (self.diversity > 0 or self.radius > 0):
            raise ConfigError(f"The world '{self.world}' is for diversity 0 and radius 0.")
