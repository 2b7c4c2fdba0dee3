"""One fleet of every cloud and a cluster of its own, by the real command line: brought up at once, and changed.

The tests go on from one another: each edits the fleet that the one before it left.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clouds.mixed import BEHIND, CLUSTERS, OWN, PACKAGES, Mixed, mixed_fleet
from engine.runs import marked, wait_until

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.soak, pytest.mark.timeout(3600)]

LARGE = {"aws-east", "azure-west", "nebius-north", "own"}
SMALL = {"google-central", "vultr-newark"}
NODES = {"large": 2 + 2 + 2 + 1, "small": 4 + 2}
"""Nodes that the documents give each model on those clusters; a replica takes one."""
CLOUD_RELEASES = {"cluster-autoscaler", "aws-dranet", "network-operator", "csi-mounted-fs-path"}
SEATTLE = """\
apiVersion: modelplane.ai/v1alpha1
kind: InferenceCluster
metadata:
  name: vultr-seattle
  labels: {region: us}
spec:
  cluster:
    source: Vultr
    vultr: {region: sea}
  nodePools:
  - name: slow
    className: vultr-l40s
    nodeCount: 1
"""
OF_VALIDATOR = {"app": "nvidia-operator-validator"}
VALIDATOR = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "metadata": {"name": "nvidia-operator-validator", "namespace": "gpu-operator"},
    "spec": {
        "selector": {"matchLabels": OF_VALIDATOR},
        "template": {
            "metadata": {"labels": OF_VALIDATOR},
            "spec": {
                "nodeSelector": {"modelplane.ai/gpu": "nvidia-l40s"},
                "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "main", "image": "validator"}],
            },
        },
    },
}
LARGER_PLAN = "vcg-l40s-32c-360g-96vram"


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mixed]:
    with mixed_fleet(tmp_path_factory.mktemp("mixed")) as found:
        yield found


def placed(report: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Replicas wanted and placed, by deployment."""
    return {key.rpartition("/")[2]: (state["wanted"], state["placed"]) for key, state in report["deployments"].items()}


def kept(mixed: Mixed, package: str, name: str) -> dict[str, Any]:
    """What a cloud holds of one resource."""
    (found,) = [each["inputs"] for each in mixed.clouds.held(package).values() if each["name"] == name]
    return dict(found)


def clusters_ready(mixed: Mixed) -> dict[str, str]:
    """The reason of ClusterReady, by cluster."""
    status = mixed.run("status", "-o", "json")
    assert status.code == 0, status.err
    return {
        item["metadata"]["name"]: found["reason"]
        for item in status.json()["items"]
        if item["kind"] == "InferenceCluster"
        for found in item["status"]["conditions"]
        if found["type"] == "ClusterReady"
    }


def test_one_up_brings_a_cluster_of_every_source_into_use(mixed: Mixed) -> None:
    for deployment, nodes in NODES.items():
        mixed.replicas(deployment, nodes)  # as many as there is room for: fewer go to clusters that are there first
    up = mixed.run("up", "-o", "json", "--parallel", "4", "--wait", "8m")
    assert up.code == 0, up.err
    report = up.json()
    assert report["errors"] == []
    assert placed(report) == {"large": (7, 7), "small": (6, 6)}
    named = {f"world.{kind}.{cluster}" for kind in ("cluster", "serving", "workloads") for cluster in CLUSTERS}
    assert named <= report["stacks"].keys()
    made = {cluster: mixed.changes(report, f"cluster.{cluster}").get("create", 0) for cluster in CLUSTERS}
    assert made.pop("own") == 0
    assert min(made.values()) > 2
    assert (mixed.answering("large"), mixed.answering("small")) == (LARGE, SMALL)


def test_every_cluster_is_what_its_documents_ask_for(mixed: Mixed) -> None:
    template = kept(mixed, "aws", "cluster-aws-east/launch-template-h200")
    assert [each["interfaceType"] for each in template["networkInterfaces"]] == ["efa"] + ["efa-only"] * 15
    target = template["capacityReservationSpecification"]["capacityReservationTarget"]
    assert target == {"capacityReservationId": "cr-0123456789abcdef0"}
    assert kept(mixed, "aws", "cluster-aws-east/nodegroup-h200")["capacityType"] == "CAPACITY_BLOCK"
    fabric = kept(mixed, "terraform-provider", "cluster-nebius-north/gpu-cluster-fabric-2")
    assert fabric["infinibandFabric"] == "fabric-2"
    assert kept(mixed, "azure-native", "cluster-azure-west/nodepool-h100")["availabilityZones"] == ["1"]
    releases = [each for place in (BEHIND, OWN) for each in mixed.ground.objects(place, "secrets", "-l", "owner=helm")]
    names = {release["metadata"]["labels"]["name"].removeprefix("mp-") for release in releases}
    assert names >= CLOUD_RELEASES
    ready = clusters_ready(mixed)
    assert ready.pop("vultr-newark") == "Provisioning"  # nobody has found its GPU nodes good yet
    assert ready == dict.fromkeys(CLUSTERS - {"vultr-newark"}, "ClusterRunning")
    mixed.ground.kubectl(BEHIND, "create", "namespace", "gpu-operator")
    validator = mixed.folder / "validator.json"
    validator.write_text(json.dumps(VALIDATOR))
    mixed.ground.kubectl(BEHIND, "apply", "-f", str(validator))


