"""What a killed engine left open is decided by the live object: kept when it is there and ours, else dropped."""

from typing import Any

import pytest
from exported import MANAGER, MANIFEST, PROVIDER, REPLICA, RESOURCES, STACK, a_state, an_entry, live, secret

from stacks.exported import Plain, exports_secrets, reveal, stack_outputs
from stacks.pending import Settled, Unsettled, pending_operations, settle


def settled(state: Plain, found: Plain | None, failed: tuple[Plain, ...] = ()) -> Settled:
    asked: list[tuple[str, Plain]] = []

    def look(kubeconfig: str, manifest: Plain) -> Plain | None:
        asked.append((kubeconfig, manifest))
        return found

    result = settle(state, state, "demo", look, failed)
    assert all(kubeconfig == "the key" for kubeconfig, _ in asked)
    assert "pending_operations" not in result.state["deployment"]
    return result


def added(result: Settled) -> list[dict[str, Any]]:
    resources: list[dict[str, Any]] = result.state["deployment"]["resources"]
    assert resources[: len(RESOURCES)] == RESOURCES
    return resources[len(RESOURCES) :]


def test_an_object_that_was_made_is_put_into_the_state_under_its_id() -> None:
    result = settled(a_state(("creating", an_entry())), live())
    assert added(result) == [
        an_entry(
            id="ml-team/qwen",
            outputs={**MANIFEST, "__fieldManager": MANAGER},
            dependencies=[],
            propertyDependencies={},
        )
    ]
    assert result.changed
    assert result.notes == ("Service ml-team/qwen/service: interrupted while creating, found and kept",)


def test_an_object_without_a_namespace_has_its_name_for_an_id() -> None:
    [entry] = added(settled(a_state(("creating", an_entry())), live(namespace=None)))
    assert entry["id"] == "qwen"


DROPPED: dict[str, Plain | None] = {
    "it is not there": None,
    "it is another fleet's": live(fleet="other"),
    "somebody else made it": live(manager="kubectl"),
    "Pulumi did not apply it": live(operation="Update"),
    "it has no label": {"metadata": {"name": "qwen", "managedFields": live()["metadata"]["managedFields"]}},
}


@pytest.mark.parametrize("found", DROPPED.values(), ids=DROPPED)
def test_what_is_not_there_or_not_ours_is_dropped(found: Plain | None) -> None:
    result = settled(a_state(("creating", an_entry())), found)
    assert added(result) == []
    assert result.changed
    [note] = result.notes
    assert note == "Service ml-team/qwen/service: interrupted while creating, not found, made again where wanted"


def test_the_last_of_several_appliers_is_its_manager() -> None:
    found = dict(live())
    later = {"manager": "pulumi-kubernetes-later", "operation": "Apply", "time": "2026-08-01T11:00:00Z"}
    found["metadata"] = {**found["metadata"], "managedFields": [later, *found["metadata"]["managedFields"]]}
    [entry] = added(settled(a_state(("creating", an_entry())), found))
    assert entry["outputs"]["__fieldManager"] == "pulumi-kubernetes-later"


def test_what_the_state_has_already_is_not_added_again() -> None:
    known = an_entry(id="ml-team/qwen")
    state = a_state(("creating", an_entry()), resources=[*RESOURCES, known])
    assert added(settled(state, live())) == [known]
    leaving = an_entry(id="ml-team/qwen", delete=True)
    state = a_state(("creating", an_entry()), resources=[*RESOURCES, leaving])
    assert len(added(settled(state, live()))) == 2


def test_references_to_what_the_state_does_not_hold_are_left_out() -> None:
    gone = f"{STACK}::kubernetes:core/v1:Namespace::ml-team"
    entry = an_entry(
        parent=f"{STACK}::modelplane:index:ModelReplica::gone",
        dependencies=[PROVIDER, gone],
        propertyDependencies={"spec": [gone], "metadata": [PROVIDER]},
    )
    [kept] = added(settled(a_state(("creating", entry)), live()))
    assert "parent" not in kept
    assert kept["dependencies"] == [PROVIDER]
    assert kept["propertyDependencies"] == {"spec": [], "metadata": [PROVIDER]}


