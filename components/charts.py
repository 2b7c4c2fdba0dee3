"""The Helm charts of a serving cluster and of the hub: where each goes, what it needs first, which values are set.

Plain functions of plain data (reference: serving-stack, sections 3 to 5 and 13). A release is called `mp-` and its
chart: charts derive names from it, long ones would not fit, and a user's own release of the chart is never taken for
ours. Values of the Fleet are merged last, as Helm merges them: maps by key, lists as a whole.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.fleets import Chart, GatewayCharts, ServingStackSettings
from api.routing import Traefik
from api.terms import Source, Stack
from api.versions import CHARTS, ChartSource
from components.chart_values import CHART_VALUES, mirrored_values
from components.mirrors import ChartLocation, chart_location

Plain = dict[str, Any]

RELEASE_PREFIX = "mp-"

NAMESPACES = {
    "cert-manager": "cert-manager",
    "envoy-gateway": "envoy-gateway-system",
    "ai-gateway-crds": "envoy-ai-gateway-system",
    "ai-gateway": "envoy-ai-gateway-system",
    "prometheus": "monitoring",
    "leader-worker-set": "lws-system",
    "node-feature-discovery": "node-feature-discovery",
    "dra-driver": "dra-driver-nvidia-gpu",
    "grove": "grove-system",
    "kai-scheduler": "kai-scheduler",
    "traefik": "traefik-system",
    "metallb": "metallb-system",
}

BOTH_STACKS = (
    "cert-manager",
    "envoy-gateway",
    "ai-gateway-crds",
    "ai-gateway",
    "prometheus",
    "node-feature-discovery",
    "dra-driver",
)
STACK_CHARTS: Mapping[Stack, tuple[str, ...]] = {
    "Standard": (*BOTH_STACKS, "leader-worker-set"),
    "Dynamo": (*BOTH_STACKS, "grove", "kai-scheduler"),
}
"""Charts of each serving stack. A cluster's gangs run on LeaderWorkerSet or on Grove and KAI, never on both."""

POOL_READERS = "pool-readers"
"""Key of the binding that lets Envoy Gateway read InferencePools; the AI gateway's chart brings one only after it."""

NEEDS: Mapping[str, tuple[str, ...]] = {
    # It watches the pools that routes lead to, and is not ready before it may and can.
    "envoy-gateway": ("gateway-api-inference-extension", POOL_READERS),
    "ai-gateway-crds": ("envoy-gateway",),
    "ai-gateway": ("envoy-gateway", "ai-gateway-crds", "gateway-api-inference-extension"),
    "dra-driver": ("node-feature-discovery",),
    "traefik": ("gateway-api",),
}
"""What has to be there before a chart: other charts, or definitions. The rest install side by side."""


_DRIVER_ROOTS: Mapping[Source, str] = {"GKE": "/home/kubernetes/bin/nvidia"}


@dataclass(frozen=True, kw_only=True)
class Mirrors:
    """Where charts and images come from instead; `base` is the folder that a relative one lies below."""

    charts: str | None = None
    images: str | None = None
    base: Path = Path()


@dataclass(frozen=True, kw_only=True)
class HelmRelease:
    """One release as it is wanted. `key` is the chart's name in the Fleet, `needs` what it waits for."""

    key: str
    chart: str
    version: str
    location: ChartLocation
    namespace: str
    values: Plain
    needs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The release's name."""
        return f"{RELEASE_PREFIX}{self.chart}"


def serving_releases(
    stack: Stack, settings: ServingStackSettings, mirrors: Mirrors, driver_root: str = "/"
) -> tuple[HelmRelease, ...]:
    """Releases of one serving cluster; charts that are switched off are left to whoever brought them.

    `driver_root` is where the NVIDIA driver lies on the cluster's nodes.
    """
    wanted = tuple(_wanted_charts(stack, settings))
    return tuple(
        _release(key, settings.charts.get(key, Chart()), mirrors, _values(key, settings, driver_root), wanted)
        for key in wanted
    )


def hub_releases(traefik: Traefik, charts: GatewayCharts, mirrors: Mirrors) -> tuple[HelmRelease, ...]:
    """Releases of the hub: Traefik in the version that InferenceGateway names, and MetalLB where it is asked for."""
    settings = {"traefik": _at_version(charts.traefik, traefik.version)}
    if traefik.load_balancer == "MetalLB":
        settings["metallb"] = charts.metallb
    wanted = tuple(key for key, chart in settings.items() if chart.enabled)
    return tuple(_release(key, settings[key], mirrors, CHART_VALUES[key], wanted) for key in wanted)


def driver_root(source: Source) -> str:
    """Where the NVIDIA driver lies on the nodes of such a cluster; with a wrong one the device driver never starts."""
    return _DRIVER_ROOTS.get(source, "/")


def merged(base: Mapping[str, Any], top: Mapping[str, Any]) -> Plain:
    """Values as Helm merges them: maps key by key, anything else replaced."""
    found = dict(base)
    for key, value in top.items():
        below = found.get(key)
        found[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return found


def _wanted_charts(stack: Stack, settings: ServingStackSettings) -> Iterator[str]:
    for key in STACK_CHARTS[stack]:
        if key in settings.charts and not settings.charts[key].enabled:
            continue
        if key == "dra-driver" and not settings.dra.enabled:
            continue
        yield key


def _values(key: str, settings: ServingStackSettings, driver_root: str) -> Plain:
    values = CHART_VALUES.get(key, {})
    if key == "dra-driver" and driver_root != "/":
        return {**values, "nvidiaDriverRoot": driver_root}
    if key == "envoy-gateway" and not resolves_pools(settings):
        config = {name: value for name, value in values["config"]["envoyGateway"].items() if name != "extensionManager"}
        return {**values, "config": {"envoyGateway": config}}
    return values


def resolves_pools(settings: ServingStackSettings) -> bool:
    """Whether an AI gateway answers Envoy Gateway. With none behind its address, no proxy would get a listener."""
    return settings.inference_pools or settings.charts.get("ai-gateway", Chart()).enabled


def _release(key: str, chart: Chart, mirrors: Mirrors, values: Plain, wanted: tuple[str, ...]) -> HelmRelease:
    source: ChartSource = CHARTS[key]
    version = chart.version or source.version
    mirror = None if chart.repository else mirrors.charts
    location = chart_location(source.chart, chart.repository or source.repository, version, mirror, mirrors.base)
    return HelmRelease(
        key=key,
        chart=source.chart,
        version=version,
        location=location,
        namespace=NAMESPACES[key],
        values=merged(merged(values, mirrored_values(key, mirrors.images)), chart.values),
        needs=tuple(need for need in NEEDS.get(key, ()) if need in wanted or need not in CHARTS),
    )


def _at_version(chart: Chart, version: str) -> Chart:
    return chart if chart.version else chart.model_copy(update={"version": version})
