"""What the node of real pods reads out of documents: programs, mounts, volumes, and where Services lead."""

import asyncio
import base64
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from local.controls import HOLD
from local.node import services, volumes
from local.node.images import PATTERN, PROGRAMS, program_for
from local.node.pods import Mount, RealPod, read_pod
from local.node.services import Proxy


def pod(**changes: Any) -> dict[str, Any]:
    container = {
        "name": "manager",
        "image": "registry.k8s.io/lws/lws:v0.8.0",
        "command": ["/manager"],
        "args": ["--config=/config.yaml", "--name=$(POD)", "$(UNKNOWN)"],
        "env": [
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "WHERE", "value": "$(POD).$(SPACE)"},
            {"name": "SPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        ],
        "ports": [{"name": "webhook", "containerPort": 9443}],
        "readinessProbe": {"httpGet": {"port": 8081, "path": "/readyz"}},
        "volumeMounts": [{"name": "config", "mountPath": "/config.yaml", "subPath": "config.yaml"}],
    }
    return {
        "metadata": {"name": "lws-1", "namespace": "lws-system", "uid": "u1", "labels": {"app": "lws"}},
        "spec": {"containers": [container], "serviceAccountName": "lws"},
        "status": {"phase": "Running", "podIP": "10.67.0.9"},
        **changes,
    }


def the_pod(**changes: Any) -> RealPod:
    found = read_pod("east", pod(**changes))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("image", "tool"),
    [
        ("docker.io/envoyproxy/gateway:v1.8.1", "envoy-gateway"),
        ("envoyproxy/envoy:distroless-v1.38.0", "envoy"),
        ("mirror.example:5000/team/lws/lws@sha256:0123", "lws-manager"),
        ("example/other/envoy:1", None),
        ("vllm/vllm-openai:v0.11", None),
        ("", None),
    ],
)
def test_an_image_is_known_by_its_last_two_names(image: str, tool: str | None) -> None:
    found = program_for(image)
    assert (found.tool if found else None) == tool


def test_the_stages_know_the_same_images() -> None:
    for name in PROGRAMS:
        assert re.search(PATTERN, f"registry.example:5000/{name}:v1")
        assert re.search(PATTERN, name)
    assert not re.search(PATTERN, "vllm/vllm-openai:v0.11")
    assert not re.search(PATTERN, "my-lws/lws-thing:1")


def test_a_container_is_given_what_its_pod_says() -> None:
    (container,) = the_pod().containers
    assert container.arguments == ("--config=/config.yaml", "--name=lws-1", "$(UNKNOWN)")
    assert container.environment["SPACE"] == "lws-system"
    assert container.environment["WHERE"] == "lws-1.$(SPACE)", "a variable sees those before it only"
    assert container.mounts == (Mount(path="/config.yaml", volume="config", inside="config.yaml"),)
    assert container.probe == (8081, "/readyz")


def test_pods_without_an_address_held_or_over_are_not_run() -> None:
    assert read_pod("east", pod(status={"phase": "Pending"})) is None
    assert read_pod("east", pod(status={"phase": "Failed", "podIP": "10.67.0.9"})) is None
    held = {**pod()["metadata"], "annotations": {HOLD: "true"}}
    assert read_pod("east", pod(metadata=held)) is None
    others = {"containers": [{"name": "main", "image": "vllm/vllm-openai:v0.11"}]}
    assert read_pod("east", pod(spec=others)) is None


def test_the_pod_of_a_job_is_run_to_its_own_end() -> None:
    owned = {**pod()["metadata"], "ownerReferences": [{"kind": "Job", "name": "certgen"}]}
    found = the_pod(metadata=owned, status={"phase": "Succeeded", "podIP": "10.67.0.9"})
    assert found.is_job


OBJECTS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("configmaps", "settings"): {"data": {"a": "1", "b": "2"}, "binaryData": {"c": base64.b64encode(b"\x00").decode()}},
    ("secrets", "cert"): {"data": {"tls.key": base64.b64encode(b"key").decode()}},
}


def files(volume: dict[str, Any]) -> dict[str, bytes]:
    return volumes.contents(the_pod(), volume, lambda kind, name: OBJECTS.get((kind, name)), lambda: "token")


