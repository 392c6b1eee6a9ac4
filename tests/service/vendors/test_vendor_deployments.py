"""Deployments of one name, files that others may read, and names as long as names may be."""

from __future__ import annotations

import shutil
import time

import httpx2
import pytest
from starlette.testclient import TestClient

from tacit.designs.pdap.messages import Forward
from tacit.designs.pdap.serve.demo import NAMES, make_two_deployments
from tacit.designs.pdap.serve.served_vendor import ServedVendor
from tacit.designs.pdap.serve.signatures import new_vendor_key, sign
from tacit.errors import ConfigError
from tacit.service import Settings, create_app, open_service

RAW = (0.2, 0.7)
LONG = "n" * 64


@pytest.fixture
def twin(pair, tmp_path):
    """Another deployment of arthouse: the same neighbours and API keys, and a key of its own."""
    folder = tmp_path / "twin"
    folder.mkdir()
    for name in ("tacit.toml", "keys.json", "neighbour.key"):
        shutil.copy2(tmp_path / NAMES[1] / name, folder / name)
    new_vendor_key(folder / "vendor.pem")
    service = open_service(Settings(folder, answer_within=300))
    with TestClient(create_app(service), base_url="http://localhost") as client:
        yield client, service


@pytest.mark.usefixtures("asking")
def test_what_was_sent_to_one_deployment_is_none_for_another(pair, twin):
    """Captured on its way to arthouse, a message is refused by another arthouse that knows the same
    neighbour by the same key; at the one it was sent to it is answered again."""
    client, service = twin
    shown = pair.home.visit(at=RAW).json()
    assert shown["source"] == "neighbour"
    (path, body, headers) = pair.home.wire.crossed[-1]
    assert pair.other.client.post(path, content=body, headers=headers).status_code == 200
    assert client.post(path, content=body, headers=headers).status_code == 401
    assert service.ledger.state("demo/vendors/arthouse") is None


@pytest.mark.usefixtures("asking")
def test_another_deployment_cannot_answer(pair, twin):
    """Even one that takes the message does not have the key that home expects of arthouse."""
    client, service = twin
    own = service.deployment.find_all(ServedVendor)["arthouse"]

    async def answers(request):
        body, path = request.content, request.url.path
        headers = _sign_answer(pair.home.served.reach.calls, path, body, own.reach.calls.audience)
        bearer = {"authorization": request.headers["authorization"]}
        taken = client.post(path, content=body, headers=headers | bearer)
        assert taken.status_code == 200
        return _as_it_came(taken)

    pair.home.wire.answers = answers
    assert pair.home.visit(at=RAW).json()["source"] == "own"
    assert service.ledger.state("demo/vendors/arthouse") is not None


def _sign_answer(calls, path, body, audience):
    return sign(
        calls.key,
        sender=calls.sender,
        audience=audience,
        path=path,
        body=body,
        nonce=Forward.decode(body).request.hex(),
        now=time.time(),
    )


def _as_it_came(answer):
    async def body():
        yield answer.content

    return httpx2.Response(answer.status_code, headers=answer.headers, content=body())


@pytest.mark.parametrize("name", ["vendor.pem", "neighbour.key"])
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_private_file_that_is_open_to_others_is_refused(tmp_path, name, mode):
    """At the start, in a sentence with the command that closes it."""
    folders = (tmp_path / NAMES[0], tmp_path / NAMES[1])
    make_two_deployments(folders, ("http://127.0.0.1:1", "http://127.0.0.1:2"))
    file = folders[0] / name
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(mode)
    with pytest.raises(ConfigError, match=f"chmod 600 .*{name}"):
        open_service(Settings(folders[0]))


@pytest.mark.parametrize("content", ["", "\n", "two words", "two\nlines", "é"])
def test_a_file_without_an_api_key_is_refused(tmp_path, content):
    """What could not be a header is told at the start, not found out at each visit."""
    folders = (tmp_path / NAMES[0], tmp_path / NAMES[1])
    make_two_deployments(folders, ("http://127.0.0.1:1", "http://127.0.0.1:2"))
    (folders[0] / "neighbour.key").write_text(content, "utf-8")
    with pytest.raises(ConfigError, match="holds no API key"):
        open_service(Settings(folders[0]))


def test_the_longest_names_are_served(tmp_path):
    """Tenant, vendor and person of 64 signs each: visits, and what came of them; two vendors whose
    names differ in the last sign have two states."""
    names = (LONG[:-1] + "a", LONG[:-1] + "b")
    sections = [f'[vendors.{name}]\nvideos = ["x", "y"]\nfeatures = 2\n' for name in names]
    (tmp_path / "tacit.toml").write_text("\n".join([f'tenant = "{LONG}"', *sections]))
    service = open_service(Settings(tmp_path, answer_within=300))
    headers = {"authorization": f"Bearer {service.keys.person_key('p' * 64)}"}
    with TestClient(create_app(service), base_url="http://localhost") as client:
        for number, name in enumerate(names):
            place, key = f"/api/vendors/{name}/visits", {"idempotency-key": f"visit-00{number}"}
            shown = client.post(place, json={"context": RAW}, headers=headers | key)
            assert shown.status_code == 200, shown.text
            key = {"idempotency-key": f"reward-0{number}"}
            path = f"{place}/{shown.json()['visit']}/reward"
            told = client.post(path, json={"clicked": True}, headers=headers | key)
            assert told.status_code == 200, told.text
            assert _states(service) == number + 1


def _states(service):
    found = service.deployment.find_all(ServedVendor).values()
    kept = [service.ledger.state(f"{vendor.tenant}/{vendor.state_name}") for vendor in found]
    return len([one for one in kept if one is not None])
