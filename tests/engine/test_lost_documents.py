"""Documents that are lost: a fleet of ten deployments and five services loses nothing with them, unless it is named.

Steps build on each other: each leaves the fleet as it was made, all ten deployments behind the five services.
"""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from engine.fleets import Done, Scratch
from engine.runs import running, wait_until, whole

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(1200)]

EAST, WEST = "gpu-us-east", "gpu-eu-west"
DEPLOYMENTS = [f"model-{letter}" for letter in "abcdefghij"]
SERVICES = [f"team-{number}" for number in range(5)]
PLACEMENT, ROUTING, WORKLOADS = "demo.placement", "demo.routing", f"demo.workloads.{EAST}"


class Fleet(Scratch):
    """Ten deployments of one replica each on two clusters of five nodes; each service has two of them behind it."""

    def fill(self) -> None:
        def five_nodes(document: dict[str, Any]) -> Any:
            document["spec"]["nodePools"][0]["nodeCount"] = 5
            return document

        for cluster in (EAST, WEST):
            self.edit("InferenceCluster", cluster, five_nodes)
        found = {document["kind"]: document for _, documents in self.documents() for document in documents}
        deployment, service = found["ModelDeployment"], found["ModelService"]
        for kind, name in (("ModelDeployment", "mock-demo"), ("ModelService", "mock")):
            self.edit(kind, name, lambda _: None)
        for name in DEPLOYMENTS:
            deployment["metadata"]["name"] = name
            deployment["spec"]["replicas"] = 1
            self.file(name).write_text(json.dumps(deployment))
        for number, name in enumerate(SERVICES):
            service["metadata"]["name"] = name
            service["spec"]["endpoints"] = [
                {"selector": {"matchLabels": {"modelplane.ai/deployment": deployment}}}
                for deployment in DEPLOYMENTS[2 * number : 2 * number + 2]
            ]
            self.file(name).write_text(json.dumps(service))

    def file(self, name: str) -> Path:
        return self.directory / f"{name}.yaml"

    @contextmanager
    def without(self, *names: str) -> Iterator[None]:
        """The fleet directory while some documents are somewhere else."""
        aside = self.directory.parent / "aside"
        aside.mkdir()
        for name in names:
            shutil.move(self.file(name), aside)
        try:
            yield
        finally:
            for file in aside.iterdir():
                shutil.move(file, self.directory)
            aside.rmdir()

    def up(self, *arguments: str) -> Done:
        return self.run("up", "-o", "json", "--wait", "3m", *arguments)

    def plain_up(self, stack: str) -> Done:
        return self.pulumi("up", "--yes", "--skip-preview", "--stack", stack)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    scratch = Fleet(tmp_path_factory.mktemp("lost") / "fleet")
    scratch.fill()
    with scratch.clusters_up():
        yield scratch


