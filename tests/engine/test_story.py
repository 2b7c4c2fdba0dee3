"""The example from nothing to nothing: the story `make demo` tells, with the real engine, API servers and gateways.

The steps build on each other and run in the order they are written in; the fleet comes up once.
"""

import base64
import json
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from browser.opened import CHROMIUM, Opened, launched, things
from engine.fleets import Done, Scratch
from engine.kills import kill_five
from engine.measured import MEASURED
from engine.questions import NEW, OLD, ask, draw, drawn, wrong
from engine.runs import ends_like, whole
from ruamel.yaml import YAML

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(900)]

SECRET = "a-token-that-must-stay-secret"
EAST, WEST = "gpu-us-east", "gpu-eu-west"
OURS = "modelplane.ai/fleet=demo"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    scratch = Scratch(tmp_path_factory.mktemp("story") / "fleet")
    with scratch.clusters_up():
        yield scratch


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the fleet's page, that a browser opens later."""
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def transcript() -> list[Done]:
    """Everything the commands printed, for the search for secrets at the end."""
    return []


def state(fleet: Scratch) -> dict[tuple[str, str], dict[str, Any]]:
    """`status -o json` by kind and name."""
    done = fleet.run("status", "-o", "json")
    assert (done.code, done.err) == (0, "")
    return {(item["kind"], item["metadata"]["name"]): item for item in done.json()["items"]}


