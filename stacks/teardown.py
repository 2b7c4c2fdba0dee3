"""Destroying a fleet: routing first, clusters last, and the namespaces of ours once they hold nothing more."""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor

from api.names import StackName
from programs.outputs import ClusterOutputs, GatewayOutputs
from stacks.engine import Engine
from stacks.operation import Operation
from stacks.plan import teardown_order
from stacks.removal import forget, tidy
from stacks.view import View

OnOperation = Callable[[Operation], None]
OnNote = Callable[[str], None]


def destroy(
    engine: Engine,
    fleet: str,
    parallel: int,
    on_operation: OnOperation,
    on_note: OnNote,
    forgotten: Collection[str] = (),
) -> list[Operation]:
    """Destroy every stack of the fleet that exists in the backend; where there is none, nothing is done.

    A group that failed ends the run, so that nothing is taken from under what is still there. Stacks of clusters in
    `forgotten` are dropped from the state without calling them.
    """
    known = engine.stacks()
    forget(engine, fleet, forgotten, known, on_note)
    stacks = [stack for stack in known if stack.fleet == fleet and stack.cluster not in forgotten]
    view = View(engine, fleet)
    view.renew_all([stack for stack in stacks if stack.kind in {"cluster", "gateway"}], parallel)
    kubeconfigs = {name: outputs.kubeconfig for name, outputs in view.by_cluster(ClusterOutputs, "cluster").items()}
    gateway = view.get(GatewayOutputs, "gateway")
    kubeconfigs |= {"the hub": gateway.kubeconfig} if gateway else {}
    operations: list[Operation] = []
    for group in teardown_order(stacks):
        if engine.stop.requested:
            break
        if group[0].kind == "cluster":
            tidy(kubeconfigs, fleet, on_note)
        with ThreadPoolExecutor(parallel) as pool:
            for operation in pool.map(engine.destroy, group):
                if operation.begun:
                    operations.append(operation)
                    on_operation(operation)
        failed = [operation.stack for operation in operations if not operation.ok]
        if failed:
            _offer_to_forget(failed, known, on_note)
            break
    return operations


def _offer_to_forget(failed: list[StackName], known: Mapping[StackName, int], on_note: OnNote) -> None:
    """Say what would be given up of a cluster that cannot be called any more."""
    for cluster in sorted({stack.cluster for stack in failed if stack.cluster}):
        held = ", ".join(
            f"{stack} ({count})" for stack, count in sorted(known.items(), key=str) if stack.cluster == cluster
        )
        on_note(f"if {cluster} is gone for good: modelplane destroy --forget {cluster} drops {held} without calling it")
