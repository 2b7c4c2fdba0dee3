"""What a Standalone replica puts on its cluster, object by object (reference: workloads, sections 2 to 5 and 9)."""

import json
from typing import Any

import pytest
from pydantic.alias_generators import to_camel

from api.replicas import ModelReplica, ReplicaEngine, ReplicaMember
from components import replica_manifests as manifests
from components.pod_manifests import claim_template, engine_container, pod_spec
from components.setting import Setting

Plain = dict[str, Any]

FLEET_LABELS = {"modelplane.ai/fleet": "prod"}
OWN_LABELS = {"modelplane.ai/fleet": "prod", "modelplane.ai/deployment": "mock-demo"}
SKIP_AWAIT = {"pulumi.com/skipAwait": "true"}
WORKLOAD = "mock-demo-be445-mock-47cef"

ENGINE: Plain = {
    "name": "mock",
    "copies": 2,
    "members": [
        {
            "nodePoolName": "gpu",
            "deviceRequests": [
                {
                    "name": "gpu",
                    "deviceClassName": "gpu.nvidia.com",
                    "count": 2,
                    "selectors": [{"cel": "first"}, {"cel": "second"}],
                },
                {"name": "nic", "deviceClassName": "dra.net"},
            ],
            "template": {
                "metadata": {"labels": {"team": "ml"}, "annotations": {"example.com/note": "kept"}},
                "spec": {
                    "containers": [
                        {
                            "name": "engine",
                            "image": "registry.example/vllm:1",
                            "command": ["vllm", "serve"],
                            "args": ["Qwen/Qwen3-8B", "--port=8000"],
                            "env": [
                                {"name": "ZEBRA", "value": "first"},
                                {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}},
                                {"name": "ALPHA", "value": "$(ZEBRA)"},
                                {"name": "EMPTY", "value": ""},
                            ],
                        }
                    ],
                    "imagePullSecrets": [{"name": "registry"}],
                },
            },
        }
    ],
}


def a_replica(**engine: Any) -> ModelReplica:
    return ModelReplica.parse(
        {
            "apiVersion": "modelplane.ai/v1alpha1",
            "kind": "ModelReplica",
            "metadata": {
                "name": "mock-demo-be445",
                "namespace": "ml-team",
                "labels": {"modelplane.ai/deployment": "mock-demo", "tier": "gold"},
            },
            "spec": {"clusterName": "gpu-eu-west", "engines": [ENGINE | engine]},
        }
    )


def setting(replica: ModelReplica) -> Setting:
    return Setting(replica=replica, labels=FLEET_LABELS)


def a_member(**fields: Any) -> Plain:
    return {**ENGINE["members"][0], **fields}


def first(replica: ModelReplica) -> tuple[ReplicaEngine, ReplicaMember]:
    engine = replica.spec.engines[0]
    return engine, engine.members[0]


@pytest.fixture
def claim_name() -> str:
    engine, member = first(a_replica())
    return str(claim_template(setting(a_replica()), engine, member)["metadata"]["name"])


def test_the_deployment(claim_name: str) -> None:
    replica = a_replica()
    assert manifests.deployment(setting(replica), first(replica)[0]) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": WORKLOAD, "namespace": "ml-team", "labels": OWN_LABELS, "annotations": SKIP_AWAIT},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"modelplane.ai/workload": WORKLOAD}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": {
                "metadata": {
                    "labels": {
                        "team": "ml",
                        "modelplane.ai/deployment": "mock-demo",
                        "modelplane.ai/serving": "mock-demo-be445",
                        "modelplane.ai/workload": WORKLOAD,
                    },
                    "annotations": {"example.com/note": "kept"},
                },
                "spec": {
                    "containers": [
                        {
                            "name": "engine",
                            "image": "registry.example/vllm:1",
                            "command": ["vllm", "serve"],
                            "args": ["Qwen/Qwen3-8B", "--port=8000"],
                            "env": [
                                {"name": "ZEBRA", "value": "first"},
                                {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}},
                                {"name": "ALPHA", "value": "$(ZEBRA)"},
                                {"name": "EMPTY", "value": ""},
                            ],
                            "ports": [{"containerPort": 8000}],
                            "readinessProbe": {
                                "httpGet": {"path": "/health", "port": 8000},
                                "initialDelaySeconds": 30,
                                "periodSeconds": 10,
                                "timeoutSeconds": 5,
                            },
                            "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}],
                            "resources": {"claims": [{"name": "devices"}]},
                        }
                    ],
                    "nodeSelector": {"modelplane.ai/pool": "gpu"},
                    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
                    "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory"}}],
                    "resourceClaims": [{"name": "devices", "resourceClaimTemplateName": claim_name}],
                    "imagePullSecrets": [{"name": "registry"}],
                },
            },
        },
    }


def test_the_claim_template() -> None:
    replica = a_replica()
    engine, member = first(replica)
    found = claim_template(setting(replica), engine, member)
    name = found["metadata"]["name"]
    assert name.startswith("mock-demo-be445-mock-standalone-devices-")
    assert len(name) <= 63
    assert found == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "ml-team", "labels": OWN_LABELS, "annotations": SKIP_AWAIT},
        "spec": {
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": "gpu",
                            "exactly": {
                                "deviceClassName": "gpu.nvidia.com",
                                "count": 2,
                                "selectors": [{"cel": {"expression": "first"}}, {"cel": {"expression": "second"}}],
                            },
                        },
                        {"name": "nic", "exactly": {"deviceClassName": "dra.net", "count": 1}},
                    ]
                }
            }
        },
    }


