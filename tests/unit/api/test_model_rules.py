"""Rules of deployments, replicas and caches: the smallest document that breaks each, and the field it is said at."""

from typing import Any

import pytest
from builders import Plain, a_deployment, a_member, a_request, an_engine, document
from unit.api.rules import Broken, broken, changed

from api import ModelCache, ModelDeployment, ModelReplica

SHAPE = "spec.template.spec"
MEMBER = f"{SHAPE}.engines[0].members[0]"
TEMPLATE = f"{MEMBER}.template"
INNER = "spec.template.spec.engines.0.members.0.template"


def deployed(path: str = "", value: Any = None, **fields: Any) -> Plain:
    plain = a_deployment(**fields).plain()
    return changed(plain, path, value) if path else plain


def shaped(*engines: Plain, mode: str = "Unified") -> Plain:
    return deployed("spec.template.spec", {"serving": {"mode": mode}, "engines": list(engines)})


def half(phase: str, *, labels: Any = None, **container: Any) -> Plain:
    """One engine of a pair, with something of its own in the container."""
    engine: Plain = {"name": "engine", "image": "registry.example/engine:1"}
    template: Plain = {"metadata": {"labels": labels or {}}, "spec": {"containers": [engine | container]}}
    return an_engine(phase.lower(), phase=phase, members=[a_member(template=template)])


