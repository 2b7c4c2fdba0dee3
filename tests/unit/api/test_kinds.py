"""Kinds by the words people have for them."""

import pytest

from api.errors import InvocationError
from api.kinds import LISTED, is_namespaced, kind_named, kinds_named, plural
from api.status import STATUS


@pytest.mark.parametrize("kind", LISTED)
def test_a_kind_is_found_by_each_of_its_names(kind: str) -> None:
    words = (kind, kind.lower(), plural(kind), LISTED[kind], f"{plural(kind)}.modelplane.ai")
    assert {kind_named(word) for word in words} == {kind}


def test_plurals_are_those_of_upstreams_definitions() -> None:
    assert [plural(kind) for kind in ("InferenceClass", "ModelCache", "ModelService")] == [
        "inferenceclasses",
        "modelcaches",
        "modelservices",
    ]


def test_several_kinds_are_each_taken_once_and_all_are_those_with_a_status() -> None:
    assert kinds_named("md,ms,modeldeployments", STATUS) == ("ModelDeployment", "ModelService")
    assert kinds_named("all", STATUS) == tuple(STATUS)
    assert kinds_named("secret,all", STATUS)[0] == "Secret"


@pytest.mark.parametrize(
    ("word", "hint"),
    {
        "modeldeploymnt": "did you mean modeldeployment",
        "mdd": "did you mean md?",
        "pods": "known here: ConfigMap, Fleet",
        "gkeclusters": "write an InferenceCluster with spec.cluster.source: GKE",
    }.items(),
)
def test_a_word_that_means_no_kind_is_told_with_the_one_that_is_near(word: str, hint: str) -> None:
    with pytest.raises(InvocationError) as raised:
        kind_named(word)
    assert raised.value.hint.lower().startswith(hint.lower())


def test_clusters_classes_gateway_and_fleet_are_in_no_namespace() -> None:
    assert {kind for kind in LISTED if not is_namespaced(kind)} == {
        "Fleet",
        "InferenceClass",
        "InferenceCluster",
        "InferenceGateway",
    }
