"""Engines in trouble on running clusters: out of rotation with a reason, nothing moved, and nobody else affected.

The fleet has two nodes on gpu-eu-west and one on gpu-us-east, and a replica on each. Steps build on each other.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from engine.fleets import Done, Scratch
from engine.runs import wait_until

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(1200)]

EAST, WEST = "gpu-us-east", "gpu-eu-west"
SHORT = "10s"
"""How long a run waits for what does not come."""
STILL_STARTING = 9

Pods = dict[str, str]


class Fleet(Scratch):
    """The scratch fleet with questions about its replicas."""

    def replica(self, deployment: str, cluster: str) -> dict[str, Any]:
        items = self.run("status", "-o", "json").json()["items"]
        (found,) = [
            item
            for item in items
            if item["kind"] == "ModelReplica"
            and item["spec"]["clusterName"] == cluster
            and item["metadata"]["labels"]["modelplane.ai/deployment"] == deployment
        ]
        return dict(found)

    def ready(self, deployment: str, cluster: str) -> tuple[str, str]:
        """Status and message of ModelReady."""
        conditions = {each["type"]: each for each in self.replica(deployment, cluster)["status"]["conditions"]}
        return conditions["ModelReady"]["status"], conditions["ModelReady"].get("message", "")

    def engines(self) -> Pods:
        """UIDs of engines' pods by name, on both clusters."""
        return {
            pod["metadata"]["name"]: pod["metadata"]["uid"]
            for cluster in (EAST, WEST)
            for pod in self.objects(cluster, "pods", "-l", "modelplane.ai/workload")
        }

    def engine(self, cluster: str) -> str:
        """The one engine's pod on a cluster."""
        (pod,) = self.objects(cluster, "pods", "-l", "modelplane.ai/workload")
        return str(pod["metadata"]["name"])

    def annotate(self, cluster: str, pod: str, text: str) -> None:
        self.kubectl(cluster, "annotate", "--overwrite", "-n", "ml-team", "pod", pod, f"local.modelplane.ai/{text}")

    def is_pod_ready(self, cluster: str, name: str) -> bool:
        (pod,) = [pod for pod in self.objects(cluster, "pods") if pod["metadata"]["name"] == name]
        conditions = {each["type"]: each["status"] for each in pod["status"]["conditions"]}
        return conditions.get("Ready") == "True"

    def waits_for_a_node(self, cluster: str) -> bool:
        """Whether the one engine's pod on a cluster has no node."""
        pods = self.objects(cluster, "pods", "-l", "modelplane.ai/workload")
        return [pod["spec"].get("nodeName") for pod in pods] == [None]

    def answering(self, requests: int = 20) -> set[str]:
        """Pods that answered; a request that failed would raise."""
        return {self.ask().pod for _ in range(requests)}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    scratch = Fleet(tmp_path_factory.mktemp("trouble") / "fleet")
    scratch.nodes(WEST, 2)
    with scratch.clusters_up():
        up = scratch.run("up", "--wait", "3m")
        assert up.code == 0, up.err
        yield scratch


def shaken(fleet: Fleet, how: str) -> Done:
    """Bring trouble to the engine on EAST, and run the fleet once."""
    pod = fleet.engine(EAST)
    fleet.annotate(EAST, pod, f"hold={how}")
    wait_until(lambda: not fleet.is_pod_ready(EAST, pod), 60, "the pod stays ready")
    return fleet.run("up", "--wait", SHORT)


def recovered(fleet: Fleet) -> None:
    fleet.annotate(EAST, fleet.engine(EAST), "hold-")
    up = fleet.run("up", "--wait", "3m")
    assert up.code == 0, up.err
    assert fleet.answering() == {fleet.engine(EAST), fleet.engine(WEST)}


TROUBLE = {"crash": "CrashLoopBackOff", "true": "NotReady"}


@pytest.mark.parametrize(("how", "said"), TROUBLE.items(), ids=["a crash", "never ready"])
def test_an_engine_in_trouble_leaves_the_rotation_and_nothing_else_happens(fleet: Fleet, how: str, said: str) -> None:
    """D14: a run ends within its bound, however long an engine takes."""
    places, engines = fleet.replicas(), fleet.engines()
    up = shaken(fleet, how)
    assert up.code == STILL_STARTING, up.err
    status, message = fleet.ready("mock-demo", EAST)
    assert (status, said in message) == ("False", True), message
    assert fleet.ready("mock-demo", WEST)[0] == "True"
    assert fleet.answering() == {fleet.engine(WEST)}
    assert fleet.replicas() == places
    assert fleet.engines() == engines
    recovered(fleet)
    assert fleet.engines() == engines


def test_a_claim_that_cannot_be_allocated_is_told_and_moves_nothing(fleet: Fleet) -> None:
    """D19: the node lost its devices, and the pod that claims them is made anew."""
    places = fleet.replicas()
    names = [each["metadata"]["name"] for each in fleet.objects(EAST, "resourceslices")]
    fleet.kubectl(EAST, "delete", "resourceslice", *names)
    fleet.kubectl(EAST, "delete", "pod", "-n", "ml-team", fleet.engine(EAST))
    wait_until(lambda: fleet.waits_for_a_node(EAST), 60, "the new pod has a node")
    up = fleet.run("up", "--wait", SHORT)
    assert up.code == STILL_STARTING, up.err
    status, message = fleet.ready("mock-demo", EAST)
    assert (status, "claim" in message) == ("False", True), message
    assert fleet.answering() == {fleet.engine(WEST)}
    assert fleet.replicas() == places

    assert fleet.run("local", "up").code == 0
    recovered(fleet)
    assert fleet.replicas() == places
