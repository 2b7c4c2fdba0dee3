"""What a preview of the whole fleet tells of edits: what changes in place, what is replaced, and the nodes it takes."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from builders import a_class, a_cluster, a_deployment, a_fleet, a_gang, a_member, a_pool, a_request, an_engine
from rehearsal import preview
from simulation import Simulation
from states import documents_of

from api.deployments import ModelDeployment
from api.documents import FleetDocuments
from stacks import converge
from stacks.converge import Options, Pass
from stacks.engine import Engine

Plain = dict[str, Any]


def directory(deployment: ModelDeployment, *, nodes: int = 4) -> FleetDocuments:
    fleet = a_fleet("local", deletion={"maxShare": "100%"})
    return documents_of(fleet, a_class(), a_cluster("us", pools=[a_pool(nodes=nodes)]), deployment)


def with_gang(*, workers: int = 1, copies: int = 1, gpus: int = 8, image: str = "registry.example/engine:1") -> Plain:
    gang = a_gang(nodes=workers, requests=[a_request(count=gpus)], copies=copies)
    for member in gang["members"]:
        member["template"] = {"spec": {"containers": [{"name": "engine", "image": image}]}}
    return gang


def alone(*, gpus: int = 8, copies: int = 1, args: tuple[str, ...] = ()) -> Plain:
    container = {"name": "engine", "image": "registry.example/engine:1", "args": list(args)}
    member = a_member(requests=[a_request(count=gpus)], template={"spec": {"containers": [container]}})
    return an_engine(members=[member], copies=copies)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Bring one engine up, edit it, and say what a preview tells of pods that are replaced."""

    def ask(before: Plain, after: Plain, *, nodes: int = 4) -> list[str]:
        simulation = Simulation(directory(a_deployment(engines=[before]), nodes=nodes), gangs=True)
        monkeypatch.setattr(converge, "wait_for_change", simulation.wait_for_change)
        monkeypatch.setattr(converge, "routes_accepted", simulation.routes_accepted)
        engine = cast("Engine", simulation)
        Pass(simulation.documents, engine, Options(parallel=1, drain=0), lambda _: None, lambda _: None).run()
        simulation.documents = directory(a_deployment(engines=[after]), nodes=nodes)
        report, _ = preview(simulation)
        assert report.errors == []
        assert report.has_changes == (before != after)
        assert report.plain()["replacements"] == [found.plain() for found in report.replacements]
        return [str(found).partition(", because ")[2] for found in report.replacements]

    return ask


REPLACED: dict[str, tuple[Plain, Plain, str]] = {
    "a larger gang": (
        with_gang(),
        with_gang(workers=2),
        "their size changes from 2 to 3 pods; it takes 3 nodes of pool gpu, of which it holds 2; the 1 more are free",
    ),
    "a smaller gang": (
        with_gang(workers=2),
        with_gang(),
        "their size changes from 3 to 2 pods; it takes 2 nodes of pool gpu, of which it holds 3",
    ),
    "claims of a gang": (
        with_gang(),
        with_gang(gpus=4),
        "their claims change; it takes 2 nodes of pool gpu, of which it holds 2",
    ),
    "claims of a Standalone": (
        alone(),
        alone(gpus=4),
        "their claims change; it takes 1 nodes of pool gpu, of which it holds 1",
    ),
}


@pytest.mark.parametrize(("before", "after", "want"), REPLACED.values(), ids=REPLACED)
def test_an_edit_that_replaces_pods_says_what_it_takes(
    told: Callable[..., list[str]], before: Plain, after: Plain, want: str
) -> None:
    assert told(before, after) == [want]


def test_a_gang_that_outgrows_its_pool_says_so(told: Callable[..., list[str]]) -> None:
    (text,) = told(with_gang(copies=1), with_gang(workers=2), nodes=2)
    assert text.endswith("1 more are needed and 0 are free: gangs wait until there are more")


IN_PLACE: dict[str, tuple[Plain, Plain]] = {
    "nothing": (with_gang(), with_gang()),
    "an image": (with_gang(), with_gang(image="registry.example/engine:2")),
    "more copies of a gang": (with_gang(), with_gang(copies=2)),
    "fewer copies of a gang": (with_gang(copies=2), with_gang()),
    "arguments": (alone(), alone(args=("--max-model-len=32768",))),
    "copies": (alone(), alone(copies=2)),
}


@pytest.mark.parametrize(("before", "after"), IN_PLACE.values(), ids=IN_PLACE)
def test_an_edit_in_place_replaces_no_pod(told: Callable[..., list[str]], before: Plain, after: Plain) -> None:
    assert told(before, after) == []
