"""What a cluster of each cloud registers: whole goldens, and the rules that hold for all of them.

The goldens are rewritten by `pytest tests/golden --snapshot-update`; a changed type, name or parent in them changes
everybody's state.
"""

import sys
from dataclasses import replace
from typing import Any

import pulumi
import pytest
from builders import a_fleet
from pulumi import ResourceOptions
from recording import SECRET, Recording, record
from sites import a_cloud_class, a_cloud_cluster, a_cloud_pool, a_site, cloud_documents, credentials
from syrupy.assertion import SnapshotAssertion

from api.fleets import CHARTS, Fleet
from api.providers import ProviderConfig
from api.versions import CLOUD_CHARTS
from components import clouds
from components.charts import Mirrors
from components.clouds.site import CloudSite, MissingProject, site_of
from components.inference_cluster import InferenceCluster, InferenceClusterArgs

SOURCES = sorted(clouds.MODULES)
FAST = {"EKS": {"instanceType": "p5en.48xlarge"}}


def recorded(site: CloudSite) -> Recording:
    def program() -> None:
        provider = clouds.cloud(site.source).provider(f"{site.cluster}-cloud", site)
        args = InferenceClusterArgs(site=site)
        made = InferenceCluster(f"cluster-{site.cluster}", args, ResourceOptions(providers=[provider]))
        pulumi.export("kubeconfig", made.kubeconfig)
        pulumi.export("storageClass", made.storage_class)

    return record(program)


@pytest.mark.parametrize("source", SOURCES)
def test_golden(source: str, snapshot: SnapshotAssertion) -> None:
    recording = recorded(a_site(source))
    assert recording.plain() == snapshot
    assert recording.exports == snapshot
    assert "kubeconfig" in recording.secret


@pytest.mark.parametrize("source", SOURCES)
def test_a_cluster_s_resources_are_called_after_it_and_lie_below_it(source: str) -> None:
    for found in recorded(a_site(source)).resources:
        if found.name not in {"cluster-us", "us-cloud"}:
            assert found.parent == "cluster-us"
            assert found.name.startswith("cluster-us/")


@pytest.mark.parametrize("source", SOURCES)
def test_the_same_cluster_twice_is_registered_alike(source: str) -> None:
    assert recorded(a_site(source)).plain() == recorded(a_site(source)).plain()


@pytest.mark.parametrize("source", SOURCES)
def test_what_lies_in_the_cluster_goes_with_it(source: str) -> None:
    for found in recorded(a_site(source)).resources:
        if found.type.startswith("kubernetes:"):
            assert found.retain_on_delete
            assert found.provider == "cluster-us/inside"


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("is_protected", [True, False])
def test_a_cluster_is_protected_unless_the_fleet_says_otherwise(source: str, is_protected: bool) -> None:
    fleet = a_fleet_with(source, deletion={"protectClusters": is_protected})
    kept = {found.kind for found in recorded(a_site(source, fleet=fleet)).resources if found.protect}
    assert bool(kept) is is_protected
    assert not kept & {"NodeGroup", "NodePool", "AgentPool", "Mk8sV1NodeGroup", "KubernetesNodePools"}


def a_fleet_with(source: str, **spec: Any) -> Fleet:
    return a_fleet("prod", **({"credentials": credentials(source)} | spec))


