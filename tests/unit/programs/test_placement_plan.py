"""From one ledger to the next: what stays, what retires, what is forgotten, and what deployments are told."""

from builders import a_cache, a_class, a_cluster, a_deployment, a_fleet, a_member, a_taint, an_engine
from states import (
    a_directory,
    a_ledger,
    a_replica_state,
    an_engine_entry,
    an_entry,
    cluster_outputs,
    documents_of,
    earlier,
    ledger_of,
    placement_sees,
    pool_facts,
    retiring,
)

from api.base import Condition
from api.documents import FleetDocuments
from programs.outputs import UNKNOWN, DeploymentState, PlacementOutputs, WorkloadsOutputs
from programs.placement_plan import plan_placement
from programs.reading import whole_numbers

THEN, NOW = "2026-08-01T00:00:00Z", "2026-08-02T00:00:00Z"
US, EU = an_entry("qwen", "us"), an_entry("qwen", "eu")


def condition_of(outputs: PlacementOutputs, kind: str, key: str = "ml-team/qwen") -> Condition:
    return next(found for found in outputs.deployments[key].conditions if found.type == kind)


def said(outputs: PlacementOutputs, kind: str) -> tuple[str, str, str]:
    found = condition_of(outputs, kind)
    return found.status, found.reason, found.message


def test_the_first_placement_spreads_and_says_that_it_is_starting() -> None:
    outputs = plan_placement(a_directory(a_deployment(replicas=2)), placement_sees(), now=NOW)
    assert outputs == PlacementOutputs(
        ledger=a_ledger(EU, US),
        deployments={
            "ml-team/qwen": DeploymentState(
                wanted=2,
                placed=2,
                ready=0,
                conditions=(
                    _condition("ReplicasScheduled", "True", "ReplicasCreated", "Scheduled 2 of 2 replicas"),
                    _condition("ReplicasReady", "False", "ModelStarting", "0 of 2 ready"),
                    _condition("Ready", "False", "ModelStarting", "0 of 2 ready"),
                ),
            )
        },
    )


def _condition(kind: str, status: str, reason: str, message: str) -> Condition:
    return Condition(type=kind, status=status, reason=reason, message=message, last_transition_time=NOW)


def test_nothing_changes_where_nothing_changed() -> None:
    documents = a_directory(a_deployment(replicas=2))
    first = plan_placement(documents, placement_sees(), now=THEN)
    again = plan_placement(documents, placement_sees(last=first, listed=[EU, US], ready=[]), now=NOW)
    assert again == first


def test_a_ledger_from_the_state_is_as_good_as_the_one_that_was_planned() -> None:
    documents = a_directory(a_deployment(replicas=2))
    first = plan_placement(documents, placement_sees(), now=THEN)
    stored = PlacementOutputs.model_validate(whole_numbers(first.plain()))
    assert plan_placement(documents, placement_sees(last=stored, listed=[EU, US], ready=[]), now=NOW) == first


def test_one_of_two_is_ready() -> None:
    documents = a_directory(a_deployment(replicas=2))
    outputs = plan_placement(documents, placement_sees(last=earlier(EU, US), listed=[EU, US], ready=[US]), now=NOW)
    assert outputs.deployments["ml-team/qwen"].ready == 1
    assert said(outputs, "ReplicasReady") == ("False", "ModelStarting", "1 of 2 ready")
    assert said(outputs, "Ready") == ("False", "ModelStarting", "1 of 2 ready")


def test_all_are_ready() -> None:
    documents = a_directory(a_deployment(replicas=2))
    outputs = plan_placement(documents, placement_sees(last=earlier(EU, US), listed=[EU, US]), now=NOW)
    assert said(outputs, "ReplicasReady") == ("True", "AllReplicasReady", "2 of 2 ready")
    assert said(outputs, "Ready") == ("True", "Available", "")


def test_a_readiness_that_is_not_known_is_none() -> None:
    unknown = WorkloadsOutputs(cluster="us", replicas={US.key: a_replica_state(US, ready=UNKNOWN)})
    documents = a_directory(a_deployment())
    outputs = plan_placement(
        documents, placement_sees(last=earlier(US), changes={"workloads": {"us": unknown}}), now=NOW
    )
    assert outputs.deployments["ml-team/qwen"].ready == 0


