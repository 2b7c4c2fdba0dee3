"""Phases of a cache on a cluster, each with its reason; and what is rendered for it."""

import json
from typing import Any

import pytest
from builders import a_cache, a_class, a_cluster, a_fleet
from states import cluster_outputs, documents_of

from api.fleets import Secret
from programs.cache_plan import cache_setting
from programs.context import Context
from programs.outputs import CacheState, LedgerCache, WorkloadsOutputs
from programs.pod_look import PodLook
from programs.staging import SeenCache, Staging, cache_state, plan_staging, planned_state

Plain = dict[str, Any]
THEN, NOW = "2026-08-01T00:00:00Z", "2026-08-02T00:00:00Z"
IDENTITY = "Qwen/Qwen3-8B@main/hub-1"
HUSH = "a token that nobody may see"


def a_ledger_cache(**source: Any) -> LedgerCache:
    spec = a_cache().spec.model_dump(by_alias=True, exclude_none=True, mode="json")
    spec["huggingFace"] |= source
    return LedgerCache(namespace="ml-team", name="qwen", spec=spec, clusters=("us",))


def a_staging(before: CacheState | None = None, *, missing: str = "", **source: Any) -> Staging:
    cache = a_ledger_cache(**source)
    setting = cache_setting(cache, cluster_outputs(storage_class="rwx"), image_mirror=None, labels={})
    return Staging(cache=cache, setting=setting, before=before, missing=missing)


def job(*conditions: str) -> Plain:
    return {"conditions": [{"type": kind, "status": "True"} for kind in conditions]}


def saying(reason: str, message: str = "what it said", **status: Any) -> PodLook:
    terminated = {"exitCode": 1, "message": json.dumps({"reason": reason, "message": message})}
    pod: Plain = {
        "metadata": {"name": "p"},
        "status": {"containerStatuses": [{"name": "hydrate", "state": {"terminated": terminated}}], **status},
    }
    return PodLook(answered=True, caches={("ml-team", "qwen"): (pod,)})


def pulling() -> PodLook:
    waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
    pod: Plain = {
        "metadata": {"name": "p"},
        "status": {"containerStatuses": [{"name": "hydrate", "state": {"waiting": waiting}}]},
    }
    return PodLook(answered=True, caches={("ml-team", "qwen"): (pod,)})


BOUND, PENDING = {"phase": "Bound"}, {"phase": "Pending"}
STAGED = CacheState(phase="Ready", identity=IDENTITY, claim_uid="uid", since=THEN)
OLD = STAGED.model_copy(update={"identity": "Qwen/Qwen3-8B@old/hub-1"})
NOBODY = PodLook()

