"""A bare cluster with each fault in turn: a condition with its reason and a way out, and never a traceback."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from engine.bare import Bare, bare_cluster
from engine.runs import wait_until
from standin_charts import a_kind

from components.rights import Rule, cluster_rules, role
from programs.findings import Wanted
from programs.probe import Answer, probe

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

RULES = cluster_rules(charts=False, definitions=True, is_dynamo=False)
WANTED = Wanted(subject="us", pools={"h100": 1}, charts=("cert-manager",), storage_class="shared", rules=RULES)
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bare]:
    with bare_cluster(tmp_path_factory.mktemp("fitness"), "us", 1, set()) as found:
        yield found


def asked(kubeconfig: str, wanted: Wanted = WANTED) -> Answer:
    return probe(kubeconfig, fleet="prod", namespaces=["ml-team"], wanted=wanted)


def told(kubeconfig: str, wanted: Wanted = WANTED) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.reason) for each in asked(kubeconfig, wanted).conditions}


def changed(kubeconfig: str, **cluster: Any) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load(kubeconfig)
    config["clusters"][0]["cluster"] |= cluster
    return config


def with_token(kubeconfig: str, token: str) -> str:
    config = changed(kubeconfig)
    config["users"][0]["user"] = {"token": token}
    return yaml.safe_dump(config)


def a_user(cluster: Bare, name: str, rules: tuple[Rule, ...]) -> str:
    """A kubeconfig of a service account with such a role."""
    cluster.post("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": name}})
    cluster.post(f"{RBAC}/clusterroles", role(name, rules))
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [subject],
    }
    cluster.post(f"{RBAC}/clusterrolebindings", binding)
    answer = cluster.post(f"/api/v1/namespaces/default/serviceaccounts/{name}/token", {"spec": {}})
    return with_token(cluster.kubeconfig, answer["status"]["token"])


def test_a_bare_cluster_lacks_a_labelled_node_a_load_balancer_and_the_class(cluster: Bare) -> None:
    assert told(cluster.kubeconfig) == {
        "Reachable": ("True", "Answers"),
        "VersionSupported": ("True", "VersionSupported"),
        "DeviceClaimsServed": ("True", "DeviceClaimsServed"),
        "PoolsLabelled": ("False", "PoolUnlabelled"),
        "LoadBalancerPresent": ("False", "NoLoadBalancer"),
        "StorageReady": ("False", "StorageClassMissing"),
        "ComponentsOwned": ("True", "NothingInTheWay"),
        "RightsSufficient": ("True", "RightsSufficient"),
    }
    for each in asked(cluster.kubeconfig).conditions:
        assert each.message or each.status == "True"


UNREACHABLE = {
    "nobody listens": ({"server": "https://127.0.0.1:9"}, "Unreachable"),
    "another certificate": ({"insecure-skip-tls-verify": False, "certificate-authority-data": ""}, "Unreachable"),
}


@pytest.mark.parametrize(("fields", "reason"), UNREACHABLE.values(), ids=UNREACHABLE)
def test_a_cluster_that_cannot_be_reached(cluster: Bare, fields: dict[str, Any], reason: str) -> None:
    answer = asked(yaml.safe_dump(changed(cluster.kubeconfig, **fields)))
    assert not answer.reachable
    [found] = answer.conditions
    assert (found.type, found.status, found.reason) == ("Reachable", "False", reason)
    assert "check the server's address" in found.message


@pytest.mark.parametrize("text", ["", "{}", "- 1", "nonsense: [", "clusters: 7\nusers: x\ncurrent-context: y"])
def test_a_kubeconfig_that_is_none(text: str) -> None:
    answer = asked(text)
    [found] = answer.conditions
    assert (found.type, found.status, found.reason) == ("Reachable", "False", "BadCredentials")


def test_credentials_that_are_not_taken(cluster: Bare) -> None:
    [found] = asked(with_token(cluster.kubeconfig, "not-a-token")).conditions
    assert (found.status, found.reason) == ("False", "BadCredentials")
    assert "valid credentials" in found.message


def test_a_user_without_rights_is_told_which_role_to_take(cluster: Bare) -> None:
    [found] = asked(a_user(cluster, "nobody", ())).conditions
    assert (found.status, found.reason) == ("False", "RightsMissing")
    assert "modelplane rbac us" in found.message


def test_the_printed_role_is_enough_and_less_is_told(cluster: Bare) -> None:
    assert told(a_user(cluster, "enough", RULES))["RightsSufficient"] == ("True", "RightsSufficient")
    less = tuple(rule for rule in RULES if rule.group not in {"apps", "resource.k8s.io"})
    extra = Rule(group="resource.k8s.io", resources=("resourceslices",), verbs=("list",))
    found = {each.type: each for each in asked(a_user(cluster, "less", (*less, extra))).conditions}["RightsSufficient"]
    assert (found.status, found.reason) == ("False", "RightsMissing")
    assert "create deployments.apps, create resourceclaimtemplates.resource.k8s.io" in found.message


def test_a_command_in_the_kubeconfig_is_run_for_a_token(cluster: Bare) -> None:
    [user] = yaml.safe_load(a_user(cluster, "by-command", RULES))["users"]
    status = json.dumps({"status": {"token": user["user"]["token"]}})
    config = changed(cluster.kubeconfig)
    version = "client.authentication.k8s.io/v1"
    config["users"][0]["user"] = {"exec": {"apiVersion": version, "command": "echo", "args": [status]}}
    assert told(yaml.safe_dump(config))["RightsSufficient"] == ("True", "RightsSufficient")
    config["users"][0]["user"]["exec"]["command"] = "no-such-command"
    [found] = asked(yaml.safe_dump(config)).conditions
    assert (found.status, found.reason) == ("False", "BadCredentials")


def test_each_fault_goes_with_its_cause(cluster: Bare) -> None:
    kubeconfig = cluster.kubeconfig
    cluster.patch("/api/v1/nodes/system-0", {"metadata": {"labels": {"modelplane.ai/pool": "h100"}}})
    assert told(kubeconfig)["PoolsLabelled"] == ("True", "NodesLabelled")
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    for name, provisioner in (("shared", "nfs.csi.k8s.io"), ("local", "kubernetes.io/no-provisioner")):
        cluster.post(classes, {"metadata": {"name": name}, "provisioner": provisioner})
    assert told(kubeconfig)["StorageReady"] == ("True", "StorageClassFound")
    one_node = Wanted(subject="us", storage_class="local")
    assert told(kubeconfig, one_node)["StorageReady"] == ("False", "StorageClassNotShared")
    service = {"metadata": {"name": "lb"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}
    cluster.post("/api/v1/namespaces/default/services", service)
    wait_until(lambda: told(kubeconfig)["LoadBalancerPresent"][0] == "True", 30, "the Service has an address")


def test_gpu_nodes_are_good_once_the_operator_s_validator_says_so(cluster: Bare) -> None:
    vultr = Wanted(subject="us", has_operator=True)
    assert told(cluster.kubeconfig, vultr)["GpuStackReady"] == ("False", "NodesNotValidated")
    cluster.post("/api/v1/namespaces", {"metadata": {"name": "gpu-operator"}})
    labels = {"app": "nvidia-operator-validator"}
    pod = {"nodeSelector": {"modelplane.ai/pool": "h100"}, "containers": [{"name": "main", "image": "validator"}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    cluster.post(
        "/apis/apps/v1/namespaces/gpu-operator/daemonsets",
        {"metadata": {"name": labels["app"]}, "spec": {"selector": {"matchLabels": labels}, "template": template}},
    )
    wait_until(lambda: told(cluster.kubeconfig, vultr)["GpuStackReady"][0] == "True", 60, "the validator is ready")


def test_software_of_somebody_else_is_found(cluster: Bare) -> None:
    definition = a_kind("certificates.cert-manager.io", "Certificate", "Namespaced", "v1")
    cluster.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    found = {each.type: each for each in asked(cluster.kubeconfig).conditions}["ComponentsOwned"]
    assert (found.status, found.reason) == ("False", "ComponentsFound")
    assert "spec.servingStack.charts.cert-manager: {enabled: false}" in found.message
    release = {"owner": "helm", "name": "mp-cert-manager", "status": "deployed", "version": "1"}
    cluster.post("/api/v1/namespaces/default/secrets", {"metadata": {"name": "ours", "labels": release}})
    assert told(cluster.kubeconfig)["ComponentsOwned"] == ("True", "NothingInTheWay")


def test_definitions_and_namespaces_of_others_are_known_as_theirs(cluster: Bare) -> None:
    answer = probe(
        cluster.kubeconfig,
        fleet="prod",
        namespaces=["default", "absent"],
        definitions=["certificates.cert-manager.io", "absent.example.com"],
    )
    assert answer.foreign_namespaces == ("default",)
    assert answer.foreign_definitions == ("certificates.cert-manager.io",)
