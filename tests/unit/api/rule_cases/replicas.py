"""Cases of the rules of replicas, which only a ledger holds."""

from typing import Any

from builders import Plain, a_member, document
from unit.api.rule_cases.case import Case, case, changed

LONG = "a" * 254
MEMBER = "spec.engines.0.members.0"
AT_MEMBER = "spec.engines[0].members[0]"
TEMPLATE = a_member()["template"]
CLAIM: Plain = {"name": "gpu", "deviceClassName": "gpu.nvidia.com"}


def member(**fields: Any) -> Plain:
    return {"nodePoolName": "gpu", "deviceRequests": [CLAIM], "template": TEMPLATE} | fields


def replica(*engines: Plain, mode: str = "Unified") -> Plain:
    listed = list(engines) or [{"name": "main", "members": [member()]}]
    spec = {"clusterName": "us", "serving": {"mode": mode}, "engines": listed}
    return document("ModelReplica", "qwen-31605", spec, namespace="ml-team")


def half(phase: str | None) -> Plain:
    return {"name": (phase or "none").lower(), "members": [member()]} | ({"phase": phase} if phase else {})


PAIR = replica(half("Prefill"), half("Decode"), mode="PrefillDecode")
REPLICA = replica()


def labels(field: str, refused: str, accepted: Plain, value: str = "y") -> Case:
    at = f"{AT_MEMBER}.template.metadata.{field}" + (".x" if refused == "x" else f"[{refused}]")
    return case(REPLICA, f"{MEMBER}.template.metadata.{field}", refused={refused: value}, accepted=accepted, at=at)


REPLICAS: dict[str, Case] = {
    "MR-V1": Case(refused=(replica(half("Prefill"), mode="PrefillDecode"),), accepted=(PAIR,), at="spec.engines"),
    "MR-V2": Case(
        refused=(replica(half(None), half("Decode"), mode="PrefillDecode"),), accepted=(PAIR,), at="spec.engines"
    ),
    "MR-V3": Case(
        refused=(replica(half("Prefill"), half(None), mode="PrefillDecode"),), accepted=(PAIR,), at="spec.engines"
    ),
    "MR-V4": case(REPLICA, "spec.engines.0.phase", refused="Decode", accepted=None),
    "MR-V5": case(REPLICA, f"{MEMBER}.role", refused="Worker", accepted="Standalone", at="spec.engines[0].members"),
    "MR-V6": case(REPLICA, f"{MEMBER}.deviceRequests", refused=None, accepted=[CLAIM], at="spec.engines[0].members"),
    "MR-V7": case(REPLICA, f"{MEMBER}.worker", refused={"nodes": 1}, accepted=None),
    "MR-V8": labels("labels", "modelplane.ai/x", {"team": "search"}),
    "MR-V9": labels("labels", "-x", {"team": "search"}),
    "MR-V10": labels("labels", f"{LONG}/x", {"team": "search"}),
    "MR-V11": labels("labels", "x", {"team": "search"}, value="-"),
    "MR-V12": labels("annotations", "a b", {"a/b": ""}),
    "MR-V13": labels("annotations", f"{LONG}/x", {"a/b": ""}),
    "MR-V14": case(REPLICA, f"{MEMBER}.template.spec.containers.0.name", refused="vllm", accepted="engine"),
    "MR-F2": case(REPLICA, f"{MEMBER}.template.spec", refused=None, accepted=TEMPLATE["spec"]),
}
"""MR-N1 and MR-N2 compare with what is deployed; their cases are in test_fixed.py."""

MOVED = changed(REPLICA, "spec.clusterName", "eu")
