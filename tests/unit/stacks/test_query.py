"""Which objects are asked for, and in which order; every document is an object, whatever the stacks know."""

from typing import Any

import pytest
from builders import a_class, a_cluster, a_deployment, a_fleet, a_service
from states import a_ledger, an_entry, cluster_outputs, documents_of, listed_workloads

from api.errors import InvocationError
from api.fleets import Secret
from api.label_queries import label_query
from programs.outputs import PlacementOutputs
from stacks.inventory import identity, inventory, related
from stacks.query import Query, select, sorted_by
from stacks.status import FleetOutputs

TOKEN = Secret.parse(
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "hf", "namespace": "ml-team"},
        "stringData": {"HF_TOKEN": "in-clear"},
    }
)
DOCUMENTS = documents_of(
    a_fleet(), a_class(), a_cluster("us"), a_cluster("eu"), a_deployment(), a_deployment("other"), a_service(), TOKEN
)
ENTRY = an_entry()
OUTPUTS = FleetOutputs(
    placement=PlacementOutputs(ledger=a_ledger(ENTRY)),
    clusters={"us": cluster_outputs("us")},
    workloads={"us": listed_workloads("us", ENTRY)},
)


def names(objects: list[dict[str, Any]]) -> list[str]:
    return ["/".join(part for part in identity(shown) if part) for shown in objects]


def test_documents_that_no_stack_knows_are_objects_without_a_status() -> None:
    shown = inventory(DOCUMENTS, FleetOutputs())
    assert names(shown) == [
        "Fleet/prod",
        "InferenceClass/h100x8",
        "InferenceCluster/eu",
        "InferenceCluster/us",
        "ModelDeployment/ml-team/other",
        "ModelDeployment/ml-team/qwen",
        "ModelService/ml-team/qwen",
        "Secret/ml-team/hf",
    ]
    assert not any("status" in each for each in shown)


def test_what_stacks_know_has_its_status_and_each_object_is_there_once() -> None:
    shown = inventory(DOCUMENTS, OUTPUTS)
    assert len(set(map(identity, shown))) == len(shown)
    assert set(names(shown)) == {*names(inventory(DOCUMENTS, FleetOutputs())), f"ModelReplica/ml-team/{ENTRY.name}"}
    having = {each["kind"] for each in shown if "status" in each}
    assert having == {"ModelReplica", "InferenceCluster", "InferenceClass"}


def test_the_value_of_a_secret_is_in_no_object() -> None:
    assert "in-clear" not in str(inventory(DOCUMENTS, OUTPUTS))


def test_replicas_belong_to_their_deployment_and_their_cluster() -> None:
    everything = inventory(DOCUMENTS, OUTPUTS)
    of = {identity(shown): names(list(related(shown, everything))) for shown in everything}
    replica = [f"ModelReplica/ml-team/{ENTRY.name}"]
    assert of["ModelDeployment", "ml-team", "qwen"] == replica
    assert of["ModelDeployment", "ml-team", "other"] == []
    assert of["InferenceCluster", "", "us"] == replica
    assert of["InferenceCluster", "", "eu"] == []


def an_object(kind: str, name: str, *, namespace: str = "", labels: Any = None, **rest: Any) -> dict[str, Any]:
    metadata = {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        **({"labels": labels} if labels else {}),
    }
    return {"apiVersion": "modelplane.ai/v1alpha1", "kind": kind, "metadata": metadata, **rest}


OBJECTS = [
    an_object("ModelDeployment", "b", namespace="one", spec={"replicas": 10}),
    an_object("ModelDeployment", "a", namespace="two", labels={"tier": "prod"}, spec={"replicas": 9}),
    an_object("ModelDeployment", "b", namespace="two"),
    an_object("InferenceCluster", "us", labels={"tier": "prod"}),
]
ASKED = {
    "every namespace, by namespace and name": (
        Query(kinds=("ModelDeployment",)),
        ["ModelDeployment/one/b", "ModelDeployment/two/a", "ModelDeployment/two/b"],
    ),
    "one namespace, and what has none": (
        Query(kinds=("ModelDeployment", "InferenceCluster"), namespace="one"),
        ["ModelDeployment/one/b", "InferenceCluster/us"],
    ),
    "a name in every namespace": (
        Query(kinds=("ModelDeployment",), names=("b",)),
        ["ModelDeployment/one/b", "ModelDeployment/two/b"],
    ),
    "a name with its namespace": (
        Query(kinds=("ModelDeployment",), names=("two/b", "a")),
        ["ModelDeployment/two/b", "ModelDeployment/two/a"],
    ),
    "labels": (
        Query(kinds=("ModelDeployment", "InferenceCluster"), labels=label_query("tier=prod")),
        ["ModelDeployment/two/a", "InferenceCluster/us"],
    ),
    "by a number, and last what has none": (
        Query(kinds=("ModelDeployment",), sort_by="{.spec.replicas}"),
        ["ModelDeployment/two/a", "ModelDeployment/one/b", "ModelDeployment/two/b"],
    ),
    "a kind without objects": (Query(kinds=("ModelCache",)), []),
}


@pytest.mark.parametrize("what", ASKED)
def test_what_is_asked_for_is_what_is_chosen(what: str) -> None:
    query, want = ASKED[what]
    assert names(select(OBJECTS, query)) == want


def test_a_name_that_is_not_there_is_told_with_the_one_that_is_near() -> None:
    objects = [an_object("ModelDeployment", "mock-demo", namespace="ml-team")]
    for name, hint in (("mock-dem", "did you mean mock-demo?"), ("xyz", "`modelplane get modeldeployments` lists")):
        with pytest.raises(InvocationError) as raised:
            select(objects, Query(kinds=("ModelDeployment",), names=(name,)))
        assert raised.value.error_code == "MP201"
        assert raised.value.hint.startswith(hint)


@pytest.mark.parametrize("path", ["", "a..b", "spec[x]", ".spec.absent"])
def test_what_cannot_be_sorted_by_is_told(path: str) -> None:
    with pytest.raises(InvocationError) as raised:
        sorted_by(OBJECTS, path)
    assert raised.value.hint


def test_entries_of_lists_can_be_sorted_by() -> None:
    pools = [
        an_object("InferenceCluster", name, spec={"nodePools": [{"nodeCount": size}]})
        for name, size in zip("abc", (3, 1, 2), strict=True)
    ]
    assert names(sorted_by(pools, ".spec.nodePools[0].nodeCount"))[0] == "InferenceCluster/b"
