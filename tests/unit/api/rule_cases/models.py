"""Cases of the rules of deployments and caches."""

from typing import Any

from builders import Plain, a_cache, a_deployment, a_gang, a_member, an_engine
from unit.api.rule_cases.case import Case, case, changed
from unit.api.rule_cases.platform import VULTR, beside, class_of, cluster_of

DEPLOYMENT = a_deployment().plain()
SHAPE = "spec.template.spec"
MEMBER = f"{SHAPE}.engines.0.members.0"
TEMPLATE = f"{MEMBER}.template"
CONTAINER = f"{TEMPLATE}.spec.containers.0"
AT_TEMPLATE = "spec.template.spec.engines[0].members[0].template"
AT_CONTAINER = f"{AT_TEMPLATE}.spec.containers[0]"
LONG = "a" * 254


def of(path: str, *, refused: Any, accepted: Any, at: str = "", beside: tuple[Plain, ...] = ()) -> Case:
    return case(DEPLOYMENT, path, refused=refused, accepted=accepted, at=at, beside=beside)


def labels(path: str, refused: Plain, accepted: Plain, at: str) -> Case:
    place = path.replace(".0", "[0]")
    return of(path, refused=refused, accepted=accepted, at=f"{place}{at}")


def half(phase: str, *, template: Plain | None = None, **container: Any) -> Plain:
    plain = a_member()
    plain["template"]["spec"]["containers"][0] |= container
    return an_engine(phase.lower(), phase=phase, members=[plain | ({"template": template} if template else {})])


def pair(*engines: Plain) -> Plain:
    return changed(DEPLOYMENT, SHAPE, {"serving": {"mode": "PrefillDecode"}, "engines": list(engines)})


PREFILL, DECODE = half("Prefill"), half("Decode")
PAIR = pair(PREFILL, DECODE)
LABELED: Plain = {"metadata": {"labels": {"app": "x"}}, "spec": a_member()["template"]["spec"]}
ENV = f"{CONTAINER}.env"
CLUSTER = changed(cluster_of(), "metadata.labels", {"region": "eu"})
AROUND = (CLUSTER, *beside())
CACHE = a_cache().plain()
REPO = "Qwen/Qwen3-8B"
CACHED = changed(
    changed(DEPLOYMENT, f"{SHAPE}.modelCacheRef", {"name": "qwen"}), f"{CONTAINER}.args", [f"--model={REPO}"]
)
PINNED = changed(CACHE, "spec.huggingFace.revision", "9f1a7c0")
GANG = a_deployment(engines=[a_gang(nodes=1)], cache="qwen").plain()
DYNAMO = changed(CLUSTER, "spec.stack", "Dynamo")
TOKEN: Plain = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hf", "namespace": "ml-team"}}
HAS_TOKEN = TOKEN | {"stringData": {"HF_TOKEN": "x"}}

