"""P-DAP as the registry knows it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tacit.design import Design, Served, option
from tacit.errors import ConfigError
from tacit.privacy import Guarantee


@dataclass(frozen=True)
class CardSettings:
    """What the cards depend on, in a usual setting: four vendors, 20 videos each, two features,
    200,000 visits."""

    epsilon: float = option("Epsilon of one visit.")
    variant: str = option("'sound', or 'published' as the paper prints it.", default="sound")


SIZES: dict[str, Any] = {"videos": 20, "neighbours": 3, "dimension": 2}


def cards(settings: CardSettings) -> tuple[Guarantee, ...]:
    """Of the vendors' learners, and of what crosses between vendors."""
    if settings.variant not in ("sound", "published"):
        raise ConfigError(f"--variant is sound or published; got '{settings.variant}'.")
    of = _published if settings.variant == "published" else _sound
    return of(settings.epsilon)


def _published(epsilon: float) -> tuple[Guarantee, ...]:
    from tacit.designs.pdap.policies.published import guarantees
    from tacit.designs.pdap.policies.published.control import Setting

    setting = Setting(**SIZES, horizon=200_000)
    return (
        *guarantees.published("p-dap", setting, epsilon=epsilon),
        *guarantees.published("gp-dap", setting, epsilon=epsilon),
    )


def _sound(epsilon: float) -> tuple[Guarantee, ...]:
    from tacit.designs.pdap import guarantees as sound_guarantees
    from tacit.designs.pdap.forwarding import Agreement
    from tacit.designs.pdap.guarantees import forwarded, learned_about_neighbours
    from tacit.designs.pdap.policies.joint.settings import JointSetting
    from tacit.designs.pdap.policies.local import Context, ContextSetting
    from tacit.designs.pdap.trust import TrustSettings
    from tacit.randomness import secure
    from tacit.recommenders.baselines.linucb import LinUCB
    from tacit.recommenders.baselines.linucb_card import linear

    if math.isinf(epsilon):
        return (sound_guarantees.without_noise("sound-joint"),)
    local = Context(ContextSetting(**SIZES, epsilon=epsilon), randomness=secure())
    return (
        sound_guarantees.joint(JointSetting(**SIZES, horizon=200_000, epsilon=epsilon)),
        sound_guarantees.answer(epsilon),
        forwarded(Agreement(features=2, slices=2, epsilon=epsilon), asks_all=True),
        learned_about_neighbours(TrustSettings(epsilon=epsilon / 10)),
        sound_guarantees.context(local),
        linear(LinUCB(**SIZES, horizon=200_000, epsilon=epsilon)),
    )


def contenders(*_: Any) -> str:
    """Why `tacit compare` leaves it out."""
    return "it learns from visits with rewards, not from ratings: tacit simulate pdap"


DESIGN = Design(
    "pdap",
    "P-DAP",
    "Zhou, Zhou, Wu, Jin: Differentially private online learning for video recommendation (2015)",
    {},
    CardSettings,
    cards,
    "tacit audit pdap  looks for violations of it.",
    {
        "audit": "audit.bench:audit",
        "simulate": "experiment.commands:SIMULATE",
        "tour": "experiment.commands:tour",
        "compare": "design:contenders",
        "reproduce": "reproduce:ITEMS",
    },
    "Works from about 12,500 visits of each of four vendors at epsilon 1: half the regret "
    "of videos chosen by chance, on generated clicks. Popular videos were not compared.",
    served=(
        Served(
            "vendors",
            "serve.served:ServedVendor",
            "serve.resources:router",
            "serve.demo:make_demo",
            counts_names=True,
        ),
    ),
)
