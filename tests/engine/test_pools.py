"""The whole way of a request with the product's own routing: hub, Envoy, InferencePool, picker, sidecar, engine.

Everything but the engines is real: Traefik, Envoy Gateway, Envoy, llm-d's picker and sidecar, the LeaderWorkerSet
controller, schedulers with device claims. The one stand-in resolves pools for Envoy Gateway (`local/charts`).
"""

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from engine.fleets import Answer, Scratch

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(1500)]

EAST = "gpu-us-east"
LONG = "word " * 60
SECONDS = 90.0


def member(role: str, *command: str, **more: Any) -> dict[str, Any]:
    claims = [{"name": "gpu", "count": 8, "selectors": [{"cel": 'device.driver == "gpu.nvidia.com"'}]}]
    container = {"name": "engine", "image": "vllm/vllm-openai:v0.23.0", "args": list(command)}
    return {
        "role": role,
        "nodeSelector": {"devices": claims},
        "template": {"spec": {"containers": [container]}},
        **more,
    }


def deployment(name: str, *engines: dict[str, Any], **more: Any) -> dict[str, Any]:
    shape = {"clusterSelector": {"matchLabels": {"region": "us-east"}}, "engines": list(engines), **more}
    return document("ModelDeployment", name, {"replicas": 1, "template": {"spec": shape}})


def service(name: str) -> dict[str, Any]:
    return document(
        "ModelService", name, {"endpoints": [{"selector": {"matchLabels": {"modelplane.ai/deployment": name}}}]}
    )


