"""What stands is read from outputs, and what cannot change under it is refused before anything is decided."""

import pytest
from builders import a_cache, a_class, a_cluster, a_fleet
from states import an_entry, cluster_outputs, documents_of, earlier

from api import ModelCache
from api.errors import InvocationError
from api.fixed import DeployedCache, check_against
from programs.deployed import deployed, refuse_changed_caches, refuse_moved_replicas
from programs.outputs import Ledger, LedgerCache, PlacementOutputs

STAGED = a_cache()
CACHE = LedgerCache(namespace="ml-team", name="qwen", spec=STAGED.spec.plain(), clusters=("us",))
LAST = PlacementOutputs(ledger=Ledger(caches=(CACHE,)))


def test_outputs_say_what_stands() -> None:
    found = deployed({"us": cluster_outputs("us")}, LAST)
    assert (found.clusters["us"].source, found.clusters["us"].stack) == ("Existing", "Standard")
    assert found.caches == {("ml-team", "qwen"): DeployedCache(source="HuggingFace", repo="Qwen/Qwen3-8B", size_gib=20)}
    assert found.pools == {"us": {"gpu"}}
    assert deployed({}, None).caches == {}


def test_a_stack_that_changed_is_found_in_the_documents() -> None:
    edited = documents_of(a_fleet(), a_class(), a_cluster("us", stack="Dynamo"))
    [problem] = check_against(edited, deployed({"us": cluster_outputs("us")}, None))
    assert (problem.rule, problem.path) == ("IC-V9", "spec.stack")


def edited_cache(**origin: object) -> ModelCache:
    hub = STAGED.spec.hugging_face
    assert hub is not None
    spec = STAGED.spec.model_copy(update={"hugging_face": hub.model_copy(update=origin)})
    return STAGED.model_copy(update={"spec": spec})


@pytest.mark.parametrize("origin", [{"repo": "Qwen/Qwen3-4B"}, {"size_gib": 10}], ids=["repo", "size"])
def test_a_cache_keeps_its_repository_and_its_volume(origin: dict[str, object]) -> None:
    with pytest.raises(InvocationError, match=r"spec\.huggingFace") as refusal:
        refuse_changed_caches(documents_of(a_fleet(), edited_cache(**origin)), LAST)
    assert refusal.value.error_code == "MP135"
    assert refusal.value.hint


def test_a_cache_may_take_another_revision_and_a_larger_volume() -> None:
    refuse_changed_caches(documents_of(a_fleet(), edited_cache(revision="v2", size_gib=40)), LAST)
    refuse_changed_caches(documents_of(a_fleet(), edited_cache(repo="org/other")), None)


def test_a_name_of_a_replica_stands_for_one_cluster() -> None:
    entry = an_entry()
    before, after = earlier(entry), earlier(entry.model_copy(update={"cluster": "eu"}))
    refuse_moved_replicas(before, before)
    with pytest.raises(InvocationError, match=r"spec\.clusterName: cannot be changed from us to eu"):
        refuse_moved_replicas(before, after)
