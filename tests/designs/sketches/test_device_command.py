"""What `tacit device` refuses before a device is asked."""

from __future__ import annotations

import pytest

from tacit.cli.app import main


@pytest.mark.parametrize("limit", ["nan", "-1"])
def test_a_limit_that_is_none(limit, capsys):
    """A limit that is not a number from 0 up answers nothing, however much is asked."""
    assert main(["device", "explain", "--epsilon", "1000", "--limit", limit]) == 2
    assert "--limit" in capsys.readouterr().err
