"""A released private model over HTTP: fetched without a key, checked, and ranked with at home."""

from __future__ import annotations

from typing import Any

import pytest

from golden.private_lists import MODELS
from tacit.client import ServiceError
from tacit.designs.private.device import DeviceLists
from tacit.errors import PrivacyError

HISTORY = {1: 5.0, 2: 4.0, 3: 1.0}


@pytest.fixture
def served(service: Any) -> Any:
    """A service whose model 'films' has a file for devices."""
    service.answers["/api/models/films/device"] = MODELS["taste"]
    return service


def test_lists_are_made_at_home(served: Any, client: Any) -> None:
    """The list is that of the file, one request fetches it for all lists, and nothing is sent."""
    device = client()
    found = [device.recommend_private("films", HISTORY, n=n) for n in (3, 5)]
    ranked = [item for item, _ in DeviceLists.decode(MODELS["taste"]).rank(HISTORY, n=5)]
    assert found == [ranked[:3], ranked]
    [(method, path, body, headers)] = served.asked
    assert (method, path, body) == ("GET", "/api/models/films/device", b"")
    assert "Authorization" not in headers


def test_another_model_than_expected_is_refused(served: Any, client: Any) -> None:
    """A pinned digest is that of the file, or no list is made."""
    digest = DeviceLists.decode(MODELS["taste"]).digest
    assert client().recommend_private("films", HISTORY, digest=digest.upper())
    with pytest.raises(PrivacyError, match="not the expected one"):
        client().recommend_private("films", HISTORY, digest="00" * 32)


def test_a_damaged_file_is_refused(served: Any, client: Any) -> None:
    """One bit, and the service has sent no message."""
    data = MODELS["taste"]
    served.answers["/api/models/films/device"] = data[:300] + bytes([data[300] ^ 4]) + data[301:]
    with pytest.raises(ServiceError, match="SHA-256"):
        client().recommend_private("films", HISTORY)


def test_a_model_without_a_file(service: Any, client: Any) -> None:
    """ServiceError of status 404."""
    with pytest.raises(ServiceError) as refused:
        client().recommend_private("films", HISTORY)
    assert refused.value.status == 404
