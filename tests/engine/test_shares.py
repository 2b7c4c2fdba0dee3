"""Shares of services whose backends go and come back, and hand-written endpoints, through the real gateways.

Steps build on each other.
"""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from engine.test_moves import Fleet

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(900)]

CANARY = "mock-demo-v2"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    scratch = Fleet(tmp_path_factory.mktemp("shares") / "fleet")
    scratch.step("canary")
    with scratch.clusters_up():
        write(scratch, a_service("other", {"modelplane.ai/deployment": "mock-demo"}))
        up = scratch.run("up", "--wait", "3m")
        assert up.code == 0, up.err
        yield scratch


def a_service(name: str, labels: dict[str, str]) -> dict[str, Any]:
    return a_document("ModelService", name, {"endpoints": [{"selector": {"matchLabels": labels}}]})


def a_document(kind: str, name: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "modelplane.ai/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "ml-team", **metadata},
        "spec": spec,
    }


def write(fleet: Fleet, *documents: dict[str, Any]) -> None:
    for document in documents:
        file = fleet.directory / f"{document['kind'].lower()}-{document['metadata']['name']}.json"
        file.write_text(json.dumps(document))


def scaled(fleet: Fleet, replicas: int) -> None:
    """Park the canary or bring it back, while requests flow."""
    fleet.edit("ModelDeployment", CANARY, lambda it: it["spec"].update(replicas=replicas) or it)
    with fleet.requests_flowing() as flow:
        up = fleet.run("up", "--wait", "3m")
        assert up.code == 0, up.err
    assert flow.failures == []


def empty_entries(fleet: Fleet, service: str) -> list[int]:
    found: list[int] = fleet.status()["ModelService", service]["status"].get("emptyEntries", [])
    return found


def test_an_empty_entry_gives_its_share_away_and_takes_it_back(fleet: Fleet) -> None:
    assert fleet.count(200) == {"mock-demo": 180, CANARY: 20}
    scaled(fleet, 0)
    assert fleet.count(200) == {"mock-demo": 200}
    assert fleet.count(20, "other") == {"mock-demo": 20}
    assert empty_entries(fleet, "mock") == [1]
    assert empty_entries(fleet, "other") == []
    scaled(fleet, 1)
    assert fleet.count(200) == {"mock-demo": 180, CANARY: 20}
    assert empty_entries(fleet, "mock") == []


def test_the_documented_rewrite_reaches_the_api_once_and_a_version_in_it_twice(fleet: Fleet) -> None:
    [pod] = fleet.objects("gpu-us-east", "pods", "-l", "modelplane.ai/serving")
    url = f"http://{pod['status']['podIP']}:8000/"
    for name, path in (("once", "/"), ("twice", "/v1/")):
        spec = {"url": url, "rewritePath": path}
        write(fleet, a_document("ModelEndpoint", name, spec, labels={"own": name}), a_service(name, {"own": name}))
    warned = fleet.run("validate")
    assert "/v1/v1/" in warned.err
    up = fleet.run("up", "--wait", "2m")
    assert up.code == 0, up.err
    assert asked(fleet.url("once", "v1/models")) == 200
    assert asked(fleet.url("twice", "v1/models")) == 404
    assert asked(fleet.url("twice", "models")) == 200


def asked(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            status: int = answer.status
    except urllib.error.HTTPError as error:
        return error.code
    return status
