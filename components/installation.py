"""Registering the parts of a stack in the order of their needs: Helm releases, definitions and plain objects.

What a part needs is there and ready before it, and goes after it: the one list of needs gives both orders.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi import Resource, ResourceOptions
from pulumi_kubernetes.helm.v3 import RepositoryOptsArgs

from components.charts import HelmRelease
from components.kubernetes_objects import Manifest, register

RELEASE_SECONDS = 600
"""How long a release has until all it holds is ready; images of several gigabytes are pulled in that time."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One thing to be registered; `key` names it in `needs` and ends its resource's name."""

    key: str
    content: HelmRelease | Manifest
    needs: tuple[str, ...] = ()
    is_retained: bool = False
    """Pulumi leaves it where it is when it goes: a namespace may hold what others put there."""


def install(parent: pulumi.ComponentResource, name: str, parts: Sequence[Part]) -> dict[str, pulumi.CustomResource]:
    """Register the parts below `parent`, each after what it needs; a need that is no part is there already."""
    wanted = {part.key: part for part in parts}
    order = TopologicalSorter({part.key: [need for need in part.needs if need in wanted] for part in parts})
    registered: dict[str, pulumi.CustomResource] = {}
    for key in order.static_order():
        part = wanted[key]
        needs: list[Resource] = [registered[need] for need in part.needs if need in registered]
        opts = ResourceOptions(parent=parent, depends_on=needs, retain_on_delete=part.is_retained or None)
        registered[key] = (
            helm_release(f"{name}/{key}", part.content, opts)
            if isinstance(part.content, HelmRelease)
            else register(part.content, f"{name}/{key}", opts)
        )
    return registered


def versions(parts: Sequence[Part]) -> Mapping[str, str]:
    """Versions of the charts among the parts, by the charts' names in the Fleet."""
    return {part.key: part.content.version for part in parts if isinstance(part.content, HelmRelease)}


def helm_release(name: str, release: HelmRelease, opts: ResourceOptions) -> kubernetes.helm.v3.Release:
    """A release that is awaited. It makes no namespace: those of ours are registered, and others are used."""
    location = release.location
    return kubernetes.helm.v3.Release(
        name,
        name=release.name,
        namespace=release.namespace,
        chart=location.chart,
        version=location.version,
        repository_opts=RepositoryOptsArgs(repo=location.repository) if location.repository else None,
        values=release.values,
        timeout=RELEASE_SECONDS,
        opts=opts,
    )
