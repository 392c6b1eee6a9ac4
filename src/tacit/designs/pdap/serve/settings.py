"""The settings [vendors.NAME] of tacit.toml, and the vendor that is made from them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from tacit import randomness
from tacit.accounting import PureAccountant
from tacit.designs.pdap.forwarding import Agreement, Forwarder, Host
from tacit.designs.pdap.joint import JointLearner, JointSetting
from tacit.designs.pdap.messages import MOST_VIDEO_BYTES
from tacit.designs.pdap.serve.neighbours import PeerSettings
from tacit.designs.pdap.serve.state import MOST_VIDEOS
from tacit.designs.pdap.trust import TrustSettings, neighbour_release
from tacit.designs.pdap.vendor import Vendor
from tacit.errors import ConfigError
from tacit.ledger import Cap, Cost
from tacit.ledger.amounts import MICRO
from tacit.service.served_things import Section
from tacit.service.setting_tables import TOML, setting
from tacit.service.strict_json import RefusedContent, check_text

MOST_FEATURES = 16
"""Largest number of features of a context over HTTP."""
SECONDS_OF_DAY = 86_400


@dataclass(frozen=True, kw_only=True)
class VendorSettings:
    """The settings [vendors.NAME].

    A stored state can only be continued under the same `lasting_settings`.
    """

    videos: list[str] = setting(
        "names of the videos or articles that the vendor shows",
        refused=f"none, above {MOST_VIDEOS:,}, or a name above {MOST_VIDEO_BYTES} bytes",
    )
    features: int = setting(
        "how many numbers in [0, 1] the context of a visit has",
        unit="numbers",
        refused=f"below 1, above {MOST_FEATURES}",
    )
    horizon: int = setting(
        "visits that are expected; it determines how finely contexts are learned, and how often",
        100_000,
        unit="visits",
        refused="below 2",
    )
    epsilon: float = setting(
        "the epsilon of one visit for the learner", 1.0, unit="nats", refused="infinite"
    )
    lifetime: float = setting(
        "the epsilon of all visits of one person; once it is spent, their visits are neither "
        "learned nor forwarded",
        5.0,
        unit="nats",
        refused="less than one visit costs",
    )
    key: str | None = setting(
        "file with the key that signs messages to neighbours; `tacit keys vendor` makes it",
        None,
        default_text="none; needed with `peers`",
        refused="a file that others can read",
    )
    forward_epsilon: float = setting(
        "the epsilon of a context that is forwarded; all neighbours have the same",
        1.0,
        unit="nats",
        refused="infinite",
    )
    slices: int = setting(
        "cells per feature, in a forwarded context; all neighbours have the same", 2, unit="cells"
    )
    share: float = setting(
        "largest share of the visits, after the first 120, at which a neighbour that has not "
        "proved itself is asked",
        1.0,
        refused="0 or less, above 1",
    )
    caution_epsilon: float = setting(
        "the epsilon of one visit, for trust in neighbours", 0.1, unit="nats", refused="infinite"
    )
    epoch: int = setting("visits between two releases about neighbours", 1000, unit="visits")
    article_days: float | None = setting(
        "days after which an article that joined through the service leaves",
        None,
        default_text="none: articles stay until they are removed",
        unit="days",
        above=0,
        refused="0 or less",
    )
    peers: dict[str, Any] | None = setting(
        "neighbours, each a table `[vendors.NAME.peers.NAME]`",
        None,
        default_text="none",
        table=PeerSettings,
    )

    @classmethod
    def read(cls, section: Section) -> Self:
        """Read a section; ConfigError if it cannot be served."""
        settings = section.read_settings(cls)
        _check_videos(section.name, settings.videos)
        return settings

    def __post_init__(self) -> None:
        if not 1 <= self.features <= MOST_FEATURES:
            raise ConfigError(f"A vendor's contexts have 1 to {MOST_FEATURES} features.")
        epsilons = (self.epsilon, self.forward_epsilon, self.caution_epsilon)
        if not all(math.isfinite(epsilon) for epsilon in epsilons):
            raise ConfigError("A vendor that is served has finite epsilons: inf protects nobody.")
        if self.slices < 1:
            raise ConfigError("A forwarded context has at least one cell per feature.")
        if self.cap.amount < self.visit_cost.amount:
            raise ConfigError(
                f"A lifetime of {self.lifetime:g} does not cover one visit at epsilon "
                f"{self.visit_epsilon:g}."
            )

    @cached_property
    def trust_settings(self) -> TrustSettings:
        """The rules of trust (`trust.py`).

        Neighbours report no rewards here, so rule 3 is switched off.
        """
        return TrustSettings(
            uses_reports=False, share=self.share, epsilon=self.caution_epsilon, epoch=self.epoch
        )

    @cached_property
    def learner_setting(self) -> JointSetting:
        """The setting of a new learner."""
        return JointSetting(
            videos=len(self.videos),
            neighbours=len(self.peers or ()),
            dimension=self.features,
            horizon=self.horizon,
            epsilon=self.epsilon,
        )

    @cached_property
    def agreement(self) -> Agreement:
        """The form in which contexts are sent between this vendor and its neighbours."""
        return Agreement(self.features, self.slices, self.forward_epsilon)

    @cached_property
    def _cost_of_learning(self) -> Cost:
        """The cost of one visit that is learned and not sent to neighbours."""
        return Cost.pure(PureAccountant().add(self.learner_setting.noise.event).epsilon())

    @cached_property
    def _cost_of_asking(self) -> Cost:
        """The cost of one visit that is learned and sent to neighbours."""
        accountant = PureAccountant().add(self.learner_setting.noise.event)
        accountant.add(neighbour_release(self.trust_settings, self.trust_settings.epsilon).event)
        event = Forwarder(self.agreement, randomness=randomness.secure()).event
        if event is not None:
            accountant.add(event)
        return Cost.pure(accountant.epsilon())

    def cost(self, *, asks: bool) -> Cost:
        """Return the cost of one visit that is learned.

        Args:
            asks: whether neighbours can be asked at this visit.
        """
        return self._cost_of_asking if asks else self._cost_of_learning

    @property
    def visit_cost(self) -> Cost:
        """The cost of one visit at which all neighbours can be asked, if there are any."""
        return self.cost(asks=bool(self.peers))

    @cached_property
    def cap(self) -> Cap:
        """The budget of one person, which `lifetime` sets."""
        return Cap.pure(self.lifetime)

    @property
    def article_seconds(self) -> float:
        """The age in seconds at which an article is removed; inf if it stays."""
        return math.inf if self.article_days is None else self.article_days * SECONDS_OF_DAY

    @property
    def visit_epsilon(self) -> float:
        """Nats of `visit_cost`."""
        return self.visit_cost.amount / MICRO

    def most_visits(self, *, asks: bool) -> int:
        """Compute how many visits of one person the lifetime covers.

        Args:
            asks: whether neighbours can be asked at these visits.
        """
        return self.cap.amount // self.cost(asks=asks).amount

    def make_vendor(self) -> Vendor:
        """Make a new vendor, which has learned nothing.

        At every visit it asks all neighbours that can be asked, whatever is chosen, because
        contexts must not decide who is asked. It does not see the clicks of users that neighbours
        forward.
        """
        source = randomness.secure()
        learner = JointLearner(self.learner_setting, randomness=source)
        return Vendor(
            learner,
            self.videos,
            forwarded_users=Host(learner),
            peers=tuple(self.peers or ()),
            forwarder=Forwarder(self.agreement, randomness=source) if self.peers else None,
            agreement=self.agreement,
            trust_settings=self.trust_settings,
            asks_all=True,
            remembered_visits=0,  # `VendorState` and the ledger remember them
        )

    @property
    def lasting_settings(self) -> str:
        """The settings under which a stored state must be continued, as a JSON object."""
        return json.dumps(
            {
                "features": self.features,
                "horizon": self.horizon,
                "epsilon": self.epsilon,
                "caution_epsilon": self.caution_epsilon,
                "epoch": self.epoch,
                "share": self.share,
            }
        )

    def differing_settings(self, lasting: str) -> tuple[str, ...]:
        """List the names of settings that differ from the `lasting_settings` of a stored state."""
        stored = json.loads(lasting)
        current = json.loads(self.lasting_settings)
        return tuple(name for name, value in current.items() if value != stored[name])


def _check_videos(name: str, videos: list[str]) -> None:
    """Refuse names of videos that a message or a page cannot hold.

    Args:
        name: of the vendor, for errors.
        videos: their names, as read from the settings.

    Raises:
        ConfigError: A name is refused, or there are too few or too many.
    """
    are_texts = all(isinstance(video, str) for video in videos)
    if not are_texts or not 1 <= len(videos) <= MOST_VIDEOS:
        raise ConfigError(f"{TOML}: {name}.videos is a list of 1 to {MOST_VIDEOS} names.")
    for video in videos:
        try:
            check_text(video)
        except RefusedContent:
            raise ConfigError(
                f"{TOML}: {name}.videos holds a name that is too long, has control characters, or "
                "is not in Unicode's composed form (NFC)."
            ) from None
        if not 1 <= len(video.encode()) <= MOST_VIDEO_BYTES:
            raise ConfigError(f"{TOML}: a video's name has 1 to {MOST_VIDEO_BYTES} bytes.")


def peers_of(section: Section) -> Mapping[str, Section]:
    """Return the sections [vendors.NAME.peers.NAME] of a vendor's section, by the neighbour's name.

    Raises:
        ConfigError: `peers` is not a table of tables.
    """
    tables = section.values.get("peers", {})
    are_tables = isinstance(tables, dict) and all(isinstance(t, dict) for t in tables.values())
    if not are_tables:
        raise ConfigError(
            f"{TOML}: each neighbour is a section [vendors.{section.name}.peers.NAME]."
        )
    return {
        name: Section(section.tenant, f"{section.name}.peers.{name}", section.folder, values)
        for name, values in tables.items()
    }