def conditions(item: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {found["type"]: found for found in item["status"]["conditions"]}


def test_up_serves_the_model_through_one_url(fleet: Scratch, transcript: list[Done]) -> None:
    up = fleet.run("up", "-o", "json", "--wait", "3m")
    transcript.append(up)
    assert up.code == 0, up.err

    replicas = {
        (name, item["spec"]["clusterName"]) for (kind, name), item in state(fleet).items() if kind == "ModelReplica"
    }
    assert replicas == {("mock-demo-be445", WEST), ("mock-demo-49b71", EAST)}
    for cluster in (EAST, WEST):
        [claim] = fleet.objects(cluster, "resourceclaims")
        assert claim["status"]["allocation"]["devices"]["results"], "the real scheduler allocated devices"
    answer = fleet.ask(stream=True)
    assert answer.status == 200
    *chunks, last = answer.events()
    assert last == "[DONE]"
    assert "".join(json.loads(chunk)["choices"][0]["delta"].get("content", "") for chunk in chunks)


def test_the_deployment_is_ready_by_its_conditions(fleet: Scratch) -> None:
    found = conditions(state(fleet)["ModelDeployment", "mock-demo"])
    assert {name: (it["status"], it["reason"]) for name, it in found.items()} == {
        "ReplicasScheduled": ("True", "ReplicasCreated"),
        "ReplicasReady": ("True", "AllReplicasReady"),
        "Ready": ("True", "Available"),
    }


def test_requests_spread_evenly_over_two_replicas(fleet: Scratch) -> None:
    answers = [fleet.ask() for _ in range(20)]
    clusters = [
        {key.lower(): value for key, value in answer.headers.items()}["x-modelplane-cluster"] for answer in answers
    ]
    assert sorted((clusters.count(EAST), clusters.count(WEST))) == [10, 10]


def test_a_second_up_changes_no_resource_and_loads_no_cloud_s_sdk(
    fleet: Scratch, transcript: list[Done], record_testsuite_property: Callable[[str, object], None]
) -> None:
    again = fleet.run("up", "-o", "json", program=("-c", MEASURED))
    transcript.append(again)
    assert again.code == 0, again.err
    told = json.loads(again.err.splitlines()[-1])
    record_testsuite_property("up_of_clusters_handed_over", told)
    assert told["loaded"] == []
    report = again.json()
    assert {name: stack["changed"] for name, stack in report["stacks"].items()} == {
        "demo.gateway": 0,
        f"demo.cluster.{EAST}": 0,
        f"demo.cluster.{WEST}": 0,
        f"demo.serving.{EAST}": 0,
        f"demo.serving.{WEST}": 0,
        "demo.placement": 0,
        f"demo.workloads.{EAST}": 0,
        f"demo.workloads.{WEST}": 0,
        "demo.routing": 0,
    }


def test_the_canary_takes_a_tenth(fleet: Scratch, transcript: list[Done], tmp_path: Path) -> None:
    """As CI does it: a preview whose plan is approved, and the update that does that plan and nothing else."""
    fleet.step("canary")
    plan, comment, cases = (str(tmp_path / name) for name in ("fleet.plan", "preview.md", "up.xml"))
    preview = fleet.run("preview", "--save-plan", plan, "--report", comment)
    assert preview.code == 0, preview.err
    up = fleet.run("up", "-o", "json", "--plan", plan, "--report", cases, "--wait", "3m")
    transcript.extend([preview, up])
    assert up.code == 0, up.err
    assert "mock-demo-v2-5ef67" in Path(comment).read_text()
    assert {case.get("name") for case in ET.parse(cases).iter("testcase")} >= {"demo.routing"}
    again = fleet.run("up", "--plan", plan)
    assert (again.code, again.out) == (25, "")
    assert "stack demo.routing" in again.err, "what was planned is done already"
    canary = state(fleet)["ModelReplica", "mock-demo-v2-5ef67"]
    assert canary["spec"]["clusterName"] == EAST
    assert fleet.count(200) == {"mock-demo": 180, "mock-demo-v2": 20}


def test_what_it_replaced_is_gone(fleet: Scratch) -> None:
    names = {item["metadata"]["name"] for item in fleet.objects(EAST, "deployments", "-l", OURS)}
    assert all(name.startswith("mock-demo-v2-") for name in names)
    assert len(names) == 1
    assert ("ModelReplica", "mock-demo-49b71") not in state(fleet)


def test_every_question_is_answered_with_what_is_true_of_this_fleet(fleet: Scratch, transcript: list[Done]) -> None:
    write_secret(fleet)
    answers = ask(fleet)
    transcript.extend(answers.values())
    assert wrong(answers) == {}


def test_the_fleets_page_shows_what_runs_and_what_the_next_up_would_do(
    fleet: Scratch, transcript: list[Done], pages: Path
) -> None:
    document = fleet.directory / "mock-demo.yaml"
    before = document.read_text()
    document.write_text(before.replace("  replicas: 1", "  replicas: 0"))
    now, planned, told = draw(fleet, pages)
    document.write_text(before)
    transcript += told
    assert {done.code for done in told} == {0}, told

    found, ways = drawn(now)
    assert ways["service ml-team/mock", f"endpoint ml-team/{OLD}"] == "90 %"
    assert ways["service ml-team/mock", f"endpoint ml-team/{NEW}"] == "10 %"
    assert ways[f"endpoint ml-team/{NEW}", f"replica ml-team/{NEW}"] == ""
    assert ways[f"replica ml-team/{NEW}", f"pool {EAST}/h100"] == "1 node"
    assert [name for name in found if name.startswith("endpoint ")] == [
        f"endpoint ml-team/{name}" for name in (OLD, NEW)
    ]
    assert {node[3] for node in found.values()} == {""}, "nothing is planned on it"
    assert {name: node[3] for name, node in drawn(planned)[0].items() if node[3]} == {
        f"replica ml-team/{OLD}": "removed"
    }


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium on PATH to show the page with")
def test_the_page_of_the_fleet_opens_in_a_browser_and_says_why_a_replica_is_there(pages: Path) -> None:
    with launched() as browser, Opened(browser, pages, (pages / "now.html").read_text()) as page:
        assert f"replica ml-team/{NEW}, ready" in things(page)
        assert page.get_by_text("10 %", exact=True).is_visible()
        page.locator(f"g[aria-label^='replica ml-team/{NEW}']").click()
        why = page.locator("#details li").all_inner_texts()
        assert "Ready True: Available" in why
        assert any(line.startswith("main, Standalone: 8 x gpu") and line.endswith("of pool h100") for line in why)
        left = things(page)
        assert f"endpoint ml-team/{NEW}, ready" in left
        assert not [name for name in left if OLD in name], "what has nothing to do with it is not shown"


def test_runs_that_are_killed_at_five_moments_leave_what_the_next_one_sets_right(
    fleet: Scratch, tmp_path: Path
) -> None:
    undisturbed = whole(fleet)
    kill_five(fleet, tmp_path / "runs")
    ends_like(fleet, undisturbed)


def edit(fleet: Scratch, name: str, **changes: Any) -> None:
    """Write a deployment like mock-demo under another name, with other spec fields."""
    yaml = YAML(typ="safe")
    source = next(
        document
        for file in fleet.directory.glob("*.yaml")
        for document in yaml.load_all(file.read_text())
        if document and document["kind"] == "ModelDeployment" and document["metadata"]["name"] == "mock-demo"
    )
    source["metadata"]["name"] = name
    engine = source["spec"]["template"]["spec"]["engines"][0]
    if "copies" in changes:
        engine["copies"] = changes.pop("copies")
    source["spec"].update(changes)
    (fleet.directory / f"{name}.json").write_text(json.dumps(source))


def test_a_deployment_that_fits_nowhere_is_told_which_node_is_missing(fleet: Scratch) -> None:
    edit(fleet, "wide", copies=2, replicas=1)
    up = fleet.run("up", "-o", "json", "--wait", "30s")
    assert up.code == 20, up.err
    found = state(fleet)["ModelDeployment", "wide"]
    assert found["status"]["replicas"]["total"] == 0
    scheduled = conditions(found)["ReplicasScheduled"]
    assert (scheduled["status"], scheduled["reason"]) == ("False", "InsufficientCapacity")
    assert "0 of 1" in scheduled["message"]
    verdicts = up.json()["deployments"]["ml-team/wide"]["verdicts"]
    assert set(verdicts) == {EAST, WEST}
    for verdict in verdicts.values():
        assert any("nodes" in reason["message"] and "2" in reason["message"] for reason in verdict), verdict


def test_room_for_one_of_two_is_partial(fleet: Scratch) -> None:
    (fleet.directory / "wide.json").unlink()
    edit(fleet, "mock-demo-v2", replicas=2)
    for file in fleet.directory.glob("*.yaml"):
        if "name: mock-demo-v2\n" in file.read_text() and "kind: ModelDeployment" in file.read_text():
            file.unlink()
    up = fleet.run("up", "-o", "json", "--wait", "60s")
    assert up.code == 20, up.err
    found = state(fleet)["ModelDeployment", "mock-demo-v2"]
    scheduled = conditions(found)["ReplicasScheduled"]
    assert (scheduled["status"], scheduled["reason"]) == ("False", "PartiallyScheduled")
    assert "1 of 2" in scheduled["message"]
    assert found["status"]["replicas"] == {"desired": 2, "total": 1, "ready": 1}


def test_one_bad_object_is_named_and_takes_nothing_down(fleet: Scratch) -> None:
    file = fleet.directory / "mock-demo-v2.json"
    good = file.read_text()
    document = json.loads(good)
    engine = document["spec"]["template"]["spec"]["engines"][0]
    engine["members"][0]["template"]["spec"]["containers"][0]["env"] = [{"name": "A=B", "value": "refused by the API"}]
    file.write_text(json.dumps(document))

    up = fleet.run("up", "-o", "json", "--wait", "30s")
    assert up.code == 21, up.err
    report = up.json()
    [error] = report["errors"]
    assert error["where"] == f"stack demo.workloads.{EAST}"
    assert "mock-demo-v2-5ef67" in error["message"]
    assert report["stacks"][f"demo.workloads.{WEST}"]["error"] is None
    assert fleet.count(20) == {"mock-demo": 18, "mock-demo-v2": 2}, "what runs is left in rotation"

    file.write_text(good)
    assert fleet.run("up", "--wait", "60s").code == 20, "only the second replica has no room"
    assert fleet.count(20) == {"mock-demo": 18, "mock-demo-v2": 2}


def test_local_down_is_refused_while_stacks_hold_resources(fleet: Scratch) -> None:
    refused = fleet.run("local", "down")
    assert refused.code == 1
    assert "modelplane destroy" in refused.err
    assert "--discard-state" in refused.err
    assert fleet.ask().status == 200, "nothing was taken down"


def write_secret(fleet: Scratch) -> None:
    """A Secret among the documents, whose value must be seen nowhere."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hub-token", "namespace": "ml-team"}}
    (fleet.directory / "token.json").write_text(json.dumps({**secret, "stringData": {"token": SECRET}}))


def secrets_of(fleet: Scratch) -> dict[str, bytes]:
    """Every value that must not be seen, plain and base64, by what it is."""
    found: dict[str, bytes] = {"token": SECRET.encode(), "token64": base64.b64encode(SECRET.encode())}
    for cluster in (EAST, WEST, "hub"):
        text = fleet.kubeconfig(cluster).read_text()
        found[f"kubeconfig {cluster}"] = base64.b64encode(text.encode())
        for user in YAML(typ="safe").load(text)["users"]:
            for key in ("client-key-data", "token"):
                if value := user["user"].get(key):
                    found[f"{key} {cluster}"] = value.encode()
                    if key.endswith("-data"):
                        plain = base64.b64decode(value)
                        found[f"plain {key} {cluster}"] = b"".join(plain.splitlines()[1:2])
            if path := user["user"].get("client-key"):
                plain = Path(path).read_bytes()
                found[f"client-key {cluster}"] = plain.splitlines()[1]
                found[f"client-key64 {cluster}"] = base64.b64encode(plain)[:60]
    return found


def test_no_secret_is_in_clear_anywhere(fleet: Scratch, transcript: list[Done]) -> None:
    write_secret(fleet)
    seen: set[bytes] = set()
    stop = threading.Event()
    watcher = threading.Thread(target=collect_arguments, args=(seen, stop))
    watcher.start()
    try:
        up = fleet.run("--debug", "up", "-o", "json")
        transcript += [up, fleet.run("status", "-o", "json"), fleet.run("stacks"), fleet.run("env")]
    finally:
        stop.set()
        watcher.join()
    assert "debug" in up.err, "the engine's own diagnostics were on"
    haystack = {"what commands printed": "".join(done.out + done.err for done in transcript).encode()}
    haystack["arguments of processes"] = b"\n".join(seen)
    for file in Path(tempfile.gettempdir()).glob("kubeconfig*"):
        haystack[str(file)] = file.read_bytes()  # where the Kubernetes provider writes unless it is told otherwise
    for folder in ("state", "work", "tmp"):
        for file in (fleet.directory / ".modelplane" / folder).rglob("*"):
            if file.is_file():
                haystack[str(file)] = file.read_bytes()
    assert len(haystack) > 15, "state, history and backups were there to be searched"
    hits = [
        (what, where) for what, value in secrets_of(fleet).items() for where, text in haystack.items() if value in text
    ]
    assert hits == []


def collect_arguments(seen: set[bytes], stop: threading.Event) -> None:
    """Arguments of every process on the machine while something runs."""
    while not stop.wait(0.05):
        for process in Path("/proc").iterdir():
            if process.name.isdigit():
                try:
                    seen.add((process / "cmdline").read_bytes())
                except OSError:
                    continue


def test_destroy_leaves_nothing_of_ours(fleet: Scratch) -> None:
    gone = fleet.run("destroy", "--yes")
    assert gone.code == 0, gone.err
    assert [stack["name"] for stack in fleet.run("stacks", "-o", "json").json() if stack["exists"]] == []
    for cluster in (EAST, WEST, "hub"):
        kinds = fleet.kubectl(cluster, "api-resources", "--verbs=list", "-o", "name").split()
        left = {
            kind: [item["metadata"]["name"] for item in fleet.objects(cluster, kind, "-l", OURS)]
            for kind in kinds
            if kind not in {"events", "events.events.k8s.io"}
        }
        assert {kind: found for kind, found in left.items() if found} == {}
        assert fleet.objects(cluster, "deployments,httproutes,gateways,resourceclaims,resourceclaimtemplates") == []
        assert not {"ml-team", "modelplane-system"} & {
            item["metadata"]["name"] for item in fleet.objects(cluster, "namespaces")
        }


def test_a_second_destroy_does_nothing(fleet: Scratch) -> None:
    again = fleet.run("destroy", "--yes")
    assert again.code == 0, again.err
    assert "nothing" in (again.out + again.err)
