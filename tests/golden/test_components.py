"""What each component registers: whole goldens, and the rules that hold for all of them.

The goldens are rewritten by `pytest tests/golden --snapshot-update`; a changed type, name or parent in them changes
everybody's state.
"""

from collections.abc import Callable

import pulumi
import pytest
from pulumi import ComponentResource, Output, ResourceOptions
from recording import SECRET, STATUS, Recording, record
from states import a_ledger, an_engine_entry, an_entry
from syrupy.assertion import SnapshotAssertion

from api.fleets import Chart, FleetGateway, GatewayCharts, ServingStackSettings, Switch
from api.routing import Traefik, endpoint_address
from components.charts import STACK_CHARTS
from components.inference_gateway import InferenceGateway, InferenceGatewayArgs
from components.kubernetes_objects import TAKE_BACK, namespace_manifest, provider, register
from components.model_endpoint import ModelEndpoint, ModelEndpointArgs
from components.model_replica import ModelReplica, ModelReplicaArgs
from components.model_service import ModelService, ModelServiceArgs
from components.readiness import replica_readiness
from components.serving_plan import TRAEFIK_SERVICE, Site, hub_parts, serving_parts
from components.serving_stack import ServingStack, ServingStackArgs
from components.shares import Share
from programs.ledger import document

LABELS = {"modelplane.ai/fleet": "prod"}
FOUND = ServingStackSettings(
    crds=Switch(enabled=False),
    charts={name: Chart(enabled=False) for name in STACK_CHARTS["Standard"]},
    gateway_class_name="traefik",
)
FOUND_HUB = FleetGateway(charts=GatewayCharts(traefik=Chart(enabled=False)), crds=Switch(enabled=False))
"""What a cluster has that brings all its serving software along."""

Make = Callable[[str, ResourceOptions], ComponentResource]


def a_replica(name: str, opts: ResourceOptions) -> ModelReplica:
    entry = an_entry("mock-demo", "gpu-eu-west", engines=(an_engine_entry("mock"), an_engine_entry("other", copies=2)))
    return ModelReplica(name, ModelReplicaArgs(replica=document(entry, a_ledger(entry)), labels=LABELS), opts)


def an_endpoint(name: str, opts: ResourceOptions) -> ModelEndpoint:
    address = endpoint_address("http://10.0.0.1/ml-team/mock-demo-be445/v1")
    args = ModelEndpointArgs(namespace="ml-team", service="endpoint-mock-demo-be445", address=address, labels=LABELS)
    return ModelEndpoint(name, args, opts)


def a_service(name: str, opts: ResourceOptions) -> ModelService:
    shares = [
        Share(service="endpoint-a", port=80, weight=9, rewrite_path="/ml-team/a/"),
        Share(service="endpoint-b", port=443, weight=1, host="api.example.com"),
    ]
    args = ModelServiceArgs(namespace="ml-team", service="mock", shares=shares, labels=LABELS)
    return ModelService(name, args, opts)


def an_outside_endpoint(name: str, opts: ResourceOptions) -> ModelEndpoint:
    address = endpoint_address("https://api.example.com:8443/")
    return ModelEndpoint(
        name, ModelEndpointArgs(namespace="ml-team", service="endpoint-outside", address=address, labels=LABELS), opts
    )


def a_service_of_nobody(name: str, opts: ResourceOptions) -> ModelService:
    return ModelService(name, ModelServiceArgs(namespace="ml-team", service="mock", labels=LABELS), opts)


