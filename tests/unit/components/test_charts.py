"""Which releases a cluster gets, from where, with what; and what each needs first."""

from pathlib import Path
from typing import Any

import pytest
from builders import a_fleet

from api.fleets import CHARTS as FLEET_CHARTS
from api.fleets import GatewayCharts, ServingStackSettings, serving_stack_for
from api.routing import Traefik
from api.terms import Stack
from api.versions import CHARTS
from components.charts import (
    NAMESPACES,
    STACK_CHARTS,
    HelmRelease,
    Mirrors,
    driver_root,
    hub_releases,
    merged,
    serving_releases,
)
from components.mirrors import ChartLocation

DEFAULTS = ServingStackSettings()
NOWHERE = Mirrors()


def releases(stack: Stack = "Standard", mirrors: Mirrors = NOWHERE, **settings: Any) -> dict[str, HelmRelease]:
    fleet = a_fleet("prod", servingStack=settings)
    return {found.key: found for found in serving_releases(stack, serving_stack_for(fleet, "us"), mirrors)}


STANDARD = {
    "mp-cert-manager": ("cert-manager", "https://charts.jetstack.io", "v1.17.1", "cert-manager"),
    "mp-gateway-helm": ("oci://docker.io/envoyproxy/gateway-helm", None, "v1.8.1", "envoy-gateway-system"),
    "mp-ai-gateway-crds-helm": (
        "oci://docker.io/envoyproxy/ai-gateway-crds-helm",
        None,
        "v0.7.0",
        "envoy-ai-gateway-system",
    ),
    "mp-ai-gateway-helm": ("oci://docker.io/envoyproxy/ai-gateway-helm", None, "v0.7.0", "envoy-ai-gateway-system"),
    "mp-kube-prometheus-stack": (
        "kube-prometheus-stack",
        "https://prometheus-community.github.io/helm-charts",
        "72.6.2",
        "monitoring",
    ),
    "mp-node-feature-discovery": (
        "oci://registry.k8s.io/nfd/charts/node-feature-discovery",
        None,
        "0.18.3",
        "node-feature-discovery",
    ),
    "mp-dra-driver-nvidia-gpu": (
        "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu",
        None,
        "0.4.0",
        "dra-driver-nvidia-gpu",
    ),
}
LWS = {"mp-lws": ("oci://registry.k8s.io/lws/charts/lws", None, "v0.8.0", "lws-system")}
DYNAMO = {
    "mp-grove-charts": ("oci://ghcr.io/ai-dynamo/grove/grove-charts", None, "v0.1.0-alpha.12-rc2", "grove-system"),
    "mp-kai-scheduler": (
        "oci://ghcr.io/kai-scheduler/kai-scheduler/kai-scheduler",
        None,
        "v0.16.8",
        "kai-scheduler",
    ),
}


@pytest.mark.parametrize(
    ("stack", "want"), [("Standard", {**STANDARD, **LWS}), ("Dynamo", {**STANDARD, **DYNAMO})], ids=["both", "Dynamo"]
)
def test_each_stack_has_its_charts(stack: Stack, want: dict[str, Any]) -> None:
    found = releases(stack).values()
    assert {
        each.name: (each.location.chart, each.location.repository, each.location.version, each.namespace)
        for each in found
    } == want


def test_a_release_name_leaves_room_for_what_its_chart_derives_from_it() -> None:
    assert all(len(f"mp-{source.chart}") <= 30 for source in CHARTS.values())


def test_every_chart_of_a_serving_cluster_can_be_set_in_the_fleet() -> None:
    for charts in STACK_CHARTS.values():
        assert set(charts) <= set(FLEET_CHARTS)
    assert set(NAMESPACES) == set(CHARTS)


NEEDS = {
    "cert-manager": (),
    "envoy-gateway": ("gateway-api-inference-extension", "pool-readers"),
    "ai-gateway-crds": ("envoy-gateway",),
    "ai-gateway": ("envoy-gateway", "ai-gateway-crds", "gateway-api-inference-extension"),
    "prometheus": (),
    "node-feature-discovery": (),
    "dra-driver": ("node-feature-discovery",),
    "leader-worker-set": (),
}


def test_what_a_chart_needs_is_named() -> None:
    assert {key: release.needs for key, release in releases().items()} == NEEDS


