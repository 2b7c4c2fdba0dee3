"""Conditions of a cluster that was handed over: each fault has a reason and a way out."""

from typing import Any

import pytest

from components.rights import INSTALLER, cluster_rules, hub_rules, role
from programs.findings import Findings, Wanted, conditions, unreachable

GOOD = Findings(
    version="v1.36.3",
    groups=frozenset({"apps/v1", "resource.k8s.io/v1"}),
    balancers=True,
    provisioners={"shared": "nfs.csi.k8s.io", "fast": "ebs.csi.aws.com"},
    components=(),
    missing_rights=(),
)
WANTED = Wanted(subject="us", pools={"h100": 2}, charts=("cert-manager", "envoy-gateway"), storage_class="shared")


def told(found: Findings = GOOD, wanted: Wanted = WANTED, nodes: Any = ("h100", "h100")) -> dict[str, tuple[str, ...]]:
    counts = None if nodes is None else {pool: nodes.count(pool) for pool in nodes}
    return {each.type: (each.status, each.reason, each.message) for each in conditions(wanted, found, counts)}


def test_a_cluster_that_is_as_it_should_be() -> None:
    assert {kind: (status, reason) for kind, (status, reason, _) in told().items()} == {
        "Reachable": ("True", "Answers"),
        "VersionSupported": ("True", "VersionSupported"),
        "DeviceClaimsServed": ("True", "DeviceClaimsServed"),
        "PoolsLabelled": ("True", "NodesLabelled"),
        "LoadBalancerPresent": ("True", "LoadBalancerPresent"),
        "StorageReady": ("True", "StorageClassFound"),
        "ComponentsOwned": ("True", "NothingInTheWay"),
        "RightsSufficient": ("True", "RightsSufficient"),
    }


def changed(**fields: Any) -> Findings:
    return Findings(**{**vars(GOOD), **fields})


def wanted(**fields: Any) -> Wanted:
    return Wanted(**{**vars(WANTED), **fields})


FAULTS: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "an old version": (
        {"found": changed(version="v1.33.2")},
        "VersionSupported",
        "VersionTooOld",
        "upgrade it to 1.34",
    ),
    "no device claims": (
        {"found": changed(groups=frozenset({"resource.k8s.io/v1beta1"}))},
        "DeviceClaimsServed",
        "DeviceClaimsNotServed",
        "enable dynamic resource allocation",
    ),
    "a pool without a node": (
        {"nodes": ()},
        "PoolsLabelled",
        "PoolUnlabelled",
        "kubectl label node NODE modelplane.ai/pool=h100",
    ),
    "a pool with too few": ({"nodes": ("h100",)}, "PoolsLabelled", "PoolShort", "h100 has 1 of 2 nodes"),
    "no load balancer": ({"found": changed(balancers=False)}, "LoadBalancerPresent", "NoLoadBalancer", "MetalLB"),
    "a Service that waits": (
        {"found": changed(balancers=False, addressless=("a/b",))},
        "LoadBalancerPresent",
        "NoLoadBalancer",
        "a/b waits for one",
    ),
    "no such class": (
        {"wanted": wanted(storage_class="gone")},
        "StorageReady",
        "StorageClassMissing",
        "there are: fast, shared",
    ),
    "a class of one node": (
        {"wanted": wanted(storage_class="fast")},
        "StorageReady",
        "StorageClassNotShared",
        "many nodes can write to",
    ),
    "somebody else's software": (
        {"found": changed(components=("cert-manager", "grove"))},
        "ComponentsOwned",
        "ComponentsFound",
        "spec.servingStack.charts.cert-manager: {enabled: false}",
    ),
    "an identity": (
        {"wanted": wanted(identity="AWSWebIdentityCredentials")},
        "IdentityUsed",
        "IdentityNotUsed",
        "exec stanza",
    ),
    "GPU nodes that the operator has not found good": (
        {"found": changed(validated=(1, 2)), "wanted": wanted(has_operator=True)},
        "GpuStackReady",
        "NodesNotValidated",
        "1 of 2 GPU nodes",
    ),
    "no GPU node for the operator yet": (
        {"found": changed(validated=(0, 0)), "wanted": wanted(has_operator=True)},
        "GpuStackReady",
        "NodesNotValidated",
        "0 of 0 GPU nodes",
    ),
    "missing rights": (
        {"found": changed(missing_rights=("create deployments.apps",))},
        "RightsSufficient",
        "RightsMissing",
        "modelplane rbac us",
    ),
}


@pytest.mark.parametrize(("given", "kind", "reason", "fix"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_told_with_a_way_out(given: dict[str, Any], kind: str, reason: str, fix: str) -> None:
    found = told(**given)
    assert found[kind][:2] == ("False", reason)
    assert fix in found[kind][2]
    assert [other for other, (status, *_) in found.items() if status == "False"] == [kind]


def test_gpu_nodes_are_good_once_the_operator_has_found_all_of_them_good() -> None:
    found = told(found=changed(validated=(2, 2)), wanted=wanted(has_operator=True))
    assert found["GpuStackReady"][:2] == ("True", "NodesValidated")
    assert "GpuStackReady" not in told(found=changed(validated=(0, 0)))


def test_what_is_not_known_is_not_told() -> None:
    assert list(told(found=Findings(), nodes=None)) == ["Reachable"]


def test_what_is_not_asked_for_is_not_told() -> None:
    nothing = Wanted(subject="hub", has_own_gateway=False, has_devices=False)
    assert list(told(wanted=nothing, nodes=None)) == [
        "Reachable",
        "VersionSupported",
        "ComponentsOwned",
        "RightsSufficient",
    ]


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ("BadCredentials: Unauthorized", "valid credentials"),
        ("Unreachable: ConnectError", "can be reached"),
        ("RightsMissing: nodes is forbidden", "modelplane rbac us"),
    ],
)
def test_a_cluster_that_does_not_answer(reason: str, fix: str) -> None:
    [found] = unreachable(reason, WANTED)
    assert (found.type, found.status, found.reason) == ("Reachable", "False", reason.partition(":")[0])
    assert reason.partition(": ")[2] in found.message
    assert fix in found.message


def test_installing_charts_takes_everything_and_finding_them_far_less() -> None:
    assert cluster_rules(charts=True, definitions=True, is_dynamo=False) == (INSTALLER,)
    assert hub_rules(charts=True, definitions=False, metallb=False) == (INSTALLER,)
    found = cluster_rules(charts=False, definitions=False, is_dynamo=False)
    assert all("*" not in (*rule.resources, *rule.verbs, rule.group) for rule in found)
    groups = {rule["apiGroups"][0]: rule for rule in role("x", found)["rules"]}
    assert groups["apiextensions.k8s.io"]["verbs"] == ["get", "list", "watch"]
    assert "leaderworkerset.x-k8s.io" in groups
    assert "scheduling.run.ai" not in groups
