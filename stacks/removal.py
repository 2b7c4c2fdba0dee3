"""Taking clusters out of a fleet: held until named, drained, then destroyed; or forgotten without being called."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

import httpx2

from api.errors import DeletionRefused, ModelplaneError
from api.names import CLUSTER_STACKS, StackName
from programs.outputs import ClusterOutputs, GatewayOutputs
from stacks.engine import Engine
from stacks.namespaces import remove_empty_namespaces
from stacks.operation import Operation
from stacks.view import View

OnNote = Callable[[str], None]
TEARDOWN = ("workloads", "serving", "cluster")


def forget(engine: Engine, fleet: str, clusters: Iterable[str], known: Iterable[StackName], on_note: OnNote) -> None:
    """Drop the stacks of clusters that cannot be called any more from the state; what they hold is left as it is."""
    existing = set(known)
    for cluster in sorted(clusters):
        for kind in TEARDOWN:
            stack = StackName(fleet, kind, cluster)
            if stack in existing:
                engine.forget(stack)
                on_note(f"forgot {stack}; what it held was not deleted")


def left_documents(fleet: str, known: Iterable[StackName], documented: Iterable[str]) -> list[str]:
    """Clusters that have stacks and no document."""
    declared = set(documented)
    found = {stack.cluster for stack in known if stack.fleet == fleet and stack.kind in CLUSTER_STACKS}
    return sorted(cluster for cluster in found if cluster is not None and cluster not in declared)


def held(cluster: str, replicas: int) -> DeletionRefused:
    """What is said of a cluster that left the documents and was not named."""
    return DeletionRefused(
        f"cluster {cluster} left the documents; it and its {replicas} replica(s) are held",
        hint=f"put its document back, or drain and destroy it: modelplane up --delete-cluster {cluster}",
        code="MP329",
    )


def destroy_cluster(
    engine: Engine, fleet: str, cluster: str, kubeconfig: str | None, on_note: OnNote
) -> list[Operation]:
    """Destroy a drained cluster's stacks in order, and the namespaces it leaves; a failure ends it."""
    operations: list[Operation] = []
    for kind in TEARDOWN:
        if kind == "cluster" and kubeconfig:
            tidy({cluster: kubeconfig}, fleet, on_note)
        operation = engine.destroy(StackName(fleet, kind, cluster))
        operations.append(operation)
        if not operation.ok:
            break
    return operations


def tidy_after(deletions: Iterable[StackName], view: View, on_note: OnNote) -> None:
    """Remove namespaces that deletions from these stacks have emptied."""
    stacks = set(deletions)
    if not stacks:
        return
    clusters = view.by_cluster(ClusterOutputs, "cluster")
    kubeconfigs = {
        name: outputs.kubeconfig for name, outputs in clusters.items() if name in {s.cluster for s in stacks}
    }
    gateway = view.get(GatewayOutputs, "gateway")
    if gateway and any(stack.kind == "routing" for stack in stacks):
        kubeconfigs["the hub"] = gateway.kubeconfig
    tidy(kubeconfigs, next(iter(stacks)).fleet, on_note)


def tidy(kubeconfigs: Mapping[str, str], fleet: str, on_note: OnNote) -> None:
    """Remove this fleet's namespaces that hold nothing more; one that cannot be asked is left and told."""
    with ThreadPoolExecutor(max(1, len(kubeconfigs))) as pool:
        futures = {cluster: pool.submit(remove_empty_namespaces, text, fleet) for cluster, text in kubeconfigs.items()}
    for cluster, future in futures.items():
        try:
            removed = future.result()
        except (httpx2.HTTPError, ModelplaneError, OSError) as error:
            on_note(f"namespaces on {cluster} were left: {error}")
            continue
        if removed:
            on_note(f"removed from {cluster}: namespace{'s' if len(removed) > 1 else ''} {', '.join(removed)}")
