"""Check values of derived names; they are part of the contract with running fleets."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from api import names
from api.fleets import LONGEST_FLEET_NAME
from api.grammar import DNS_LABEL, is_match
from api.names import StackName, child, parse_stack_name, replica_name, stack_name
from api.terms import ClaimRequest, Selector

CHILDREN = {
    "qwen-31605-main-d36e2": ("qwen-31605", "main"),
    "qwen-31605-main-standalone-devices-3b3ae": ("qwen-31605", "main", "standalone", "devices"),
    "qwen3-coder-414d1-qwen3-coder-5af9f": ("qwen3-coder-414d1", "qwen3-coder"),
    "qwen3-coder-414d1-qwen3-coder-leader-devices-92725": ("qwen3-coder-414d1", "qwen3-coder", "leader", "devices"),
    "qwen3-coder-414d1-qwen3-coder-worker-devices-3615b": ("qwen3-coder-414d1", "qwen3-coder", "worker", "devices"),
    "mock-demo-be445-mock-47cef": ("mock-demo-be445", "mock"),
    "mock-demo-be445-mock-standalone-devices-45618": ("mock-demo-be445", "mock", "standalone", "devices"),
    "x-cluster-kubeconfig-3170f": ("x", "cluster-kubeconfig"),
    "x-serving-stack-49db1": ("x", "serving-stack"),
    "eks-us-kubeconfig-98a62": ("eks-us", "kubeconfig"),
    "modelplane-system-eks-us-eks-b962e": ("modelplane-system", "eks-us", "eks"),
}
REPLICAS = {
    ("qwen", "c1", 0): "qwen-31605",
    ("qwen", "c2", 0): "qwen-ab39b",
    ("qwen", "c1", 1): "qwen-9b27e",
    ("mock-demo", "gpu-eu-west", 0): "mock-demo-be445",
    ("mock-demo", "gpu-us-east", 0): "mock-demo-49b71",
    ("mock-demo-v2", "gpu-us-east", 0): "mock-demo-v2-5ef67",
    ("qwen3-coder", "eks-coder", 0): "qwen3-coder-414d1",
    ("qwen3-coder", "eks-coder", 1): "qwen3-coder-f72b0",
    ("qwen-demo", "eks-us-east", 0): "qwen-demo-92535",
    ("qwen-west", "eks-us-west", 0): "qwen-west-1e7af",
    ("a" * 80, "eks-coder", 0): "a" * 57 + "-bfb38",
}
CACHES = {
    ("ml-team", "qwen"): (
        "modelcache-ml-team-qwen-17db2",
        "modelcache-ml-team-qwen-hydrate-256ec",
        "modelcache-ml-team-qwen-auth-ae01b",
    ),
    ("ml-team", "qwen3-coder"): (
        "modelcache-ml-team-qwen3-coder-c65e4",
        "modelcache-ml-team-qwen3-coder-hydrate-4774c",
        "modelcache-ml-team-qwen3-coder-auth-a73ec",
    ),
}
CLIQUE_SETS = {
    ("qwen3-coder-480b-abcde", "qwen3-coder"): "qwen3-coder-480b-a-9aa4b",
    ("qwen3-coder-414d1", "qwen3-coder"): "qwen3-coder-414d1-5af9f",
    ("a" * 57 + "-bfb38", "engine"): "a" * 18 + "-d40a9",
}


@pytest.mark.parametrize(("name", "parts"), CHILDREN.items())
def test_a_child_has_its_check_value(name: str, parts: tuple[str, ...]) -> None:
    assert child(*parts) == name


@pytest.mark.parametrize(("parts", "name"), REPLICAS.items())
def test_a_replica_has_its_check_value(parts: tuple[str, str, int], name: str) -> None:
    assert replica_name(*parts) == name


@pytest.mark.parametrize(("parts", "expected"), CACHES.items())
def test_the_objects_of_a_cache_have_their_check_values(parts: tuple[str, str], expected: tuple[str, ...]) -> None:
    assert (names.cache_claim(*parts), names.cache_job(*parts), names.cache_token(*parts)) == expected


@pytest.mark.parametrize(("parts", "name"), CLIQUE_SETS.items())
def test_a_clique_set_keeps_to_24_characters(parts: tuple[str, str], name: str) -> None:
    assert names.clique_set(*parts) == name
    assert len(name) <= 24


def test_long_names_that_differ_in_the_last_letter_stay_apart() -> None:
    made = {names.gang_workload("a" * 57 + "-" + "b" * 5, f"engine-{'c' * 50}{last}") for last in "xy"}
    assert len(made) == 2
    assert {len(name) for name in made} == {51}


def test_a_short_gang_is_named_like_any_engine() -> None:
    short = ("qwen3-coder-414d1", "qwen3-coder")
    assert names.gang_workload(*short) == names.engine_workload(*short)


@pytest.mark.parametrize(("make", "suffix"), [(names.inference_pool, "pool"), (names.endpoint_picker, "epp")])
def test_a_suffix_is_plain_while_it_fits_and_hashed_where_not(make: object, suffix: str) -> None:
    assert callable(make)
    assert make("qwen-31605") == f"qwen-31605-{suffix}"
    longest = "a" * 57 + "-bfb38"
    assert make(longest) == child(longest, suffix)
    assert len(make(longest)) <= 63


@pytest.mark.parametrize(
    "service",
    [
        names.serving_service("3-llamas-31605"),
        names.endpoint_picker("3-llamas-31605"),
        names.gang_workload("3-llamas-31605", "main"),
        names.clique_set("3-llamas-31605", "main"),
        names.endpoint_service("3-llamas-31605"),
    ],
)
def test_the_name_of_a_service_begins_with_a_letter(service: str) -> None:
    assert service[0].isalpha()
    assert "3-llamas" in service


def test_the_names_of_services_of_other_replicas_stay_what_they_are() -> None:
    assert names.serving_service("qwen-31605") == child("qwen-31605", "serving")
    assert names.gang_workload("qwen-31605", "main") == child("qwen-31605", "main")
    assert names.endpoint_picker("qwen-31605") == "qwen-31605-epp"


LABELS = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)


@settings(max_examples=200, deadline=None)
@given(deployment=LABELS, cluster=LABELS, engine=LABELS, namespace=LABELS)
@example(deployment="a" * 63, cluster="b" * 63, engine="c" * 63, namespace="d" * 63)
def test_whatever_documents_are_called_what_is_derived_fits(
    deployment: str, cluster: str, engine: str, namespace: str
) -> None:
    replica = names.replica_name(deployment, cluster, 9)
    services = [names.serving_service(replica), names.endpoint_picker(replica), names.endpoint_service(replica)]
    gang, cliques = names.gang_workload(replica, engine), names.clique_set(replica, engine)
    others = [replica, names.engine_workload(replica, engine), names.inference_pool(replica)]
    others += [names.cache_claim(namespace, engine), names.cache_job(namespace, engine)]
    for name in [*services, gang, cliques, *others]:
        assert is_match(DNS_LABEL, name)
    assert all(name[0].isalpha() for name in [*services, gang, cliques])
    assert len(gang) <= 51
    assert len(f"{cliques}gangleader") <= 45
    assert len(stack_name("f" * LONGEST_FLEET_NAME, "workloads", cluster)) <= 100


def test_other_requests_make_another_claim_template() -> None:
    def named(*, count: int, cel: str = "true") -> str:
        request = ClaimRequest(
            name="gpu", device_class_name="gpu.nvidia.com", count=count, selectors=(Selector(cel=cel),)
        )
        return names.claim_template("qwen-31605", "main", "Standalone", [request])

    assert named(count=1) == "qwen-31605-main-standalone-devices-4d8f1394-60a1c"
    assert len({named(count=1), named(count=2), named(count=1, cel="false")}) == 3


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("prod", "placement", None), "prod.placement"),
        (("prod", "cluster", "us-east"), "prod.cluster.us-east"),
        (("prod", "workloads", "eu"), "prod.workloads.eu"),
    ],
)
def test_a_stack_name_reads_back(parts: tuple[str, str, str | None], name: str) -> None:
    assert stack_name(*parts) == name
    assert parse_stack_name(name) == parse_stack_name(f"organization/modelplane/{name}") == StackName(*parts)


@pytest.mark.parametrize("name", ["", "prod", "prod.", "prod.cluster", "prod.placement.us", "prod.x", "a.cluster.b.c"])
def test_no_other_name_is_a_stack(name: str) -> None:
    with pytest.raises(ValueError, match=r"stack|form"):
        parse_stack_name(name)