PREFILL = half("Prefill")
DECODE = half("Decode")
LABELS = {
    "reserved": ({"modelplane.ai/x": "y"}, "[modelplane.ai/x]"),
    "no key": ({"-x": "y"}, "[-x]"),
    "a long prefix": ({f"{'a' * 254}/x": "y"}, f"[{'a' * 254}/x]"),
    "no value": ({"x": "-"}, ".x"),
}
DEPLOYMENTS: dict[str, tuple[Plain, list[Broken]]] = {
    "valid": (deployed(), []),
    "an empty serving is Unified": (deployed("spec.template.spec.serving", {}), []),
    **{
        f"MD-V{number} {name}": (
            deployed("spec.template.metadata", {"labels": labels}),
            [(f"MD-V{number}", f"spec.template.metadata.labels{at}")],
        )
        for number, (name, (labels, at)) in enumerate(LABELS.items(), start=1)
    },
    **{
        f"MD-V{number} {name}": (
            deployed(f"{INNER}.metadata", {"labels": labels}),
            [(f"MD-V{number}", f"{TEMPLATE}.metadata.labels{at}")],
        )
        for number, (name, (labels, at)) in enumerate(LABELS.items(), start=14)
    },
    "MD-V18": (
        deployed(f"{INNER}.metadata", {"annotations": {"a b": "any text"}}),
        [("MD-V18", f"{TEMPLATE}.metadata.annotations[a b]")],
    ),
    "MD-V19": (
        deployed(f"{INNER}.metadata", {"annotations": {f"{'a' * 254}/x": ""}}),
        [("MD-V19", f"{TEMPLATE}.metadata.annotations[{'a' * 254}/x]")],
    ),
    "a pair": (shaped(PREFILL, DECODE, mode="PrefillDecode"), []),
    "MD-V5 one": (shaped(PREFILL, mode="PrefillDecode"), [("MD-V5", f"{SHAPE}.engines")]),
    "MD-V5 three": (shaped(PREFILL, DECODE, an_engine(), mode="PrefillDecode"), [("MD-V5", f"{SHAPE}.engines")]),
    "MD-V6": (shaped(an_engine(), DECODE, mode="PrefillDecode"), [("MD-V6", f"{SHAPE}.engines")]),
    "MD-V7": (shaped(PREFILL, an_engine(), mode="PrefillDecode"), [("MD-V7", f"{SHAPE}.engines")]),
    "MD-V8": (shaped(PREFILL), [("MD-V8", f"{SHAPE}.engines[0].phase")]),
    "MD-V9": (deployed("spec.template.spec.tolerations", [{}]), [("MD-V9", f"{SHAPE}.tolerations[0].key")]),
    "MD-V10": (
        deployed("spec.template.spec.tolerations", [{"operator": "Exists", "value": ""}]),
        [("MD-V10", f"{SHAPE}.tolerations[0].value")],
    ),
    "every taint is tolerated": (deployed("spec.template.spec.tolerations", [{"operator": "Exists"}]), []),
    "a gang in any order": (shaped(an_engine(members=[a_member("Worker", nodes=1), a_member("Leader")])), []),
    **{
        f"MD-V11 {roles}": (
            shaped(an_engine(members=[a_member(role) for role in roles])),
            [("MD-V11", f"{SHAPE}.engines[0].members")],
        )
        for roles in (
            ["Leader"],
            ["Worker"],
            ["Standalone", "Standalone"],
            ["Leader", "Standalone"],
            ["Leader", "Leader"],
            ["Worker", "Worker"],
        )
    },
    "MD-V12": (shaped(an_engine(members=[a_member(requests=[])])), [("MD-V12", f"{SHAPE}.engines[0].members")]),
    "MD-V13": (shaped(an_engine(members=[a_member(nodes=1)])), [("MD-V13", f"{MEMBER}.worker")]),
    "MD-V20": (
        deployed(f"{INNER}.spec.containers.0.name", "vllm"),
        [("MD-V20", f"{TEMPLATE}.spec.containers[0].name")],
    ),
    "MD-N3 both": (
        deployed(
            f"{INNER}.spec.containers.0.env",
            [{"name": "A", "value": "", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}],
        ),
        [("MD-N3", f"{TEMPLATE}.spec.containers[0].env[0]")],
    ),
    "MD-N3 none": (
        deployed(f"{INNER}.spec.containers.0.env", [{"name": "A", "valueFrom": {}}]),
        [("MD-N3", f"{TEMPLATE}.spec.containers[0].env[0].valueFrom")],
    ),
    "MD-N3 twice": (
        deployed(f"{INNER}.spec.containers.0.env", [{"name": "A"}, {"name": "A"}]),
        [("MD-N3", f"{TEMPLATE}.spec.containers[0].env[1]")],
    ),
    **{
        f"MD-N4 {name}": (
            deployed(f"{INNER}.spec.containers.0.env", [{"name": name, "value": "x"}]),
            [("MD-N4", f"{TEMPLATE}.spec.containers[0].env[0].name")],
        )
        for name in ("MODELPLANE_RANK", "MX_SERVER_ADDRESS", "MODEL_EXPRESS_URL", "HF_HUB_CACHE")
    },
    "the NIXL pair is the user's": (
        deployed(f"{INNER}.spec.containers.0.env", [{"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": "1"}]),
        [],
    ),
    "MD-N5": (
        deployed("spec.template.spec.clusterSelector", {"matchLabels": {"a": "b c"}}),
        [("MD-N5", f"{SHAPE}.clusterSelector.matchLabels.a")],
    ),
    "MD-N6": (deployed("metadata.name", "a" * 64), [("MD-N6", "metadata.name")]),
    "63 characters are allowed": (deployed("metadata.name", "a" * 63), []),
    **{
        f"MD-N7 {key}": (
            shaped(half("Prefill", labels={key: "x"}), DECODE, mode="PrefillDecode"),
            [("MD-N7", f"{TEMPLATE}.metadata.labels{'.app' if key == 'app' else f'[{key}]'}")],
        )
        for key in ("app", "llm-d.ai/role", "llm-d.ai/inference-serving")
    },
    **{
        f"MD-N11 {words}": (
            shaped(PREFILL, half("Decode", **{field: words}), mode="PrefillDecode"),
            [("MD-N11", f"{SHAPE}.engines[1].members[0].template.spec.containers[0].{field}[{at}]")],
        )
        for field, words, at in (
            ("args", ["--port=8000"], 0),
            ("args", ["--port=1", "--port", "8000"], 1),
            ("command", ["serve", "--port", "8000"], 1),
        )
    },
    "a decode engine on another port": (
        shaped(PREFILL, half("Decode", args=["--port=8001"]), mode="PrefillDecode"),
        [],
    ),
    "a prefill engine on another port": (
        shaped(half("Prefill", command=["serve", "--port=8200"]), DECODE, mode="PrefillDecode"),
        [("MD-X3", f"{TEMPLATE}.spec.containers[0].command[1]")],
    ),
    "a prefill engine on its port": (
        shaped(half("Prefill", args=["--port", "8000"]), DECODE, mode="PrefillDecode"),
        [],
    ),
    "an engine twice": (shaped(an_engine(), an_engine()), [("schema", f"{SHAPE}.engines[1]")]),
    "a request twice": (
        shaped(an_engine(members=[a_member(requests=[a_request(), a_request()])])),
        [("schema", f"{MEMBER}.nodeSelector.devices[1]")],
    ),
}


