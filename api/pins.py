"""Versions of serving software as upstream's ServingStack pins them, in both places where it has had them.

LeaderWorkerSet's pin moved from `versions` to `standard` without a migration, which dropped what users had written
(trap F8); here both places count, and saying it twice is refused. A pin means `charts.<chart>.version`.
"""

from collections.abc import Iterator, Mapping

from api.base import Fault, Model
from api.grammar import Text32

CHART_OF_PIN = {
    "certManager": "cert-manager",
    "envoyGateway": "envoy-gateway",
    "prometheus": "prometheus",
    "leaderWorkerSet": "leader-worker-set",
    "nodeFeatureDiscovery": "node-feature-discovery",
    "nvidiaDraDriver": "dra-driver",
    "grove": "grove",
    "kaiScheduler": "kai-scheduler",
}


class StandardPins(Model):
    """Pins of what only a Standard stack has."""

    leader_worker_set: Text32 | None = None
    """Version of the LeaderWorkerSet chart."""


class Pins(StandardPins):
    """Pins of charts by upstream's names."""

    cert_manager: Text32 | None = None
    """Version of the cert-manager chart."""
    envoy_gateway: Text32 | None = None
    """Version of the Envoy Gateway chart."""
    prometheus: Text32 | None = None
    """Version of the kube-prometheus-stack chart."""
    node_feature_discovery: Text32 | None = None
    """Version of the Node Feature Discovery chart."""
    nvidia_dra_driver: Text32 | None = None
    """Version of NVIDIA's DRA driver chart."""
    grove: Text32 | None = None
    """Version of the Grove chart, on Dynamo stacks."""
    kai_scheduler: Text32 | None = None
    """Version of the KAI Scheduler chart, on Dynamo stacks."""


def pinned(versions: Pins | None, standard: StandardPins | None) -> dict[str, str]:
    """The pinned versions by chart."""
    given: dict[str, str] = {}
    for pins in (versions, standard):
        given |= pins.plain() if pins else {}
    return {CHART_OF_PIN[name]: version for name, version in given.items()}


def pin_faults(versions: Pins | None, standard: StandardPins | None, charts: Mapping[str, str]) -> Iterator[Fault]:
    """FL-X9 (trap F8): one version said in two places; `charts` are the versions under `charts.<chart>.version`."""
    both = versions and standard and versions.leader_worker_set and standard.leader_worker_set
    if both:
        hint = "keep versions.leaderWorkerSet or standard.leaderWorkerSet, whichever is meant"
        yield Fault("FL-X9", ("standard", "leaderWorkerSet"), "the version is in versions.leaderWorkerSet too", hint)
    for block, pins in (("versions", versions), ("standard", standard)):
        for name in pins.plain() if pins else ():
            if CHART_OF_PIN[name] in charts:
                place = f"charts.{CHART_OF_PIN[name]}.version"
                yield Fault("FL-X9", (block, name), f"the version is in {place} too", "keep one of the two")
