"""The lines of [vendors.NAME] of tacit.toml, and the vendor that is made from them."""

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
from tacit.designs.pdap.serve.neighbours import PeerLines
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
SECONDS_OF_DAY = 86_400


@dataclass(frozen=True, kw_only=True)
class VendorSettings:
    """The lines of [vendors.NAME]: public numbers. A kept state goes on under the same ones."""

    videos: list[str] = setting(
        "the names of what it shows",
        refused=f"none, above {MOST_VIDEOS:,}, or a name above {MOST_VIDEO_BYTES} bytes",
    )
    features: int = setting(
        "how many numbers in [0, 1] a visit comes with",
        unit="numbers",
        refused=f"below 1, above {MOST_FEATURES}",
    )
    horizon: int = setting(
        "visits that are expected: what is learned of contexts, and how often, follows from it",
        100_000,
        unit="visits",
        refused="below 2",
    )
    epsilon: float = setting(
        "the epsilon of one visit, in what is learned from it", 1.0, unit="nats", refused="infinite"
    )
    lifetime: float = setting(
        "the epsilon of one person in all; then their visits are neither learned nor forwarded",
        5.0,
        unit="nats",
        refused="less than one visit costs",
    )
    key: str | None = setting(
        "signs what goes to neighbours; `tacit keys vendor` makes the file",
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
        "share of the visits at which a neighbour that has not proved itself is asked, at most",
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
        default_text="none: it stays until it is removed",
        unit="days",
        above=0,
        refused="0 or less",
    )
    peers: dict[str, Any] | None = setting(
        "neighbours, each a table `[vendors.NAME.peers.NAME]`",
        None,
        default_text="none",
        table=PeerLines,
    )

    @classmethod
    def read(cls, section: Section) -> Self:
        """ConfigError in a sentence for whatever cannot be served."""
        settings = section.read_settings(cls)
        _check_videos(section.name, settings.videos)
        return settings

    def __post_init__(self) -> None:
        if not 1 <= self.features <= MOST_FEATURES:
            raise ConfigError(f"A vendor's contexts have 1 to {MOST_FEATURES} features.")
        private = (self.epsilon, self.forward_epsilon, self.caution_epsilon)
        if not all(math.isfinite(one) for one in private):
            raise ConfigError("A vendor that is served has finite epsilons: inf protects nobody.")
        if self.slices < 1:
            raise ConfigError("A forwarded context has at least one cell per feature.")
        visit = self.costs[bool(self.peers)]
        if self.cap.amount < visit.amount:
            raise ConfigError(
                f"A lifetime of {self.lifetime:g} does not cover one visit at epsilon "
                f"{visit.amount / MICRO:g}."
            )

    @cached_property
    def trust_settings(self) -> TrustSettings:
        """No neighbour reports rewards, so none has to be believed."""
        return TrustSettings(
            uses_reports=False, share=self.share, epsilon=self.caution_epsilon, epoch=self.epoch
        )

    @cached_property
    def joint(self) -> JointSetting:
        """Setting of the learner when it began."""
        return JointSetting(
            videos=len(self.videos),
            neighbours=len(self.peers or ()),
            dimension=self.features,
            horizon=self.horizon,
            epsilon=self.epsilon,
        )

    @cached_property
    def agreement(self) -> Agreement:
        """How contexts are sent between this vendor and its neighbours."""
        return Agreement(self.features, self.slices, self.forward_epsilon)

    @cached_property
    def costs(self) -> tuple[Cost, Cost]:
        """Cost of one visit that is learned; and of one that is also sent to neighbours."""
        learned, asked = (PureAccountant().add(self.joint.noise.event) for _ in range(2))
        asked.add(neighbour_release(self.trust_settings, self.trust_settings.epsilon).event)
        if (event := Forwarder(self.agreement, randomness=randomness.secure()).event) is not None:
            asked.add(event)
        return Cost.pure(learned.epsilon()), Cost.pure(asked.epsilon())

    @cached_property
    def cap(self) -> Cap:
        """The budget of one person."""
        return Cap.pure(self.lifetime)

    @property
    def article_seconds(self) -> float:
        """The age at which an article leaves."""
        return math.inf if self.article_days is None else self.article_days * SECONDS_OF_DAY

    @property
    def visit_epsilon(self) -> float:
        """Epsilon of one visit in all: what the budget is charged where neighbours are asked."""
        return self.costs[bool(self.peers)].amount / MICRO

    def most_visits(self, *, asks: bool) -> int:
        """Visits of one person that the lifetime covers: learned, or also forwarded."""
        return self.cap.amount // self.costs[asks].amount

    def vendor(self) -> Vendor:
        """Make a new vendor, which has learned nothing.

        It asks all neighbours at every visit, whatever is chosen: whether one is asked must not
        follow from contexts. It does not see the clicks of users that neighbours forward.
        """
        source = randomness.secure()
        home = JointLearner(self.joint, randomness=source)
        return Vendor(
            home,
            self.videos,
            forwarded_users=Host(home),
            peers=tuple(self.peers or ()),
            forwarder=Forwarder(self.agreement, randomness=source) if self.peers else None,
            agreement=self.agreement,
            trust_settings=self.trust_settings,
            asks_all=True,
            remembers=0,
        )

    @property
    def lasting_settings(self) -> str:
        """The settings that a stored state goes on under, as text. Names of videos may change."""
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
        """Settings that are others than those of a kept state, by name."""
        then = json.loads(lasting)
        now = json.loads(self.lasting_settings)
        return tuple(name for name, value in now.items() if value != then[name])


def _check_videos(name: str, videos: list[str]) -> None:
    """Names that a message and a page can hold."""
    if not 1 <= len(videos) <= MOST_VIDEOS or not all(isinstance(video, str) for video in videos):
        raise ConfigError(f"{TOML}: {name}.videos is a list of 1 to {MOST_VIDEOS} names.")
    for video in videos:
        try:
            check_text(video)
        except RefusedContent:
            raise ConfigError(f"{TOML}: {name}.videos holds a name with control signs.") from None
        if not 1 <= len(video.encode()) <= MOST_VIDEO_BYTES:
            raise ConfigError(f"{TOML}: a video's name has 1 to {MOST_VIDEO_BYTES} bytes.")


def peers_of(section: Section) -> Mapping[str, Section]:
    """The sections [vendors.NAME.peers.NAME] of a vendor's section, by neighbour."""
    tables = section.values.get("peers", {})
    if not isinstance(tables, dict) or not all(isinstance(one, dict) for one in tables.values()):
        raise ConfigError(f"{TOML}: neighbours stand in [vendors.{section.name}.peers.NAME].")
    return {
        name: Section(section.tenant, f"{section.name}.peers.{name}", section.folder, values)
        for name, values in tables.items()
    }