@pytest.fixture(scope="module")
def made(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All that the fleet comes to. Somebody else's `up` was turned away while it was made."""
    with running(fleet.directory, tmp_path_factory.mktemp("runs"), "up", "--wait", "4m") as run:
        wait_until(run.engines, 60, "the first one is at work")
        second = fleet.up()
        first = run.ended(400)
    assert first.code == 0, first.err
    assert second.code == 24, second.err
    assert f"pid {run.process.pid}" in second.err, "it names who holds the lock"
    return whole(fleet)


def digest_of(refused: Done) -> str:
    """What permits the deletions of one refusal."""
    assert refused.code == 26, refused.err
    found = set(re.findall(r"--allow ([0-9a-f]{10})", refused.err))
    assert len(found) == 1, refused.err
    return found.pop()


def lines_of(refused: Done) -> set[str]:
    """What would go, as a refusal lists it."""
    return {line.strip().removeprefix("- ") for line in refused.err.splitlines() if line.strip().startswith("- ")}


def test_two_at_once(fleet: Fleet, made: dict[str, Any]) -> None:
    assert {fleet.ask(name).deployment for name in SERVICES for _ in range(2)} == set(DEPLOYMENTS)


def test_half_the_deployments_missing(fleet: Fleet, made: dict[str, Any]) -> None:
    with fleet.without(*DEPLOYMENTS[:5]):
        refused = fleet.up()
    digest_of(refused)
    assert {re.sub(r"^replica ml-team/|-[0-9a-f]{5} on .*", "", line) for line in lines_of(refused)} == set(
        DEPLOYMENTS[:5]
    )
    assert whole(fleet) == made


def test_only_the_services_missing(fleet: Fleet, made: dict[str, Any]) -> None:
    with fleet.without(*SERVICES):
        refused = fleet.up()
    digest_of(refused)
    assert lines_of(refused) == {f"service ml-team/{name}" for name in SERVICES}
    assert whole(fleet) == made


def test_an_empty_directory(fleet: Fleet, made: dict[str, Any]) -> None:
    with fleet.without(*(file.stem for file in fleet.directory.glob("*.yaml"))):
        refused = fleet.up()
    assert refused.code == 2, refused.err
    assert str(fleet.directory) in refused.err
    assert "Traceback" not in refused.err
    assert whole(fleet) == made


def test_plain_pulumi_with_half_the_directory(fleet: Fleet, made: dict[str, Any]) -> None:
    with fleet.without(*DEPLOYMENTS[:5], *SERVICES[:3]):
        for stack, what in ((PLACEMENT, "5 of 10 replicas would go"), (ROUTING, "3 of 5 services would go")):
            refused = fleet.plain_up(stack)
            assert refused.code != 0
            assert what in refused.out, refused.out
            assert "--allow" in refused.out
            assert "Traceback" not in refused.out
    assert whole(fleet) == made


def test_the_placement_stack_destroyed(fleet: Fleet, made: dict[str, Any]) -> None:
    """Without a ledger nothing is known of what runs, which is not the same as nothing running."""
    gone = fleet.pulumi("destroy", "--yes", "--skip-preview", "--stack", PLACEMENT)
    assert gone.code == 0, gone.out
    for stack in (WORKLOADS, ROUTING):
        refused = fleet.plain_up(stack)
        assert refused.code != 0
        assert "MP327" in refused.out, refused.out
        assert "the placement stack exports no ledger" in refused.out
    refused = fleet.plain_up(PLACEMENT)
    assert refused.code != 0
    assert "`modelplane up --rebuild-ledger` takes it from what the clusters hold" in refused.out
    refused = fleet.up()
    assert refused.code in (1, 26), refused.err
    assert "--rebuild-ledger" in refused.err
    assert whole(fleet)["objects"] == made["objects"]

    rebuilt = fleet.up("--rebuild-ledger")
    assert rebuilt.code == 0, rebuilt.err
    assert rebuilt.json()["changed"] == 0
    assert whole(fleet) == made


def test_a_digest_permits_what_was_shown_and_nothing_else(fleet: Fleet, made: dict[str, Any]) -> None:
    with fleet.without(*SERVICES[:1], *DEPLOYMENTS[:3]):
        three = fleet.up()
        digest = digest_of(three)
        with_one_more = fleet.directory.parent / "one-more"
        shutil.move(fleet.file(DEPLOYMENTS[3]), with_one_more)
        assert digest_of(fleet.up("--allow", digest)) != digest
        assert whole(fleet) == made
        shutil.move(with_one_more, fleet.file(DEPLOYMENTS[3]))

        allowed = fleet.up("--allow", digest)
        assert allowed.code == 0, allowed.err
        left = {name for kind, name in names(fleet) if kind == "ModelDeployment"}
        assert left == set(DEPLOYMENTS[3:])
        assert {name for kind, name in names(fleet) if kind == "ModelService"} == set(SERVICES[1:])
        running_now = {it["metadata"]["labels"]["modelplane.ai/deployment"] for it in deployments(fleet)}
        assert running_now == set(DEPLOYMENTS[3:])


def names(fleet: Fleet) -> set[tuple[str, str]]:
    return {(it["kind"], it["metadata"]["name"]) for it in fleet.run("status", "-o", "json").json()["items"]}


def deployments(fleet: Fleet) -> list[dict[str, Any]]:
    return [
        found
        for cluster in (EAST, WEST)
        for found in fleet.objects(cluster, "deployments", "-l", "modelplane.ai/fleet=demo")
    ]
