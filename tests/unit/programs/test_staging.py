"""Phases of a cache on a cluster, each with its reason; and what is rendered for it."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from builders import a_cache, a_class, a_cluster, a_fleet
from states import cluster_outputs, documents_of

from api.fleets import FleetSpec, Secret
from components.cache_manifests import hydration_job
from programs.cache_plan import cache_setting, next_attempt
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
    setting = cache_setting(cache, cluster_outputs(storage_class="rwx"), FleetSpec(), labels={})
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
    staging = a_staging(OLD)
    assert planned_state(staging) == CacheState(phase="Pending", identity=IDENTITY, asked=staging.asked)


FAILED = CacheState(phase="Failed", identity=IDENTITY, claim_uid="uid", since=THEN)
SECONDS: dict[int, int] = {1: 60, 2: 120, 3: 240, 5: 960, 6: 1800, 500: 1800}


@pytest.mark.parametrize(("number", "seconds"), SECONDS.items())
def test_the_pause_after_a_failure_doubles_up_to_half_an_hour(number: int, seconds: int) -> None:
    found = next_attempt(FAILED.model_copy(update={"attempt": number}))
    assert datetime.fromisoformat(str(found)) - datetime.fromisoformat(THEN) == timedelta(seconds=seconds)


def test_only_what_failed_is_tried_again() -> None:
    assert next_attempt(STAGED) is None
    assert next_attempt(FAILED.model_copy(update={"since": None})) is None


def number_of(before: CacheState, now: str, *kinds: Any, token: str = HUSH, **source: Any) -> int:
    """The attempt that a run at `now` makes, where the last run knew `token`."""
    context = replace(context_of(*kinds), now=now)
    last = WorkloadsOutputs(cluster="us", caches={"ml-team/qwen": before}, tokens={"ml-team/qwen": token})
    cache = a_ledger_cache(authSecret={"name": "hf", "key": "TOKEN"}, **source)
    found = plan_staging(context, cluster_outputs(storage_class="rwx"), (cache,), last)["ml-team/qwen"]
    return found.setting.attempt


EARLY, LATE = "2026-08-01T00:00:59Z", "2026-08-01T00:01:00Z"


def test_a_failed_cache_is_tried_again_when_its_pause_is_over() -> None:
    assert number_of(FAILED, EARLY, a_secret(TOKEN=HUSH)) == 1
    assert number_of(FAILED, LATE, a_secret(TOKEN=HUSH)) == 2


def test_a_failed_cache_is_tried_again_at_once_with_another_token_or_source() -> None:
    assert number_of(FAILED, EARLY, a_secret(TOKEN="another")) == 2
    asked = a_staging(authSecret={"name": "hf", "key": "TOKEN"}).asked
    before = FAILED.model_copy(update={"asked": asked})
    assert number_of(before, EARLY, a_secret(TOKEN=HUSH)) == 1
    assert number_of(before, EARLY, a_secret(TOKEN=HUSH), sizeGiB=100) == 2


def test_what_has_not_failed_is_not_begun_anew() -> None:
    under_way = CacheState(phase="Hydrating", identity=IDENTITY, attempt=3, since=THEN)
    assert number_of(under_way, NOW, a_secret(TOKEN="another")) == 3
    assert number_of(OLD.model_copy(update={"attempt": 3}), NOW, a_secret(TOKEN=HUSH)) == 1
    assert number_of(FAILED.model_copy(update={"attempt": 3, "identity": "other"}), NOW, a_secret(TOKEN=HUSH)) == 1


def test_each_attempt_has_a_job_of_its_own_and_the_first_is_as_it_always_was() -> None:
    first = a_staging().setting
    jobs = [hydration_job(replace(first, attempt=number)) for number in (1, 2, 3)]
    notes = [found["spec"]["template"]["metadata"].get("annotations") for found in jobs]
    assert notes == [None, {"modelplane.ai/attempt": "2"}, {"modelplane.ai/attempt": "3"}]


def test_a_failure_says_which_attempt_it_was_and_when_the_next_one_is() -> None:
    failed = SeenCache(claim=BOUND, claim_uid="uid", job=job("Failed"))
    staging = a_staging(FAILED.model_copy(update={"attempt": 2}))
    staging = replace(staging, setting=replace(staging.setting, attempt=2))
    found = cache_state(staging, failed, saying("Refused"), NOW)
    assert (found.since, found.attempt) == (THEN, 2)
    assert found.message == (
        "what it said; that was attempt 2, the first run after 2026-08-01T00:02:00Z or after an edit makes the next"
    )


def test_another_attempt_that_fails_counts_its_pause_from_its_own_failure() -> None:
    staging = a_staging(FAILED)
    staging = replace(staging, setting=replace(staging.setting, attempt=2))
    failed = SeenCache(claim=BOUND, claim_uid="uid", job=job("Failed"))
    assert cache_state(staging, failed, saying("Refused"), NOW).since == NOW


def test_the_job_is_made_as_the_fleet_says() -> None:
    hydration = {"image": "registry.example/tools/python:3.13", "imagePullPolicy": "Always", "hub": "http://hub.local"}
    fleet = a_fleet(caches={"hydration": hydration}, imageMirror="mirror.example/all")
    setting = cache_setting(a_ledger_cache(), cluster_outputs(storage_class="rwx"), fleet.spec, labels={})
    (container,) = hydration_job(setting)["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "mirror.example/all/tools/python:3.13"
    assert container["imagePullPolicy"] == "Always"
    assert container["env"] == [{"name": "HF_ENDPOINT", "value": "http://hub.local"}]