def test_a_shortfall_names_both_numbers_and_a_reason_per_cluster() -> None:
    documents = a_directory(a_deployment(replicas=3))
    outputs = plan_placement(documents, placement_sees(), now=NOW)
    state = outputs.deployments["ml-team/qwen"]
    assert (state.wanted, state.placed) == (3, 2)
    status, reason, message = said(outputs, "ReplicasScheduled")
    assert (status, reason) == ("False", "PartiallyScheduled")
    assert message.startswith("2 of 3 replicas scheduled")
    assert {cluster: [found.code for found in found_codes] for cluster, found_codes in state.verdicts.items()} == {
        "eu": ["InsufficientNodes"],
        "us": ["InsufficientNodes"],
    }
    assert said(outputs, "Ready")[:2] == ("False", "PartiallyScheduled")


def test_what_is_ready_is_compared_with_what_is_wanted() -> None:
    documents = a_directory(a_deployment(replicas=3))
    outputs = plan_placement(documents, placement_sees(last=earlier(EU, US), listed=[EU, US]), now=NOW)
    assert said(outputs, "ReplicasReady") == ("False", "ModelStarting", "2 of 3 ready")


def test_nothing_found_a_place() -> None:
    documents = a_directory(a_deployment(), clusters=["us"])
    outputs = plan_placement(documents, placement_sees(on=["us"], nodes={"us": 0}), now=NOW)
    assert said(outputs, "ReplicasReady") == ("False", "NoReplicasScheduled", "0 of 1 ready")
    assert outputs.ledger.replicas == ()


def test_parked() -> None:
    outputs = plan_placement(a_directory(a_deployment(replicas=0)), placement_sees(), now=NOW)
    assert said(outputs, "ReplicasReady") == ("True", "Parked", "0 of 0 ready")
    assert said(outputs, "Ready")[0] == "True"


def test_times_move_with_the_status_only() -> None:
    documents = a_directory(a_deployment(replicas=2))
    first = plan_placement(documents, placement_sees(), now=THEN)
    one = plan_placement(documents, placement_sees(last=first, listed=[EU, US], ready=[US]), now=NOW)
    assert condition_of(one, "ReplicasReady").last_transition_time == THEN
    both = plan_placement(documents, placement_sees(last=one, listed=[EU, US]), now=NOW)
    times = {found.type: found.last_transition_time for found in both.deployments["ml-team/qwen"].conditions}
    assert times == {"ReplicasScheduled": THEN, "ReplicasReady": NOW, "Ready": NOW}


def test_a_replica_too_many_retires_with_its_reason() -> None:
    documents = a_directory(a_deployment(replicas=1))
    outputs = plan_placement(documents, placement_sees(last=earlier(EU, US), listed=[EU, US]), now=NOW)
    assert ledger_of(outputs) == {EU.key: ("active",), US.key: ("retiring",)}
    assert next(entry.reason for entry in outputs.ledger.replicas if entry.state == "retiring")


def test_a_removed_deployment_retires_its_replicas_and_is_told_about_no_more() -> None:
    outputs = plan_placement(a_directory(), placement_sees(last=earlier(EU, US), listed=[EU, US]), now=NOW)
    assert ledger_of(outputs) == {EU.key: ("retiring",), US.key: ("retiring",)}
    assert outputs.deployments == {}
    assert outputs.ledger.templates == a_ledger().templates, "what retires is still rendered"


def test_a_retiring_replica_is_kept_while_its_cluster_lists_it() -> None:
    last = earlier(EU, retiring(US))
    documents = a_directory(a_deployment())
    assert plan_placement(documents, placement_sees(last=last, listed=[EU, US]), now=NOW).ledger == last.ledger


def test_a_retiring_replica_is_forgotten_once_its_cluster_lists_it_no_more() -> None:
    last = earlier(retiring(US), EU)
    outputs = plan_placement(a_directory(a_deployment()), placement_sees(last=last, listed=[EU]), now=NOW)
    assert ledger_of(outputs) == {EU.key: ("active",)}


def test_a_dropped_replica_that_was_never_rendered_is_forgotten_at_once() -> None:
    outputs = plan_placement(a_directory(), placement_sees(last=earlier(EU, US), listed=[EU]), now=NOW)
    assert ledger_of(outputs) == {EU.key: ("retiring",)}


def test_the_last_templates_go_with_the_last_replica() -> None:
    outputs = plan_placement(a_directory(), placement_sees(last=earlier(retiring(US))), now=NOW)
    assert outputs.ledger.plain() == {"replicas": [], "templates": {}, "facts": {}, "caches": []}