def test_what_is_there_already_is_left_alone_and_not_waited_for() -> None:
    found = releases(charts={"envoy-gateway": {"enabled": False}, "cert-manager": {"enabled": False}})
    assert "envoy-gateway" not in found
    assert "cert-manager" not in found
    assert found["ai-gateway-crds"].needs == ()
    assert "dra-driver" not in releases(dra={"enabled": False})


def test_a_cluster_s_own_settings_lie_over_the_fleet_s() -> None:
    fleet = a_fleet(
        "prod",
        servingStack={"charts": {"prometheus": {"version": "1.0.0", "values": {"a": {"b": 1, "c": [1]}}}}},
        clusters={"us": {"servingStack": {"charts": {"prometheus": {"values": {"a": {"c": [2]}}}}}}},
    )
    found = {name: serving_releases("Standard", serving_stack_for(fleet, name), NOWHERE) for name in ("us", "eu")}
    own, others = ({each.key: each for each in found[name]}["prometheus"] for name in ("us", "eu"))
    assert (own.version, others.version) == ("1.0.0", "1.0.0")
    assert (own.values["a"], others.values["a"]) == ({"b": 1, "c": [2]}, {"b": 1, "c": [1]})
    assert own.values["fullnameOverride"] == "prometheus"


def test_a_chart_s_own_repository_wins_over_the_mirror(tmp_path: Path) -> None:
    own = {"repository": "https://charts.example/own", "version": "9.9.9"}
    mirrors = Mirrors(charts="oci://mirror.example/charts")
    found = releases("Standard", mirrors, charts={"cert-manager": own})
    assert found["cert-manager"].location == ChartLocation(
        chart="cert-manager", repository="https://charts.example/own", version="9.9.9"
    )
    assert found["prometheus"].location == ChartLocation(
        chart="oci://mirror.example/charts/kube-prometheus-stack", version="72.6.2"
    )


def test_the_ai_gateway_is_asked_where_one_answers() -> None:
    def extension(**settings: Any) -> bool:
        values = releases(**settings)["envoy-gateway"].values
        return "extensionManager" in values["config"]["envoyGateway"]

    off = {"ai-gateway": {"enabled": False}}
    assert extension()
    assert extension(charts=off), "the cluster has brought its own"
    assert extension(inferencePools=False)
    assert not extension(inferencePools=False, charts=off)


def test_gke_keeps_its_driver_elsewhere() -> None:
    (plain, gke) = (
        {each.key: each for each in serving_releases("Standard", DEFAULTS, NOWHERE, driver_root(source))}["dra-driver"]
        for source in ("EKS", "GKE")
    )
    assert "nvidiaDriverRoot" not in plain.values
    assert gke.values["nvidiaDriverRoot"] == "/home/kubernetes/bin/nvidia"
    assert gke.values["gpuResourcesEnabledOverride"] is True


HUB: dict[str, tuple[Traefik, dict[str, Any], dict[str, str]]] = {
    "Traefik in the gateway's version": (Traefik(version="40.2.0"), {}, {"mp-traefik": "40.2.0"}),
    "MetalLB where it is asked for": (
        Traefik.model_validate(
            {"version": "40.2.0", "loadBalancer": "MetalLB", "metallb": {"addressPool": "10.0.0.0/24"}}
        ),
        {},
        {"mp-traefik": "40.2.0", "mp-metallb": "0.14.9"},
    ),
    "the Fleet's version wins": (
        Traefik(version="40.2.0"),
        {"traefik": {"version": "41.0.0"}},
        {"mp-traefik": "41.0.0"},
    ),
    "found": (Traefik(version="40.2.0"), {"traefik": {"enabled": False}}, {}),
}


@pytest.mark.parametrize(("traefik", "charts", "want"), HUB.values(), ids=HUB)
def test_the_hub(traefik: Traefik, charts: dict[str, Any], want: dict[str, str]) -> None:
    found = hub_releases(traefik, GatewayCharts.model_validate(charts), NOWHERE)
    assert {release.name: release.version for release in found} == want


def test_values_merge_as_helm_merges_them() -> None:
    base = {"a": {"b": 1, "c": {"d": [1, 2]}}, "e": "f"}
    top = {"a": {"c": {"d": [3]}}, "e": {"g": None}}
    assert merged(base, top) == {"a": {"b": 1, "c": {"d": [3]}}, "e": {"g": None}}
    assert base == {"a": {"b": 1, "c": {"d": [1, 2]}}, "e": "f"}
