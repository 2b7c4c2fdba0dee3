"""A saved plan holds while nothing it was made of has moved, and names what has."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import a_class, a_cluster, a_deployment, a_fleet
from states import documents_of

from api.errors import InvocationError
from api.fleets import Secret
from api.names import StackName
from programs.context import Permissions
from programs.outputs import ObservedDevices
from programs.probe import Answer
from stacks import plan_sight, reach
from stacks.environment import Environment, default_backend
from stacks.saved_plan import (
    MOST_NAMED,
    ClusterSeen,
    PlanMoved,
    SavedPlan,
    document_digests,
    from_text,
    moved,
    permissions_of,
    permissions_plain,
    refuse_moved,
    state_digest,
)

PLAN = SavedPlan(
    fleet="prod",
    backend="b",
    documents={"ModelDeployment ml-team/qwen": "1"},
    stacks={"prod.routing": "1"},
    clusters={"us": ClusterSeen(reachable=True, nodes={"gpu": 2}, devices={"gpu": "d"})},
)
MOVES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, []),
    "another fleet": ({"fleet": "other"}, ["the fleet is called other, the plan is of prod"]),
    "another backend": ({"backend": "c"}, ["the state lies in another backend"]),
    "a document that was edited": (
        {"documents": {"ModelDeployment ml-team/qwen": "2"}},
        ["ModelDeployment ml-team/qwen has changed"],
    ),
    "documents that came and went": (
        {"documents": {"Fleet prod": "1"}},
        ["Fleet prod is new", "ModelDeployment ml-team/qwen is gone"],
    ),
    "a stack that was brought up": ({"stacks": {"prod.routing": "2"}}, ["stack prod.routing has changed"]),
    "a stack that came": (
        {"stacks": {"prod.gateway": "1", "prod.routing": "1"}},
        ["stack prod.gateway is new"],
    ),
    "a node that is lost": (
        {"clusters": {"us": ClusterSeen(reachable=True, nodes={"gpu": 1}, devices={"gpu": "d"})}},
        ["cluster us, pool gpu: 1 nodes, 2 when it was planned"],
    ),
    "nodes of another kind": (
        {"clusters": {"us": ClusterSeen(reachable=True, nodes={"gpu": 2}, devices={"gpu": "e"})}},
        ["cluster us, pool gpu: its nodes publish other devices"],
    ),
    "a pool that is new": (
        {"clusters": {"us": ClusterSeen(reachable=True, nodes={"gpu": 2, "new": 1}, devices={"gpu": "d"})}},
        ["cluster us, pool new: 1 nodes, 0 when it was planned"],
    ),
    "a cluster that does not answer": (
        {"clusters": {"us": ClusterSeen(reachable=False)}},
        ["cluster us does not answer"],
    ),
    "a kubeconfig that cannot be had any more": ({"clusters": {}}, ["cluster us can no longer be asked"]),
}


@pytest.mark.parametrize("what", MOVES)
def test_what_has_moved_is_named(what: str) -> None:
    changes, want = MOVES[what]
    assert list(moved(PLAN, replace(PLAN, **changes))) == want


def test_what_has_moved_refuses_the_update_with_its_own_exit_code() -> None:
    refuse_moved(PLAN, PLAN, "plan.json")
    with pytest.raises(PlanMoved) as raised:
        refuse_moved(PLAN, replace(PLAN, documents={f"Secret a/{n}": "1" for n in range(MOST_NAMED + 9)}), "plan.json")
    assert (raised.value.exit_code, raised.value.error_code, raised.value.where) == (25, "MP325", "plan.json")
    assert raised.value.message.endswith("; and 10 more")


def test_a_plan_is_read_as_it_was_written() -> None:
    permissions = Permissions(deletions=frozenset({"abc"}), forget=frozenset({"eu"}), rebuild_ledger=True)
    plan = replace(PLAN, permissions=permissions_plain(permissions), summary="1 to create")
    again = from_text(plan.text(), "plan.json")
    assert again == plan
    assert permissions_of(again) == permissions
    assert permissions_of(from_text(PLAN.text(), "")) == Permissions()


NO_PLANS = (
    "",
    "no JSON",
    "[]",
    "{}",
    '"x"',
    '{"kind": "Snapshot", "version": 1}',
    PLAN.text().replace('"version": 1', '"version": 2'),
    PLAN.text().replace('"reachable"', '"other"'),
)


@pytest.mark.parametrize("text", NO_PLANS)
def test_a_file_that_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(InvocationError) as raised:
        from_text(text, "plan.json")
    assert (raised.value.error_code, raised.value.where) == ("MP203", "plan.json")


def a_secret(value: str) -> Secret:
    return Secret.parse(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "hf", "namespace": "ml-team"},
            "stringData": {"t": value},
        }
    )


def test_each_document_has_its_digest_and_values_of_secrets_count_without_being_shown() -> None:
    first = document_digests(documents_of(a_fleet(), a_deployment(), a_secret("in-clear")))
    again = document_digests(documents_of(a_secret("in-clear"), a_deployment(), a_fleet()))
    other = document_digests(documents_of(a_fleet(), a_deployment(replicas=2), a_secret("another")))
    assert first == again
    assert set(first) == {"Fleet prod", "ModelDeployment ml-team/qwen", "Secret ml-team/hf"}
    assert {name for name in first if first[name] != other[name]} == {
        "ModelDeployment ml-team/qwen",
        "Secret ml-team/hf",
    }
    assert "in-clear" not in str(first)


SIGNED = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}


def a_state(**changes: Any) -> dict[str, Any]:
    service = {
        "urn": "urn:pulumi:prod.routing::modelplane::kubernetes:core/v1:Service::a",
        "type": "kubernetes:core/v1:Service",
        "id": "ml-team/a",
        "inputs": {"spec": {"port": 80}, "password": {**SIGNED, "ciphertext": "one"}},
        "outputs": {"metadata": {"resourceVersion": "1"}},
        "modified": "2026-01-01T00:00:00Z",
    }
    stack = {
        "urn": "urn:pulumi:prod.routing::modelplane::pulumi:pulumi:Stack::modelplane-prod.routing",
        "type": "pulumi:pulumi:Stack",
        "outputs": {"ledger": {"replicas": []}, "reachable": True, "inputs": {"region": "eu"}},
    }
    provider = {"urn": "urn:x::p", "type": "pulumi:providers:kubernetes", "inputs": {"kubeconfig": "one"}}
    return {"deployment": {"manifest": {"time": "then"}, "resources": [stack, provider, service | changes]}}


def edited(change: Callable[[list[dict[str, Any]]], object]) -> dict[str, Any]:
    state = a_state()
    change(state["deployment"]["resources"])
    return state


SAME = {
    "what was seen later": a_state(outputs={"metadata": {"resourceVersion": "2"}, "status": {"ready": 1}}),
    "when it was written": a_state(modified="2027-01-01T00:00:00Z"),
    "how secrets are encrypted": a_state(inputs={"spec": {"port": 80}, "password": {**SIGNED, "ciphertext": "two"}}),
    "what a provider is given": edited(lambda found: found[1].update(inputs={"kubeconfig": "two"})),
    "the order of the state": edited(lambda found: found.reverse()),
    "outputs that follow": edited(lambda found: found[0]["outputs"].update(reachable=False)),
}


@pytest.mark.parametrize("what", SAME)
def test_a_state_that_holds_the_same_has_the_same_digest(what: str) -> None:
    assert state_digest("routing", SAME[what]) == state_digest("routing", a_state())


OTHER = {
    "an input": ("routing", a_state(inputs={"spec": {"port": 81}})),
    "another object under the same name": ("routing", a_state(id="ml-team/b")),
    "something that is to be deleted": ("routing", a_state(delete=True)),
    "something that is gone": ("routing", edited(lambda found: found.pop())),
    "the ledger": ("placement", edited(lambda found: found[0]["outputs"].update(ledger={"replicas": [1]}))),
    "what a cluster was made with": (
        "cluster",
        edited(lambda found: found[0]["outputs"].update(inputs={"region": "us"})),
    ),
}


@pytest.mark.parametrize("what", OTHER)
def test_a_state_that_holds_something_else_has_another_digest(what: str) -> None:
    kind, state = OTHER[what]
    assert state_digest(kind, state) != state_digest(kind, a_state())


def test_a_stack_without_a_state_has_a_digest_too() -> None:
    assert state_digest("routing", {"deployment": None}) == state_digest("routing", {})


class AnEngine:
    """A backend with two stacks of the fleet and one of another."""

    def __init__(self, directory: Path) -> None:
        self.environment = Environment(
            directory=directory, variables={"PULUMI_BACKEND_URL": default_backend(directory)}
        )

    def stacks(self) -> dict[StackName, int]:
        return {
            StackName("prod", "cluster", "us"): 1,
            StackName("prod", "routing"): 2,
            StackName("other", "routing"): 1,
        }

    def exported(self, stack: StackName) -> dict[str, Any]:
        assert stack.fleet == "prod"
        return a_state()

    def outputs(self, stack: StackName) -> dict[str, Any]:
        return {"kubeconfig": f"of {stack}"}


def test_a_look_takes_documents_states_and_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".modelplane" / "state" / ".pulumi" / "stacks").mkdir(parents=True)
    asked: list[str] = []

    def probe(kubeconfig: str, **options: Any) -> Answer:
        asked.append(kubeconfig)
        assert options["pools"]
        devices = ObservedDevices(driver="gpu.nvidia.com", count=8, nodes=2)
        return Answer(reachable=True, nodes={"gpu": 2}, observed={"gpu": (devices,)})

    monkeypatch.setattr(reach, "probe", probe)
    engine: Any = AnEngine(tmp_path)
    found = plan_sight.look(engine, documents_of(a_fleet(), a_class(), a_cluster("us"), a_cluster("eu")))
    assert set(found.documents) == {"Fleet prod", "InferenceClass h100x8", "InferenceCluster us", "InferenceCluster eu"}
    assert set(found.stacks) == {"prod.cluster.us", "prod.routing"}
    assert {name: (seen.reachable, seen.nodes) for name, seen in found.clusters.items()} == {"us": (True, {"gpu": 2})}
    assert asked == ["of prod.cluster.us"]
    assert "of prod" not in found.text()
    assert (
        list(
            moved(found, plan_sight.look(engine, documents_of(a_fleet(), a_class(), a_cluster("us"), a_cluster("eu"))))
        )
        == []
    )
