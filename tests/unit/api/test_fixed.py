"""What cannot change once it is deployed is refused by its rule's id, at its field; what may change is not."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from builders import Plain, a_cache
from unit.api.rule_cases.case import changed
from unit.api.rule_cases.platform import cluster_of
from unit.api.rule_cases.replicas import MOVED, REPLICA
from unit.api.texts import CLASS, CLUSTER, write

from api import InferenceCluster, ModelCache, ModelReplica
from api.base import Fault
from api.fixed import (
    Deployed,
    DeployedCache,
    DeployedCluster,
    cache_changes,
    check_against,
    cluster_changes,
    replica_faults,
)
from api.loader import load
from api.problems import field_path

EKS = DeployedCluster(source="EKS", stack="Standard", region="us-west-2", credentials="default")
STAGED = DeployedCache(source="HuggingFace", repo="Qwen/Qwen3-8B", size_gib=20)
PLACED = Deployed(
    replicas={("ml-team", "qwen-31605"): ModelReplica.parse(REPLICA)}, pools={"us": frozenset(("gpu", "old"))}
)
CACHE = a_cache().plain()


@dataclass(frozen=True)
class Change:
    """One field of a document that is deployed: `refused` breaks the rule, `accepted` is as good as before."""

    plain: Plain
    path: str
    refused: Any
    accepted: Any
    at: str
    faults: Callable[[Plain], list[Fault]]


def of_cluster(plain: Plain) -> list[Fault]:
    return list(cluster_changes(InferenceCluster.parse(plain), EKS))


def of_cache(plain: Plain) -> list[Fault]:
    return list(cache_changes(ModelCache.parse(plain), STAGED))


def of_replica(plain: Plain) -> list[Fault]:
    return list(replica_faults(ModelReplica.parse(plain), PLACED))


EAST = changed(cluster_of("EKS", zones=["us-east-1a"]), "spec.cluster.eks", {"region": "us-east-1"})
FIXED: dict[str, Change] = {
    "IC-V9": Change(cluster_of("EKS"), "spec.stack", "Dynamo", "Standard", "spec.stack", of_cluster),
    "IC-N11": Change(
        cluster_of("EKS"), "spec", EAST["spec"], cluster_of("EKS")["spec"], "spec.cluster.eks.region", of_cluster
    ),
    "MC-N3": Change(
        CACHE, "spec.huggingFace.repo", "Qwen/Qwen3-4B", "Qwen/Qwen3-8B", "spec.huggingFace.repo", of_cache
    ),
    "MC-N4": Change(CACHE, "spec.huggingFace.sizeGiB", 19, 21, "spec.huggingFace.sizeGiB", of_cache),
    "MR-N1": Change(REPLICA, "spec.clusterName", "eu", "us", "spec.clusterName", of_replica),
    "MR-N2": Change(
        REPLICA,
        "spec.engines.0.members.0.nodePoolName",
        "new",
        "old",
        "spec.engines[0].members[0].nodePoolName",
        of_replica,
    ),
}


@pytest.mark.parametrize(("rule", "change"), FIXED.items(), ids=FIXED)
def test_what_cannot_change_is_refused(rule: str, change: Change) -> None:
    found = change.faults(changed(change.plain, change.path, change.refused))
    assert [(fault.rule, field_path(fault.at)) for fault in found] == [(rule, change.at)]
    assert found[0].hint
    assert change.faults(changed(change.plain, change.path, change.accepted)) == []


def test_credentials_and_source_cannot_change() -> None:
    renamed = changed(cluster_of("EKS"), "spec.cluster.eks.credentials", {"name": "other"})
    assert [field_path(fault.at) for fault in of_cluster(renamed)] == ["spec.cluster.eks.credentials.name"]
    assert [field_path(fault.at) for fault in of_cluster(cluster_of("GKE"))] == ["spec.cluster.source"]


def test_a_region_that_was_not_recorded_is_not_compared() -> None:
    cluster = InferenceCluster.parse(cluster_of("EKS"))
    assert list(cluster_changes(cluster, DeployedCluster(source="EKS", stack="Standard"))) == []


def test_what_makes_a_control_plane_cannot_change() -> None:
    before = DeployedCluster(source="EKS", stack="Standard", control_plane="Component")
    cluster = InferenceCluster.parse(cluster_of("EKS"))
    (fault,) = cluster_changes(cluster, before)
    assert (fault.rule, field_path(fault.at)) == ("IC-N11", "spec.cluster.eks")
    assert "from Component to Resources" in fault.message
    assert list(cluster_changes(cluster, before, "Component")) == []


def test_a_revision_may_change() -> None:
    assert of_cache(changed(CACHE, "spec.huggingFace.revision", "v2")) == []


def test_a_replica_elsewhere_has_moved_whatever_its_pool() -> None:
    assert [fault.rule for fault in of_replica(MOVED)] == ["MR-N1"]


def test_a_change_is_told_with_file_and_line(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": CLASS, "b.yaml": CLUSTER + "  stack: Dynamo\n"})
    deployed = Deployed(clusters={"us": DeployedCluster(source="Existing", stack="Standard")})
    [problem] = check_against(load(tmp_path), deployed)
    assert (problem.rule, problem.code, problem.where) == ("IC-V9", "MP135", f"{tmp_path}/b.yaml:14")
    assert problem.subject == "InferenceCluster us"
    assert problem.message == "cannot be changed from Standard to Dynamo"


def test_what_is_not_deployed_may_be_anything(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": CLASS, "b.yaml": CLUSTER})
    assert list(check_against(load(tmp_path), Deployed())) == []