def test_a_retiring_replica_that_is_wanted_again_is_active_again() -> None:
    last = earlier(retiring(US), EU)
    documents = a_directory(a_deployment(replicas=2))
    outputs = plan_placement(documents, placement_sees(last=last, listed=[EU, US]), now=NOW)
    assert {entry.key: entry.state for entry in outputs.ledger.replicas} == {EU.key: "active", US.key: "active"}


def test_the_same_identity_placed_again_is_one_entry_changed_in_place() -> None:
    """Other engines mean another placement; on a fleet of one node it is the same cluster and index."""
    renamed = a_deployment(engines=[an_engine("renamed")])
    documents = a_directory(renamed, clusters=["us"])
    outputs = plan_placement(documents, placement_sees(last=earlier(US), listed=[US], on=["us"]), now=NOW)
    assert ledger_of(outputs) == {US.key: ("active",)}
    assert outputs.ledger.replicas[0].engines == (an_engine_entry("renamed"),)


def test_a_dropped_replica_and_the_new_one_elsewhere_are_paired() -> None:
    drained = a_cluster("us", taints=[a_taint(effect="NoExecute")])
    documents = documents_of(a_fleet(), a_class(), drained, a_cluster("eu"), a_deployment())
    outputs = plan_placement(documents, placement_sees(last=earlier(US), listed=[US]), now=NOW)
    assert ledger_of(outputs) == {EU.key: ("active",), US.key: ("retiring", EU.key)}


def test_a_drain_without_room_elsewhere_retires_all_the_same() -> None:
    drained = a_cluster("us", taints=[a_taint(effect="NoExecute")])
    documents = documents_of(a_fleet(), a_class(), drained, a_deployment())
    outputs = plan_placement(documents, placement_sees(last=earlier(US), listed=[US], on=["us"]), now=NOW)
    assert ledger_of(outputs) == {US.key: ("retiring",)}
    assert outputs.deployments["ml-team/qwen"].placed == 0


def test_a_new_deployment_waits_for_the_node_that_another_leaves() -> None:
    documents = a_directory(a_deployment("next"), clusters=["us"])
    outputs = plan_placement(documents, placement_sees(last=earlier(US), listed=[US], on=["us"]), now=NOW)
    new = an_entry("next", "us")
    assert ledger_of(outputs) == {US.key: ("retiring",), new.key: ("active", US.key)}


def test_it_goes_on_waiting_in_every_later_decision_until_the_node_is_free() -> None:
    """A decision is made again and again before the clusters have followed the first one."""
    documents = a_directory(a_deployment("next"), clusters=["us"])
    first = plan_placement(documents, placement_sees(last=earlier(US), listed=[US], on=["us"]), now=NOW)
    again = plan_placement(documents, placement_sees(last=first, listed=[US], on=["us"]), now=NOW)
    assert again == first
    new = an_entry("next", "us")
    free = plan_placement(documents, placement_sees(last=again, listed=[new], on=["us"]), now=NOW)
    assert ledger_of(free) == {new.key: ("active",)}


def edited() -> FleetDocuments:
    """Two replicas are wanted, with another image than the ledger has."""
    member = a_member(template={"spec": {"containers": [{"name": "engine", "image": "registry.example/engine:2"}]}})
    return a_directory(a_deployment(replicas=2, engines=[an_engine(members=[member])]))


def images_of(outputs: PlacementOutputs) -> dict[str, str]:
    templates = outputs.ledger.templates
    return {
        entry.cluster: templates[entry.engines[0].members[0].template].spec.engine.image.rpartition(":")[2]
        for entry in outputs.ledger.replicas
    }


def test_an_edited_template_reaches_ready_replicas_one_at_a_time() -> None:
    outputs = plan_placement(edited(), placement_sees(last=earlier(EU, US), listed=[EU, US]), now=NOW)
    assert ledger_of(outputs) == {EU.key: ("active",), US.key: ("active",)}
    assert images_of(outputs) == {"eu": "2", "us": "1"}

    again = plan_placement(edited(), placement_sees(last=outputs, listed=[EU, US]), now=NOW)
    assert images_of(again) == {"eu": "2", "us": "1"}, "what eu shows is not the new template yet"

    rolled = next(entry for entry in outputs.ledger.replicas if entry.cluster == "eu")
    after = plan_placement(edited(), placement_sees(last=outputs, listed=[rolled, US]), now=NOW)
    assert images_of(after) == {"eu": "2", "us": "2"}


