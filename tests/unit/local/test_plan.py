from pathlib import Path

import pytest
from builders import a_class, a_cluster, a_pool, document

from api.classes import InferenceClass
from api.clusters import InferenceCluster
from api.documents import FleetDocuments
from api.errors import LocalFleetError
from api.fleets import Fleet
from local.plan import HUB, MOST_CLUSTERS, LocalPool, Ranges, give_out_indexes, home, make_plan

HERE = Path("/fleets/demo")


def a_fleet(address: str | None = None, *, files: dict[str, str] | None = None) -> Fleet:
    gateway = {"kubeconfigSecretRef": {"name": "hub"}} | ({"address": address} if address else {})
    secrets = [
        {"namespace": "modelplane-system", "name": name, "keys": {"kubeconfig": {"fromFile": file}}}
        for name, file in (files or {}).items()
    ]
    return Fleet.parse(document("Fleet", "demo", {"gateway": gateway, "secrets": secrets}))


def documents(
    *clusters: InferenceCluster, fleet: Fleet | None = None, classes: tuple[InferenceClass, ...] = (a_class(),)
) -> FleetDocuments:
    by_name = {cluster.name: cluster for cluster in clusters}
    return FleetDocuments(
        directory=HERE, fleet=fleet, clusters=by_name, classes={known.name: known for known in classes}
    )


def test_each_existing_cluster_and_the_hub_are_planned_in_order_of_their_names() -> None:
    provisioned = a_cluster("cloud", cluster={"source": "Nebius", "nebius": {}})
    plan = make_plan(documents(a_cluster("west"), provisioned, a_cluster("east", pools=[a_pool("h100", nodes=3)])))
    assert [cluster.name for cluster in plan.everything] == [HUB, "east", "west"]
    assert plan.clusters[0].kubeconfig == HERE / ".modelplane/local/east/kubeconfig"
    assert plan.clusters[0].pools == (LocalPool(name="h100", nodes=3, devices=a_class().spec.devices),)
    assert plan.hub.pools == ()


def test_a_pool_knows_its_accelerator_where_the_class_names_one() -> None:
    recipe = {"provider": "EKS", "eks": {"instanceType": "g6.xlarge", "accelerator": {"type": "nvidia-l4", "count": 8}}}
    plan = make_plan(documents(a_cluster(), classes=(a_class(provisioning=recipe),)))
    assert plan.clusters[0].pools[0].accelerator == "nvidia-l4"


@pytest.mark.parametrize(
    ("address", "want"),
    [
        (None, ("127.0.0.1", 8080)),
        ("127.0.0.1:9000", ("127.0.0.1", 9000)),
        ("localhost:9000", ("127.0.0.1", 9000)),
        ("127.0.0.2", ("127.0.0.2", 80)),
        ("[::1]:9000", ("::1", 9000)),
    ],
)
def test_the_hub_answers_where_the_fleet_says(address: str | None, want: tuple[str, int]) -> None:
    plan = make_plan(documents(fleet=a_fleet(address)))
    assert (plan.host, plan.port) == want


def test_without_a_fleet_the_hub_answers_at_the_default() -> None:
    assert (make_plan(documents()).host, make_plan(documents()).port) == ("127.0.0.1", 8080)


REFUSED = {
    "the hub's address is another machine's": (documents(fleet=a_fleet("inference.example.com:80")), "MP512"),
    "the hub's address is not loopback": (documents(fleet=a_fleet("10.1.2.3:80")), "MP512"),
    "a port out of range": (documents(fleet=a_fleet("127.0.0.1:70000")), "MP512"),
    "a cluster called hub": (documents(a_cluster("hub")), "MP510"),
    "more clusters than ranges": (documents(*(a_cluster(f"c{n}") for n in range(MOST_CLUSTERS))), "MP511"),
    "a pool without its class": (documents(a_cluster(), classes=()), "MP513"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_simulated_is_refused(case: tuple[FleetDocuments, str]) -> None:
    with pytest.raises(LocalFleetError) as refused:
        make_plan(case[0])
    assert refused.value.error_code == case[1]
    assert refused.value.hint


def test_a_kubeconfig_that_is_read_from_elsewhere_is_warned_about() -> None:
    files = {
        "hub": ".modelplane/local/hub/kubeconfig",
        "east-kubeconfig": ".modelplane/local/east/kubeconfig",
        "west-kubeconfig": "keys/west",
    }
    plan = make_plan(documents(a_cluster("east"), a_cluster("west"), fleet=a_fleet(files=files)))
    assert plan.warnings == (
        "west: Secret west-kubeconfig reads keys/west, the local fleet writes .modelplane/local/west/kubeconfig",
    )


def test_indexes_stay_with_their_clusters() -> None:
    first = give_out_indexes({}, (HUB, "west"))
    assert first == {HUB: 0, "west": 1}
    assert give_out_indexes(first, (HUB, "east", "west")) == {HUB: 0, "west": 1, "east": 2}
    assert give_out_indexes({"gone": 1, HUB: 0}, (HUB, "new")) == {HUB: 0, "gone": 1, "new": 2}


def test_indexes_run_out() -> None:
    everything = {f"c{index}": index for index in range(1, MOST_CLUSTERS)}
    with pytest.raises(LocalFleetError, match="no addresses left"):
        give_out_indexes(everything, ("one-more",))


def test_no_two_clusters_share_an_address() -> None:
    every = [Ranges(index=index) for index in range(MOST_CLUSTERS)]
    seen = [value for ranges in every for value in (ranges.gateway, ranges.node, ranges.pods, ranges.services)]
    assert len(set(seen)) == len(seen)
    assert max(int(ranges.services.split(".")[1]) for ranges in every) < 128
    assert min(int(ranges.pods.split(".")[1]) for ranges in every) > 64


def test_home_is_below_the_fleet_directory(tmp_path: Path) -> None:
    (tmp_path / "fleet").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "fleet")
    assert home(tmp_path / "link") == tmp_path / "fleet/.modelplane/local"