PHASES: dict[str, tuple[Staging, SeenCache, PodLook, tuple[str, str]]] = {
    "the volume is not bound": (
        a_staging(),
        SeenCache(claim=PENDING, claim_uid="uid", job={}),
        NOBODY,
        ("Pending", "VolumePending"),
    ),
    "it downloads": (
        a_staging(),
        SeenCache(claim=BOUND, claim_uid="uid", job=job()),
        NOBODY,
        ("Hydrating", "Hydrating"),
    ),
    "it is done": (
        a_staging(),
        SeenCache(claim=BOUND, claim_uid="uid", job=job("Complete")),
        NOBODY,
        ("Ready", "Staged"),
    ),
    "it was done, and its Job is gone": (
        a_staging(STAGED),
        SeenCache(claim=BOUND, claim_uid="uid"),
        NOBODY,
        ("Ready", "Staged"),
    ),
    "it was done on a volume that is gone": (
        a_staging(STAGED),
        SeenCache(claim=BOUND, claim_uid="another"),
        NOBODY,
        ("Hydrating", "Hydrating"),
    ),
    "another revision is asked for": (
        a_staging(OLD),
        SeenCache(claim=BOUND, claim_uid="uid", job=job()),
        NOBODY,
        ("Hydrating", "Hydrating"),
    ),
    "the token is missing": (
        a_staging(missing="Secret ml-team/hf"),
        SeenCache(claim=PENDING, claim_uid="uid"),
        NOBODY,
        ("Pending", "AuthSecretMissing"),
    ),
    "the hub refuses": (
        a_staging(),
        SeenCache(claim=BOUND, claim_uid="uid", job=job("Failed")),
        saying("Refused"),
        ("Failed", "Refused"),
    ),
    "the volume is full": (
        a_staging(),
        SeenCache(claim=BOUND, claim_uid="uid", job=job("Failed")),
        saying("OutOfSpace"),
        ("Failed", "OutOfSpace"),
    ),
    "it failed and nobody knows why": (
        a_staging(),
        SeenCache(claim=BOUND, claim_uid="uid", job=job("Failed")),
        NOBODY,
        ("Failed", "JobFailed"),
    ),
    "it broke off and is tried again": (
        a_staging(),
        SeenCache(claim=BOUND, claim_uid="uid", job=job()),
        saying("Interrupted"),
        ("Hydrating", "Interrupted"),
    ),
    "the image cannot be pulled": (
        a_staging(),
        SeenCache(claim=BOUND, claim_uid="uid", job=job()),
        pulling(),
        ("Hydrating", "ImagePullBackOff"),
    ),
}


@pytest.mark.parametrize(("staging", "seen", "look", "want"), PHASES.values(), ids=PHASES)
def test_the_phase_of_a_cache(staging: Staging, seen: SeenCache, look: PodLook, want: tuple[str, str]) -> None:
    found = cache_state(staging, seen, look, NOW)
    assert (found.phase, found.reason) == want
    assert found.message
    assert found.identity == staging.setting.identity
    stays = staging.before is not None and staging.before.phase == found.phase
    assert found.since == (THEN if stays else NOW)


def test_a_job_is_rendered_until_it_is_staged_and_not_without_its_token() -> None:
    assert a_staging().hydrates
    assert a_staging(OLD).hydrates
    assert not a_staging(STAGED).hydrates
    assert not a_staging(missing="Secret ml-team/hf").hydrates


def context_of(*kinds: Any) -> Context:
    return Context(documents=documents_of(a_fleet(), a_class(), a_cluster(), *kinds), kind="workloads", cluster="us")


def a_secret(**data: str) -> Secret:
    metadata = {"name": "hf", "namespace": "ml-team"}
    return Secret.parse({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data})


def planned(context: Context, last: WorkloadsOutputs | None = None) -> Staging:
    cache = a_ledger_cache(authSecret={"name": "hf", "key": "TOKEN"})
    return plan_staging(context, cluster_outputs(storage_class="rwx"), (cache,), last)["ml-team/qwen"]


def test_a_token_is_read_from_the_cache_s_namespace_and_shown_nowhere() -> None:
    found = planned(context_of(a_secret(TOKEN=HUSH)))
    assert found.token == HUSH
    assert HUSH not in repr(found)


def test_a_secret_or_a_key_that_is_missing_is_named() -> None:
    nothing = planned(context_of())
    assert "Secret ml-team/hf" in nothing.missing
    assert not nothing.hydrates
    other = planned(context_of(a_secret(OTHER=HUSH)))
    assert "TOKEN" in other.missing
    assert HUSH not in other.missing


def test_a_token_is_not_asked_for_once_the_cache_is_staged() -> None:
    last = WorkloadsOutputs(cluster="us", caches={"ml-team/qwen": STAGED})
    found = planned(context_of(), last)
    assert found.missing == ""
    assert found.token is None
    assert planned_state(found) == STAGED


def test_a_preview_says_of_a_cache_that_it_is_to_be_staged() -> None:
    assert planned_state(a_staging(OLD)) == CacheState(phase="Pending", identity=IDENTITY)