def test_an_edited_template_reaches_replicas_that_are_not_ready_first_and_all_at_once() -> None:
    outputs = plan_placement(edited(), placement_sees(last=earlier(EU, US), listed=[EU, US], ready=[EU]), now=NOW)
    assert images_of(outputs) == {"eu": "1", "us": "2"}
    outputs = plan_placement(edited(), placement_sees(last=earlier(EU, US), listed=[EU, US], ready=[]), now=NOW)
    assert images_of(outputs) == {"eu": "2", "us": "2"}


def test_a_replica_on_an_unreachable_cluster_keeps_its_template_and_holds_nobody_up() -> None:
    gone = cluster_outputs("eu", reachable=False)
    sees = placement_sees(last=earlier(EU, US), listed=[EU, US], changes={"clusters": {"eu": gone}})
    outputs = plan_placement(edited(), sees, now=NOW)
    assert images_of(outputs) == {"eu": "1", "us": "2"}


def test_replicas_of_like_named_deployments_in_two_namespaces_are_two() -> None:
    documents = a_directory(a_deployment(namespace="one"), a_deployment(namespace="two"), clusters=["us"])
    outputs = plan_placement(documents, placement_sees(on=["us"], nodes={"us": 2}), now=NOW)
    name = an_entry("qwen", "us").name
    assert ledger_of(outputs) == {f"one/{name}": ("active",), f"two/{name}": ("active",)}


def test_the_order_of_documents_changes_nothing() -> None:
    kinds = [a_deployment("a"), a_deployment("b", replicas=2), a_deployment("c", namespace="other")]
    nodes = {"us": 2, "eu": 2}
    want = plan_placement(a_directory(*kinds), placement_sees(nodes=nodes), now=NOW)
    mirrored = a_directory(*reversed(kinds), clusters=["eu", "us"])
    assert plan_placement(mirrored, placement_sees(nodes=nodes, on=["eu", "us"]), now=NOW) == want


def test_a_replica_that_changes_in_place_keeps_the_node_it_stands_on() -> None:
    """It is rendered as it is until its turn comes, so nobody who waits for another may take its node meanwhile."""
    stands, leaves = an_entry("qwen", "us"), retiring(an_entry("old", "us"), an_entry("old", "eu"))
    waits = an_entry("qwen", "us", 1, waits_for=(leaves.key,), engines=(an_engine_entry("renamed"),))
    last = earlier(leaves, stands, waits, an_entry("old", "eu"))
    documents = a_directory(a_deployment(replicas=2, engines=[an_engine("renamed")]), a_deployment("old"))
    seen = placement_sees(last=last, listed=[leaves, stands], nodes={"us": 2})
    found = ledger_of(plan_placement(documents, seen, now=NOW))
    assert found[waits.key] == ("active", leaves.key)
    assert found[stands.key] == ("active",)


def test_a_deployment_goes_where_its_cache_can_be() -> None:
    documents = a_directory(a_cache("weights"), a_deployment(replicas=2, cache="weights"))
    stored = {"us": cluster_outputs("us", pools=[pool_facts()], storage_class="shared")}
    outputs = plan_placement(documents, placement_sees(changes={"clusters": stored}), now=NOW)
    assert [entry.cluster for entry in outputs.ledger.replicas] == ["us"]
    assert outputs.deployments["ml-team/qwen"].verdicts["eu"][0].message == (
        "is outside cache weights's clusters: eu has no storage that many nodes can mount (ReadWriteMany)"
    )


def test_a_cluster_without_room_for_the_cache_is_told_with_what_is_left() -> None:
    us = a_cluster("us", cluster={"source": "Nebius", "nebius": {}})
    caches = [a_cache("weights"), *(a_cache(f"large-{number:02}") for number in range(51))]
    documents = documents_of(a_fleet(), a_class(), us, *caches, a_deployment(cache="weights"))
    stored = {"us": cluster_outputs("us", pools=[pool_facts()], storage_class="shared")}
    outputs = plan_placement(documents, placement_sees(changes={"clusters": stored}), now=NOW)
    assert outputs.deployments["ml-team/qwen"].verdicts["us"][0].message == (
        "is outside cache weights's clusters: the volume of us has 4 of 1024 GiB left, ml-team/weights needs 20"
    )


def test_a_cache_that_is_not_declared_is_a_reason_of_its_own() -> None:
    outputs = plan_placement(a_directory(a_deployment(cache="weights")), placement_sees(), now=NOW)
    assert said(outputs, "ReplicasScheduled")[:2] == ("False", "CacheNotFound")
