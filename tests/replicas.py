"""Replicas for tests of what they put on a cluster: one for each kind of engine, stack and serving mode."""

from collections.abc import Sequence
from typing import Any

from api.replicas import ModelReplica
from components.setting import Setting

Plain = dict[str, Any]

NAME, NAMESPACE = "qwen3-coder-414d1", "ml-team"
LABELS = {"modelplane.ai/fleet": "prod"}


def a_claiming(role: str = "Standalone", *, nodes: int | None = None, **container: Any) -> Plain:
    """A member that claims eight GPUs; `container` is laid over its engine."""
    member: Plain = {
        "role": role,
        "nodePoolName": "gpu",
        "deviceRequests": [
            {"name": "gpu", "deviceClassName": "gpu.nvidia.com", "count": 8, "selectors": [{"cel": "true"}]}
        ],
        "template": {"spec": {"containers": [{"name": "engine", "image": "registry.example/vllm:1"} | container]}},
    }
    return member | ({"worker": {"nodes": nodes}} if nodes else {})


def unclaiming(member: Plain) -> Plain:
    return {key: value for key, value in member.items() if key != "deviceRequests"}


def a_gang(name: str = "qwen3-coder", *, copies: int = 1, nodes: int = 1, **fields: Any) -> Plain:
    """A Leader and its Workers, each with a command line of its own."""
    members = [
        a_claiming("Leader", args=["--role=leader"]),
        a_claiming("Worker", nodes=nodes, command=["sh", "-c"], args=["join $(MODELPLANE_LEADER_ADDRESS)"]),
    ]
    return {"name": name, "copies": copies, "members": members} | fields


def a_standalone(name: str = "qwen3-coder", **fields: Any) -> Plain:
    return {"name": name, "members": [a_claiming()]} | fields


def a_pair(*, decode: Plain | None = None, prefill: Plain | None = None) -> list[Plain]:
    """The two engines of a split replica; the decode engine stands first, as nothing may hang on the order."""
    told = a_claiming(args=["--port=8200", "--block-size", "64"])
    return [
        (decode or a_standalone("answers", members=[told], copies=2)) | {"phase": "Decode"},
        (prefill or a_standalone("reads")) | {"phase": "Prefill"},
    ]


def a_replica(engines: Sequence[Plain], *, name: str = NAME, cache: str | None = None, mode: str = "") -> ModelReplica:
    spec: Plain = {"clusterName": "us", "engines": list(engines)}
    spec |= {"modelCacheRef": {"name": cache}} if cache else {}
    spec |= {"serving": {"mode": mode}} if mode else {}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {"modelplane.ai/deployment": "qwen3-coder"}}
    return ModelReplica.parse(
        {"apiVersion": "modelplane.ai/v1alpha1", "kind": "ModelReplica", "metadata": metadata, "spec": spec}
    )


def a_setting(*engines: Plain, cache: str | None = None, mode: str = "", **fields: Any) -> Setting:
    """One replica on a cluster with InferencePools, unless `fields` say otherwise."""
    replica = a_replica(engines or [a_standalone()], cache=cache, mode=mode)
    return Setting(**({"replica": replica, "inference_pools": True, "labels": LABELS} | fields))


CASES: dict[str, Setting] = {
    "standalone": a_setting(),
    "standalone with a Service": a_setting(inference_pools=False),
    "standalone with a cache on Dynamo": a_setting(cache="qwen3-coder", stack="Dynamo"),
    "gang on Standard": a_setting(a_gang(copies=2)),
    "gang on Dynamo": a_setting(a_gang(copies=2), stack="Dynamo"),
    "gang with a cache on Standard": a_setting(a_gang(nodes=3), cache="qwen3-coder"),
    "gang with a cache on Dynamo": a_setting(
        a_gang(nodes=3), cache="qwen3-coder", stack="Dynamo", fast_pools=frozenset({"gpu"})
    ),
    "gang with an unclaiming leader": a_setting(
        a_gang(members=[unclaiming(a_claiming("Leader")), a_claiming("Worker", nodes=1)])
    ),
    "split": a_setting(*a_pair(), mode="PrefillDecode"),
    "split with gangs on Standard": a_setting(
        *a_pair(decode=a_gang("answers"), prefill=a_gang("reads")), mode="PrefillDecode"
    ),
    "split with gangs on Dynamo": a_setting(
        *a_pair(decode=a_gang("answers"), prefill=a_gang("reads")), mode="PrefillDecode", stack="Dynamo"
    ),
}
"""Every kind of replica."""
