"""Where caches are staged: on clusters that can hold them, and wherever a replica names them."""

from typing import Any

from builders import a_cache, a_class, a_cluster, a_fleet
from states import an_entry, cluster_outputs, documents_of

from api import InferenceCluster, ModelCache
from api.documents import FleetDocuments
from programs.cache_plan import Footprints, footprints, is_staged, staged
from programs.outputs import UNKNOWN, CacheState, Ledger, LedgerCache, LedgerReplica

KEY = ("ml-team", "qwen")
RWX = {
    "source": "Existing",
    "existing": {"secretRef": {"name": "k"}, "cache": {"storageClassName": "rwx"}},
}


def able(name: str, **fields: Any) -> InferenceCluster:
    return a_cluster(name, cluster=RWX, **fields)


def fleet(*caches: ModelCache, clusters: tuple[InferenceCluster, ...] = (able("us"), able("eu"))) -> FleetDocuments:
    return documents_of(a_fleet(), a_class(), *clusters, *caches)


def places(documents: FleetDocuments, last: Ledger | None = None) -> Footprints:
    return footprints(documents, {}, last or Ledger())


def entry(cluster: str, **fields: Any) -> LedgerReplica:
    return an_entry("qwen", cluster, model_cache_ref="qwen", **fields)


def ledger(*clusters: str, name: str = "qwen") -> Ledger:
    spec = a_cache().spec.model_dump(by_alias=True, exclude_none=True, mode="json")
    return Ledger(caches=(LedgerCache(namespace="ml-team", name=name, spec=spec, clusters=clusters),))


def on(documents: FleetDocuments, last: Ledger, *replicas: LedgerReplica) -> dict[str, tuple[str, ...]]:
    return {cache.key: cache.clusters for cache in staged(documents, places(documents, last), last, replicas)}


def test_a_cache_without_a_selector_is_staged_on_every_cluster_that_can_hold_it() -> None:
    documents = fleet(a_cache(), clusters=(able("us"), able("eu"), a_cluster("bare")))
    found = places(documents)
    assert found.clusters[KEY] == {"us", "eu"}
    assert {name: why.reason for name, why in found.refused[KEY].items()} == {"bare": "Unsupported"}
    assert "bare" in found.refused[KEY]["bare"].message


def test_a_storage_class_that_the_cluster_itself_showed_counts_too() -> None:
    documents = fleet(a_cache(), clusters=(a_cluster("us"),))
    outputs = {"us": cluster_outputs("us", storage_class="found")}
    assert footprints(documents, outputs, Ledger()).clusters[KEY] == {"us"}


def test_a_selector_narrows() -> None:
    clusters = (able("us", labels={"region": "us"}), able("eu", labels={"region": "eu"}))
    documents = fleet(a_cache(cluster_selector={"region": "eu"}), clusters=clusters)
    assert places(documents).clusters[KEY] == {"eu"}
    assert places(documents).refused[KEY] == {}


def test_a_cache_stays_where_a_replica_names_it() -> None:
    """D04: narrowed later, it stays under what runs."""
    clusters = (able("us", labels={"region": "us"}), able("eu", labels={"region": "eu"}))
    documents = fleet(a_cache(cluster_selector={"region": "eu"}), clusters=clusters)
    assert on(documents, ledger("us", "eu"), entry("us")) == {"ml-team/qwen": ("eu", "us")}
    assert on(documents, ledger("us", "eu")) == {"ml-team/qwen": ("eu",)}


def test_a_cache_without_its_document_stays_while_a_replica_names_it_and_then_goes() -> None:
    assert on(fleet(), ledger("us", "eu"), entry("us")) == {"ml-team/qwen": ("us",)}
    assert on(fleet(), ledger("us", "eu")) == {}


def test_another_namespace_s_cache_is_another_one() -> None:
    other = entry("us", namespace="other")
    assert on(fleet(), ledger("us"), other) == {}


def test_the_ledger_has_the_newest_spec() -> None:
    documents = fleet(a_cache())
    (cache,) = staged(documents, places(documents), Ledger(), ())
    assert cache.spec["huggingFace"]["repo"] == "Qwen/Qwen3-8B"


def sized(name: str, size: int) -> ModelCache:
    found = a_cache(name)
    origin = found.spec.hugging_face
    assert origin is not None
    spec = found.spec.model_copy(update={"hugging_face": origin.model_copy(update={"size_gib": size})})
    return found.model_copy(update={"spec": spec})


def nebius(name: str) -> InferenceCluster:
    return a_cluster(name, cluster={"source": "Nebius", "nebius": {}})


def test_caches_of_one_volume_share_its_size() -> None:
    documents = fleet(sized("a", 600), sized("b", 600), sized("c", 400), clusters=(nebius("n"),))
    found = places(documents)
    assert {key[1]: sorted(clusters) for key, clusters in found.clusters.items()} == {"a": ["n"], "b": [], "c": ["n"]}
    refusal = found.refused["ml-team", "b"]["n"]
    assert refusal.reason == "OutOfSpace"
    assert refusal.message == "the volume of n has 424 of 1024 GiB left, ml-team/b needs 600"


def test_a_cache_that_is_there_keeps_its_room() -> None:
    documents = fleet(sized("a", 600), sized("b", 600), clusters=(nebius("n"),))
    found = places(documents, ledger("n", name="b"))
    assert found.clusters["ml-team", "b"] == {"n"}
    assert found.clusters["ml-team", "a"] == set()


def test_what_counts_as_staged() -> None:
    assert is_staged(CacheState(phase="Ready", identity="a"))
    assert is_staged(CacheState(phase="Ready", identity="a"), "a")
    assert not is_staged(CacheState(phase="Ready", identity="a"), "b")
    assert not is_staged(CacheState(phase="Hydrating", identity="a"), "a")
    assert not is_staged(CacheState(phase=UNKNOWN, identity="a"), "a")
    assert not is_staged(None)
