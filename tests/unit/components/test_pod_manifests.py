"""Pods of every kind of member: what they are told, where they run, and on which port they answer."""

from typing import Any

import pytest
from replicas import a_claiming, a_gang, a_pair, a_setting, a_standalone, unclaiming

from components.pod_manifests import engine_container, engine_port, environment, pod_labels, pod_spec
from components.setting import Setting, is_gang, member_of

Plain = dict[str, Any]


def pods(setting: Setting) -> dict[str, Plain]:
    """Pod specs by engine and role."""
    return {
        f"{engine.name}/{member.role}": pod_spec(setting, engine, member)
        for engine in setting.replica.spec.engines
        for member in engine.members
    }


def engines(setting: Setting) -> dict[str, Plain]:
    return {name: pod["containers"][0] for name, pod in pods(setting).items()}


def variables(container: Plain) -> list[str]:
    return [entry["name"] for entry in container.get("env", [])]


OWN = [{"name": "ZEBRA", "value": "$(MODELPLANE_LEADER_ADDRESS)"}, {"name": "ALPHA", "value": "1"}]
GANG = a_gang(members=[a_claiming("Leader", env=OWN), a_claiming("Worker", nodes=1, env=OWN)])
ALONE = a_standalone(members=[a_claiming(env=OWN)])
EXPRESS = [
    "MX_SERVER_ADDRESS",
    "MODEL_EXPRESS_URL",
    "MX_MODEL_REVISION",
    "MX_P2P_METADATA",
    "POD_NAME",
    "POD_UID",
    "POD_NAMESPACE",
]
MINE = ["ZEBRA", "ALPHA"]

ORDER: dict[str, tuple[Setting, list[str]]] = {
    "alone": (a_setting(ALONE), MINE),
    "alone with a cache": (a_setting(ALONE, cache="c"), ["HF_HUB_CACHE", *MINE]),
    "alone with a cache on Dynamo": (
        a_setting(ALONE, cache="c", stack="Dynamo"),
        ["HF_HUB_CACHE", *EXPRESS, *MINE],
    ),
    "alone on Dynamo": (a_setting(ALONE, stack="Dynamo"), MINE),
    "a gang": (a_setting(GANG), ["MODELPLANE_LEADER_ADDRESS", "MODELPLANE_RANK", *MINE]),
    "a gang with a cache": (
        a_setting(GANG, cache="c"),
        ["MODELPLANE_LEADER_ADDRESS", "MODELPLANE_RANK", "HF_HUB_CACHE", *MINE],
    ),
    "a gang on Dynamo": (a_setting(GANG, stack="Dynamo"), ["MODELPLANE_LEADER_ADDRESS", *MINE]),
    "a gang with a cache on Dynamo": (
        a_setting(GANG, cache="c", stack="Dynamo"),
        ["MODELPLANE_LEADER_ADDRESS", "HF_HUB_CACHE", *EXPRESS, *MINE],
    ),
}


@pytest.mark.parametrize(("setting", "want"), ORDER.values(), ids=ORDER)
def test_the_order_of_variables(setting: Setting, want: list[str]) -> None:
    """A value may refer to what stands before it, so what Modelplane sets comes first; Leader and Worker alike."""
    for container in engines(setting).values():
        assert variables(container) == want


def values(container: Plain) -> Plain:
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in container["env"]}


def test_the_address_of_a_leader() -> None:
    (standard, *_) = engines(a_setting(GANG)).values()
    assert values(standard)["MODELPLANE_LEADER_ADDRESS"] == "$(LWS_LEADER_ADDRESS)"
    assert values(standard)["MODELPLANE_RANK"] == "$(LWS_WORKER_INDEX)"
    for dynamo in engines(a_setting(GANG, stack="Dynamo")).values():
        address = values(dynamo)["MODELPLANE_LEADER_ADDRESS"]
        # The index of the copy is in it: with the set's own variables every copy would join the first leader.
        assert address == "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-leader-0.$(GROVE_HEADLESS_SERVICE)"


def test_model_express() -> None:
    for container in engines(a_setting(GANG, cache="qwen3-coder", stack="Dynamo")).values():
        found = values(container)
        assert found["MX_SERVER_ADDRESS"] == found["MODEL_EXPRESS_URL"] == "modelexpress-server.modelplane-system:8001"
        assert found["MX_MODEL_REVISION"] == "modelcache-ml-team-qwen3-coder-c65e4"
        assert found["MX_P2P_METADATA"] == "1"
        assert found["POD_UID"] == {"fieldRef": {"fieldPath": "metadata.uid"}}


