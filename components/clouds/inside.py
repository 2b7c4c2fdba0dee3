"""What a cloud's module puts into the cluster it made: releases and a StorageClass, and the provider that reaches it.

They vanish with the cluster: deleting them would need a cluster that may be gone, so they are retained (reference:
clouds, section 1.5).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi_kubernetes as kubernetes
from pulumi import ComponentResource, Output, Resource, ResourceOptions

from api import names
from api.fleets import Chart
from api.versions import CLOUD_CHARTS
from components.charts import HelmRelease, merged
from components.clouds.site import CloudSite
from components.installation import helm_release
from components.kubernetes_objects import OFFLINE_KUBECONFIG, provider
from components.mirrors import chart_location

GPU_TOLERATION = {"key": names.TAINT_GPU, "operator": "Exists", "effect": "NoSchedule"}


def access(
    parent: ComponentResource, name: str, site: CloudSite, kubeconfig: Output[str], after: Sequence[Resource]
) -> kubernetes.Provider:
    """The provider for what lies in the cluster; `after` is what has to be there before anything can run in it."""
    return provider(
        f"{name}/inside",
        OFFLINE_KUBECONFIG if site.is_offline else kubeconfig,
        names.cluster_identifier(site.fleet, site.cluster),
        ResourceOptions(parent=parent, depends_on=list(after)),
    )


def options(parent: ComponentResource, reach: kubernetes.Provider, *after: Resource) -> ResourceOptions:
    """Options of a thing in the cluster."""
    return ResourceOptions(parent=parent, provider=reach, depends_on=list(after), retain_on_delete=True)


def release(site: CloudSite, key: str, namespace: str, values: Mapping[str, Any]) -> HelmRelease | None:
    """One chart that belongs to the cluster, with what the Fleet says about it; None where it is switched off."""
    chart, source = site.charts.get(key, Chart()), CLOUD_CHARTS[key]
    if not chart.enabled:
        return None
    version = chart.version or source.version
    mirror = None if chart.repository else site.mirrors.charts
    location = chart_location(source.chart, chart.repository or source.repository, version, mirror, site.mirrors.base)
    return HelmRelease(
        key=key,
        chart=source.chart,
        version=version,
        location=location,
        namespace=namespace,
        values=merged(values, chart.values),
    )


def install(
    parent: ComponentResource, name: str, reach: kubernetes.Provider, wanted: HelmRelease | None, *after: Resource
) -> list[Resource]:
    """Register a release, where there is one to be had."""
    if wanted is None:
        return []
    return [helm_release(f"{name}/{wanted.key}", wanted, options(parent, reach, *after))]
