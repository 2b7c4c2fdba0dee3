"""Objects of the hub and of a cluster's gateway (reference: routing, sections 2 to 4)."""

import json
from typing import Any

import pytest

from api.routing import endpoint_address
from components import gateway_manifests as manifests

LABELS = {"modelplane.ai/fleet": "prod"}
SKIP_AWAIT = {"pulumi.com/skipAwait": "true"}


def test_the_gateway_is_open_to_all_namespaces_and_waits_for_its_address() -> None:
    listener = {"name": "web", "protocol": "HTTP", "port": 8000}
    assert manifests.gateway("modelplane", "traefik", [listener], LABELS) == {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {
            "name": "modelplane",
            "namespace": "modelplane-system",
            "labels": LABELS,
            "annotations": {
                "pulumi.com/waitFor": "jsonpath={.status.addresses[0].value}",
                "pulumi.com/timeoutSeconds": "300",
            },
        },
        "spec": {
            "gatewayClassName": "traefik",
            "listeners": [
                {
                    "name": "web",
                    "protocol": "HTTP",
                    "port": 8000,
                    "allowedRoutes": {"namespaces": {"from": "All"}},
                }
            ],
        },
    }


@pytest.mark.parametrize(
    ("url", "spoken"), [("http://a.example:443", {}), ("https://a.example", {"appProtocol": "https"})]
)
def test_the_service_of_an_endpoint_selects_nothing_and_says_where_tls_is_spoken(
    url: str, spoken: dict[str, str]
) -> None:
    assert manifests.endpoint_service("ml-team", "endpoint-a", endpoint_address(url), LABELS) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "endpoint-a", "namespace": "ml-team", "labels": LABELS, "annotations": SKIP_AWAIT},
        "spec": {"type": "ClusterIP", "ports": [{"port": 443, "protocol": "TCP", **spoken}]},
    }


ADDRESSES = {
    "http://34.1.2.3/ml-team/qwen-demo-92535/v1": ("IPv4", "34.1.2.3", 80),
    "https://api.example.com/": ("FQDN", "api.example.com", 443),
    "http://[2001:db8::1]:8080/v1": ("IPv6", "2001:db8::1", 8080),
}


@pytest.mark.parametrize(("url", "want"), ADDRESSES.items(), ids=ADDRESSES)
def test_the_slice_leads_where_the_url_says(url: str, want: tuple[str, str, int]) -> None:
    family, host, port = want
    assert manifests.endpoint_slice("ml-team", "endpoint-a", endpoint_address(url), LABELS) == {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "endpoint-a",
            "namespace": "ml-team",
            "labels": {
                "modelplane.ai/fleet": "prod",
                "kubernetes.io/service-name": "endpoint-a",
                "endpointslice.kubernetes.io/managed-by": "modelplane.ai",
            },
            "annotations": SKIP_AWAIT,
        },
        "addressType": family,
        "endpoints": [{"addresses": [host], "conditions": {"ready": True}}],
        "ports": [{"name": "", "port": port, "protocol": "TCP"}],
    }


BACKENDS: dict[str, tuple[str | None, dict[str, Any]]] = {
    "a replica's own prefix": (
        "/ml-team/qwen-1/",
        {
            "filters": [
                {
                    "type": "URLRewrite",
                    "urlRewrite": {
                        "path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/ml-team/qwen-1/"},
                    },
                }
            ]
        },
    ),
    "no rewrite asked for": (None, {}),
}


@pytest.mark.parametrize(("rewrite", "extra"), BACKENDS.values(), ids=BACKENDS)
def test_each_backend_rewrites_for_itself(rewrite: str | None, extra: dict[str, Any]) -> None:
    assert manifests.backend("endpoint-a", 80, 9, rewrite) == {"name": "endpoint-a", "port": 80, "weight": 9} | extra


def test_the_route_of_a_service() -> None:
    backends = [manifests.backend("endpoint-a", 80, 9, None), manifests.backend("endpoint-b", 80, 1, None)]
    assert manifests.service_route("ml-team", "qwen", backends, LABELS) == {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "qwen", "namespace": "ml-team", "labels": LABELS, "annotations": SKIP_AWAIT},
        "spec": {
            "parentRefs": [{"name": "modelplane", "namespace": "modelplane-system"}],
            "rules": [
                {
                    "matches": [{"path": {"type": "PathPrefix", "value": "/ml-team/qwen/"}}],
                    "backendRefs": [
                        {"name": "endpoint-a", "port": 80, "weight": 9},
                        {"name": "endpoint-b", "port": 80, "weight": 1},
                    ],
                }
            ],
        },
    }


@pytest.mark.parametrize("url", ["http://a.example", "https://192.0.2.1", "https://[2001:db8::1]"])
def test_certificates_are_checked_by_a_name_or_not_asked_for(url: str) -> None:
    assert manifests.endpoint_tls("ml-team", "endpoint-a", endpoint_address(url), LABELS) is None


def test_objects_are_json_with_nothing_null() -> None:
    address = endpoint_address("http://10.0.0.1/")
    made = [
        manifests.gateway("modelplane", "traefik", [{"name": "web", "protocol": "HTTP", "port": 8000}], LABELS),
        manifests.endpoint_service("ml-team", "endpoint-a", address, LABELS),
        manifests.endpoint_slice("ml-team", "endpoint-a", address, LABELS),
        manifests.empty_slice("ml-team", "nobody", 80, LABELS),
        manifests.endpoint_tls("ml-team", "endpoint-a", endpoint_address("https://a.example"), LABELS),
        manifests.service_route("ml-team", "qwen", [manifests.backend("endpoint-a", 80, 1, "/a/")], LABELS),
    ]
    for found in made:
        assert "null" not in json.dumps(found)
        assert json.loads(json.dumps(found)) == found
