"""The compiled learner: the phases of an adaptive bandit over hashed cells, in batches and singly.

What it does, `designs/pdap/published.py` says readably; the tests hold the two
equal choice by choice.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numba
import numpy as np

from tacit.engine.bandit_cells import (
    ARM,
    ARMS,
    ARRIVALS,
    COLUMNS,
    HEARD,
    LEVEL,
    MEANS,
    NODE,
    NODES,
    OWN,
    PENDING,
    PHASE,
    RULES,
    SPLIT,
    SPLIT_AFTER,
    TRAINED,
    TRIED,
    USED,
    VISITORS,
    compiled,
    enter,
    find,
    inlined,
    quantise,
)

EXPLORE, TRAIN, EXPLOIT = 0, 1, 2
NONE_PENDING, REFUSED = 1, 2
_LARGEST = 1e18

_BATCH = "int64(int64[::1], float64[:,::1], {}, int64, int64[::1], int8[::1])"


_entrance = partial(numba.njit, cache=True, nogil=True, error_model="numpy")
"""Compiled for exactly the types that are named: no call pays for choosing among several."""


@inlined
def _control(words: Any, numbers: Any, level: Any, which: int) -> Any:
    """scale ln t + constant: the visits below which an arm is tried."""
    at = words[RULES] + level * COLUMNS + which
    scale = numbers[at]
    if scale == 0.0:
        return numbers[at + 1]
    return scale * math.log(words[ARRIVALS] + 1.0) + numbers[at + 1]


@inlined
def _least(values: Any) -> Any:
    """The first of the smallest, and it."""
    least, smallest = 0, values[0]
    for arm in range(1, len(values)):
        smaller = values[arm] < smallest
        least = arm if smaller else least
        smallest = values[arm] if smaller else smallest
    return least, smallest


@inlined
def _best(means: Any, counts: Any) -> Any:
    """The largest mean; of equals the least explored, then the first."""
    best, mean, count = 0, means[0], counts[0]
    for arm in range(1, len(means)):
        better = (means[arm] > mean) | ((means[arm] == mean) & (counts[arm] < count))
        best = arm if better else best
        mean = means[arm] if better else mean
        count = counts[arm] if better else count
    return best


@compiled
def _choose(words: Any, numbers: Any, node: int) -> Any:
    """Arm and phase."""
    own, arms, level = words[OWN], words[ARMS], words[node + LEVEL]
    first = node + MEANS
    means, counts = numbers[first : first + arms], numbers[first + 2 * arms : first + 3 * arms]
    if own > 0:
        arm, visits = _least(counts[:own])
        if visits < _control(words, numbers, level, TRIED):
            return arm, EXPLORE
    if own == arms:
        return _best(means, counts), EXPLOIT
    neighbour, visits = _least(numbers[first + 3 * arms : node + words[NODE]])
    if visits < _control(words, numbers, level, TRAINED):
        return own + neighbour, TRAIN
    neighbour, visits = _least(counts[own:])
    if visits < _control(words, numbers, level, HEARD):
        return own + neighbour, EXPLORE
    return _best(means, counts), EXPLOIT


@compiled
def _learn(words: Any, numbers: Any, node: int, arm: int, phase: int, reward: float) -> None:
    arms = words[ARMS]
    at = node + MEANS + arm
    words[ARRIVALS] += 1
    if phase == TRAIN:
        numbers[at + 3 * arms - words[OWN]] += 1.0
    else:
        count, total = numbers[at + 2 * arms] + 1.0, numbers[at + arms] + reward
        numbers[at + 2 * arms], numbers[at + arms] = count, total
        numbers[at] = total / count
    visitors = words[node + VISITORS] + 1
    words[node + VISITORS] = visitors
    if visitors >= numbers[words[RULES] + words[node + LEVEL] * COLUMNS + SPLIT_AFTER]:
        words[node + SPLIT] = 1


@compiled
def _select(words: Any, numbers: Any) -> Any:
    node = find(words)
    if node < 0:
        return node
    arm, phase = _choose(words, numbers, node)
    words[PENDING], words[ARM], words[PHASE] = node, arm, phase
    return arm


@compiled
def _update(words: Any, numbers: Any, reward: float) -> int:
    node, arm = words[PENDING], words[ARM]
    if node == 0:
        return NONE_PENDING
    own = arm < words[OWN]
    if not (0.0 <= reward <= 1.0 if own else -_LARGEST < reward < _LARGEST):
        return REFUSED
    words[PENDING] = 0
    _learn(words, numbers, node, arm, words[PHASE], reward)
    return 0


@_entrance("int64(int64[::1], float64[::1])")
def select(words: Any, context: Any) -> int:
    """The arm, or FULL, OUTSIDE, SHAPE."""
    wrong = quantise(words, context)
    return wrong if wrong else int(_select(words, words.view(np.float64)))  # noqa: FURB110


@_entrance("int64(int64[::1], float64)")
def update(words: Any, reward: float) -> int:
    """0, or NONE_PENDING, REFUSED; then nothing was learned."""
    return _update(words, words.view(np.float64), reward)


@_entrance("int64(int64[::1], float64, float64[::1])")
def step(words: Any, reward: float, context: Any) -> int:
    """`update`, then `select`: the arm, or FULL when the reward is learned but there is no arm yet.

    OUTSIDE, SHAPE, or -10 less what `update` would give: nothing was learned.
    """
    numbers = words.view(np.float64)
    wrong = quantise(words, context)
    if wrong:
        return wrong
    wrong = _update(words, numbers, reward)
    return -10 - wrong if wrong else _select(words, numbers)


@_entrance(_BATCH.format("float64[:,::1]"))
def play(words: Any, contexts: Any, outcomes: Any, start: int, arms: Any, phases: Any) -> int:
    """Choose and learn, row by row from `start`. outcomes: (n, arms), what each would bring.

    The rows that are done: fewer than n where there is no room for one more cell.
    """
    numbers = words.view(np.float64)
    for i in range(start, len(contexts)):
        quantise(words, contexts[i])
        node = find(words)
        if node < 0:
            return i
        arm, phase = _choose(words, numbers, node)
        _learn(words, numbers, node, arm, phase, outcomes[i, arm])
        arms[i], phases[i] = arm, phase
    return len(contexts)


@_entrance(_BATCH.format("int64[::1], float64[::1]"))
def replay(
    words: Any, contexts: Any, logged: Any, rewards: Any, start: int, arms: Any, phases: Any
) -> int:
    """The same, where only the reward of the `logged` arm is known: others are not learned."""
    numbers = words.view(np.float64)
    for i in range(start, len(contexts)):
        quantise(words, contexts[i])
        node = find(words)
        if node < 0:
            return i
        arm, phase = _choose(words, numbers, node)
        if arm == logged[i]:
            _learn(words, numbers, node, arm, phase, rewards[i])
        arms[i], phases[i] = arm, phase
    return len(contexts)


@_entrance("void(int64[::1])")
def index(words: Any) -> None:
    """Fill the empty table with all nodes."""
    for number in range(words[USED]):
        enter(words, words[NODES] + number * words[NODE])
