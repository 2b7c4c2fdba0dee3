"""Caches of one cluster: what is rendered for each, and what its live objects tell about it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pulumi import Output, ResourceOptions

from api import names
from api.errors import ModelplaneError
from components.cache_manifests import CacheSetting
from components.model_cache import ModelCache, ModelCacheArgs
from programs.cache_plan import attempt, cache_setting, is_staged, next_attempt
from programs.context import Context
from programs.ledger import content_hash
from programs.outputs import UNKNOWN, CacheState, ClusterOutputs, LedgerCache, WorkloadsOutputs
from programs.pod_look import PodLook
from programs.secret_values import secret_value


@dataclass(frozen=True, kw_only=True)
class Staging:
    """One cache on the cluster, with what its stack said of it last."""

    cache: LedgerCache
    setting: CacheSetting
    before: CacheState | None
    token: str | None = field(default=None, repr=False)
    missing: str = ""
    """Which token is asked for and not to be had."""

    @property
    def asked(self) -> str:
        """Digest of the source in the document."""
        return content_hash(self.cache.spec.get("huggingFace"))

    @property
    def is_latched(self) -> bool:
        """The volume holds what it should: nothing is left to do."""
        return is_staged(self.before, self.setting.identity)

    @property
    def hydrates(self) -> bool:
        """Whether a Job stages it: not without its token, and not once it is staged."""
        return not self.is_latched and not self.missing


@dataclass(frozen=True, kw_only=True)
class SeenCache:
    """What the API server says of a cache's claim and Job; without a Job its status is None."""

    claim: Mapping[str, Any]
    claim_uid: str | None
    job: Mapping[str, Any] | None = None

    @property
    def is_bound(self) -> bool:
        """Whether the volume is there."""
        return self.claim.get("phase") == "Bound"

    def has(self, condition: str) -> bool:
        """Whether the Job has a condition."""
        found = (self.job or {}).get("conditions") or ()
        return any(each.get("type") == condition and each.get("status") == "True" for each in found)


def plan_staging(
    context: Context, cluster: ClusterOutputs, caches: tuple[LedgerCache, ...], last: WorkloadsOutputs | None
) -> dict[str, Staging]:
    """What is to be done about each cache, by its key. Tokens are read here and shown nowhere."""
    labels = {names.LABEL_FLEET: context.fleet.name}
    found = {}
    for cache in caches:
        setting = cache_setting(cache, cluster, context.fleet.spec, labels=labels)
        staging = Staging(cache=cache, setting=setting, before=last.caches.get(cache.key) if last else None)
        if not staging.is_latched:
            staging = _with_token(context, staging)
            staging = _numbered(staging, last.tokens.get(cache.key) if last else None, context.now)
        found[cache.key] = staging
    return found


def _with_token(context: Context, staging: Staging) -> Staging:
    auth = staging.setting.source.auth_secret
    if auth is None:
        return staging
    try:
        token = secret_value(context, auth.name, auth.key, staging.cache.namespace)
    except ModelplaneError as error:
        missing = f"Secret {staging.cache.namespace}/{auth.name}, key {auth.key}: {error.message}"
        return replace(staging, missing=missing)
    return replace(staging, token=token)


def _numbered(staging: Staging, last_token: str | None, now: str) -> Staging:
    """With the number of its attempt; another token or another source is tried at once."""
    before, known = staging.before, {None, UNKNOWN.value}
    is_changed = staging.token != last_token and not known & {staging.token, last_token}
    if before is not None and before.asked:
        is_changed = is_changed or before.asked != staging.asked
    number = attempt(before, staging.setting.identity, now, is_changed=is_changed)
    return replace(staging, setting=replace(staging.setting, attempt=number))


def register_cache(
    staging: Staging, look: PodLook, now: str, opts: ResourceOptions
) -> tuple[ModelCache, dict[str, Any]]:
    """Register one cache; its exported state, leaf by leaf: what a preview cannot know leaves the rest readable."""
    token = Output.secret(staging.token) if staging.token is not None else None
    args = ModelCacheArgs(setting=staging.setting, hydrates=staging.hydrates, token=token)
    component = ModelCache(f"cache:{staging.cache.key}", args, opts)
    parts: Output[Any] = Output.all(component.claim, component.claim_uid, component.job)

    def state(found: list[Any]) -> CacheState:
        job = None if found[2] is None else dict(found[2])
        seen = SeenCache(claim=dict(found[0] or {}), claim_uid=found[1], job=job)
        return cache_state(staging, seen, look, now)

    told = parts.apply(state)
    return component, {
        **_asked(staging).plain(),
        "phase": told.apply(lambda found: found.phase),
        "reason": told.apply(lambda found: found.reason),
        "message": told.apply(lambda found: found.message),
        "since": told.apply(lambda found: found.since),
        "claim_uid": component.claim_uid,
    }


def cache_state(staging: Staging, seen: SeenCache, look: PodLook, now: str) -> CacheState:
    """The phase of a cache and why, with the time since which it is in it."""
    phase, reason, message = _phase(staging, seen, look)
    before, number = staging.before, staging.setting.attempt
    stays = before is not None and (before.phase, before.attempt) == (phase, number) and isinstance(before.since, str)
    state = CacheState(
        phase=phase,
        reason=reason,
        message=message,
        since=before.since if before is not None and stays else now,
        identity=staging.setting.identity,
        claim_uid=seen.claim_uid,
        attempt=number,
        asked=staging.asked,
    )
    after = next_attempt(state)
    if after is None:
        return state
    told = f"{message}; that was attempt {number}, the first run after {after} or after an edit makes the next"
    return state.model_copy(update={"message": told})


def planned_state(staging: Staging) -> CacheState:
    """What the stack will export as far as that is known before it runs."""
    if staging.is_latched and staging.before is not None:
        return staging.before
    return _asked(staging)


def _asked(staging: Staging) -> CacheState:
    """What is known of a cache before anything is seen of it."""
    return CacheState(identity=staging.setting.identity, attempt=staging.setting.attempt, asked=staging.asked)


def _phase(staging: Staging, seen: SeenCache, look: PodLook) -> tuple[str, str, str]:
    cache = staging.cache
    reason, message = _words(look.cache_words(cache.namespace, cache.name))
    if staging.hydrates and seen.has("Failed"):
        return "Failed", reason or "JobFailed", message or "the hydration Job failed; its pods' logs tell why"
    same = staging.before is not None and staging.before.claim_uid == seen.claim_uid
    if seen.is_bound and ((staging.is_latched and same) or (staging.hydrates and seen.has("Complete"))):
        return "Ready", "Staged", f"{staging.setting.source.repo} at {staging.setting.revision}"
    if staging.missing:
        return "Pending", "AuthSecretMissing", staging.missing
    trouble = look.cache_trouble(cache.namespace, cache.name)
    phase = "Hydrating" if seen.is_bound else "Pending"
    if reason != "Interrupted" and trouble is not None:
        return phase, trouble.reason, trouble.message
    if not seen.is_bound:
        return phase, "VolumePending", "the volume is not bound yet"
    return phase, reason or "Hydrating", message or f"downloads {staging.setting.source.repo}"


def _words(text: str) -> tuple[str, str]:
    """What the hydration program left for its pod's status."""
    try:
        found = json.loads(text)
        return str(found["reason"]), str(found["message"])
    except (ValueError, KeyError, TypeError):
        return "", ""