@pytest.mark.parametrize(
    ("stack", "fast", "cache", "may"),
    [
        ("Dynamo", {"gpu"}, "c", True),
        ("Dynamo", set(), "c", False),
        ("Dynamo", {"gpu"}, None, False),
        ("Standard", {"gpu"}, "c", False),
    ],
)
def test_memory_is_pinned_only_for_weights_that_travel_over_a_fabric(
    stack: str, fast: set[str], cache: str | None, may: bool
) -> None:
    setting = a_setting(ALONE, cache=cache, stack=stack, fast_pools=frozenset(fast))
    (container,) = engines(setting).values()
    pinned = {"capabilities": {"add": ["IPC_LOCK"]}}
    assert container.get("securityContext") == (pinned if may else None)


def test_a_variable_of_the_member_s_own_takes_the_place_of_one_that_is_set_for_some_only() -> None:
    own = [{"name": "POD_NAME", "value": "mine"}]
    setting = a_setting(a_standalone(members=[a_claiming(env=own)]), cache="c", stack="Dynamo")
    (container,) = engines(setting).values()
    assert variables(container).count("POD_NAME") == 1
    assert values(container)["POD_NAME"] == "mine"


def test_a_worker_answers_nobody() -> None:
    setting = a_setting(GANG)
    found = engines(setting)
    assert found["qwen3-coder/Leader"]["ports"] == [{"containerPort": 8000}]
    assert not {"ports", "readinessProbe"} & found["qwen3-coder/Worker"].keys()
    engine = setting.replica.spec.engines[0]
    assert "modelplane.ai/serving" not in pod_labels(setting, engine, member_of(engine, worker=True), "w")
    assert pod_labels(setting, engine, member_of(engine), "w")["modelplane.ai/serving"] == setting.replica.name


def test_args_of_a_gang_are_absent_where_there_are_none() -> None:
    found = engines(a_setting(GANG))
    assert all("args" not in container for container in found.values())


def test_a_cache_is_mounted_for_reading_and_writing_by_every_member() -> None:
    for pod in pods(a_setting(GANG, cache="qwen3-coder")).values():
        claim = {"claimName": "modelcache-ml-team-qwen3-coder-c65e4"}
        assert {"name": "model-cache", "persistentVolumeClaim": claim} in pod["volumes"]
        assert {"name": "model-cache", "mountPath": "/mnt/models"} in pod["containers"][0]["volumeMounts"]


def test_an_unclaiming_member_claims_nothing() -> None:
    gang = a_gang(members=[unclaiming(a_claiming("Leader")), a_claiming("Worker", nodes=1)])
    found = pods(a_setting(gang))
    assert "resourceClaims" not in found["qwen3-coder/Leader"]
    assert "resources" not in found["qwen3-coder/Leader"]["containers"][0]
    assert found["qwen3-coder/Worker"]["containers"][0]["resources"] == {"claims": [{"name": "devices"}]}


PORTS: dict[str, tuple[Plain, int]] = {
    "an item with =": ({"args": ["--port=8200"]}, 8200),
    "two items": ({"args": ["--port", "8200"]}, 8200),
    "in the command": ({"command": ["vllm", "serve", "m", "--port", "8200"]}, 8200),
    "in a script": ({"command": ["sh", "-c"], "args": ["exec vllm serve m --port 8200"]}, 8200),
    "the last one counts": ({"args": ["--port=8100", "--port=8200"]}, 8200),
    "not told": ({"args": ["--model=m"]}, 8001),
    "no number": ({"args": ["--port=$(PORT)"]}, 8001),
}