def test_eks_with_efa_and_a_capacity_block(snapshot: SnapshotAssertion) -> None:
    """D20: the group allows itself both ways and is on every interface, one for each network card."""
    pools = [
        a_cloud_pool("EKS", "fast", nodes=2, class_name="h200", fabric={"type": "EFA"}),
        a_cloud_pool("EKS", "bought", class_name="h200", capacityBlock={"capacityReservationId": "cr-0a1b"}),
        a_cloud_pool("EKS", "plain", zones=["us-east-1a", "us-east-1d"], minNodeCount=1, maxNodeCount=4, nodes=2),
    ]
    site = a_site("EKS", a_cloud_class("EKS"), a_cloud_class("EKS", "h200", **FAST["EKS"]), pools=pools)
    recording = recorded(site)
    wanted = {"NodeGroup", "LaunchTemplate", "SecurityGroup", "SecurityGroupIngressRule", "SecurityGroupEgressRule"}
    found = [each.plain() for each in recording.resources if each.kind in {*wanted, "Subnet", "Release"}]
    assert found == snapshot
    (template,) = [each for each in recording.of_kind("LaunchTemplate") if "networkInterfaces" in each.inputs]
    interfaces = template.inputs["networkInterfaces"]
    assert [each["interfaceType"] for each in interfaces] == ["efa"] + ["efa-only"] * 15
    assert [(each["networkCardIndex"], each["deviceIndex"]) for each in interfaces[:3]] == [(0, 0), (1, 1), (2, 1)]
    (efa,) = {tuple(each["securityGroups"]) for each in interfaces}
    assert efa == ("cluster-us/efa-security-group-id", "sg-cluster")
    for rule in ("SecurityGroupIngressRule", "SecurityGroupEgressRule"):
        itself = dict.fromkeys(("securityGroupId", "referencedSecurityGroupId"), efa[0]) | {"ipProtocol": "-1"}
        assert itself in [each.inputs for each in recording.of_kind(rule)]


def test_several_accounts_are_told_apart_by_variables_whose_values_are_in_no_state() -> None:
    env = {"AWS_ACCESS_KEY_ID": "ACCOUNT_A_KEY", "AWS_SECRET_ACCESS_KEY": "ACCOUNT_A_SECRET"}
    fleet = a_fleet_with("EKS", credentials={"default": {"aws": {"env": env}}})
    recording = recorded(a_site("EKS", fleet=fleet))
    (provider,) = [found for found in recording.resources if found.type == "pulumi:providers:aws"]
    assert provider.env_var_mappings == {
        "ACCOUNT_A_KEY": "AWS_ACCESS_KEY_ID",
        "ACCOUNT_A_SECRET": "AWS_SECRET_ACCESS_KEY",
    }
    assert provider.inputs.keys() <= {"region", "retryMode", "skipCredentialsValidation", "skipRegionValidation"}
    assert '"--env", "AWS_ACCESS_KEY_ID=ACCOUNT_A_KEY"' in recording.exports["kubeconfig"]


RETRIES = {
    "EKS": {"retryMode": "adaptive"},
    "GKE": {},
    "AKS": {},
    "Nebius": {"retries": "10"},
    "Vultr": {"retryLimit": "10"},
}
"""What tells each provider to make throttled calls again; those of Google Cloud and Azure do so by themselves."""


@pytest.mark.parametrize("source", SOURCES)
def test_calls_that_a_cloud_throttles_are_made_again_by_its_provider(source: str) -> None:
    (provider,) = [found for found in recorded(a_site(source)).resources if found.name == "us-cloud"]
    told = {name: value for name, value in provider.inputs.items() if "retr" in name.lower()}
    assert told == RETRIES[source]


def test_the_kubeconfig_of_what_lies_in_the_cluster_is_secret() -> None:
    (access,) = [found for found in recorded(a_site("EKS")).resources if found.type == "pulumi:providers:kubernetes"]
    assert access.inputs["kubeconfig"] == SECRET
    assert access.inputs["clusterIdentifier"] == "prod/us"


def test_charts_that_are_switched_off_are_left_to_others() -> None:
    charts = {"charts": {"cluster-autoscaler": {"enabled": False}}}
    assert recorded(a_site("EKS", fleet=a_fleet_with("EKS", servingStack=charts))).of_kind("Release") == []


FAST_POOLS: dict[str, list[dict[str, Any]]] = {
    "AKS": [a_cloud_pool("AKS", "ib", fabric={"type": "InfiniBand"}, zones=["1"]), a_cloud_pool("AKS", "plain")],
    "Nebius": [
        a_cloud_pool("Nebius", "a", fabric={"type": "InfiniBand", "infiniband": {"fabric": "fabric-2"}}, nodes=4),
        a_cloud_pool("Nebius", "b", fabric={"type": "InfiniBand", "infiniband": {"fabric": "fabric-2"}}),
        a_cloud_pool("Nebius", "c", minNodeCount=0, maxNodeCount=3, nodes=1),
    ],
    "GKE": [
        a_cloud_pool("GKE", "wide", zones=["us-central1-a", "us-central1-b"], nodes=2, minNodeCount=0, maxNodeCount=4)
    ],
    "Vultr": [a_cloud_pool("Vultr", "grows", nodes=2, maxNodeCount=4)],
}