@pytest.mark.parametrize(("plain", "expected"), DEPLOYMENTS.values(), ids=DEPLOYMENTS)
def test_deployment(plain: Plain, expected: list[Broken]) -> None:
    assert broken(ModelDeployment, plain) == expected


def placed(**member: Any) -> Plain:
    """A replica of the member's engine, with what the placement adds."""
    pinned: Plain = {
        "nodePoolName": "gpu",
        "deviceRequests": [{"name": "gpu", "deviceClassName": "gpu.nvidia.com"}],
        "template": a_member()["template"],
    }
    spec = {"clusterName": "us", "engines": [{"name": "main", "members": [pinned | member]}]}
    return document("ModelReplica", "qwen-31605", spec, namespace="ml-team")


REPLICAS: dict[str, tuple[Plain, list[Broken]]] = {
    "valid": (placed(), []),
    "MR-V4": (changed(placed(), "spec.engines.0.phase", "Prefill"), [("MD-V8", "spec.engines[0].phase")]),
    "MR-V5": (placed(role="Leader"), [("MD-V11", "spec.engines[0].members")]),
    "MR-V6": (placed(deviceRequests=None), [("MR-V6", "spec.engines[0].members")]),
    "MR-V7": (placed(worker={"nodes": 1}), [("MD-V13", "spec.engines[0].members[0].worker")]),
    "MR-V8": (
        changed(placed(), "spec.engines.0.members.0.template.metadata", {"labels": {"modelplane.ai/x": "y"}}),
        [("MD-V14", "spec.engines[0].members[0].template.metadata.labels[modelplane.ai/x]")],
    ),
    "MR-V14": (
        changed(placed(), "spec.engines.0.members.0.template.spec.containers.0.name", "x"),
        [("MD-V20", "spec.engines[0].members[0].template.spec.containers[0].name")],
    ),
}


@pytest.mark.parametrize(("plain", "expected"), REPLICAS.values(), ids=REPLICAS)
def test_replica(plain: Plain, expected: list[Broken]) -> None:
    assert broken(ModelReplica, plain) == expected


def cached(**origin: Any) -> Plain:
    hub = {"repo": "org/name", "sizeGiB": 1} | origin
    return document("ModelCache", "c", {"source": "HuggingFace", "huggingFace": hub}, namespace="ml-team")


CACHES: dict[str, tuple[Plain, list[Broken]]] = {
    "MC-V1": (document("ModelCache", "c", {"source": "HuggingFace"}), [("MC-V1", "spec.huggingFace")]),
    **{
        f"MC-N1 {repo}": (cached(repo=repo), [("MC-N1", "spec.huggingFace.repo")])
        for repo in ("a b", "a/b/c", "-a", "a;rm", "../a", "$(id)", "a\n")
    },
    **{
        f"MC-N2 {revision}": (cached(revision=revision), [("MC-N2", "spec.huggingFace.revision")])
        for revision in ("", "a b", "a..b", "-x", "`id`")
    },
    "a branch with a slash": (cached(revision="refs/pr/7"), []),
    "MC-N6": (
        changed(cached(), "spec.clusterSelector", {"matchLabels": {"a b": "c"}}),
        [("MC-N6", "spec.clusterSelector.matchLabels[a b]")],
    ),
}


@pytest.mark.parametrize(("plain", "expected"), CACHES.values(), ids=CACHES)
def test_cache(plain: Plain, expected: list[Broken]) -> None:
    assert broken(ModelCache, plain) == expected