def test_clusters_are_reached_with_tokens_that_are_kept_nowhere(mixed: Mixed) -> None:
    assert (mixed.door.seen.keys(), mixed.north.seen.keys()) == ({"EKS", "GKE"}, {"Nebius"})
    state = mixed.fleet.directory / ".modelplane"
    shown = [
        file for file in state.rglob("*") if file.is_file() and re.search(rb"k8s-aws-v1\.|ya29\.|ne1-of", _read(file))
    ]
    assert shown == []


def test_a_second_up_changes_nothing(mixed: Mixed) -> None:
    again = mixed.run("up", "-o", "json", "--parallel", "4")
    assert again.code == 0, again.err
    assert {name: stack["changes"] for name, stack in again.json()["stacks"].items() if stack["changed"]} == {}
    assert clusters_ready(mixed) == dict.fromkeys(CLUSTERS, "ClusterRunning")


def test_the_fleet_converges_while_a_cluster_is_being_made(mixed: Mixed) -> None:
    released = mixed.folder / "released"
    mixed.clouds.go_wrong({"op": "create", "name": "cluster-vultr-seattle/cluster", "until": str(released)})
    (mixed.fleet.directory / "seattle.yaml").write_text(SEATTLE)
    mixed.replicas("small", 7)  # four on Google Cloud and two in Newark; one has to wait for Seattle
    with mixed.running("up", "-o", "json", "--parallel", "4", "--wait", "8m") as run:
        wait_until(lambda: mixed.holding("cluster-vultr-seattle/cluster") or ended(run), 300, "Seattle is being made")
        wait_until(lambda: len(answering_pods(mixed)) == 6 or ended(run), 600, "six replicas answer")
        assert run.process.poll() is None, run.said
        assert "cluster-vultr-seattle/cluster" not in mixed.clouds.journal("create")
        released.touch()
        done = run.ended(900)
    assert done.code == 0, done.err
    assert placed(done.json())["small"] == (7, 7)
    assert mixed.answering("small", 120) == SMALL | {"vultr-seattle"}


def ended(run: Any) -> bool:
    return run.process.poll() is not None


def answering_pods(mixed: Mixed) -> set[str]:
    """Pods of the small model that answer at its URL."""
    return {mixed.fleet.ask("small").pod for _ in range(40)}


def test_a_pool_that_the_cloud_cannot_give_is_told_and_the_rest_is_finished(mixed: Mixed) -> None:
    full = {"op": "create", "name": "node-pool-extra", "code": "RESOURCE_EXHAUSTED", "message": "no such GPU is free"}
    mixed.clouds.go_wrong(full)
    mixed.pool("vultr-newark", "extra")
    mixed.pool("aws-east", "h200", nodeCount=3)
    mixed.replicas("small", 8)
    up = mixed.run("up", "-o", "json", "--parallel", "4", "--wait", "8m")
    assert up.code == 21, up.err
    report = up.json()
    (error,) = report["errors"]
    assert (error["code"], error["where"]) == ("MP342", "InferenceCluster vultr-newark")
    assert "pool extra: " in error["message"]
    assert "no such GPU is free" in error["message"]
    assert placed(report) == {"large": (7, 7), "small": (8, 7)}  # nobody counts on nodes that are not there
    assert mixed.changes(report, "cluster.aws-east") == {"update": 1}
    scaling = kept(mixed, "aws", "cluster-aws-east/nodegroup-h200")["scalingConfig"]
    assert scaling == {"desiredSize": 3, "minSize": 3, "maxSize": 3}
    assert mixed.answering("small", 120) == SMALL | {"vultr-seattle"}


def test_the_next_pass_asks_for_the_pool_again(mixed: Mixed) -> None:
    mixed.nodes_of({"extra": 1})
    up = mixed.run("up", "-o", "json", "--parallel", "4", "--wait", "8m")
    assert up.code == 0, up.err
    assert mixed.changes(up.json(), "cluster.vultr-newark") == {"create": 1}
    assert placed(up.json())["small"] == (8, 8)
    assert len(mixed.pods("small")) == 8