def test_the_service() -> None:
    assert manifests.service(setting(a_replica())) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "mock-demo-be445-serving-164b8",
            "namespace": "ml-team",
            "labels": OWN_LABELS,
            "annotations": SKIP_AWAIT,
        },
        "spec": {
            "type": "ClusterIP",
            "selector": {"modelplane.ai/serving": "mock-demo-be445"},
            "ports": [{"name": "http", "port": 8000, "targetPort": 8000, "protocol": "TCP"}],
        },
    }


def test_the_route() -> None:
    assert manifests.route(setting(a_replica())) == {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {
            "name": "mock-demo-be445",
            "namespace": "ml-team",
            "labels": OWN_LABELS,
            "annotations": SKIP_AWAIT,
        },
        "spec": {
            "parentRefs": [{"name": "inference-gateway", "namespace": "modelplane-system"}],
            "rules": [
                {
                    "matches": [{"path": {"type": "PathPrefix", "value": "/ml-team/mock-demo-be445/"}}],
                    "filters": [
                        {
                            "type": "URLRewrite",
                            "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}},
                        }
                    ],
                    "backendRefs": [{"name": "mock-demo-be445-serving-164b8", "port": 8000}],
                    "timeouts": {"request": "0s"},
                }
            ],
        },
    }


PLAIN_TEMPLATE: Plain = {"spec": {"containers": [{"name": "engine", "image": "registry.example/vllm:1"}]}}


def test_a_container_without_extras_has_args_and_nothing_empty_besides() -> None:
    replica = a_replica(members=[a_member(template=PLAIN_TEMPLATE)])
    container = engine_container(setting(replica), *first(replica))
    assert container["args"] == []
    assert not {"command", "env"} & container.keys()


def test_a_pod_without_extras_has_no_annotations_and_no_pull_secrets() -> None:
    replica = a_replica(members=[a_member(template=PLAIN_TEMPLATE)])
    pod = manifests.deployment(setting(replica), first(replica)[0])["spec"]["template"]
    assert "annotations" not in pod["metadata"]
    assert "imagePullSecrets" not in pod["spec"]


def test_a_member_that_claims_nothing_has_no_claim_in_its_pod() -> None:
    replica = a_replica()
    engine, member = first(replica)
    unclaiming = member.model_copy(update={"device_requests": None})
    pod = pod_spec(setting(replica), engine, unclaiming)
    assert "resourceClaims" not in pod
    assert "resources" not in pod["containers"][0]


def test_other_requests_make_another_claim_template_and_equal_ones_the_same(claim_name: str) -> None:
    """A template cannot be changed, and pods refer to it by name: a changed request has to roll them."""
    requests = [{"name": "gpu", "deviceClassName": "gpu.nvidia.com", "count": 4}]
    replica = a_replica(members=[a_member(deviceRequests=requests)])
    engine, member = first(replica)
    other = claim_template(setting(replica), engine, member)["metadata"]["name"]
    named = pod_spec(setting(replica), engine, member)["resourceClaims"][0]["resourceClaimTemplateName"]
    assert other == named
    assert other != claim_name
    engine, member = first(a_replica(copies=1))
    assert claim_template(setting(a_replica()), engine, member)["metadata"]["name"] == claim_name


def test_managed_labels_win_over_the_member_s() -> None:
    replica = a_replica()
    engine, member = first(replica)
    forged = member.template.metadata.model_copy(update={"labels": {"modelplane.ai/serving": "other", "team": "ml"}})
    template = member.template.model_copy(update={"metadata": forged})
    engine = engine.model_copy(update={"members": (member.model_copy(update={"template": template}),)})
    labels = manifests.deployment(setting(replica), engine)["spec"]["template"]["metadata"]["labels"]
    assert labels["modelplane.ai/serving"] == "mock-demo-be445"
    assert labels["team"] == "ml"


def test_engines_of_one_replica_have_selectors_of_their_own() -> None:
    """The serving label is shared by all pods of a replica: two Deployments selecting by it would fight."""
    replica = a_replica()
    engine = first(replica)[0]
    both = [engine.model_copy(update={"name": name}) for name in ("prefill", "decode")]
    selectors = [manifests.deployment(setting(replica), each)["spec"]["selector"]["matchLabels"] for each in both]
    assert selectors[0] != selectors[1]
    assert all(list(selector) == ["modelplane.ai/workload"] for selector in selectors)


def everything_of(replica: ModelReplica) -> list[Plain]:
    engine, member = first(replica)
    return [
        manifests.deployment(setting(replica), engine),
        claim_template(setting(replica), engine, member),
        manifests.service(setting(replica)),
        manifests.route(setting(replica)),
    ]


REPLICAS = {
    "with everything": a_replica(),
    "with as little as can be": a_replica(copies=1, members=[a_member(template=PLAIN_TEMPLATE)]),
}


@pytest.mark.parametrize("replica", REPLICAS.values(), ids=REPLICAS)
def test_objects_are_json_with_the_api_s_own_names_and_nothing_null(replica: ModelReplica) -> None:
    for found in everything_of(replica):
        assert json.loads(json.dumps(found)) == found
        assert [path for path, value in walk(found) if value is None] == []
        names = {key for path, _ in walk(found) for key in path if isinstance(key, str) and "/" not in key}
        assert {name for name in names if to_camel(name) != name} == set()


@pytest.mark.parametrize("replica", REPLICAS.values(), ids=REPLICAS)
def test_objects_lie_in_the_deployment_s_namespace_and_are_not_awaited(replica: ModelReplica) -> None:
    for found in everything_of(replica):
        assert found["metadata"]["namespace"] == "ml-team"
        assert found["metadata"]["annotations"] == SKIP_AWAIT
        assert found["metadata"]["labels"] == OWN_LABELS


def walk(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(path, value), *(found for key, item in items for found in walk(item, (*path, key)))]