def test_without_its_provider_nothing_can_have_been_made() -> None:
    assert added(settled(a_state(("creating", an_entry(provider=f"{PROVIDER}::p2"))), live())) == []


def test_components_and_providers_are_dropped_without_a_question() -> None:
    component = {"urn": REPLICA, "type": "modelplane:index:ModelReplica"}
    provider = {"urn": PROVIDER, "type": "pulumi:providers:kubernetes", "inputs": {}}
    result = settle(a_state(("creating", component), ("creating", provider)), a_state(), "demo", never)
    assert result.state["deployment"]["resources"] == RESOURCES
    assert result.notes == ()


def never(kubeconfig: str, manifest: Plain) -> Plain | None:
    raise AssertionError


@pytest.mark.parametrize("kind", ["updating", "deleting", "reading"])
def test_updates_and_deletions_are_left_to_the_refresh(kind: str) -> None:
    known = an_entry(id="ml-team/qwen")
    state = a_state((kind, known), resources=[*RESOURCES, known])
    result = settle(state, state, "demo", never)
    assert added(result) == [known]
    assert result.changed
    assert result.notes == (f"Service ml-team/qwen/service: interrupted while {kind}, read again",)


def test_a_cluster_that_does_not_tell_keeps_everything_as_it_is() -> None:
    def look(_: str, __: Plain) -> Plain | None:
        raise Unsettled("its cluster does not tell: ConnectError")

    state = a_state(("creating", an_entry()))
    with pytest.raises(Unsettled) as caught:
        settle(state, state, "demo", look)
    assert caught.value.message == (
        "a run was killed while it created Service ml-team/qwen/service, and its cluster does not tell: ConnectError"
    )
    assert caught.value.hint
    assert pending_operations(state)


def test_a_creation_that_was_given_up_is_looked_for_too() -> None:
    result = settled(a_state(), live(), (an_entry(),))
    [entry] = added(result)
    assert entry["id"] == "ml-team/qwen"
    assert (result.changed, len(result.notes)) == (True, 1)


def test_one_that_made_nothing_changes_nothing_and_is_not_worth_a_word() -> None:
    result = settled(a_state(), None, (an_entry(),))
    assert (added(result), result.changed, result.notes) == ([], False, ())


def test_a_namespace_that_was_given_up_is_left_to_be_tidied() -> None:
    """Its entry would let it be deleted with everything in it."""
    namespace = an_entry(type="kubernetes:core/v1:Namespace")
    state = a_state()
    assert added(settle(state, state, "demo", never, (namespace,))) == []


def test_outputs_of_a_stack_have_their_secrets_in_place() -> None:
    assert stack_outputs(a_state()) == {"ready": True, "kubeconfig": "open sesame"}
    assert stack_outputs({"version": 3, "deployment": {"manifest": {}}}) == {}
    assert stack_outputs({"version": 3, "deployment": {"resources": RESOURCES[1:]}}) == {}


def test_a_stack_whose_outputs_hold_secrets_is_told_from_one_whose_resources_alone_do() -> None:
    assert exports_secrets(a_state())
    assert not exports_secrets({"version": 3, "deployment": {"resources": RESOURCES[1:]}})
    deep = {"type": "pulumi:pulumi:Stack", "outputs": {"a": [{"b": secret(1)}]}}
    assert exports_secrets(a_state(resources=[deep]))
    assert not exports_secrets(a_state(resources=[{**deep, "outputs": {"a": [{"b": 1}]}}]))


REVEALED: dict[str, tuple[Any, Any]] = {
    "plain": ([1, {"a": None}], [1, {"a": None}]),
    "a secret": (secret([1, "two"]), [1, "two"]),
    "deep inside": ({"a": [{"b": secret(None)}]}, {"a": [{"b": None}]}),
    "something that only looks like one": ({"4dabf18193072939515e22adb298388d": "x"},) * 2,
}


@pytest.mark.parametrize(("value", "want"), REVEALED.values(), ids=REVEALED)
def test_reveal(value: Any, want: Any) -> None:
    assert reveal(value) == want
