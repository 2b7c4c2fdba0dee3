"""The loop on a real fleet: sick pods, changes behind its back, a dead API server, a damaged directory, a stop."""

import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from engine.fleets import ROOT
from engine.looping import LONG, SOMEBODY, Looping, busy, until
from engine.runs import state

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(1800)]

EAST, WEST = "gpu-us-east", "gpu-eu-west"
HOLD = "local.modelplane.ai/hold"
ENGINES = ("-l", "modelplane.ai/workload")
OURS = "modelplane.ai/fleet=demo"
GATEWAY_NAMESPACE = "envoy-gateway-system"
ROUNDS = 10
IDLE_PASSES = 20
DEAD_SECONDS = 600.0
"""How long an API server is down."""
LOOKS = 6
"""How often another cluster is brought up meanwhile at least: once in two pauses of 40 seconds."""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Looping]:
    scratch = Looping(tmp_path_factory.mktemp("loop") / "fleet")
    with scratch.clusters_up():
        up = scratch.run("up", "--wait", "3m")
        assert up.code == 0, up.err
        yield scratch


@pytest.mark.parametrize("others", [0, 2], ids=["alone", "under-load"])
def test_a_sick_pod_leaves_its_url_within_seconds_and_comes_back(
    fleet: Looping, others: int, record_testsuite_property: Callable[[str, object], None]
) -> None:
    pod = fleet.one(EAST, "pods", *ENGINES)
    uid = fleet.objects(EAST, "pods", *ENGINES)[0]["metadata"]["uid"]
    seconds: list[float] = []
    with fleet.looping(), busy(others):
        for number in range(ROUNDS):
            fleet.kubectl(EAST, "annotate", "pod", pod, "-n", "ml-team", f"{HOLD}=true")
            seconds.append(until(lambda: fleet.backends() == 1, "the endpoint to leave", fleet.told))
            if number == 0:
                until(lambda: fleet.metric("deployment_replicas_routable") == 1, "the metrics to say so", fleet.told)
            fleet.kubectl(EAST, "annotate", "pod", pod, "-n", "ml-team", f"{HOLD}-")
            seconds.append(until(lambda: fleet.backends() == 2, "the endpoint to come back", fleet.told))
    for name, found in (("withdraw", sorted(seconds[::2])), ("return", sorted(seconds[1::2]))):
        told = {"median": found[ROUNDS // 2], "p95": found[math.ceil(0.95 * ROUNDS) - 1], "all": found}
        record_testsuite_property(f"seconds_to_{name}_beside_{others}", told)
        sys.stderr.write(f"seconds to {name} beside {others} busy processes: {told}, load {os.getloadavg()}\n")
    [after] = fleet.objects(EAST, "pods", *ENGINES)
    assert (after["metadata"]["uid"], after["metadata"]["name"]) == (uid, pod), "no restart, no move"
    assert max(seconds) < 90, "far above what it takes; a machine under load is no failure"


def changed_in_place(fleet: Looping) -> dict[tuple[str, str], tuple[str, str]]:
    """Fifteen changes by somebody; what drift is to say of each."""
    expected = {}
    for cluster in (EAST, WEST):
        names = {kind: fleet.one(cluster, kind, "-l", OURS) for kind in ("deployments", "services", "httproutes")}
        fleet.kubectl(cluster, "scale", "deployment", names["deployments"], "-n", "ml-team", "--replicas=3")
        expected["Deployment", f"ml-team/{names['deployments']}"] = ("scaled-by-other", "kubectl")
        fleet.patch(cluster, "service", names["services"], "/spec/ports/0/targetPort", 9999)
        expected["Service", f"ml-team/{names['services']}"] = ("changed", "somebody")
        fleet.patch(cluster, "httproute", names["httproutes"], "/spec/rules/0/backendRefs/0/port", 9999)
        expected["HTTPRoute", f"ml-team/{names['httproutes']}"] = ("changed", "somebody")
        for kind, shown in (("configmap", "ConfigMap"), ("serviceaccount", "ServiceAccount")):
            name = f"left-{kind}-{cluster}"
            fleet.kubectl(cluster, "create", kind, name, "-n", "ml-team", SOMEBODY)
            fleet.kubectl(cluster, "label", kind, name, "-n", "ml-team", OURS, SOMEBODY)
            expected[shown, f"ml-team/{name}"] = ("extra", "")  # the API server notes nobody before a first apply
    fleet.patch("hub", "httproute", "mock", "/spec/rules/0/backendRefs/0/weight", 77)
    expected["HTTPRoute", "ml-team/mock"] = ("changed", "somebody")
    for each in fleet.objects("hub", "services", "-l", OURS):
        name = each["metadata"]["name"]
        fleet.patch("hub", "service", name, "/metadata/labels/modelplane.ai~1fleet", "other")
        expected["Service", f"ml-team/{name}"] = ("changed", "somebody")
        fleet.patch("hub", "endpointslice", name, "/endpoints/0/addresses", ["10.9.9.9"])
        expected["EndpointSlice", f"ml-team/{name}"] = ("changed", "somebody")
    return expected


def deleted(fleet: Looping) -> dict[tuple[str, str], tuple[str, str]]:
    """Twelve objects that somebody deletes."""
    expected = {}
    kinds = {"deployments": "Deployment", "services": "Service", "httproutes": "HTTPRoute"}
    kinds |= {"resourceclaimtemplates": "ResourceClaimTemplate"}
    for cluster in (EAST, WEST):
        for plural, kind in kinds.items():
            name = fleet.one(cluster, plural, "-l", OURS)
            fleet.kubectl(cluster, "delete", plural, name, "-n", "ml-team")
            expected[kind, f"ml-team/{name}"] = ("missing", "")
    for each in fleet.objects("hub", "services", "-l", OURS):
        name = each["metadata"]["name"]
        fleet.kubectl("hub", "delete", "endpointslice", name, "-n", "ml-team")
        fleet.kubectl("hub", "delete", "service", name, "-n", "ml-team")
        expected |= {(kind, f"ml-team/{name}"): ("missing", "") for kind in ("EndpointSlice", "Service")}
    return expected


def test_what_somebody_changed_is_found_with_class_and_owner_and_set_back(fleet: Looping) -> None:
    assert fleet.drift() == {}
    expected = changed_in_place(fleet)
    assert fleet.drift() == expected
    once = fleet.run("reconcile", "--once")
    assert once.code == 0, once.err
    extra = {key: found for key, found in expected.items() if found[0] == "extra"}
    assert fleet.drift() == extra, "what is not ours is told, and left alone"
    for kind, name in extra:
        cluster = EAST if EAST in name else WEST
        fleet.kubectl(cluster, "delete", kind, name.rpartition("/")[2], "-n", "ml-team")


def test_what_somebody_deleted_is_found_and_made_again(fleet: Looping) -> None:
    expected = deleted(fleet)
    assert fleet.drift() == expected
    once = fleet.run("reconcile", "--once")
    assert once.code == 0, once.err
    assert fleet.drift() == {}
    assert fleet.count(4) == {"mock-demo": 4}


def changed_in_releases(fleet: Looping) -> dict[tuple[str, str], tuple[str, str]]:
    """Three changes to objects that Helm has installed; what drift is to say of each."""
    helm = ("-l", "app.kubernetes.io/managed-by=Helm", "-n", GATEWAY_NAMESPACE)
    objects = {
        kind: json.loads(fleet.kubectl(EAST, "get", kind, "-o", "json", *helm))["items"]
        for kind in ("deployments", "configmaps", "services")
    }
    names = {kind: found[0]["metadata"]["name"] for kind, found in objects.items()}
    fleet.kubectl(EAST, "scale", "deployment", names["deployments"], "-n", GATEWAY_NAMESPACE, "--replicas=2")
    key = next(iter(objects["configmaps"][0]["data"]))
    fleet.patch(EAST, "configmap", names["configmaps"], f"/data/{key}", "other", GATEWAY_NAMESPACE)
    fleet.kubectl(EAST, "delete", "service", names["services"], "-n", GATEWAY_NAMESPACE)
    return {
        ("Deployment", f"{GATEWAY_NAMESPACE}/{names['deployments']}"): ("scaled-by-other", "kubectl"),
        ("ConfigMap", f"{GATEWAY_NAMESPACE}/{names['configmaps']}"): ("changed", "somebody"),
        ("Service", f"{GATEWAY_NAMESPACE}/{names['services']}"): ("missing", ""),
    }


def test_what_somebody_changed_inside_a_release_is_found_and_set_back(fleet: Looping) -> None:
    expected = changed_in_releases(fleet)
    assert fleet.drift() == expected
    once = fleet.run("reconcile", "--once")
    assert once.code == 0, once.err
    for kind, name in expected:
        assert f"{kind} {name.partition('/')[2]}" in once.err or f"{kind} {name}" in once.err, once.err
    assert fleet.drift() == {}
    releases = json.loads(fleet.kubectl(EAST, "get", "secrets", "-A", "-l", "owner=helm", "-o", "json"))["items"]
    assert {each["metadata"]["labels"]["version"] for each in releases} == {"1"}, "Helm has had nothing to do"


def test_a_service_whose_port_somebody_changed_is_made_anew(fleet: Looping) -> None:
    name = fleet.one(EAST, "services", "-l", OURS)
    fleet.patch(EAST, "service", name, "/spec/ports/0/port", 9999)
    assert fleet.drift() == {("Service", f"ml-team/{name}"): ("changed", "somebody")}
    once = fleet.run("reconcile", "--once", "--only", f"workloads.{EAST}")
    assert once.code == 0, once.err
    [service] = fleet.objects(EAST, "services", "-l", OURS)
    assert [port["port"] for port in service["spec"]["ports"]] == [8000]
    assert fleet.drift() == {}


def test_one_stack_alone_is_set_right(fleet: Looping) -> None:
    for cluster in (EAST, WEST):
        name = fleet.one(cluster, "services", "-l", OURS)
        fleet.patch(cluster, "service", name, "/spec/ports/0/targetPort", 9999)
    only = fleet.run("reconcile", "--once", "--only", f"workloads.{EAST}")
    assert only.code == 0, only.err
    assert {name for _, name in fleet.drift()} == {f"ml-team/{fleet.one(WEST, 'services', '-l', OURS)}"}
    assert fleet.run("reconcile", "--once", "--only", f"workloads.{WEST}").code == 0
    assert fleet.drift() == {}


def test_a_damaged_directory_deletes_nothing_and_the_loop_recovers(fleet: Looping) -> None:
    files = {file: file.read_text() for file in fleet.directory.glob("*.yaml")}
    deployments = [it["metadata"]["uid"] for it in fleet.objects(EAST, "deployments", "-l", OURS)]
    with fleet.looping("--interval", "5s"):
        for file in files:
            file.unlink()
        until(lambda: "MP122" in fleet.told(), "the empty directory to be told", fleet.told)
        whole = files[fleet.directory / "mock-demo.yaml"]
        (fleet.directory / "mock-demo.yaml").write_text(whole[: len(whole) // 2])
        until(lambda: "MP104" in fleet.told() or "MP130" in fleet.told() or "MP111" in fleet.told(), "it", fleet.told)
        unreadable = fleet.directory / "clusters.yaml"
        unreadable.symlink_to("nowhere.yaml")
        until(lambda: "MP102" in fleet.told(), "the file that cannot be read to be told", fleet.told)
        unreadable.unlink()
        pod = fleet.one(EAST, "pods", *ENGINES)
        fleet.kubectl(EAST, "annotate", "pod", pod, "-n", "ml-team", f"{HOLD}=true")
        until(lambda: fleet.backends() == 1, "a withdrawal by the last good documents", fleet.told)
        fleet.kubectl(EAST, "annotate", "pod", pod, "-n", "ml-team", f"{HOLD}-")
        until(lambda: fleet.backends() == 2, "its return", fleet.told)
        for file, text in files.items():
            file.write_text(text)
        until(lambda: "the documents can be used again" in fleet.told(), "recovery", fleet.told)
        assert [it["metadata"]["uid"] for it in fleet.objects(EAST, "deployments", "-l", OURS)] == deployments


def test_a_dead_api_server_holds_nobody_up_and_is_caught_up_with(fleet: Looping) -> None:
    file = fleet.directory / "mock-demo.yaml"
    with fleet.looping("--interval", "5s", "--drift-interval", "40s"):
        fleet.kill(EAST, "kube-apiserver")
        until(lambda: f"cluster {EAST} does not answer" in fleet.told() or dead(fleet), "it to be noticed", fleet.told)
        file.write_text(re.sub(r"token-interval: \d+ms", "token-interval: 50ms", file.read_text()))
        until(lambda: intervals(fleet, WEST) == {"50ms"}, "the other cluster to follow", fleet.told)
        began, others = time.monotonic(), fleet.told().count(f"demo.workloads.{WEST} ")
        held = of_cluster(fleet, EAST)
        drift = fleet.run("drift", "-o", "json")
        assert drift.code == 22, drift.err
        findings = [(it["class"], it["name"]) for it in drift.json()["findings"] if it["kind"] == "Cluster"]
        assert findings == [("unreachable", EAST)]
        until(lambda: time.monotonic() - began >= DEAD_SECONDS, "ten minutes to pass", fleet.told, 2 * DEAD_SECONDS)
        until(lambda: fleet.told().count(f"demo.workloads.{WEST} ") >= others + LOOKS, "the others", fleet.told)
        assert fleet.backends() == 2, "what cannot be asked is left in rotation"
        assert of_cluster(fleet, EAST) == held
        assert fleet.run("local", "up").code == 0
        until(lambda: intervals(fleet, EAST) == {"50ms"}, "it to catch up by itself", fleet.told)
        until(lambda: fleet.backends() == 2, "both to serve", fleet.told)


def of_cluster(fleet: Looping, cluster: str) -> dict[str, Any]:
    """What the stacks of a cluster hold."""
    found = {stack: held["resources"] for stack, held in state(fleet.directory).items() if stack.endswith(cluster)}
    assert len(found) == 3
    return found


def dead(fleet: Looping) -> bool:
    items = fleet.run("status", "-o", "json").json()["items"]
    cluster = next(it for it in items if (it["kind"], it["metadata"]["name"]) == ("InferenceCluster", EAST))
    return any(found["status"] == "False" for found in cluster["status"]["conditions"])


def intervals(fleet: Looping, cluster: str) -> set[str]:
    pods = fleet.objects(cluster, "pods", *ENGINES)
    return {pod["metadata"]["annotations"].get("local.modelplane.ai/token-interval", "") for pod in pods}


def test_the_loop_and_another_command_take_turns(fleet: Looping) -> None:
    with fleet.looping():
        up = fleet.run("up")
        assert up.code in {0, 24}, up.err


def test_a_loop_that_is_killed_leaves_nothing_behind_that_the_next_one_does_not_settle(fleet: Looping) -> None:
    file = fleet.directory / "mock-demo.yaml"
    output = fleet.directory.parent / "killed.out"
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "cli", "reconcile", "-f", str(fleet.directory)],
            cwd=ROOT,
            stdout=stream,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        until(lambda: "begun" in output.read_text(), "the loop to work", output.read_text)
        try:
            file.write_text(re.sub(r"token-interval: \d+ms", "token-interval: 40ms", file.read_text()))
            until(lambda: "the documents have changed" in output.read_text(), "the edit", output.read_text)
            until(lambda: output.read_text().rpartition("have changed")[2].count(" up ") >= 1, "it", output.read_text)
        finally:
            process.kill()
            process.wait(LONG)
    with fleet.looping():
        for cluster in (EAST, WEST):
            until(lambda cluster=cluster: intervals(fleet, cluster) == {"40ms"}, "the edit to arrive", fleet.told)
        until(lambda: fleet.backends() == 2, "both to serve", fleet.told)
    assert fleet.drift() == {}


def size(file: Path) -> int:
    """Bytes of a file, none of one that is gone meanwhile."""
    try:
        return file.lstat().st_size
    except FileNotFoundError:
        return 0


def found_by_looks(told: str) -> list[str]:
    """Lines that tell of what the look before an operation found changed by others."""
    return [line for line in told.splitlines() if line.startswith("  demo.")]


def test_hours_worth_of_passes_leave_memory_handles_and_disk_flat(fleet: Looping) -> None:
    """Every stack is looked at again and again without a pause, as often as in hours of the default."""
    samples: list[tuple[int, int, int]] = []
    kept = fleet.directory / ".modelplane"
    with fleet.looping("--drift-interval", "1s"):
        process = Path(f"/proc/{fleet.process.pid}")
        for goal in range(40, 281, 40):
            until(lambda goal=goal: fleet.told().count(" up ") >= goal, f"{goal} operations", fleet.told, 900)
            memory = int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20
            handles = len(list((process / "fd").iterdir()))
            disk = sum(size(file) for file in kept.rglob("*") if kept / "local" not in file.parents) // 2**10
            samples.append((memory, handles, disk))
    sys.stderr.write(f"MiB, handles and KiB on disk after each 40 operations: {samples}\n")
    early, late = samples[2], samples[-1]
    assert late[0] <= early[0] * 1.15 + 5, samples
    assert late[1] <= early[1] + 10, samples
    assert late[2] <= early[2] * 1.15 + 512, samples
    assert "failed" not in fleet.told()
    assert fleet.told().count("demo.routing ") >= IDLE_PASSES
    assert found_by_looks(fleet.told()) == [], "idle passes find nothing"
