"""What a workloads stack puts beside its replicas: caches, Secrets and ConfigMaps."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pytest
from builders import a_cache
from program_runs import HUSH, a_directory, ran
from recording import STATUS
from states import (
    a_ledger,
    a_template,
    an_engine_entry,
    an_entry,
    cluster_outputs,
)
from syrupy.assertion import SnapshotAssertion

from api.base import Kind
from api.config_maps import ConfigMap
from api.fleets import Secret
from api.pods import PullSecret
from programs.carried import carry
from programs.context import Context
from programs.outputs import (
    CacheState,
    LedgerCache,
    LedgerReplica,
    Outputs,
    PlacementOutputs,
    WorkloadsOutputs,
)

CACHED = an_entry("cached", "us", model_cache_ref="qwen")
TOKEN = "a token that nobody may see"
BOUND: Mapping[str, dict[str, Any]] = {
    **STATUS,
    "PersistentVolumeClaim": {"phase": "Bound"},
    "Job": {"conditions": [{"type": "Complete", "status": "True"}]},
}


def with_cache(*replicas: LedgerReplica, **source: Any) -> dict[str, Outputs]:
    spec = a_cache().spec.model_dump(by_alias=True, exclude_none=True, mode="json")
    spec["huggingFace"] |= source
    cache = LedgerCache(namespace="ml-team", name="qwen", spec=spec, clusters=("us",))
    ledger = a_ledger(*replicas).model_copy(update={"caches": (cache,)})
    return {
        "cluster.us": cluster_outputs("us", kubeconfig=HUSH, storage_class="rwx"),
        "placement": PlacementOutputs(ledger=ledger),
    }


def a_plain_secret(name: str, **data: str) -> Secret:
    metadata = {"name": name, "namespace": "ml-team"}
    return Secret.parse({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data})


def test_a_cache(snapshot: SnapshotAssertion) -> None:
    documents = a_directory(a_plain_secret("hf", HF_TOKEN=TOKEN))
    others = with_cache(CACHED, authSecret={"name": "hf"})
    recording = ran("workloads.us", documents, others)
    assert recording.plain() == snapshot
    assert TOKEN not in str(recording.resources)
    assert {"tokens", "secrets"} <= recording.secret
    found = WorkloadsOutputs.model_validate(recording.exports)
    assert TOKEN not in repr(found)
    assert found.tokens == {"ml-team/qwen": TOKEN}
    assert found.caches["ml-team/qwen"].phase == "Pending"
    assert found.replicas == {}
    assert [cache.clusters for cache in found.ledger.caches] == [("us",)]


def test_a_cache_that_is_staged_lets_its_replicas_start_and_needs_no_job() -> None:
    others = with_cache(CACHED)
    first = ran("workloads.us", a_directory(), others, status=BOUND)
    state = WorkloadsOutputs.model_validate(first.exports).caches["ml-team/qwen"]
    assert (state.phase, state.identity) == ("Ready", "Qwen/Qwen3-8B@main/hub-1")
    last = WorkloadsOutputs.model_validate(first.exports)
    second = ran("workloads.us", a_directory(), {**others, "workloads.us": last}, status=BOUND)
    assert second.of_kind("Job") == []
    assert [found.name for found in second.of_kind("ModelReplica")] == [CACHED.key]
    assert "cache:ml-team/qwen/volume" in second.one("ModelReplica").depends_on
    assert WorkloadsOutputs.model_validate(second.exports).caches["ml-team/qwen"] == state


def test_a_failed_cache_is_tried_again_by_another_job_once_its_token_has_changed() -> None:
    failed = {**BOUND, "Job": {"conditions": [{"type": "Failed", "status": "True"}]}}
    others = with_cache(authSecret={"name": "hf"})
    first = ran("workloads.us", a_directory(a_plain_secret("hf", HF_TOKEN=TOKEN)), others, status=failed)
    last = WorkloadsOutputs.model_validate(first.exports)
    assert last.caches["ml-team/qwen"].phase == "Failed"
    again = {**others, "workloads.us": last}
    same = ran("workloads.us", a_directory(a_plain_secret("hf", HF_TOKEN=TOKEN)), again, status=failed)
    assert same.one("Job").plain() == first.one("Job").plain()
    other = ran("workloads.us", a_directory(a_plain_secret("hf", HF_TOKEN="another")), again, status=failed)
    template = other.one("Job").inputs["spec"]["template"]
    assert template["metadata"]["annotations"] == {"modelplane.ai/attempt": "2"}


def test_a_missing_token_is_named_and_its_volume_is_made_all_the_same() -> None:
    recording = ran("workloads.us", a_directory(), with_cache(authSecret={"name": "hf"}))
    assert recording.of_kind("Job") == []
    assert recording.one("PersistentVolumeClaim")
    state = WorkloadsOutputs.model_validate(recording.exports).caches["ml-team/qwen"]
    assert (state.phase, state.reason) == ("Pending", "AuthSecretMissing")
    assert "ml-team/hf" in str(state.message)


def test_a_cache_does_not_go_with_many_others() -> None:
    states = {f"ml-team/{name}": CacheState(phase="Ready") for name in ("a", "b")}
    others: dict[str, Outputs] = {
        "cluster.us": cluster_outputs("us", kubeconfig=HUSH),
        "placement": PlacementOutputs(),
        "workloads.us": WorkloadsOutputs(cluster="us", caches=states),
    }
    with pytest.raises(pulumi.RunError, match=r"2 of 2 caches would go"):
        ran("workloads.us", a_directory(), others)


def with_names(*, optional: bool = False) -> dict[str, Outputs]:
    """A replica whose pods name a Secret, a ConfigMap and the Secret of a registry."""
    env = [
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token", "optional": optional}}},
        {"name": "FLAGS", "valueFrom": {"configMapKeyRef": {"name": "flags", "key": "text", "optional": optional}}},
    ]
    template = a_template(env=env)
    template = template.model_copy(
        update={"spec": template.spec.model_copy(update={"image_pull_secrets": (PullSecret(name="registry"),)})}
    )
    ledger = a_ledger(an_entry(engines=(an_engine_entry(template="with-names"),)))
    ledger = ledger.model_copy(update={"templates": {"with-names": template}})
    return {"cluster.us": cluster_outputs("us", kubeconfig=HUSH), "placement": PlacementOutputs(ledger=ledger)}


def test_secrets_that_pods_name_are_carried_and_stay_when_their_documents_go() -> None:
    documents = a_directory(
        a_plain_secret("hf", token=TOKEN), a_plain_secret("registry", **{".dockerconfigjson": TOKEN})
    )
    first = ran("workloads.us", documents, with_names())
    assert TOKEN not in str(first.resources)
    assert "secrets" in first.secret
    kinds = {found.inputs["metadata"]["name"]: found.inputs["type"] for found in first.of_kind("Secret")}
    assert kinds == {"hf": "Opaque", "registry": "kubernetes.io/dockerconfigjson"}
    last = WorkloadsOutputs.model_validate(first.exports)
    assert TOKEN not in repr(last)
    second = ran("workloads.us", a_directory(), {**with_names(), "workloads.us": last})
    assert [found.plain() for found in second.of_kind("Secret")] == [found.plain() for found in first.of_kind("Secret")]


def test_a_secret_that_nothing_brings_is_left_to_the_cluster() -> None:
    assert ran("workloads.us", a_directory(), with_names()).of_kind("Secret") == []


def a_config_map(name: str, **data: str) -> ConfigMap:
    metadata = {"name": name, "namespace": "ml-team"}
    return ConfigMap.parse({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def test_config_maps_that_pods_name_are_carried_and_stay_when_their_documents_go() -> None:
    first = ran("workloads.us", a_directory(a_config_map("flags", text="--fast"), a_config_map("other")), with_names())
    made = first.one("ConfigMap")
    assert (made.inputs["metadata"]["name"], made.inputs["data"]) == ("flags", {"text": "--fast"})
    assert "configMap:ml-team/flags" in first.one("ModelReplica").depends_on
    last = WorkloadsOutputs.model_validate(first.exports)
    assert last.config_maps == {"ml-team/flags": {"text": "--fast"}}
    second = ran("workloads.us", a_directory(), {**with_names(), "workloads.us": last})
    assert second.one("ConfigMap").plain() == made.plain()


def missing(others: dict[str, Outputs], *kinds: Kind) -> list[str]:
    """What nothing brings to the only replica."""
    context = Context(documents=a_directory(*kinds), kind="workloads", cluster="us", reader=dict[str, Any]().get)
    placement = others["placement"]
    assert isinstance(placement, PlacementOutputs)
    (entry,) = placement.ledger.replicas
    return carry(context, [entry], placement.ledger, None).missing_for(entry, placement.ledger)


def test_what_nothing_brings_is_named_where_pods_need_it() -> None:
    assert missing(with_names()) == ["ConfigMap ml-team/flags", "Secret ml-team/hf", "Secret ml-team/registry"]
    assert missing(with_names(), a_config_map("flags", text="x"), a_plain_secret("hf", token="x")) == [
        "Secret ml-team/registry"
    ]
    assert missing(with_names(optional=True)) == ["Secret ml-team/registry"]
