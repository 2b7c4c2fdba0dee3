"""Drift told from plain data: its class, and who did it."""

from typing import Any

import pytest

from programs.outputs import EndpointState, RoutingOutputs, ServiceBackend, ServiceState
from stacks.drift import Drift
from stacks.findings import DriftClass, Finding, merged, of_gateway, of_release, of_state
from stacks.loop.sight import ROUTE, Seen, Sight

MANIFEST: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "operator", "namespace": "system", "annotations": {}, "creationTimestamp": None},
    "spec": {
        "replicas": 1,
        "template": {
            "spec": {
                "containers": [
                    {"name": "main", "image": "a:1", "resources": {"limits": {"cpu": "1000m", "memory": "1Gi"}}}
                ]
            }
        },
    },
}


def live(**spec: Any) -> dict[str, Any]:
    """The live object: what the API server fills in, and what `kubectl` may have taken over."""
    container = {
        "name": "main",
        "image": spec.pop("image", "a:1"),
        "imagePullPolicy": "Always",
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
    }
    fields = {"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {}}}}}
    return {
        "metadata": {
            "name": "operator",
            "namespace": "system",
            "uid": "u",
            "managedFields": [
                {"manager": "pulumi-resource-kubernetes", "time": "1", "fieldsV1": fields},
                *({"manager": each, "time": "2", "fieldsV1": fields} for each in spec.pop("managers", ())),
            ],
        },
        "spec": {"replicas": 1, "strategy": {}, "template": {"spec": {"containers": [container]}}} | spec,
        "status": {"replicas": 1},
    }


def release(found: dict[str, Any] | None) -> list[tuple[str, str, str]]:
    return [(str(each.drift), each.what, each.manager) for each in of_release("f.serving.us", MANIFEST, found)]


def test_an_object_of_a_release_that_is_as_its_manifest_says() -> None:
    assert release(live()) == []
    assert release(live(managers=["kubectl"])) == [], "to own a field is not to change it"


def test_what_somebody_else_set_in_a_release_is_told_with_who() -> None:
    assert release(live(replicas=3, managers=["kubectl-scale"])) == [
        ("scaled-by-other", "copies 1, found 3", "kubectl-scale")
    ]
    assert release(live(image="a:2", managers=["kubectl-edit"])) == [
        ("changed", "spec.template.spec.containers", "kubectl-edit")
    ]
    assert release(None) == [("missing", "is not there", "")]


def test_a_scale_to_none_is_told_though_nobody_is_noted_for_it() -> None:
    scaled = live(replicas=0)
    del scaled["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:replicas"]
    assert release(scaled) == [("scaled-by-other", "copies 1, found 0", "")]


def test_a_key_with_dots_in_it_has_an_owner_as_any_other() -> None:
    manifest = {
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "n"},
        "data": {"gateway.yaml": "a", "b": "c"},
    }
    fields = {"f:data": {"f:gateway.yaml": {}}}
    metadata = {"name": "c", "namespace": "n", "managedFields": [{"manager": "somebody", "fieldsV1": fields}]}
    found = list(of_release("f.serving.us", manifest, {"metadata": metadata, "data": {"gateway.yaml": "x", "b": "y"}}))
    assert [(each.what, each.manager) for each in found] == [("data.gateway.yaml", "somebody")]


def test_what_nobody_else_owns_in_a_release_is_how_the_api_server_writes_it() -> None:
    assert release(live(image="docker.io/a:1")) == []


@pytest.mark.parametrize(
    ("drift", "found"),
    [
        (Drift(kind="Service", name="r/service", field="gone"), ("missing", "is not there", "")),
        (
            Drift(kind="Service", name="r/service", field="spec.replicas", found=2, applied=1, manager="kubectl"),
            ("scaled-by-other", "copies 1, found 2", "kubectl"),
        ),
        (
            Drift(kind="Service", name="r/service", field="spec.ports[0].port", manager="helm"),
            ("changed", "spec.ports[0].port", "helm"),
        ),
    ],
)
def test_the_class_of_what_a_stack_s_look_found(drift: Drift, found: tuple[str, str, str]) -> None:
    [finding] = of_state("f.workloads.us", [drift], {("Service", "r/service"): "team/r"})
    assert (str(finding.drift), finding.what, finding.manager) == found
    assert finding.name == "team/r"


def test_weights_are_told_as_weights_and_not_as_fields_besides() -> None:
    endpoint = EndpointState(url="http://10.0.0.1/", cluster="us", backend="one", port=80)
    routing = RoutingOutputs(
        services={
            "n/chat": ServiceState(
                backends=(ServiceBackend(endpoint="n/one", weight=9), ServiceBackend(endpoint="n/two", weight=1))
            )
        },
        endpoints={"n/one": endpoint, "n/two": endpoint.model_copy(update={"backend": "two"})},
    )
    seen = Seen(ready=True, weights=frozenset({("one", 1), ("two", 1)}))
    sight = Sight(answers=True, objects={f"{ROUTE}/n/chat": seen})
    found = list(of_gateway("f.routing", routing, sight, {"n/chat": "kubectl-patch"}))
    assert [(each.what, each.manager) for each in found] == [("weights one=9, found one=1", "kubectl-patch")]
    field = "spec.rules[0].backendRefs[0].weight"
    besides = Finding(stack="f.routing", kind=ROUTE, name="n/chat", drift=DriftClass.CHANGED, what=field)
    label = Finding(stack="f.routing", kind=ROUTE, name="n/chat", drift=DriftClass.CHANGED, what="metadata.labels.a")
    assert merged([besides, label, *found, *found]) == [label, *found]