def test_nodes_of_gke_carry_what_its_autoscaler_knows_devices_by() -> None:
    """D22: without the label it would start no node for a claim."""
    pools = [pool for pool in recorded(a_site("GKE")).of_kind("NodePool") if "system" not in pool.name]
    labels = [pool.inputs["nodeConfig"]["labels"] for pool in pools]
    assert [each["cloud.google.com/gke-nvidia-gpu-dra-driver"] for each in labels] == ["true"]


@pytest.mark.parametrize("source", sorted(FAST_POOLS))
def test_pools_with_fabrics_and_bounds(source: str, snapshot: SnapshotAssertion) -> None:
    recording = recorded(a_site(source, pools=FAST_POOLS[source]))
    wanted = {"AgentPool", "NodePool", "Mk8sV1NodeGroup", "KubernetesNodePools", "ComputeV1GpuCluster", "Release"}
    assert [each.plain() for each in recording.resources if each.kind in wanted] == snapshot


def test_pools_of_one_fabric_share_a_gpu_cluster() -> None:
    recording = recorded(a_site("Nebius", pools=FAST_POOLS["Nebius"]))
    (shared,) = recording.of_kind("ComputeV1GpuCluster")
    groups = {found.name: found.inputs["template"].get("gpuCluster") for found in recording.of_kind("Mk8sV1NodeGroup")}
    assert groups == {
        "cluster-us/nodegroup-a": {"id": f"{shared.name}-id"},
        "cluster-us/nodegroup-b": {"id": f"{shared.name}-id"},
        "cluster-us/nodegroup-c": None,
        "cluster-us/nodegroup-system": None,
    }


@pytest.mark.parametrize("source", ["GKE", "Nebius"])
def test_a_cluster_without_a_project_is_refused_in_words(source: str) -> None:
    with pytest.raises(MissingProject, match=f"the project of cluster us on {source}"):
        recorded(a_site(source, fleet=a_fleet("prod")))


def test_a_project_may_come_from_a_provider_configuration() -> None:
    config = ProviderConfig.parse(
        {
            "apiVersion": "gcp.m.upbound.io/v1beta1",
            "kind": "ClusterProviderConfig",
            "metadata": {"name": "default"},
            "spec": {"projectID": "acme-2"},
        }
    )
    made = a_cloud_cluster("GKE")
    documents = cloud_documents(made, fleet=a_fleet("prod"))
    found = replace(documents, provider_configs={("gcp", "default"): config})
    assert site_of(found, made, Mirrors()).project == "acme-2"


def test_the_component_of_eks_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pulumi_eks", None)
    monkeypatch.delitem(sys.modules, "components.clouds.eks.component", raising=False)
    fleet = a_fleet_with("EKS", clusters={"us": {"controlPlane": "Component"}})
    with pytest.raises(clouds.MissingCloudSdk, match="pulumi_eks") as caught:
        recorded(a_site("EKS", fleet=fleet))
    assert "uv sync --extra eks" in caught.value.hint


@pytest.mark.parametrize("source", ["Nebius", "Vultr"])
def test_a_missing_extra_is_said_in_words(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = {"Nebius": "pulumi_nebius", "Vultr": "ediri_vultr"}[source]
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, clouds.MODULES[source], raising=False)
    with pytest.raises(clouds.MissingCloudSdk, match=package) as caught:
        clouds.prepare([source])
    assert "uv sync --extra" in caught.value.hint


def test_the_key_of_the_account_that_reaches_a_cluster_is_given_out_as_a_secret() -> None:
    def program() -> None:
        site = a_site("GKE")
        provider = clouds.cloud("GKE").provider("us-cloud", site)
        made = InferenceCluster("cluster-us", InferenceClusterArgs(site=site), ResourceOptions(providers=[provider]))
        pulumi.export("identity", made.identity)

    recording = record(program)
    assert recording.exports["identity"] == '{"type": "service_account"}'
    assert recording.secret == {"identity"}


def test_every_chart_of_a_cloud_can_be_set_in_the_fleet() -> None:
    assert set(CLOUD_CHARTS) <= set(CHARTS)
