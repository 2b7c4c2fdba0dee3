"""What a drain or another number of replicas would come to, told from documents and outputs alone."""

from typing import Any

from builders import a_cluster, a_deployment, a_fleet
from states import a_directory, an_entry, cluster_outputs, earlier, listed_workloads, pool_facts, serving_outputs

from api.documents import FleetDocuments
from programs.guard import deletion_digest
from programs.outputs import LedgerReplica
from stacks.day_two import DRAIN, Foreseen, drained, foresee, is_drained, scaled, undrained
from stacks.status import FleetOutputs

US, EU = an_entry(cluster="us"), an_entry(cluster="eu")
KEY = ("ml-team", "qwen")


def outputs(*entries: LedgerReplica, nodes: int = 1) -> FleetOutputs:
    here = {name: [entry for entry in entries if entry.cluster == name] for name in ("us", "eu")}
    return FleetOutputs(
        clusters={name: cluster_outputs(name, pools=[pool_facts(nodes=nodes)]) for name in ("us", "eu")},
        serving={name: serving_outputs(name) for name in ("us", "eu")},
        placement=earlier(*entries),
        workloads={name: listed_workloads(name, *found) for name, found in here.items()},
    )


def documents(replicas: int = 2, nodes: int = 1, **deployment: Any) -> FleetDocuments:
    pools = [{"name": "gpu", "className": "h100x8", "nodeCount": nodes}]
    found = a_directory(a_deployment("qwen", replicas=replicas, **deployment), clusters=())
    clusters = {name: a_cluster(name, pools=pools) for name in ("us", "eu")}
    return FleetDocuments(
        directory=found.directory,
        fleet=a_fleet(),
        classes=found.classes,
        clusters=clusters,
        deployments=found.deployments,
    )


def moves(foreseen: Foreseen) -> list[tuple[str, str]]:
    return [(move.before, move.after) for move in foreseen.moves]


def test_a_drain_with_room_elsewhere_moves_what_is_there() -> None:
    before = documents(replicas=1, nodes=2)
    found = foresee(before, drained(before, "us"), outputs(US, nodes=2), "us")
    assert moves(found) == [("us", "eu")]
    assert found.homeless == {}
    assert "NoExecute taint" in found.moves[0].why
    assert found.digest == deletion_digest([f"replica {US.key} on us"])


def test_a_drain_without_room_says_who_would_have_no_place_and_why() -> None:
    before = documents()
    found = foresee(before, drained(before, "us"), outputs(US, EU), "us")
    assert moves(found) == [("us", "")]
    assert set(found.homeless) == {"ml-team/qwen"}
    reasons = found.homeless["ml-team/qwen"]
    assert "nodes free" in reasons["eu"][0]
    assert DRAIN.key in reasons["us"][0]


def test_a_drain_of_an_empty_cluster_hurts_nobody() -> None:
    before = documents(replicas=1)
    found = foresee(before, drained(before, "us"), outputs(EU), "us")
    assert (moves(found), found.homeless, found.staying) == ([], {}, ())


def test_what_tolerates_the_taint_stays_and_is_named() -> None:
    before = documents(replicas=1, tolerations=[{"key": DRAIN.key, "operator": "Exists"}])
    found = foresee(before, drained(before, "us"), outputs(US), "us")
    assert (moves(found), found.homeless) == ([], {})
    assert found.staying == (f"ml-team/qwen {US.name}",)


def test_an_undrained_cluster_gets_nothing_back() -> None:
    before = drained(documents(replicas=1, nodes=2), "us")
    assert is_drained(before, "us")
    after = undrained(before, "us")
    assert not is_drained(after, "us")
    assert moves(foresee(before, after, outputs(EU, nodes=2))) == []


def test_a_scale_tells_who_comes_and_who_goes() -> None:
    before = documents(replicas=2, nodes=2)
    up = foresee(before, scaled(before, KEY, 3), outputs(US, EU, nodes=2))
    assert [after for came, after in moves(up) if not came] == ["eu"]
    down = foresee(before, scaled(before, KEY, 0), outputs(US, EU, nodes=2))
    assert sorted(moves(down)) == [("eu", ""), ("us", "")]
    assert down.homeless == {}
    assert down.digest == deletion_digest([f"replica {US.key} on us", f"replica {EU.key} on eu"])
    assert down.plain()["moves"][0]["to"] == ""
