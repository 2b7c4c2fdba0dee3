"""Pages typed in one shell as they stand there, on a fleet that is up: day two, drift, a canary, moving, deleting."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from docs.texts import ROOT, blocks, typed
from engine.fleets import STEPS, Scratch
from engine.typed import Shell, a_checkout, at, missing, shell
from ruamel.yaml import YAML

from stacks.state import held_resources

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(1200)]

EAST, WEST = "gpu-us-east", "gpu-eu-west"
DAY_TWO, DRIFT, CANARY, MOVING = (
    ROOT / "docs" / name for name in ("day-two.md", "drift.md", "guides/canary.md", "moving-and-deleting.md")
)
DIGEST = re.compile(r"(?<=--allow )[0-9a-f]{10}")


@dataclass
class Reader:
    """Somebody who has a checkout and a fleet in it that is up, and types what pages say."""

    bash: Shell
    fleet: Scratch
    address: str

    def type(self, command: str, shown: str = "") -> str:
        """Type it; it has to end well and to show what the page shows. What it said, for the reader to go by."""
        seen = self.bash.enter(at(self.address, command))
        assert seen.code == 0, (command, seen)
        assert missing(at(self.address, shown), seen) == [] if shown else True, (command, seen)
        return seen.out + seen.err

    def drop(self, cluster: str) -> str:
        """Take a cluster out of the documents; what the file was."""
        file = self.fleet.directory / "clusters.yaml"
        before = file.read_text()
        kept = [each for each in before.split("---\n") if f"name: {cluster}\n" not in each]
        file.write_text("---\n".join(kept))
        return before


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Two nodes in the west and one in the east."""
    folder = tmp_path_factory.mktemp("pages")
    place = folder / "checkout"
    place.mkdir()
    address = a_checkout(place)
    fleet = Scratch(place / "fleet", int(address.rpartition(":")[2]))
    file = fleet.directory / "clusters.yaml"
    head, west = file.read_text().split(f"name: {WEST}\n")
    file.write_text(f"{head}name: {WEST}\n{west.replace('nodeCount: 1', 'nodeCount: 2')}")
    with fleet.clusters_up(), shell(place, folder / "shown") as bash:
        found = Reader(bash, fleet, address)
        found.type("export PATH=$PWD/.venv/bin:$PATH MODELPLANE_FLEET=$PWD/fleet")
        found.type("modelplane up --wait 3m")
        yield found


def test_a_cluster_is_emptied_and_nothing_comes_back_by_itself(reader: Reader) -> None:
    steps = list(typed(DAY_TWO, "Empty a cluster"))
    assert [command.split()[1] for command, _ in steps] == ["drain", "drain", "undrain"]
    for command, shown in steps:
        reader.type(command, shown)
        assert reader.fleet.places() == {WEST: 2}, command


def test_a_deployment_is_scaled_and_parked(reader: Reader) -> None:
    for command, shown in typed(DAY_TWO, "Scale"):
        reader.type(command, shown)
        assert reader.fleet.places().total() == int(re.findall(r"--replicas (\d)", command)[0]), command
    assert reader.fleet.places() == {WEST: 1, EAST: 1}
    assert reader.fleet.count(4) == {"mock-demo": 4}


def test_what_somebody_did_is_told_and_set_right(reader: Reader) -> None:
    fleet = reader.fleet
    [service], [deployment] = (
        [it["metadata"]["name"] for it in fleet.objects(EAST, kind, "-l", "modelplane.ai/fleet=demo")]
        for kind in ("services", "deployments")
    )
    fleet.kubectl(EAST, "delete", "service", service, "-n", "ml-team")
    fleet.kubectl(EAST, "scale", "deployment", deployment, "-n", "ml-team", "--replicas=3")
    weight = '[{"op": "replace", "path": "/spec/rules/0/backendRefs/0/weight", "value": 77}]'
    fleet.kubectl("hub", "patch", "httproute", "mock", "-n", "ml-team", "--type=json", "-p", weight)
    (look, shown), *steps = typed(DRIFT)
    reader.type(look, shown)
    assert [command.split()[1] for command, _ in steps] == ["reconcile", "up"]
    for (command, _), left in zip(steps, (1, 0), strict=True):
        reader.type(command)
        assert len(fleet.run("drift", "-o", "json").json()["findings"]) == left, command


def test_a_tenth_goes_to_a_canary(reader: Reader) -> None:
    [service] = [YAML(typ="safe").load(block) for block in blocks(CANARY, "yaml")]
    assert service == YAML(typ="safe").load((STEPS / "01-canary" / "mock.yaml").read_text())
    for command, shown in typed(CANARY):
        reader.type(command, shown)
    found = reader.fleet.count(100)
    assert found.keys() == {"mock-demo", "mock-demo-v2"}
    assert 1 <= found["mock-demo-v2"] <= 25, found


def test_more_than_a_share_goes_only_by_its_digest(reader: Reader) -> None:
    (refused, shown), (allowed, _) = [step for step in typed(MOVING) if "--allow" in "".join(step)]
    for file in ("mock-demo.yaml", "mock-demo-v2.yaml"):
        path = reader.fleet.directory / file
        path.write_text(path.read_text().replace("replicas: 1", "replicas: 0"))
    [page] = set(DIGEST.findall(shown))
    said = reader.type(refused, shown.replace(page, "…"))
    [digest] = set(DIGEST.findall(said))
    assert reader.fleet.places().total() == 2
    reader.type(allowed.replace(page, digest))
    assert reader.fleet.places().total() == 0


def test_a_cluster_goes_once_it_is_named_and_is_forgotten_when_it_is_dead(reader: Reader) -> None:
    deleted, forgotten = (command for command, _ in typed(MOVING) if EAST in command)
    path = reader.fleet.directory / "mock-demo.yaml"
    path.write_text(path.read_text().replace("replicas: 0", "replicas: 2"))
    reader.type("modelplane up --wait 3m")
    assert reader.fleet.places() == {WEST: 1, EAST: 1}

    whole = reader.drop(EAST)
    reader.type(deleted)
    assert reader.fleet.places() == {WEST: 2}
    assert reader.fleet.objects(EAST, "deployments,gateways,httproutes") == []

    (reader.fleet.directory / "clusters.yaml").write_text(whole)
    reader.type("modelplane scale deployment/mock-demo --replicas 3 --wait 3m")
    assert reader.fleet.places() == {WEST: 2, EAST: 1}
    reader.fleet.kill(EAST, "kube-apiserver")
    reader.drop(EAST)
    reader.type("modelplane up > /dev/null; test $? -eq 26")
    assert reader.fleet.places() == {WEST: 2, EAST: 1}, "held"
    reader.type(f"{forgotten.partition('#')[0]}; test $? -eq 20")
    assert reader.fleet.places() == {WEST: 2}, "one of three has no place any more"
    assert not [name for name in held_resources(reader.fleet.directory) if EAST in name]
    assert reader.fleet.count(4) == {"mock-demo": 4}
    reader.type("modelplane destroy --yes")
    assert held_resources(reader.fleet.directory) == {}