def a_large_service(name: str, opts: ResourceOptions) -> ModelService:
    shares = [Share(service=f"endpoint-{number}", port=80, weight=1 + number // 10) for number in range(17)]
    args = ModelServiceArgs(namespace="ml-team", service="mock", shares=shares, door=TRAEFIK_SERVICE, labels=LABELS)
    return ModelService(name, args, opts)


def a_gateway(name: str, opts: ResourceOptions, foreign: frozenset[str] = frozenset()) -> InferenceGateway:
    parts = hub_parts(
        Traefik(version="40.2.0"), FOUND_HUB, Site(fleet="prod", definitions={}, foreign_namespaces=foreign)
    )
    return InferenceGateway(name, InferenceGatewayArgs(fleet="prod", parts=parts), opts)


def a_serving_stack(name: str, opts: ResourceOptions, foreign: frozenset[str] = frozenset()) -> ServingStack:
    parts = serving_parts("Standard", FOUND, Site(fleet="prod", definitions={}, foreign_namespaces=foreign))
    return ServingStack(name, ServingStackArgs(cluster="us", parts=parts), opts)


COMPONENTS: dict[str, Make] = {
    "ModelReplica": a_replica,
    "ModelEndpoint": an_endpoint,
    "ModelService": a_service,
    "ModelEndpoint outside": an_outside_endpoint,
    "ModelService of nobody": a_service_of_nobody,
    "ModelService with many endpoints": a_large_service,
    "InferenceGateway": a_gateway,
    "ServingStack": a_serving_stack,
}


def access(name: str = "us") -> pulumi.ProviderResource:
    return provider(name, "a kubeconfig", f"prod/{name}", ResourceOptions())


def recorded(make: Make) -> Recording:
    return record(lambda: make("part", ResourceOptions(providers=[access()])))


class Outer(ComponentResource):
    """A component around another, that is given the provider."""

    def __init__(self, make: Make, opts: ResourceOptions) -> None:
        super().__init__("test:index:Outer", "outer", {}, opts)
        make("outer/part", ResourceOptions(parent=self))
        self.register_outputs({})


@pytest.mark.parametrize("make", COMPONENTS.values(), ids=COMPONENTS)
def test_golden(make: Make, snapshot: SnapshotAssertion) -> None:
    assert recorded(make).plain() == snapshot


@pytest.mark.parametrize(("noun", "make"), COMPONENTS.items(), ids=COMPONENTS)
def test_a_component_is_called_after_its_noun_and_its_children_after_it(noun: str, make: Make) -> None:
    recording = recorded(make)
    component = recording.one(noun.partition(" ")[0])
    assert component.type == f"modelplane:index:{component.kind}"
    children = [found for found in recording.resources if found.name not in {"us", "part"}]
    assert children
    for child in children:
        assert child.parent == "part"
        assert child.name.startswith("part/")


@pytest.mark.parametrize("make", COMPONENTS.values(), ids=COMPONENTS)
def test_children_use_the_provider_that_the_component_was_given(make: Make) -> None:
    recording = recorded(make)
    assert {found.provider for found in recording.resources if found.type.startswith("kubernetes:")} == {"us"}


@pytest.mark.parametrize(("noun", "make"), COMPONENTS.items(), ids=COMPONENTS)
def test_children_of_a_nested_component_use_it_too(noun: str, make: Make) -> None:
    """And have the component as their parent, not what is around it."""
    recording = record(lambda: Outer(make, ResourceOptions(providers=[access()])))
    assert recording.one(noun.partition(" ")[0]).parent == "outer"
    objects = [found for found in recording.resources if found.type.startswith("kubernetes:")]
    assert {found.provider for found in objects} == {"us"}
    assert {found.parent for found in objects} == {"outer/part"}


@pytest.mark.parametrize("make", COMPONENTS.values(), ids=COMPONENTS)
def test_nothing_has_another_name_or_parent_from_the_past(make: Make) -> None:
    assert [found.aliases for found in recorded(make).resources if found.aliases] == []


@pytest.mark.parametrize("make", COMPONENTS.values(), ids=COMPONENTS)
def test_the_fleet_s_label_is_on_every_object(make: Make) -> None:
    for found in recorded(make).resources:
        if found.type.startswith("kubernetes:"):
            assert found.inputs["metadata"]["labels"].items() >= LABELS.items()


@pytest.mark.parametrize(
    "make", [a_replica, an_endpoint, a_service], ids=["ModelReplica", "ModelEndpoint", "ModelService"]
)
def test_workloads_and_routes_are_not_awaited(make: Make) -> None:
    for found in recorded(make).resources:
        if found.type.startswith("kubernetes:"):
            assert found.inputs["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true", **TAKE_BACK}


@pytest.mark.parametrize("make", COMPONENTS.values(), ids=COMPONENTS)
def test_fields_that_others_wrote_into_are_taken_back(make: Make) -> None:
    for found in recorded(make).resources:
        if found.type.startswith("kubernetes:"):
            assert found.inputs["metadata"]["annotations"]["pulumi.com/patchForce"] == "true"


@pytest.mark.parametrize("make", [a_gateway, a_serving_stack], ids=["InferenceGateway", "ServingStack"])
def test_a_gateway_is_awaited_until_it_has_an_address(make: Make) -> None:
    annotations = recorded(make).one("Gateway").inputs["metadata"]["annotations"]
    assert annotations["pulumi.com/waitFor"] == "jsonpath={.status.addresses[0].value}"


@pytest.mark.parametrize("make", COMPONENTS.values(), ids=COMPONENTS)
def test_live_status_is_no_input(make: Make) -> None:
    """It would be applied, and differ from what the cluster says in every preview."""
    for found in recorded(make).resources:
        assert "status" not in found.inputs


@pytest.mark.parametrize("make", [a_gateway, a_serving_stack], ids=["InferenceGateway", "ServingStack"])
def test_a_namespace_of_ours_is_kept_when_its_stack_goes(make: Make) -> None:
    namespace = recorded(make).one("Namespace")
    assert namespace.retain_on_delete
    assert recorded(make).one("Gateway").depends_on == (namespace.name,)


FOREIGN: dict[str, Make] = {
    "InferenceGateway": lambda name, opts: a_gateway(name, opts, frozenset({"modelplane-system"})),
    "ServingStack": lambda name, opts: a_serving_stack(name, opts, frozenset({"modelplane-system"})),
}


@pytest.mark.parametrize("make", FOREIGN.values(), ids=FOREIGN)
def test_a_namespace_of_somebody_else_is_used_and_not_registered(make: Make) -> None:
    recording = recorded(make)
    assert recording.of_kind("Namespace") == []
    assert recording.one("Gateway").inputs["metadata"]["namespace"] == "modelplane-system"


def test_a_deployment_comes_after_its_claim_template() -> None:
    recording = recorded(a_replica)
    names = {found.name: found.depends_on for found in recording.of_kind("Deployment")}
    assert names == {
        "part/mock": ("part/mock/standalone/devices",),
        "part/other": ("part/other/standalone/devices",),
    }


def test_a_slice_comes_after_its_service_and_is_replaced_when_its_family_changes() -> None:
    found = recorded(an_endpoint).one("EndpointSlice")
    assert found.depends_on == ("part/service",)
    assert found.replace_on_changes == ("addressType",)
    assert found.delete_before_replace


def test_a_route_comes_after_what_its_service_is_told_to_come_after() -> None:
    """So that it goes before them: no moment with a route to nothing."""

    def program() -> None:
        opts = ResourceOptions(providers=[access()])
        endpoint = an_endpoint("endpoint", opts)
        a_service("part", ResourceOptions(providers=[access("other")], depends_on=endpoint.objects))

    assert record(program).one("HTTPRoute").depends_on == ("endpoint/service", "endpoint/slice")


@pytest.mark.parametrize("text", ["a kubeconfig", "a rotated kubeconfig"])
def test_a_kubeconfig_is_secret_and_the_cluster_s_identity_does_not_depend_on_it(text: str) -> None:
    found = record(lambda: provider("us", text, "prod/us", ResourceOptions())).one("kubernetes")
    assert found.inputs == {
        "clusterIdentifier": "prod/us",
        "enableServerSideApply": "true",
        "enableConfigMapMutable": "true",
        "enableSecretMutable": "true",
        "kubeconfig": SECRET,
    }
    assert found.additional_secret_outputs == ("kubeconfig",)


def test_a_kubeconfig_that_is_an_output_is_secret_too() -> None:
    found = record(lambda: provider("us", Output.from_input("text"), "prod/us", ResourceOptions())).one("kubernetes")
    assert found.inputs["kubeconfig"] == SECRET


def test_a_namespace_says_whose_it_is() -> None:
    recording = record(
        lambda: register(
            namespace_manifest("ml-team", "prod", "modelplane.ai/fleet"), "ml-team", ResourceOptions(provider=access())
        )
    )
    metadata = {"name": "ml-team", "labels": LABELS, "annotations": TAKE_BACK}
    assert recording.one("Namespace").inputs["metadata"] == metadata


READINESS = {
    "all engines serve": ({}, (True, "Serving")),
    "no status yet": ({"Deployment": {}}, (False, "Deploying")),
    "a pod is loading": (
        {"Deployment": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1}},
        (False, "ModelStarting"),
    ),
    "an older template is served": (
        {"Deployment": {"observedGeneration": 0, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1}},
        (False, "Deploying"),
    ),
}


@pytest.mark.parametrize(("status", "want"), READINESS.values(), ids=READINESS)
def test_a_replica_s_readiness_follows_its_deployments(
    status: dict[str, dict[str, int]], want: tuple[bool, str]
) -> None:
    def program() -> None:
        entry = an_entry()
        args = ModelReplicaArgs(replica=document(entry, a_ledger(entry)))
        replica = ModelReplica("part", args, ResourceOptions(providers=[access()]))
        pulumi.export(
            "found",
            replica.told(lambda engines, picker: replica_readiness(list(engines.values()), picker)).apply(
                lambda found: [found.ready, found.reason]
            ),
        )
        pulumi.export("applied", replica.applied)

    recording = record(program, status={**STATUS, **status})
    assert recording.exports == {"found": list(want), "applied": True}


ACCEPTED = {
    "a gateway took it": ({"parents": [{"conditions": [{"type": "Accepted", "status": "True"}]}]}, True),
    "a gateway refused it": ({"parents": [{"conditions": [{"type": "Accepted", "status": "False"}]}]}, False),
    "one of two gateways took it": (
        {"parents": [{}, {"conditions": [{"type": "Accepted", "status": "True"}]}]},
        True,
    ),
    "its references are resolved and nothing more": (
        {"parents": [{"conditions": [{"type": "ResolvedRefs", "status": "True"}]}]},
        False,
    ),
    "no gateway has seen it": ({}, False),
    "parents are null": ({"parents": None}, False),
}


@pytest.mark.parametrize(("status", "want"), ACCEPTED.values(), ids=ACCEPTED)
def test_a_route_is_accepted_when_a_gateway_says_so(status: dict[str, object], want: bool) -> None:
    def program() -> None:
        pulumi.export("accepted", a_service("part", ResourceOptions(providers=[access()])).accepted)

    assert record(program, status={"HTTPRoute": status}).exports == {"accepted": want}


ADDRESSES = {
    "one": ({"addresses": [{"value": "10.0.0.1"}]}, "10.0.0.1"),
    "the first of two": ({"addresses": [{"value": "a.example.com"}, {"value": "10.0.0.1"}]}, "a.example.com"),
    "none yet": ({}, None),
    "none left": ({"addresses": []}, None),
}


@pytest.mark.parametrize(("status", "want"), ADDRESSES.values(), ids=ADDRESSES)
def test_the_address_of_a_gateway(status: dict[str, object], want: str | None) -> None:
    def program() -> None:
        pulumi.export("hub", a_gateway("hub", ResourceOptions(providers=[access()])).address)
        pulumi.export("us", a_serving_stack("us", ResourceOptions(providers=[access("b")])).gateway_address)

    assert record(program, status={"Gateway": status}).exports == {"hub": want, "us": want}
