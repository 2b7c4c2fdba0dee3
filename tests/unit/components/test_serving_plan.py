"""The parts of a serving cluster and of the hub: which there are, what each waits for, and so what goes first."""

from collections.abc import Sequence

import pytest
from stack_parts import ALL_DEFINITIONS, a_site, parts_of, parts_of_hub

from components.charts import STACK_CHARTS, HelmRelease
from components.definitions import applied, cleaned
from components.installation import Part
from components.rights import cluster_rules, hub_rules
from components.serving_manifests import MODEL_EXPRESS_ADDRESS

QUEUES = {"modelplane-root", "modelplane"}
SERVER = {f"modelexpress-{kind}" for kind in ("serviceaccount", "role", "rolebinding", "service", "deployment")}
POOLS = set(ALL_DEFINITIONS["gateway-api-inference-extension"])
EXPRESS = set(ALL_DEFINITIONS["modelexpress"])


def keys(parts: Sequence[Part]) -> set[str]:
    return {part.key for part in parts}


def before(parts: Sequence[Part], key: str) -> set[str]:
    """Everything that has to be there before a part."""
    by_key = {part.key: part for part in parts}
    direct = {need for need in by_key[key].needs if need in by_key}
    return direct.union(*(before(parts, need) for need in direct))


def test_dynamo_has_its_own_half_and_standard_has_none_of_it() -> None:
    standard, dynamo = keys(parts_of("Standard")), keys(parts_of("Dynamo"))
    assert standard - dynamo == {"leader-worker-set", "namespace-lws-system"}
    assert dynamo - standard == {
        "grove",
        "kai-scheduler",
        "namespace-grove-system",
        "namespace-kai-scheduler",
        *QUEUES,
        *SERVER,
        *EXPRESS,
    }


def test_keys_are_the_names_of_resources_and_each_is_there_once() -> None:
    for parts in (parts_of("Standard"), parts_of("Dynamo"), parts_of_hub()):
        assert len(keys(parts)) == len(parts)


ORDERS = {
    "the controller outlives the class, and the class the gateway": (
        "Standard",
        "gateway",
        {"gateway-class", "envoy-proxy", "envoy-gateway", "ai-gateway", "ai-gateway-crds", "modelplane-system"},
    ),
    "definitions come before what acts on them": (
        "Standard",
        "ai-gateway",
        {"ai-gateway-crds", "envoy-gateway", *POOLS},
    ),
    "KAI outlives its queues, and a queue its child": ("Dynamo", "modelplane", {"modelplane-root", "kai-scheduler"}),
    "the server of ModelExpress goes before its definitions": (
        "Dynamo",
        "modelexpress-deployment",
        {*EXPRESS, "modelexpress-rolebinding", "modelexpress-serviceaccount", "modelplane-system"},
    ),
    "the quota is in the driver's namespace": ("Standard", "critical-pods", {"dra-driver", "node-feature-discovery"}),
}


@pytest.mark.parametrize(("stack", "key", "want"), ORDERS.values(), ids=ORDERS)
def test_order(stack: str, key: str, want: set[str]) -> None:
    parts = parts_of(stack)  # type: ignore[arg-type]  # a table of texts
    assert want <= before(parts, key)


def test_the_hub_is_taken_down_from_the_gateway_to_the_definitions() -> None:
    parts = parts_of_hub()
    assert before(parts, "gateway") >= {
        "gateway-class",
        "traefik",
        "metallb",
        "metallb-pool",
        "metallb-advertisement",
        *ALL_DEFINITIONS["gateway-api"],
    }
    assert before(parts, "traefik") >= set(ALL_DEFINITIONS["gateway-api"])
    assert before(parts, "metallb-pool") >= {"metallb"}


