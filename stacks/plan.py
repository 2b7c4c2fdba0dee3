"""Which stacks a fleet has, and in what order they come up. Pure."""

from collections.abc import Iterable

from api.documents import FleetDocuments
from api.label_queries import LabelQuery
from api.names import StackName


def fleet_stacks(fleet: str, clusters: Iterable[str]) -> list[StackName]:
    """Every stack of a fleet in the order in which one after the other can come up."""
    ordered = sorted(clusters)
    return [
        StackName(fleet, "gateway"),
        *(StackName(fleet, "cluster", name) for name in ordered),
        *(StackName(fleet, "serving", name) for name in ordered),
        StackName(fleet, "placement"),
        *(StackName(fleet, "workloads", name) for name in ordered),
        StackName(fleet, "routing"),
    ]


def left_out(documents: FleetDocuments, labels: LabelQuery | None) -> frozenset[str]:
    """Clusters whose documents do not carry the labels; those without a document have none to tell by, and count."""
    clusters = documents.clusters.values() if labels else ()
    return frozenset(each.name for each in clusters if labels and not labels.matches(each.metadata.labels))


def teardown_order(stacks: Iterable[StackName]) -> list[list[StackName]]:
    """Stacks in the order in which they go; those of one group may go side by side."""
    groups = (("routing",), ("workloads",), ("placement",), ("gateway", "serving"), ("cluster",))
    found = list(stacks)
    return [group for kinds in groups if (group := sorted((s for s in found if s.kind in kinds), key=str))]
