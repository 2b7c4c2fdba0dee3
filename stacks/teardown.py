"""Destroying a fleet: routing first, clusters last, and the namespaces of ours once they hold nothing more."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from programs.outputs import ClusterOutputs, GatewayOutputs
from stacks.engine import Engine, Operation
from stacks.plan import teardown_order
from stacks.removal import tidy
from stacks.view import View

OnOperation = Callable[[Operation], None]
OnNote = Callable[[str], None]


def destroy(engine: Engine, fleet: str, parallel: int, on_operation: OnOperation, on_note: OnNote) -> list[Operation]:
    """Destroy every stack of the fleet that exists in the backend; where there is none, nothing is done.

    A group that failed ends the run, so that nothing is taken from under what is still there.
    """
    stacks = [stack for stack in engine.stacks() if stack.fleet == fleet]
    view = View(engine, fleet)
    view.renew_all([stack for stack in stacks if stack.kind in {"cluster", "gateway"}], parallel)
    kubeconfigs = {name: outputs.kubeconfig for name, outputs in view.by_cluster(ClusterOutputs, "cluster").items()}
    gateway = view.get(GatewayOutputs, "gateway")
    kubeconfigs |= {"the hub": gateway.kubeconfig} if gateway else {}
    operations: list[Operation] = []
    for group in teardown_order(stacks):
        if group[0].kind == "cluster":
            tidy(kubeconfigs, fleet, on_note)
        with ThreadPoolExecutor(parallel) as pool:
            for operation in pool.map(engine.destroy, group):
                operations.append(operation)
                on_operation(operation)
        if not all(operation.ok for operation in operations):
            break
    return operations
