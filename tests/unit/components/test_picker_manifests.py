"""The routing layer of a replica: pool, picker and its configuration agree with the pods and with each other."""

import json
from typing import Any

import pytest
from replicas import CASES, a_claiming, a_gang, a_pair, a_setting, a_standalone

from components.picker_manifests import block_size, inference_pool, picker_configuration, picker_objects
from components.replica_manifests import route
from components.setting import Setting

Plain = dict[str, Any]


def configuration(setting: Setting) -> Plain:
    found: Plain = json.loads(picker_configuration(setting))
    return found


def test_pool_picker_and_route_lead_to_each_other() -> None:
    setting = a_setting()
    pool, objects = inference_pool(setting), picker_objects(setting)
    assert pool["spec"]["selector"] == {"matchLabels": {"modelplane.ai/serving": setting.replica.name}}
    assert pool["spec"]["targetPorts"] == [{"number": 8000}]
    reference = pool["spec"]["endpointPickerRef"]
    service = objects["picker/service"]
    assert reference["name"] == service["metadata"]["name"] == "qwen3-coder-414d1-epp"
    assert reference["port"]["number"] == service["spec"]["ports"][0]["port"]
    assert reference["failureMode"] == "FailOpen"
    picker = objects["picker/deployment"]["spec"]["template"]
    assert service["spec"]["selector"] == picker["metadata"]["labels"]
    assert f"--pool-name={pool['metadata']['name']}" in picker["spec"]["containers"][0]["args"]
    assert "--pool-namespace=ml-team" in picker["spec"]["containers"][0]["args"]
    (backend,) = route(setting)["spec"]["rules"][0]["backendRefs"]
    assert backend == {
        "group": "inference.networking.k8s.io",
        "kind": "InferencePool",
        "name": pool["metadata"]["name"],
    }
    assert route(setting)["spec"]["rules"][0]["timeouts"] == {"request": "0s"}


def test_a_picker_may_read_what_it_picks_among_and_nothing_else() -> None:
    objects = picker_objects(a_setting())
    rules = objects["picker/role"]["rules"]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "watch", "list"}
    assert [rule["resources"] for rule in rules] == [["pods"], ["inferencepools"], ["inferenceobjectives"]]
    subject = objects["picker/binding"]["subjects"][0]
    pod = objects["picker/deployment"]["spec"]["template"]["spec"]
    assert subject["name"] == pod["serviceAccountName"] == objects["picker/account"]["metadata"]["name"]
    assert subject["namespace"] == "ml-team"


@pytest.mark.parametrize("setting", CASES.values(), ids=CASES)
def test_every_plugin_that_a_profile_names_is_there(setting: Setting) -> None:
    document = configuration(setting)
    known = {plugin["type"] for plugin in document["plugins"]}
    for profile in document["schedulingProfiles"]:
        assert {reference["pluginRef"] for reference in profile["plugins"]} <= known
    assert "approx-prefix-cache-producer" in known


def test_the_profiles() -> None:
    def shown(setting: Setting) -> dict[str, list[tuple[str, int]]]:
        return {
            profile["name"]: [(each["pluginRef"], each.get("weight", 0)) for each in profile["plugins"]]
            for profile in configuration(setting)["schedulingProfiles"]
        }

    scoring = [("max-score-picker", 0), ("prefix-cache-scorer", 2), ("queue-scorer", 1)]
    assert shown(a_setting()) == {"default": scoring}
    assert shown(a_setting(*a_pair(), mode="PrefillDecode")) == {
        "prefill": [("prefill-filter", 0), *scoring],
        "decode": [("decode-filter", 0), *scoring],
    }


def test_prefill_elsewhere_is_decided_by_what_is_not_cached() -> None:
    plugins = {each["type"]: each.get("parameters") for each in configuration(CASES["split"])["plugins"]}
    assert plugins["prefix-based-pd-decider"] == {"nonCachedTokens": 16}
    assert plugins["disagg-profile-handler"] == {"deciders": {"prefill": "prefix-based-pd-decider"}}
    assert plugins["approx-prefix-cache-producer"] == {
        "autoTune": False,
        "blockSizeTokens": 64,
        "maxPrefixBlocksToMatch": 256,
        "lruCapacityPerServer": 31250,
    }


SIZES: dict[str, tuple[Plain, int]] = {
    "block size with =": ({"args": ["--block-size=32"]}, 32),
    "page size in two items": ({"args": ["--page-size", "32"]}, 32),
    "in a script": ({"command": ["bash", "-c"], "args": ["sglang --page-size 32"]}, 32),
    "in the command": ({"command": ["vllm", "--block-size=32"]}, 32),
    "no number": ({"args": ["--block-size=auto"]}, 16),
    "zero": ({"args": ["--block-size=0"]}, 16),
    "not told": ({}, 16),
}


@pytest.mark.parametrize(("container", "size"), SIZES.values(), ids=SIZES)
def test_the_block_size_is_the_engine_s(container: Plain, size: int) -> None:
    assert block_size(a_setting(a_standalone(members=[a_claiming(**container)]))) == size
    decode = a_gang("answers", members=[a_claiming("Leader", **container), a_claiming("Worker", nodes=1)])
    assert block_size(a_setting(*a_pair(decode=decode), mode="PrefillDecode")) == size


def test_another_configuration_starts_the_picker_anew() -> None:
    def checksum(setting: Setting) -> str:
        template = picker_objects(setting)["picker/deployment"]["spec"]["template"]
        return str(template["metadata"]["annotations"]["modelplane.ai/epp-config-checksum"])

    other = a_setting(a_standalone(members=[a_claiming(args=["--block-size=32"])]))
    assert checksum(a_setting()) != checksum(other)
    assert checksum(a_setting()) == checksum(a_setting())
    assert len(checksum(other)) == 64