def document(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ml-team"}
    return {"apiVersion": "modelplane.ai/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


JOINED = ("--nnodes=2", "--node-rank=$(MODELPLANE_RANK)", "--master-addr=$(MODELPLANE_LEADER_ADDRESS)")
GANG = deployment(
    "gang",
    {
        "name": "main",
        "copies": 2,
        "members": [
            member("Leader", "--model=Qwen/Qwen3-235B", *JOINED, "--port=8000"),
            member("Worker", "--model=Qwen/Qwen3-235B", *JOINED, "--headless", worker={"nodes": 1}),
        ],
    },
)
PAIR = deployment(
    "pair",
    {"name": "prefill", "phase": "Prefill", "members": [member("Standalone", "--model=Qwen/Qwen3-8B", "--port=8000")]},
    {"name": "decode", "phase": "Decode", "members": [member("Standalone", "--model=Qwen/Qwen3-8B", "--port=8001")]},
    serving={"mode": "PrefillDecode"},
)


def with_pools(fleet: dict[str, Any]) -> dict[str, Any]:
    """The example's settings with the routing that clusters have by default."""
    stack = fleet["spec"]["servingStack"]
    stack.pop("inferencePools")
    stack.pop("crds")
    stack["charts"].pop("ai-gateway")
    return fleet


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    scratch = Scratch(tmp_path_factory.mktemp("pools") / "fleet")
    scratch.edit("Fleet", "demo", with_pools)
    # One node for the example, four for two gangs of two, two for prefill and decode.
    scratch.nodes(EAST, 7)
    for name, found in {"gang": GANG, "pair": PAIR}.items():
        (scratch.directory / f"{name}.yaml").write_text(f"---\n{json.dumps(found)}\n---\n{json.dumps(service(name))}\n")
    with scratch.clusters_up():
        up = scratch.run("up", "--wait", "5m")
        assert up.code == 0, up.err
        yield scratch


def eventually(check: Callable[[], Any]) -> Any:
    """What the check gives once it is true; gateways follow within seconds."""
    deadline = time.monotonic() + SECONDS
    while not (found := check()):
        assert time.monotonic() < deadline, f"not within {SECONDS:.0f} s"
        time.sleep(0.2)
    return found


def call(fleet: Scratch, service: str, path: str, body: dict[str, Any] | None = None) -> Answer:
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(fleet.url(service, path), data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return Answer(answer.status, dict(answer.headers), answer.read().decode())
    except urllib.error.HTTPError as error:
        return Answer(error.code, dict(error.headers), error.read().decode())


def chat(fleet: Scratch, service: str, text: str = "hello", **more: Any) -> Answer:
    body = {"model": service, "messages": [{"role": "user", "content": text}], **more}
    return call(fleet, service, "v1/chat/completions", body)


def answers(fleet: Scratch, service: str) -> bool:
    """Every cluster that the hub turns to in its rounds answers."""
    return all(chat(fleet, service).status == 200 for _ in range(6))


def pods(fleet: Scratch, selector: str) -> list[dict[str, Any]]:
    return fleet.objects(EAST, "pods", "-l", selector)


def of_gang(pod: dict[str, Any], key: str) -> str:
    """What the LeaderWorkerSet controller says of a pod."""
    return str(pod["metadata"]["labels"][f"leaderworkerset.sigs.k8s.io/{key}"])


def served(fleet: Scratch, pod: dict[str, Any]) -> int:
    """How many requests the engine of a pod has answered, as its metrics say."""
    command = f"curl -s http://{pod['status']['podIP']}:8000/metrics"
    shell = fleet.run("local", "shell", "--traffic", "-c", command)
    assert shell.code == 0, shell.err
    lines = [line for line in shell.out.splitlines() if line.startswith("vllm:request_success_total{")]
    assert len(lines) == 1, shell.out
    return int(lines[0].split()[-1])


def test_every_api_of_an_engine_is_reached_through_hub_gateway_and_picker(fleet: Scratch) -> None:
    eventually(lambda: answers(fleet, "mock"))
    answer = chat(fleet, "mock")
    assert (answer.status, answer.deployment) == (200, "mock-demo")
    streamed = chat(fleet, "mock", stream=True)
    assert [*streamed.events()][-1] == "[DONE]"
    question = {"model": "mock", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}
    message = call(fleet, "mock", "v1/messages", question)
    assert message.status == 200
    assert json.loads(message.text)["type"] == "message"
    metrics = call(fleet, "mock", "metrics")
    assert metrics.status == 200
    assert "vllm:num_requests_running" in metrics.text
    assert json.loads(call(fleet, "mock", "v1/models").text)["data"][0]["id"] == "mock"
    assert call(fleet, "nobody", "v1/models").status == 404


def test_the_cluster_has_the_products_own_routing(fleet: Scratch) -> None:
    [gateway] = fleet.objects(EAST, "gateways")
    assert gateway["metadata"]["name"] == "inference-gateway"
    assert gateway["spec"]["gatewayClassName"] == "envoy"
    for route in fleet.objects(EAST, "httproutes"):
        name = route["metadata"]["name"]
        [rule] = route["spec"]["rules"]
        assert rule["matches"] == [{"path": {"type": "PathPrefix", "value": f"/ml-team/{name}/"}}]
        [back_end] = rule["backendRefs"]
        assert (back_end["kind"], back_end["name"]) == ("InferencePool", f"{name}-pool")
        [parent] = route["status"]["parents"]
        assert {found["type"]: found["status"] for found in parent["conditions"]} == {
            "Accepted": "True",
            "ResolvedRefs": "True",
        }


def test_a_gang_of_two_nodes_runs_twice_with_leaders_of_its_own(fleet: Scratch) -> None:
    eventually(lambda: answers(fleet, "gang"))
    found = pods(fleet, "modelplane.ai/deployment=gang")
    groups: dict[str, list[dict[str, Any]]] = {}
    for pod in found:
        groups.setdefault(of_gang(pod, "group-index"), []).append(pod)
    assert sorted(groups) == ["0", "1"]
    for group in groups.values():
        leader, worker = sorted(group, key=lambda pod: of_gang(pod, "worker-index"))
        own = {variable["name"]: variable for variable in leader["spec"]["containers"][0]["env"]}
        joins = {variable["name"]: variable for variable in worker["spec"]["containers"][0]["env"]}
        assert own["LWS_LEADER_ADDRESS"] == joins["LWS_LEADER_ADDRESS"]
        assert leader["metadata"]["name"] == own["LWS_LEADER_ADDRESS"]["value"].partition(".")[0]
        assert {pod["spec"]["nodeSelector"]["modelplane.ai/pool"] for pod in group} == {"h100"}
    assert len({pod["spec"]["nodeName"] for pod in found}) == 4, "eight GPUs a pod: one on each node"
    claims = [claim for claim in fleet.objects(EAST, "resourceclaims") if claim["metadata"]["name"].startswith("gang-")]
    assert [len(claim["status"]["allocation"]["devices"]["results"]) for claim in claims] == [8, 8, 8, 8]
    assert chat(fleet, "gang").pod in {pod["metadata"]["name"] for pod in found if of_gang(pod, "worker-index") == "0"}


def test_a_long_prompt_is_prefilled_once_and_decoded_by_the_pair(fleet: Scratch) -> None:
    eventually(lambda: answers(fleet, "pair"))
    [prefill], [decode] = (pods(fleet, f"llm-d.ai/role={role}") for role in ("prefill", "decode"))
    assert [container["name"] for container in decode["spec"]["containers"]] == ["engine", "pd-sidecar"]
    assert chat(fleet, "pair").pod == decode["metadata"]["name"]
    assert served(fleet, prefill) == 0, "a short prompt is not worth it"
    assert chat(fleet, "pair", LONG).pod == decode["metadata"]["name"]
    assert served(fleet, prefill) == 1
    assert chat(fleet, "pair", LONG).status == 200
    assert served(fleet, prefill) == 1, "its cache has it now"


def test_a_second_up_changes_nothing(fleet: Scratch) -> None:
    again = fleet.run("up", "-o", "json")
    assert again.code == 0, again.err
    assert {name: stack["changed"] for name, stack in again.json()["stacks"].items() if stack["changed"]} == {}


def test_a_picker_that_is_down_takes_its_replica_out_and_is_named(fleet: Scratch) -> None:
    [picker] = [pod for pod in pods(fleet, "app") if re.match(r"pair-.*-epp-", pod["metadata"]["name"])]
    name = picker["metadata"]["name"]
    hold = ("annotate", "pod", "-n", "ml-team", name)
    fleet.kubectl(EAST, *hold, "local.modelplane.ai/hold=true")
    eventually(lambda: chat(fleet, "pair").status == 500)
    down = fleet.run("up", "-o", "json", "--wait", "5s")
    assert down.code == 9, down.err
    conditions = {
        (item["metadata"]["name"], found["type"]): (found["status"], found["reason"])
        for item in fleet.run("status", "-o", "json").json()["items"]
        if item["kind"] == "ModelReplica"
        for found in item["status"]["conditions"]
    }
    [replica] = {name for name, _ in conditions if name.startswith("pair-")}
    assert conditions[replica, "PickerReady"] == ("False", "PickerDown")
    assert conditions[replica, "Ready"][0] == "False"
    assert answers(fleet, "gang"), "others are not touched"
    assert chat(fleet, "pair").status == 503, "nobody is asked who would fail"

    fleet.kubectl(EAST, *hold, "local.modelplane.ai/hold-")
    back = fleet.run("up", "--wait", "3m")
    assert back.code == 0, back.err
    eventually(lambda: answers(fleet, "pair"))


def test_destroy_leaves_nothing_of_ours(fleet: Scratch) -> None:
    gone = fleet.run("destroy", "--yes")
    assert gone.code == 0, gone.err
    namespaces = {item["metadata"]["name"] for item in fleet.objects(EAST, "namespaces")}
    assert namespaces == {"default", "kube-node-lease", "kube-public", "kube-system"}
    for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        assert fleet.objects(EAST, kind) == []
    roles = [item["metadata"]["name"] for item in fleet.objects(EAST, "clusterroles")]
    assert [name for name in roles if name.startswith("mp-")] == []
