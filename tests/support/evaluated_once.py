"""Evaluations of the standard scheme, each made once for several tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

import pytest

from tacit.designs.standard_scheme.experiment import evaluation


@contextmanager
def each_evaluated_once() -> Iterator[None]:
    """Evaluate equal ratings and settings once within the block: the numbers depend on no more.

    Only the first of equal evaluations reports its progress.
    """
    evaluate = evaluation.evaluate_hiding
    results: dict[tuple[str, str], Any] = {}

    def evaluate_once(*positional: Any, progress: Any, **named: Any) -> Any:
        given = signature(evaluate).bind(*positional, **named)
        given.apply_defaults()
        ratings = given.args[0]
        attributes = {name: each.tolist() for name, each in ratings.user_attributes.items()}
        key = (ratings.digest, repr((attributes, given.args[1:], given.kwargs)))
        if key not in results:
            results[key] = evaluate(*positional, progress=progress, **named)
        return results[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation, "evaluate_hiding", evaluate_once)
        yield
