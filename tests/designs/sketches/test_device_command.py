"""What `tacit device explain` refuses before a device is asked, and the names in its JSON."""

from __future__ import annotations

import json

import pytest

from tacit.cli.app import main


@pytest.mark.parametrize("limit", ["nan", "-1"])
def test_a_limit_that_is_none(limit, capsys):
    """A limit that is not a number from 0 up answers nothing, however much is asked."""
    assert main(["device", "explain", "--epsilon", "1000", "--limit", limit]) == 2
    assert "--limit" in capsys.readouterr().err


def test_fields_of_a_campaign_have_these_names(capsys):
    """Programs read the JSON by these names, whatever the attributes of `Campaign` are called."""
    assert main(["device", "explain", "--json"]) == 0
    campaign = json.loads(capsys.readouterr().out)["campaign"]
    names = "method unit items rated theta questions epsilon liked_from truth closes seed catalogue"
    assert list(campaign) == [*names.split(), "bytes"]
    assert campaign["items"] == 40
