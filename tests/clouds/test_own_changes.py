"""What clouds change by themselves is no drift, and what others change of the program's is set back.

After the clouds reference: the size of a pool between its bounds is its autoscaler's, the release of an image, the
version of an addon and of nodes that follow a channel are the cloud's. Bounds are the program's, and a fixed size is.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from builders import a_fleet
from clouds.rig import DOOR, Rig
from sites import a_cloud_class, a_cloud_cluster, a_cloud_pool, credentials
from states import documents_of

pytestmark = [pytest.mark.engine, pytest.mark.soak]

Plain = dict[str, Any]
Inputs = dict[str, Plain]

POOLS: dict[str, Plain] = {"fixed": {}, "wide": {"minNodeCount": 1, "maxNodeCount": 4}}


def edited(rig: Rig, package: str, edits: dict[str, Plain]) -> None:
    """Change what a cloud holds: inputs by the end of a resource's name, laid over those that are there."""

    def edit(entry: Plain) -> None:
        for name, inputs in edits.items():
            if entry["name"] == f"cluster-us/{name}":
                entry["inputs"] = laid_over(entry["inputs"], inputs)
                done.append(name)

    done: list[str] = []
    rig.edit(package, edit)
    assert sorted(done) == sorted(edits)


def laid_over(old: Any, new: Any) -> Any:
    if isinstance(old, list) and isinstance(new, list):
        return [laid_over(*both) for both in zip(old, new, strict=True)]
    if isinstance(old, dict) and isinstance(new, dict):
        return old | {key: laid_over(old.get(key), value) for key, value in new.items()}
    return new


@dataclass(frozen=True, kw_only=True)
class Case:
    """One cloud: what it changes by itself, and what others change that is the program's."""

    package: str
    own: dict[str, Plain]
    foreign: dict[str, Plain]


def sizes(**counts: int) -> Plain:
    return {"scalingConfig": counts}


CASES = {
    "EKS": Case(
        package="aws",
        own={
            "nodegroup-system": {**sizes(desiredSize=2), "releaseVersion": "1.36.1-20260401"},
            "nodegroup-wide": {**sizes(desiredSize=4), "releaseVersion": "1.36.1-20260401"},
            "addon-coredns": {"addonVersion": "v1.12.4-eksbuild.1"},
            "addon-vpc-cni": {"addonVersion": "v1.21.0-eksbuild.1"},
            "cluster": {"platformVersion": "eks.9"},
        },
        foreign={
            "nodegroup-fixed": sizes(desiredSize=3, minSize=3, maxSize=3),
            "nodegroup-wide": sizes(maxSize=9),
        },
    ),
    "GKE": Case(
        package="gcp",
        own={
            "cluster": {"masterVersion": "1.35.4-gke.100"},
            "nodepool-system": {"nodeCount": 2, "initialNodeCount": 2, "version": "1.35.4-gke.100"},
            "nodepool-wide": {"nodeCount": 4, "initialNodeCount": 4, "version": "1.35.4-gke.100"},
        },
        foreign={
            "nodepool-fixed": {"autoscaling": {"minNodeCount": 0, "maxNodeCount": 5}},
            "nodepool-wide": {"autoscaling": {"maxNodeCount": 9}},
        },
    ),
    "AKS": Case(
        package="azure-native",
        own={
            "cluster": {"agentPoolProfiles": [{"count": 2}], "currentKubernetesVersion": "1.34.7"},
            "nodepool-wide": {"count": 4, "nodeImageVersion": "AKSUbuntu-2204gen2containerd-202604.01.0"},
        },
        foreign={"nodepool-fixed": {"count": 3, "minCount": 3, "maxCount": 3}, "nodepool-wide": {"maxCount": 9}},
    ),
    "Nebius": Case(
        package="terraform-provider",
        own={"nodegroup-wide": {"status": {"nodeCount": 4, "targetNodeCount": 4}}},
        foreign={
            "nodegroup-fixed": {"fixedNodeCount": 3},
            "nodegroup-wide": {"autoscaling": {"maxNodeCount": 9}},
        },
    ),
    "Vultr": Case(
        package="vultr",
        own={"cluster": {"nodePools": {"nodeQuantity": 2}}, "node-pool-wide": {"nodeQuantity": 4}},
        foreign={"node-pool-fixed": {"nodeQuantity": 3}, "node-pool-wide": {"maxNodes": 9}},
    ),
}


@pytest.mark.parametrize("source", CASES)
def test_only_what_is_the_program_s_is_set_back(source: str, tmp_path: Path) -> None:
    case = CASES[source]
    fleet = a_fleet("prod", gateway={"kubeconfigSecretRef": {"name": "hub"}}, credentials=credentials(source))
    names = {name: a_cloud_pool(source, name, nodes=2, **bounds) for name, bounds in POOLS.items()}
    cluster = a_cloud_cluster(source, pools=list(names.values()))
    rig = Rig(tmp_path, documents_of(fleet, DOOR, a_cloud_class(source), cluster))
    made = sum(rig.up().values())
    asked = inputs_of(rig, case)
    edited(rig, case.package, case.own)
    own = inputs_of(rig, case)
    assert own != asked
    rig.stack.refresh()
    assert rig.up() == {"same": made}
    assert inputs_of(rig, case) == own
    edited(rig, case.package, case.foreign)
    assert inputs_of(rig, case) != own
    rig.stack.refresh()
    assert rig.up() == {"same": made - len(case.foreign), "update": len(case.foreign)}
    assert program_s(inputs_of(rig, case), case) == program_s(asked, case)
    assert rig.up() == {"same": made}


def inputs_of(rig: Rig, case: Case) -> Inputs:
    """What the cloud holds, by name."""
    return {entry["name"].partition("/")[2]: entry["inputs"] for entry in rig.held(case.package).values()}


def program_s(found: Inputs, case: Case) -> Inputs:
    """The part of it that others have changed."""
    return {name: picked(wanted, found[name]) for name, wanted in case.foreign.items()}


def picked(wanted: Any, found: Any) -> Any:
    return {key: picked(inner, found[key]) for key, inner in wanted.items()} if isinstance(wanted, dict) else found
