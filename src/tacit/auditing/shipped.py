"""The mechanisms of this library on the audit's bench, each through its own public call.

Every mechanism stands on several pairs of neighbouring inputs that take several paths through the
code, such as clamped values, ties and streams. None of them is known to be the worst. Mechanisms
that make one OpenDP call per release get fewer samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from tacit.auditing.bench import SAMPLES, Subject, run
from tacit.auditing.shipped_choices import (
    bit_release,
    kary_response,
    noisy_max,
    selection,
    top_selection,
)
from tacit.auditing.shipped_cosines import smooth_cosine_release
from tacit.auditing.shipped_noise import (
    gaussian_release,
    gram_release,
    laplace_release,
    sum_release,
)
from tacit.auditing.shipped_streams import threshold_gate, tree_counter

__all__ = ["BENCH", "EPSILONS", "SAMPLES", "run"]

EPSILONS = (0.5, 1.0, 2.0, 4.0)

BENCH: Mapping[str, tuple[Callable[[], Subject], ...]] = {
    "bit-release": tuple(partial(bit_release, epsilon) for epsilon in EPSILONS),
    "kary-response": tuple(partial(kary_response, epsilon) for epsilon in EPSILONS),
    "laplace": (partial(laplace_release, 1.0),),
    "gaussian": (gaussian_release,),
    "selection": (partial(selection, 1.0),),
    "top-selection": (partial(top_selection, 1.0),),
    "noisy-max": (partial(noisy_max, 1.0),),
    "tree-counter": (partial(tree_counter, 1.0),),
    "threshold-gate": tuple(partial(threshold_gate, epsilon) for epsilon in (1.0, 4.0)),
    "gram": (gram_release,),
    "sums": (sum_release,),
    "smooth-cosine": (
        partial(smooth_cosine_release, 1.0, 1e-6, 1_000),
        partial(smooth_cosine_release, 4.0, 1e-5, 64),
    ),
}
"""Every shipped mechanism that is audited, and with which parameters."""