@pytest.mark.parametrize(("container", "port"), PORTS.values(), ids=PORTS)
def test_port_probe_and_proxy_of_a_decode_engine_follow_one_value(container: Plain, port: int) -> None:
    """D18."""
    decode = a_standalone("answers", members=[a_claiming(**container)])
    setting = a_setting(*a_pair(decode=decode), mode="PrefillDecode")
    engine, proxy = pods(setting)["answers/Standalone"]["containers"]
    assert engine["ports"] == [{"containerPort": port}]
    assert engine["readinessProbe"]["httpGet"] == {"path": "/health", "port": port}
    assert proxy["name"] == "pd-sidecar"
    assert proxy["args"] == ["--secure-proxy=false", "--kv-connector=nixlv2", f"--vllm-port={port}"]
    assert proxy["ports"] == [{"containerPort": 8000}]
    assert proxy["readinessProbe"]["httpGet"] == {"path": "/health", "port": 8000}


def test_a_prefill_engine_answers_itself_on_the_port_that_proxies_dial() -> None:
    setting = a_setting(*a_pair(), mode="PrefillDecode")
    pod = pods(setting)["reads/Standalone"]
    assert [container["name"] for container in pod["containers"]] == ["engine"]
    assert pod["containers"][0]["ports"] == [{"containerPort": 8000}]


def test_a_unified_engine_answers_on_8000_whatever_it_is_told() -> None:
    setting = a_setting(a_standalone(members=[a_claiming(args=["--port=9000"])]))
    engine = setting.replica.spec.engines[0]
    assert engine_port(setting, engine, member_of(engine)) == 8000


@pytest.mark.parametrize("stack", ["Standard", "Dynamo"])
def test_the_two_phases_are_told_apart_by_phase_alone(stack: str) -> None:
    pair = a_pair(decode=a_gang("reads"), prefill=a_gang("answers"))
    setting = a_setting(*pair, mode="PrefillDecode", stack=stack)
    for engine in setting.replica.spec.engines:
        labels = pod_labels(setting, engine, member_of(engine), "w")
        assert labels["llm-d.ai/role"] == (engine.phase or "").lower()
        assert labels["llm-d.ai/inference-serving"] == "true"
        assert labels["app"] == setting.replica.name
        worker = pod_labels(setting, engine, member_of(engine, worker=True), "w")
        assert not {"app", "llm-d.ai/role", "modelplane.ai/serving"} & worker.keys()
        assert is_gang(engine)
    found = pods(setting)
    assert [len(found[f"{name}/Leader"]["containers"]) for name in ("answers", "reads")] == [1, 2]
    assert [len(found[f"{name}/Worker"]["containers"]) for name in ("answers", "reads")] == [1, 1]


def test_the_side_channel_comes_last_and_yields_to_the_member_s_own() -> None:
    own = [{"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": "6000"}]
    prefill = a_standalone("reads", members=[a_claiming(env=own)])
    setting = a_setting(*a_pair(prefill=prefill), mode="PrefillDecode")
    engine = next(each for each in setting.replica.spec.engines if each.phase == "Prefill")
    found = environment(setting, engine, member_of(engine))
    assert [entry["name"] for entry in found] == ["VLLM_NIXL_SIDE_CHANNEL_PORT", "VLLM_NIXL_SIDE_CHANNEL_HOST"]
    assert found[0]["value"] == "6000"
    assert found[1]["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}


def test_member_metadata_reaches_the_pods_of_that_member_only() -> None:
    """D05."""
    member = a_claiming("Worker", nodes=1)
    member["template"]["metadata"] = {"labels": {"team": "ml"}, "annotations": {"sidecar.istio.io/inject": "false"}}
    setting = a_setting(a_gang(members=[a_claiming("Leader"), member]))
    engine = setting.replica.spec.engines[0]
    assert pod_labels(setting, engine, member_of(engine, worker=True), "w")["team"] == "ml"
    assert "team" not in pod_labels(setting, engine, member_of(engine), "w")


def test_images_that_are_ours_come_from_the_mirror_and_the_engine_s_own_is_left_to_placement() -> None:
    setting = a_setting(*a_pair(), mode="PrefillDecode", image_mirror="mirror.example/images")
    engine, proxy = pods(setting)["answers/Standalone"]["containers"]
    assert engine["image"] == "registry.example/vllm:1"
    assert proxy["image"] == "mirror.example/images/llm-d/llm-d-router-disagg-sidecar:v0.9.0"


def test_a_container_of_a_standalone_is_the_same_whoever_asks() -> None:
    setting = a_setting(ALONE)
    engine = setting.replica.spec.engines[0]
    assert engine_container(setting, engine, member_of(engine)) == engines(setting)["qwen3-coder/Standalone"]
