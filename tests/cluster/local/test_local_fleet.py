"""A local fleet that is up: what is on it, and that traffic really passes through it."""

import base64
import http.client
import json
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cluster.local.manifests import CHAT, PATH, REPLICA, TEAM, a_whole_route, an_engine, condition
from cluster.local.running import Eventually, Running
from ruamel.yaml import YAML

from local import controls, processes

pytestmark = pytest.mark.cluster


def test_a_cluster_holds_the_nodes_and_devices_of_its_documents(east: Running, eventually: Eventually) -> None:
    def ready() -> list[str]:
        nodes = east.get("east", "nodes")["items"]
        return sorted(node["metadata"]["name"] for node in nodes if condition(node, "Ready") == "True")

    eventually(lambda: ready() == ["h100-0", "h100-1", "system-0"])
    slices = east.get("east", "resourceslices")["items"]
    assert sorted((s["spec"]["nodeName"], len(s["spec"]["devices"])) for s in slices) == [("h100-0", 8), ("h100-1", 8)]


def test_the_hub_has_a_gateway_class_and_definitions(east: Running, eventually: Eventually) -> None:
    eventually(lambda: condition(east.get("hub", "gatewayclass/traefik"), "Accepted") == "True")


def test_the_schedulers_allocation_runs_a_pod_and_a_third_has_no_room(east: Running, eventually: Eventually) -> None:
    east.apply("east", *an_engine("three", replicas=3))
    try:

        def phases() -> list[str]:
            pods = east.get("east", "pods", "-n", TEAM, "-l", "modelplane.ai/serving=three")["items"]
            return sorted(pod["status"]["phase"] for pod in pods)

        eventually(lambda: phases() == ["Pending", "Running", "Running"])
        claims = east.get("east", "resourceclaims", "-n", TEAM)["items"]
        results = [
            claim["status"]["allocation"]["devices"]["results"]
            for claim in claims
            if "allocation" in claim.get("status", {})
        ]
        assert sorted(len(result) for result in results) == [8, 8]
        assert {device["pool"] for result in results for device in result} == {"h100-0", "h100-1"}
    finally:
        east.kubectl("east", "delete", "namespace", TEAM)


def test_a_request_passes_both_gateways_and_says_who_answered(east: Running, eventually: Eventually) -> None:
    address = a_whole_route(east, eventually)
    assert address.startswith("10.68."), "the ClusterIP of Envoy's Service"

    def inside() -> dict[str, str] | None:
        status, headers, _ = east.fetch(f"http://{address}{PATH}/v1/chat/completions", CHAT)
        return headers if status == 200 else None

    headers = eventually(inside)
    assert (headers["x-modelplane-cluster"], headers["x-modelplane-replica"]) == ("east", REPLICA)
    assert headers["x-modelplane-deployment"] == "mock-demo"

    def outside() -> str | None:
        request = urllib.request.Request(f"http://127.0.0.1:{east.port}/{TEAM}/mock/v1/chat/completions", CHAT.encode())
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return str(answer.read().decode())
        except OSError:
            return None

    said = json.loads(eventually(outside))["choices"][0]["message"]["content"]
    assert said.startswith(f"east {TEAM}/{REPLICA}-")
    assert said.endswith("(mock-demo): hello")


def test_an_address_without_a_pod_is_refused(east: Running) -> None:
    status, _, body = east.fetch("http://10.67.255.255:8000/health")
    assert status == 503
    assert "10.67.255.255" in body