def test_volumes_hold_what_they_name() -> None:
    assert files({"name": "v", "configMap": {"name": "settings"}}) == {"a": b"1", "b": b"2", "c": b"\x00"}
    chosen = {"name": "settings", "items": [{"key": "b", "path": "deep/b"}]}
    assert files({"name": "v", "configMap": chosen}) == {"deep/b": b"2"}
    assert files({"name": "v", "secret": {"secretName": "cert"}}) == {"tls.key": b"key"}
    assert files({"name": "v", "emptyDir": {}}) == {}
    sources = [
        {"serviceAccountToken": {"path": "token"}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]
    assert files({"name": "v", "projected": {"sources": sources}}) == {"token": b"token", "namespace": b"lws-system"}


def test_a_volume_waits_for_what_is_not_there_unless_it_may_be_absent() -> None:
    with pytest.raises(volumes.NotThere, match="secrets/later"):
        files({"name": "v", "secret": {"secretName": "later"}})
    assert files({"name": "v", "secret": {"secretName": "later", "optional": True}}) == {}


def test_only_files_that_differ_are_written(tmp_path: Path) -> None:
    volumes.write(tmp_path, {"a": b"1", "deep/b": b"2"})
    before = (tmp_path / "a").stat().st_ino
    volumes.write(tmp_path, {"a": b"1", "deep/b": b"3"})
    assert (tmp_path / "a").stat().st_ino == before
    assert (tmp_path / "deep/b").read_bytes() == b"3"
    assert sorted(file.name for file in tmp_path.rglob("*") if file.is_file()) == ["a", "b"]


def service(target: int | str = "webhook", **spec: Any) -> dict[str, Any]:
    ports = [{"port": 443, "targetPort": target}]
    whole = {"clusterIP": "10.68.0.7", "selector": {"app": "lws"}, "ports": ports, **spec}
    return {"metadata": {"name": "hook", "namespace": "lws-system"}, "spec": whole}


def test_a_service_leads_to_the_pods_it_selects() -> None:
    found = services.read_service(service())
    assert found is not None
    assert services.ways([found], [the_pod()]) == {("10.68.0.7", 443): (("10.67.0.9", 9443),)}
    elsewhere = the_pod(metadata={**pod()["metadata"], "namespace": "default"})
    assert services.ways([found], [elsewhere]) == {}
    unnamed = services.read_service(service(target="other"))
    assert unnamed is not None
    assert services.ways([unnamed], [the_pod()]) == {}
    assert services.read_service(service(clusterIP="None")) is None


def test_a_service_is_known_by_all_its_names() -> None:
    found = services.read_service(service())
    assert found is not None
    (line,) = [line for line in services.hosts([found]).splitlines() if line.startswith("10.68.0.7 ")]
    names = set(line.split()[1:])
    assert {"hook.lws-system", "hook.lws-system.svc", "hook.lws-system.svc.cluster.local"} <= names
    assert "hook.lws-system.svc.cluster.local." in names, "Envoy asks with the root's dot"


def test_the_proxy_follows_its_services() -> None:
    async def say(text: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(text)
        await writer.drain()
        writer.close()

    async def play() -> None:
        servers = [
            await asyncio.start_server(lambda _, writer, text=text: say(text, writer), "127.0.0.1", 0)
            for text in (b"one", b"two")
        ]
        one, two = (server.sockets[0].getsockname() for server in servers)
        gone = ("127.0.0.1", 1)
        probe = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        way = probe.sockets[0].getsockname()
        probe.close()
        await probe.wait_closed()
        proxy = Proxy()

        async def ask() -> bytes:
            reader, writer = await asyncio.open_connection(*way)
            answer = await reader.read()
            writer.close()
            return answer

        await proxy.update({way: (one, gone, two)})
        assert {await ask() for _ in range(6)} == {b"one", b"two"}, "one that takes no connection is passed over"
        await proxy.update({way: (two,)})
        assert await ask() == b"two"
        await proxy.update({})
        with pytest.raises(ConnectionRefusedError):
            await ask()
        for server in servers:
            server.close()

    asyncio.run(asyncio.wait_for(play(), 30))