def test_what_is_switched_off_has_no_part_and_nothing_waits_for_it() -> None:
    off = {name: {"enabled": False} for name in ("envoy-gateway", "dra-driver", "cert-manager")}
    parts = parts_of("Standard", charts=off, crds={"enabled": False})
    assert not keys(parts) & {"envoy-gateway", "envoy-proxy", "gateway-class", "dra-driver", "critical-pods", *POOLS}
    assert before(parts, "gateway") == {
        "ai-gateway",
        "ai-gateway-crds",
        "namespace-envoy-ai-gateway-system",
        "modelplane-system",
    }


def test_a_found_hub_gets_its_gateway_alone() -> None:
    parts = parts_of_hub(charts={"traefik": {"enabled": False}, "metallb": {"enabled": False}}, crds={"enabled": False})
    assert keys(parts) == {
        "gateway",
        "modelplane-system",
        "metallb-pool",
        "metallb-advertisement",
        "namespace-metallb-system",
    }


def test_what_is_somebody_else_s_is_used_and_never_registered() -> None:
    site = a_site(
        foreign_namespaces=frozenset({"monitoring", "modelplane-system"}),
        foreign_definitions=frozenset({"inferencepools.inference.networking.k8s.io"}),
    )
    found = keys(parts_of("Standard", site=site))
    assert "prometheus" in found
    assert not found & {"namespace-monitoring", "modelplane-system", "inferencepools.inference.networking.k8s.io"}
    assert "namespace-cert-manager" in found


def test_namespaces_stay_when_their_stack_goes() -> None:
    retained = {part.key for part in parts_of("Dynamo") if part.is_retained}
    assert retained == {key for key in keys(parts_of("Dynamo")) if key.startswith("namespace-")} | {"modelplane-system"}


def test_a_definition_is_applied_without_what_the_server_owns() -> None:
    raw = {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "a.b", "creationTimestamp": None, "annotations": {"c": "d"}},
        "spec": {},
        "status": {"conditions": []},
    }
    policy = {"kind": "ValidatingAdmissionPolicy", "metadata": {"name": "a.b"}}
    found = cleaned([policy, None, raw, {**raw, "metadata": {"name": "other"}}], ("a.b",))
    assert found == {
        "a.b": {"kind": "CustomResourceDefinition", "metadata": {"name": "a.b", "annotations": {"c": "d"}}, "spec": {}}
    }
    assert applied(found["a.b"], {"modelplane.ai/fleet": "prod"})["metadata"] == {
        "name": "a.b",
        "labels": {"modelplane.ai/fleet": "prod"},
        "annotations": {"c": "d", "pulumi.com/waitFor": "condition=Established"},
    }


def test_engines_reach_the_server_from_every_namespace() -> None:
    assert MODEL_EXPRESS_ADDRESS == "modelexpress-server.modelplane-system:8001"


PLURALS = {
    "Gateway": "gateways",
    "Queue": "queues",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "CustomResourceDefinition": "customresourcedefinitions",
    "IPAddressPool": "ipaddresspools",
    "L2Advertisement": "l2advertisements",
}


@pytest.mark.parametrize("stack", ["Standard", "Dynamo", "hub"])
def test_the_printed_role_allows_every_object_that_is_made_where_charts_are_found(stack: str) -> None:
    off = {"enabled": False}
    if stack == "hub":
        parts = parts_of_hub(charts={"traefik": off, "metallb": off})
        rules = hub_rules(charts=False, definitions=True, metallb=True)
    else:
        charts = {name: off for names in STACK_CHARTS.values() for name in names}
        parts = parts_of(stack, charts=charts)  # type: ignore[arg-type]  # a table of texts
        rules = cluster_rules(charts=False, definitions=True, is_dynamo=stack == "Dynamo")
    allowed = {(rule.group, resource) for rule in rules if "create" in rule.verbs for resource in rule.resources}
    for part in parts:
        assert not isinstance(part.content, HelmRelease)
        group, _, _ = part.content["apiVersion"].rpartition("/")
        kind = part.content["kind"]
        assert (group, PLURALS.get(kind, f"{kind.lower()}s")) in allowed
