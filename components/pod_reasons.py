"""Why pods do not serve, told from the pods themselves; the worst of them speaks for all. Pure functions.

Reasons are the kubelet's and the scheduler's own words. Nothing that changes by itself is in a message, so that the
same trouble reads the same in every run.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

LONGEST_MESSAGE = 400

Pod = Mapping[str, Any]


@dataclass(frozen=True, order=True)
class Trouble:
    """What is wrong with a pod; a lower rank is worse."""

    rank: int
    reason: str
    message: str


_NEVER_BY_ITSELF = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"}
)
"""Waiting reasons that somebody has to do something about; the rest pass."""
_CRASH = "CrashLoopBackOff"


def worst(pods: Iterable[Pod], unallocated: Collection[tuple[str, str]] = ()) -> Trouble | None:
    """The worst trouble of some pods; None where all are well or just starting.

    `unallocated` are the claims (namespace, name) that no device was found for.
    """
    return min((found for pod in pods if (found := trouble(pod, unallocated)) is not None), default=None)


def trouble(pod: Pod, unallocated: Collection[tuple[str, str]] = ()) -> Trouble | None:
    """What is wrong with one pod."""
    name = pod["metadata"]["name"]
    status = pod.get("status") or {}
    for container in status.get("containerStatuses") or ():
        if (found := _container(name, container)) is not None:
            return found
    conditions = {found["type"]: found for found in status.get("conditions") or ()}
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("status") == "False" and scheduled.get("reason") == "Unschedulable":
        return _unschedulable(pod, str(scheduled.get("message") or ""), unallocated)
    ready = conditions.get("Ready", {})
    if ready.get("status") == "False" and status.get("phase") == "Running":
        since = f" since {ready['lastTransitionTime']}" if ready.get("lastTransitionTime") else ""
        return Trouble(5, "NotReady", f"pod {name} runs and is not ready{since}")
    return None


def _container(pod: str, container: Mapping[str, Any]) -> Trouble | None:
    what = f"{container.get('name')} in pod {pod}"
    state, last = container.get("state") or {}, container.get("lastState") or {}
    ended = state.get("terminated") or last.get("terminated") or {}
    waiting = state.get("waiting") or {}
    reason = str(waiting.get("reason") or "")
    if reason in _NEVER_BY_ITSELF:
        return Trouble(1, reason, _short(f"{what}: {waiting.get('message') or 'no details'}"))
    if reason == _CRASH or (state.get("terminated") and ended.get("exitCode")):
        told = f", {ended['message']}" if ended.get("message") else ""
        cause = f" ({ended['reason']})" if ended.get("reason") else ""
        return Trouble(0, _CRASH, _short(f"{what} ends with {ended.get('exitCode', 'an error')}{cause}{told}"))
    return None


def _unschedulable(pod: Pod, message: str, unallocated: Collection[tuple[str, str]]) -> Trouble:
    """Claims without a device are told apart from nodes without room."""
    metadata = pod["metadata"]
    claims = [
        str(found["resourceClaimName"])
        for found in (pod.get("status") or {}).get("resourceClaimStatuses") or ()
        if found.get("resourceClaimName")
    ]
    waiting = [name for name in claims if (metadata.get("namespace"), name) in unallocated]
    if waiting:
        text = f"no node has the devices that claim {waiting[0]} of pod {metadata['name']} asks for: {message}"
        return Trouble(2, "ClaimNotAllocated", _short(text))
    return Trouble(3, "Unschedulable", _short(f"pod {metadata['name']}: {message}"))


def is_ready(pod: Pod) -> bool:
    """Whether the pod says that it is ready and nobody is ending it."""
    if pod["metadata"].get("deletionTimestamp"):
        return False
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(found["type"] == "Ready" and found["status"] == "True" for found in conditions)


def last_words(pod: Pod, container: str) -> str:
    """What a container that has ended wrote into its termination message, empty where it wrote nothing."""
    for found in (pod.get("status") or {}).get("containerStatuses") or ():
        if found.get("name") == container:
            ended = (found.get("state") or {}).get("terminated") or (found.get("lastState") or {}).get("terminated")
            return str((ended or {}).get("message") or "")
    return ""


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else f"{text[: LONGEST_MESSAGE - 1]}…"
