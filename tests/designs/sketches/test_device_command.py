"""What `tacit device` refuses before a device is asked."""

from __future__ import annotations

import pytest

from tacit.cli.device import explain
from tacit.errors import ConfigError


@pytest.mark.parametrize("limit", [float("nan"), -1.0])
def test_a_limit_that_is_none(limit):
    """A limit that is not a number from 0 up answers nothing, however much is asked."""
    with pytest.raises(ConfigError, match="--limit"):
        explain(epsilon=1000.0, questions=1, limit=limit)
