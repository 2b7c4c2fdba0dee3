"""Snapshots in a file: back as they were, and refused where they cannot be read whole."""

import json
from dataclasses import replace
from typing import Any

import pytest
from unit.scheduler.test_fixes import a_random_fleet
from unit.scheduler.worlds import NIC_SYNTHETIC, cluster, deployment, placed, pool, snapshot

from api.errors import InvocationError
from scheduler import CacheFootprint, Snapshot, schedule
from scheduler.saved import from_plain, to_plain


def world() -> Snapshot:
    asks = deployment(2, tolerations=[{"key": "k", "operator": "Exists"}], cluster_selector={"tier": "prod"})
    fleet = [
        cluster("bravo", pool("n", 1, NIC_SYNTHETIC, leaving=True), taints=["k=v:NoExecute"], held=True),
        cluster("alpha", 2, labels={"tier": "prod"}, gateway_address=None, ready=False),
    ]
    replicas = [placed(asks, "alpha0"), placed(asks, "bravo0", applied=False)]
    caches = {
        ("ml-team", "a"): CacheFootprint(clusters=frozenset({"bravo", "alpha"})),
        ("ml-team", "b"): CacheFootprint(clusters=None, match_labels={"tier": "prod"}),
    }
    return snapshot(fleet, asks, replicas=replicas, retiring=[placed(asks, "bravo1")], caches=caches)


def through_a_file(view: Snapshot) -> Snapshot:
    return from_plain(json.loads(json.dumps(to_plain(view))))


def in_order(view: Snapshot) -> Snapshot:
    return replace(view, clusters=tuple(sorted(view.clusters, key=lambda each: each.name)))


def test_what_is_written_is_read_as_it_was() -> None:
    assert through_a_file(world()) == in_order(world())


def test_a_replay_decides_the_same() -> None:
    for seed in range(40):
        view = a_random_fleet(seed)
        assert schedule(through_a_file(view)) == schedule(view)


def test_the_same_fleet_in_another_order_is_written_alike() -> None:
    view = world()
    other = replace(view, clusters=view.clusters[::-1], replicas=view.replicas[::-1])
    assert to_plain(other) == to_plain(view)


def broken(change: Any) -> Any:
    plain = json.loads(json.dumps(to_plain(world())))
    change(plain)
    return plain


BROKEN: dict[str, tuple[Any, str]] = {
    "something else": (["a list"], "it is no snapshot"),
    "another kind": ({"kind": "List", "version": 1}, "it is no snapshot"),
    "another release": (broken(lambda plain: plain.update(version=2)), "its version is 2, this release reads 1"),
    "a part is missing": (broken(lambda plain: plain["clusters"][0].pop("name")), "clusters[0].name is missing"),
    "clusters are missing": (broken(lambda plain: plain.pop("clusters")), "clusters is missing"),
    "no version": ({"kind": "Snapshot"}, "it has no version"),
    "a list that is none": (broken(lambda plain: plain.update(clusters="x")), "clusters: must be a list"),
    "an entry that is none": (broken(lambda plain: plain.update(replicas=[None])), "replicas[0]: must be a mapping"),
    "a cluster twice": (broken(lambda plain: plain["clusters"].append(plain["clusters"][0])), "is there 2 times"),
    "a pool twice": (
        broken(lambda plain: plain["clusters"][0]["pools"].append(plain["clusters"][0]["pools"][0])),
        "is there 2 times",
    ),
    "a deployment twice": (broken(lambda plain: plain["deployments"].append(plain["deployments"][0])), "2 times"),
    "too many nodes": (
        broken(lambda plain: plain["clusters"][0]["pools"][0].update(nodes=10**12)),
        "has 1000000000000 nodes, possible are 0 to 1000",
    ),
    "a cache without a name": (broken(lambda plain: plain.update(caches=[{}])), "caches[0].namespace is missing"),
    "a part too many": (
        broken(lambda plain: plain["clusters"][0].update(colour="red")),
        "clusters[0].colour is unknown",
    ),
    "a wrong value": (
        broken(lambda plain: plain["clusters"][0].update(ready="perhaps")),
        "clusters[0].ready: Input should be a valid boolean",
    ),
    "a document that is none": (
        broken(lambda plain: plain["deployments"][0].pop("spec")),
        "deployments[0].spec: Field required",
    ),
}


@pytest.mark.parametrize(("plain", "want"), BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_read_whole_is_refused(plain: Any, want: str) -> None:
    with pytest.raises(InvocationError) as caught:
        from_plain(plain)
    assert caught.value.error_code == "MP203"
    assert want in caught.value.message