def test_a_pod_is_held_released_and_fails_as_its_annotations_say(east: Running, eventually: Eventually) -> None:
    east.apply("east", *an_engine("moody", annotations={controls.HOLD: "true"}))

    def pod() -> Any:
        items = east.get("east", "pods", "-n", TEAM, "-l", "modelplane.ai/serving=moody")["items"]
        return items[0] if items and items[0]["status"].get("podIP") else None

    def annotate(*changes: str) -> None:
        east.kubectl("east", "annotate", "-n", TEAM, f"pod/{name}", "--overwrite", *changes)

    try:
        name = eventually(pod)["metadata"]["name"]
        address = f"http://{pod()['status']['podIP']}:8000/health"
        assert condition(pod(), "Ready") == "False"
        eventually(lambda: east.fetch(address)[0] == 503)
        annotate(f"{controls.HOLD}-")
        eventually(lambda: condition(pod(), "Ready") == "True")
        eventually(lambda: east.fetch(address)[0] == 200)
        annotate(f"{controls.FAIL}=418")
        eventually(lambda: east.fetch(address)[0] == 418)
        annotate(f"{controls.HOLD}=crash")
        eventually(lambda: condition(pod(), "Ready") == "False")
        eventually(lambda: east.fetch(address)[0] == 0)
    finally:
        east.kubectl("east", "delete", "-n", TEAM, "deployment/moody", "resourceclaimtemplate/moody")


def test_jobs_complete_and_load_balancers_get_an_address(east: Running, eventually: Eventually) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "registry.example/job:1"}]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {"template": template}}
    ports = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    balancer = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "lb"}, "spec": ports}
    east.apply("east", job, balancer)
    eventually(lambda: condition(east.get("east", "job/once"), "Complete") == "True")
    ingress = eventually(lambda: east.get("east", "service/lb")["status"]["loadBalancer"].get("ingress"))
    assert ingress[0]["ip"].startswith("10.68.")


def test_a_second_up_starts_nothing(east: Running) -> None:
    before = east.parts()
    assert east.up() == before
    assert east.said == []


def test_changed_documents_change_the_nodes_and_nothing_else(east: Running, eventually: Eventually) -> None:
    before = east.parts()
    try:
        east.write(east=1)
        assert east.up() == before
        assert east.said == ["east: node gone: h100-1"]
        names = {node["metadata"]["name"] for node in east.get("east", "nodes")["items"]}
        assert names == {"system-0", "h100-0"}
        assert len(east.get("east", "resourceslices")["items"]) == 1
    finally:
        east.write(east=2)
        east.up()
    assert east.said == ["east: node new: h100-1"]
    assert len(east.get("east", "nodes")["items"]) == 3


def test_no_key_is_in_a_command_line_an_environment_or_a_log(east: Running) -> None:
    secrets = []
    for file in east.home.glob("*/kubeconfig"):
        assert file.stat().st_mode & 0o777 == 0o600
        user = YAML(typ="safe").load(file)["users"][0]["user"]
        encoded = user["client-key-data"].encode()
        secrets += [encoded[100:160], base64.b64decode(encoded)[100:160]]
    texts = [file.read_bytes() for file in east.home.glob("**/*.log")]
    for identity in processes.marked(east.home):
        texts += [Path(f"/proc/{identity.pid}/{kind}").read_bytes() for kind in ("cmdline", "environ")]
    texts.append((east.home / "state.json").read_bytes())
    assert len(secrets) == 4
    assert not [secret for secret in secrets for text in texts if secret in text]


def test_many_streams_at_once_arrive_whole(east: Running, eventually: Eventually) -> None:
    a_whole_route(east, eventually)
    body = json.dumps({"stream": True, **json.loads(CHAT)})

    def stream(connection: http.client.HTTPConnection) -> str:
        connection.request("POST", f"/{TEAM}/mock/v1/chat/completions", body, {"Content-Type": "application/json"})
        return connection.getresponse().read().decode()

    def is_routed() -> bool:
        with closing(http.client.HTTPConnection("127.0.0.1", east.port, timeout=10)) as connection:
            return "[DONE]" in stream(connection)

    def client(_: int) -> list[str]:
        with closing(http.client.HTTPConnection("127.0.0.1", east.port, timeout=60)) as connection:
            return [stream(connection)[-14:] for _ in range(20)]

    eventually(is_routed)
    with ThreadPoolExecutor(20) as pool:
        ends = Counter(end for ends in pool.map(client, range(20)) for end in ends)
    assert ends == {"data: [DONE]\n\n": 400}