def test_a_pool_that_leaves_its_documents_is_emptied_first(mixed: Mixed) -> None:
    released = mixed.folder / "emptied"
    name = "cluster-vultr-newark/node-pool-extra"
    mixed.clouds.go_wrong({"op": "delete", "name": name, "until": str(released)})
    mixed.without_pool("vultr-newark", "extra")
    mixed.pool("google-central", "l4", maxNodeCount=8)
    with mixed.running("up", "-o", "json", "--parallel", "4", "--wait", "8m") as run:
        wait_until(lambda: mixed.holding(name) or ended(run), 600, "the pool is about to go")
        assert run.process.poll() is None, run.said
        assert pods_in(mixed, "extra") == []
        assert len(mixed.pods("small")) == 8, "the replica that left is ready elsewhere"
        released.touch()
        done = run.ended(900)
    assert done.code == 0, done.err
    assert mixed.clouds.journal("delete") == [name]
    assert mixed.changes(done.json(), "cluster.google-central") == {"update": 1}
    assert len(answering_pods(mixed)) == 8


def pods_in(mixed: Mixed, pool: str) -> list[str]:
    """Pods of engines that are pinned to a pool behind the clouds."""
    found = mixed.ground.objects(BEHIND, "pods", "-l", "modelplane.ai/workload")
    return [pod["metadata"]["name"] for pod in found if pod["spec"]["nodeSelector"]["modelplane.ai/pool"] == pool]


def test_a_class_that_asks_for_another_machine_is_guarded_then_drained_then_made_anew(mixed: Mixed) -> None:
    def larger(document: dict[str, Any]) -> dict[str, Any]:
        document["spec"]["provisioning"]["vultr"]["plan"] = LARGER_PLAN
        return document

    def careful(document: dict[str, Any]) -> dict[str, Any]:
        document["spec"]["deletion"] = {"maxShare": "10%"}  # of fifteen replicas that is one, and three would move
        return document

    mixed.fleet.edit("Fleet", "world", careful)
    mixed.fleet.edit("InferenceClass", "vultr-l40s", larger)
    pools = ("cluster-vultr-newark/node-pool-l40s", "cluster-vultr-seattle/node-pool-slow")
    refused = mixed.run("up", "-o", "json", "--parallel", "4")
    assert refused.code == 26, refused.err
    assert all(kept(mixed, "vultr", pool)["plan"] != LARGER_PLAN for pool in pools)
    assert len(mixed.pods("small")) == 8
    digest = re.search(r"--allow ([0-9a-f]{10})", refused.err)
    assert digest, refused.err
    preview = mixed.run("preview", "-o", "json", "--allow", digest[1])
    assert preview.code == 0, preview.err
    planned = preview.json()["stacks"]
    assert [
        planned[f"world.cluster.{name}"]["changes"].get("replace") for name in ("vultr-newark", "vultr-seattle")
    ] == [
        1,
        1,
    ]
    released = mixed.folder / "drained"
    mixed.clouds.go_wrong(*({"op": "delete", "name": pool, "until": str(released)} for pool in pools))
    with mixed.running("up", "-o", "json", "--parallel", "4", "--wait", "8m", "--allow", digest[1]) as run:
        wait_until(lambda: any(map(mixed.holding, pools)) or ended(run), 600, "a pool is about to be replaced")
        assert run.process.poll() is None, run.said
        for pool in filter(mixed.holding, pools):
            assert pods_in(mixed, pool.rpartition("-")[2]) == []
        assert len(mixed.pods("small")) == 8
        released.touch()
        done = run.ended(900)
    assert done.code == 0, done.err
    assert all(kept(mixed, "vultr", pool)["plan"] == LARGER_PLAN for pool in pools)
    assert len(answering_pods(mixed)) == 8


def test_another_region_is_refused_and_nothing_is_touched(mixed: Mixed) -> None:
    def moved(document: dict[str, Any]) -> dict[str, Any]:
        document["spec"]["cluster"]["vultr"]["region"] = "ams"
        return document

    before = mixed.clouds.held("vultr")
    mixed.fleet.edit("InferenceCluster", "vultr-newark", moved)
    up = mixed.run("up", "-o", "json", "--parallel", "4")
    assert up.code == 21, up.err
    assert "cannot be changed from ewr to ams" in up.err
    assert mixed.clouds.held("vultr") == before
    assert len(answering_pods(mixed)) == 8
    against = mixed.run("validate", "--against-state")
    assert against.code == 2
    assert "spec.cluster.vultr.region" in against.err


def test_destroy_leaves_nothing_on_any_cloud(mixed: Mixed) -> None:
    gone = mixed.run("destroy", "--yes")
    assert gone.code == 0, gone.err
    assert {package: mixed.clouds.held(package) for package in PACKAGES} == {package: {} for package in PACKAGES}
    assert marked(mixed.fleet.directory) == []


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""
