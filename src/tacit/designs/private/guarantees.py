"""What a fit guarantees, to whom, and on what evidence."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.accounting import GDPAccountant
from tacit.designs.private.releases import Fit, total
from tacit.designs.private.settings import Settings, events
from tacit.privacy import Adjacency, Basis, Guarantee, Trust
from tacit.recommenders.public import assumed, condition

_UNIT = Adjacency("user", "add or remove")
_NAME = "Private lists from noisy sums over people"
_SOURCES = (
    "docs/private.md, for the sums and the proof",
    "Canonne, Kamath, Steinke: The discrete Gaussian (NeurIPS 2020), for the noise",
    "Dong, Roth, Su: Gaussian differential privacy (2022), for epsilon and delta",
    "Smith, Thakurta: Fully adaptive composition for GDP (2022), for several fits",
    "Kearns, Pai, Roth, Ullman: Mechanism design in large games (2014), for joint privacy",
)
_LIFETIME = "each further fit on the same people adds its 1 / sigma^2 to those before"


def without_noise() -> Guarantee:
    """The same at epsilon inf."""
    return Guarantee(
        name=f"{_NAME}, without noise",
        sentence="Nobody is protected: lists depend on everybody's rows without any noise.",
        protects="nobody",
        adjacency=_UNIT,
        against="other people, who see their lists and may have the model file",
        trust=Trust.PLATFORM,
        basis=Basis.NONE,
        epsilon=None,
        delta=None,
        lifetime=f"per fit: {_LIFETIME}",
        assumptions=(),
        not_covered=("everything: this is the non-private variant, for comparison",),
        sources=_SOURCES,
    )


def spent(settings: Settings) -> float:
    """Epsilon of the events that every fit is charged, at the settings' delta."""
    accountant = GDPAccountant()
    for each in events(settings):
        accountant.add(each)
    return accountant.epsilon(settings.delta)


def card(
    settings: Settings, *, taken: Sequence[str] = (), found: str = "", fits: Sequence[Fit] = ()
) -> Guarantee:
    """Of the last of some fits, and all before it; `fits` empty: of one. taken: `public.TAKEN`.
    found: what was released about how useful lists are, in words: free, and none of the claim."""
    if not all(all(fit.noises) for fit in fits) or not settings.private:
        return without_noise()
    delta, several = settings.delta, len(fits) > 1
    epsilon = total(fits, delta) if fits else spent(settings)
    counted = (
        f" That is {len(fits)} fits together; the last one alone has epsilon {spent(settings):.6g}."
        if several
        else ""
    )
    return Guarantee(
        name=_NAME,
        sentence=(
            f"What all others get to see is ({epsilon:.6g}, {delta:g})-differentially private "
            "for each person's whole profile, in all domains together."
            + counted
            + condition(taken)
            + (f" {found}" if found else "")
        ),
        protects="one person's whole profile, present or absent",
        adjacency=_UNIT,
        against=(
            "all other people together, with their lists, explanations and the model file, which "
            "may be given to everybody: they may know everything but that person's rows"
        ),
        trust=Trust.PLATFORM,
        basis=Basis.CONDITIONAL if taken else Basis.PROVED,
        epsilon=epsilon,
        delta=delta,
        lifetime=f"{f'all {len(fits)} fits' if several else 'one fit'}: {_LIFETIME}",
        assumptions=(
            *assumed("the catalogue, its domains and metadata, and the scale of stars", taken),
            "item metadata were made without these people's ratings or events",
            (
                f"{len(events(settings))} sums over people, declared before the first and charged "
                "whatever follows; "
                "each clips what one person adds, all of it together, on integers, with Gaussian "
                "noise from the operating system's generator, through OpenDP"
            ),
            "each sum's noise is drawn once: a fit that stops before its end publishes nothing",
            (
                "a person's own rows are used in the clear for their own list and nowhere else "
                "after the release"
            ),
        ),
        not_covered=(
            "a person's own list, seen by another person: it is made from their own rows",
            "the platform, which holds everybody's rows",
            "what people do with their lists, once it becomes rows of a further fit",
            (
                "a profile that is changed rather than removed: at most twice the noise-to-signal "
                "mu of a removal"
            ),
            "what others' rows say about a person without theirs",
        ),
        sources=_SOURCES,
    )