DEPLOYMENTS: dict[str, Case] = {
    **{
        f"MD-V{first + number}": labels(f"{path}.labels", refused, {"team": "search"}, at)
        for first, path in ((1, "spec.template.metadata"), (14, f"{TEMPLATE}.metadata"))
        for number, (refused, at) in enumerate(
            (
                ({"modelplane.ai/x": "y"}, "[modelplane.ai/x]"),
                ({"-x": "y"}, "[-x]"),
                ({f"{LONG}/x": "y"}, f"[{LONG}/x]"),
                ({"x": "-"}, ".x"),
            )
        )
    },
    "MD-V5": Case(refused=(pair(PREFILL),), accepted=(PAIR,), at=f"{SHAPE}.engines"),
    "MD-V6": Case(refused=(pair(an_engine(), DECODE),), accepted=(PAIR,), at=f"{SHAPE}.engines"),
    "MD-V7": Case(refused=(pair(PREFILL, an_engine()),), accepted=(PAIR,), at=f"{SHAPE}.engines"),
    "MD-V8": of(f"{SHAPE}.engines.0.phase", refused="Prefill", accepted=None),
    "MD-V9": of(f"{SHAPE}.tolerations", refused=[{}], accepted=[{"key": "a"}], at=f"{SHAPE}.tolerations[0].key"),
    "MD-V10": of(
        f"{SHAPE}.tolerations",
        refused=[{"operator": "Exists", "value": ""}],
        accepted=[{"operator": "Exists"}],
        at=f"{SHAPE}.tolerations[0].value",
    ),
    "MD-V11": of(f"{MEMBER}.role", refused="Leader", accepted="Standalone", at=f"{SHAPE}.engines[0].members"),
    "MD-V12": of(
        f"{MEMBER}.nodeSelector", refused=None, accepted=a_member()["nodeSelector"], at=f"{SHAPE}.engines[0].members"
    ),
    "MD-V13": of(f"{MEMBER}.worker", refused={"nodes": 1}, accepted=None),
    "MD-V18": labels(f"{TEMPLATE}.metadata.annotations", {"a b": ""}, {"a/b": ""}, "[a b]"),
    "MD-V19": labels(f"{TEMPLATE}.metadata.annotations", {f"{LONG}/x": ""}, {"a/b": ""}, f"[{LONG}/x]"),
    "MD-V20": of(f"{CONTAINER}.name", refused="vllm", accepted="engine"),
    "MD-F1": of(
        f"{MEMBER}.nodeSelector.devices.0.selectors.0.cel", refused="device.driver ==", accepted='device.driver == "a"'
    ),
    "MD-F2": Case(
        refused=(DEPLOYMENT, cluster_of(), class_of(memory="46068Mi"), *beside()[1:]),
        accepted=(DEPLOYMENT, cluster_of(), *beside()),
        at=f"{SHAPE}.engines[0]",
    ),
    "MD-F3": case(
        CACHED,
        f"{SHAPE}.modelCacheRef",
        refused={"name": "qwen3"},
        accepted={"name": "qwen"},
        at=f"{SHAPE}.modelCacheRef.name",
        beside=(CACHE,),
    ),
    "MD-N1": of(f"{SHAPE}.engines.0.name", refused="Main_1", accepted="main-1"),
    "MD-N2": of(f"{TEMPLATE}.spec", refused=None, accepted=a_member()["template"]["spec"]),
    "MD-N3": of(
        ENV,
        refused=[{"name": "A", "value": "", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        accepted=[{"name": "A", "value": ""}],
        at=f"{AT_CONTAINER}.env[0]",
    ),
    "MD-N4": of(
        ENV,
        refused=[{"name": "HF_HUB_CACHE", "value": "/x"}],
        accepted=[{"name": "HF_HUB_OFFLINE", "value": "1"}],
        at=f"{AT_CONTAINER}.env[0].name",
    ),
    "MD-N5": of(
        f"{SHAPE}.clusterSelector.matchLabels",
        refused={"a": "b c"},
        accepted={"a": "b-c"},
        at=f"{SHAPE}.clusterSelector.matchLabels.a",
    ),
    "MD-N6": of("metadata.name", refused="a" * 64, accepted="a" * 63),
    "MD-N7": Case(
        refused=(pair(half("Prefill", template=LABELED), DECODE),),
        accepted=(changed(DEPLOYMENT, f"{TEMPLATE}.metadata.labels", {"app": "x"}),),
        at=f"{AT_TEMPLATE}.metadata.labels.app",
    ),
    "MD-N8": Case(
        refused=(a_deployment(engines=[a_gang(nodes=1)]).plain(),),
        accepted=(changed(GANG, f"{CONTAINER}.args", [f"--model={REPO}"]), CACHE),
        at=f"{SHAPE}.engines[0]",
    ),
    "MD-N9": case(
        GANG,
        f"{CONTAINER}.args",
        refused=["--node-rank=$(MODELPLANE_RANK)", f"--model={REPO}"],
        accepted=[f"--model={REPO}"],
        at=f"{AT_CONTAINER}.args[0]",
        beside=(DYNAMO, CACHE, *beside()),
    ),
    "MD-N10": case(
        CACHED, f"{CONTAINER}.args", refused=None, accepted=[f"--model={REPO}"], at=AT_CONTAINER, beside=(CACHE,)
    ),
    "MD-N11": Case(
        refused=(pair(PREFILL, half("Decode", args=["--port=8000"])),),
        accepted=(pair(PREFILL, half("Decode", args=["--port=8001"])),),
        at="spec.template.spec.engines[1].members[0].template.spec.containers[0].args[0]",
    ),
    "MD-X1": labels(
        f"{TEMPLATE}.metadata.annotations",
        {"modelplane.ai/x": ""},
        {"sidecar.istio.io/inject": "false"},
        "[modelplane.ai/x]",
    ),
    "MD-X2": of(
        f"{CONTAINER}.args",
        refused=["--max-model-len 32768"],
        accepted=["--max-model-len", "32768"],
        at=f"{AT_CONTAINER}.args[0]",
    ),
    "MD-X3": Case(
        refused=(pair(half("Prefill", args=["--port=8200"]), DECODE),),
        accepted=(pair(half("Prefill", args=["--port=8000"]), DECODE),),
        at=f"{AT_CONTAINER}.args[0]",
    ),
    "MD-X4": of(f"{CONTAINER}.args", refused=["--port=8200"], accepted=["--port=8000"], at=f"{AT_CONTAINER}.args[0]"),
    "MD-X5": case(
        CACHED,
        f"{CONTAINER}.args",
        refused=["--model=/mnt/models"],
        accepted=[f"--model={REPO}"],
        at=f"{AT_CONTAINER}.args[0]",
        beside=(CACHE,),
    ),
    "MD-X6": case(
        CACHED,
        f"{CONTAINER}.args",
        refused=["--model=org/other"],
        accepted=[f"--model={REPO}"],
        at=f"{AT_CONTAINER}.args[0]",
        beside=(CACHE,),
    ),
    "MD-X7": of(
        ENV,
        refused=[{"name": "T", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "TOKEN"}}}],
        accepted=[{"name": "T", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "HF_TOKEN"}}}],
        at=f"{AT_CONTAINER}.env[0].valueFrom.secretKeyRef",
        beside=(HAS_TOKEN,),
    ),
    "MD-X8": of(
        f"{SHAPE}.clusterSelector",
        refused={"matchLabels": {"region": "us"}},
        accepted={"matchLabels": {"region": "eu"}},
        at=f"{SHAPE}.clusterSelector.matchLabels",
        beside=AROUND,
    ),
    "MD-X9": case(
        changed(CACHE, "spec.clusterSelector", {"matchLabels": {"region": "us"}}),
        "spec.clusterSelector.matchLabels.region",
        refused="us",
        accepted="eu",
        at=f"{SHAPE}.modelCacheRef",
        beside=(
            changed(CACHED, f"{SHAPE}.clusterSelector", {"matchLabels": {"region": "eu"}}),
            *AROUND,
            changed(changed(cluster_of(), "metadata.labels", {"region": "us"}), "metadata.name", "other"),
        ),
    ),
    "MD-X10": of("spec.replicas", refused=11, accepted=10),
}

CACHES: dict[str, Case] = {
    "MC-V1": case(CACHE, "spec.huggingFace", refused=None, accepted={"repo": REPO, "sizeGiB": 20}),
    "MC-F1": case(
        CACHE, "spec.huggingFace.authSecret", refused={"name": "hub"}, accepted={"name": "hf"}, beside=(HAS_TOKEN,)
    ),
    "MC-F2": Case(
        refused=(changed(CACHE, "spec.clusterSelector", {"matchLabels": {"region": "eu"}}), VULTR, *beside("Vultr")),
        accepted=(changed(CACHE, "spec.clusterSelector", {"matchLabels": {"region": "eu"}}), *AROUND),
        at="spec.clusterSelector.matchLabels",
    ),
    "MC-N1": case(CACHE, "spec.huggingFace.repo", refused="a;rm -rf /", accepted=REPO),
    "MC-N2": case(CACHE, "spec.huggingFace.revision", refused="a..b", accepted="refs/pr/7"),
    "MC-N5": case(
        CACHE,
        "spec.huggingFace.authSecret",
        refused={"name": "hf", "key": ""},
        accepted={"name": "hf"},
        at="spec.huggingFace.authSecret.key",
    ),
    "MC-N6": case(
        CACHE,
        "spec.clusterSelector.matchLabels",
        refused={"a": "b c"},
        accepted={"a": "b-c"},
        at="spec.clusterSelector.matchLabels.a",
    ),
    "MC-X1": case(
        CACHE,
        "spec.clusterSelector",
        refused={"matchLabels": {"region": "us"}},
        accepted={"matchLabels": {"region": "eu"}},
        at="spec.clusterSelector.matchLabels",
        beside=AROUND,
    ),
}
"""MC-N3 and MC-N4 compare with what is deployed; their cases are in test_fixed.py."""
