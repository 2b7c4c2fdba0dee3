"""Which pod has which address: what the API servers tell, read by watching pods on every cluster."""

import asyncio
import itertools
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local import controls, watching

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_MODEL_FLAGS = ("--served-model-name", "--model", "--model-path")
_REPLICA_LABEL = "modelplane.ai/serving"
_DEPLOYMENT_LABEL = "modelplane.ai/deployment"


@dataclass(frozen=True, kw_only=True)
class Pod:
    """One pod that has an address, as far as an engine's behaviour depends on it."""

    cluster: str
    namespace: str
    name: str
    address: str
    replica: str = ""
    deployment: str = ""
    model: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def hold(self) -> str:
        """`true`, `crash` or empty."""
        return self.annotations.get(controls.HOLD, "")

    @property
    def fail(self) -> str:
        """An HTTP status, `close` or empty."""
        return self.annotations.get(controls.FAIL, "")

    def seconds(self, annotation: str) -> float:
        """A duration that an annotation sets, in seconds; 0 where it is absent or not a duration."""
        return duration(self.annotations.get(annotation, ""))


class Directory:
    """All pods of all clusters by address."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, Pod]] = {}
        self._changed = asyncio.Event()

    def replace(self, cluster: str, pods: Mapping[str, Pod]) -> None:
        """What one cluster's API server lists, by uid."""
        self._pods[cluster] = dict(pods)
        self._announce()

    def set(self, cluster: str, uid: str, pod: Pod | None) -> None:
        """One pod as it is now; None when it is gone."""
        pods = self._pods.setdefault(cluster, {})
        if pod is None:
            pods.pop(uid, None)
        else:
            pods[uid] = pod
        self._announce()

    def find(self, address: str) -> Pod | None:
        """The pod that has the address now."""
        return next((pod for pods in self._pods.values() for pod in pods.values() if pod.address == address), None)

    async def wait_for(self, address: str, seconds: float) -> Pod | None:
        """Like `find`, with some patience for news that are on their way."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while (pod := self.find(address)) is None:
                    await self._changed.wait()
                return pod
        return None

    def _announce(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def duration(text: str) -> float:
    """Seconds of a duration as Go and Kubernetes write it (`1m30s`, `250ms`); 0 where the text is none."""
    parts = _DURATION.findall(text)
    whole = "".join(number + unit for number, unit in parts) == text
    return sum(float(number) * _UNITS[unit] for number, unit in parts) if whole else 0.0


def read_pod(cluster: str, document: Mapping[str, Any]) -> Pod | None:
    """The pod in an API server's document; None while it has no address, and once it has ended."""
    metadata, status = document["metadata"], document.get("status", {})
    address = status.get("podIP")
    if not address or status.get("phase") in {"Succeeded", "Failed"}:
        return None
    labels = metadata.get("labels") or {}
    replica = labels.get(_REPLICA_LABEL, "")
    return Pod(
        cluster=cluster,
        namespace=metadata["namespace"],
        name=metadata["name"],
        address=address,
        replica=replica,
        deployment=labels.get(_DEPLOYMENT_LABEL) or _without_hash(replica or _owner(metadata)),
        model=_model(document.get("spec", {})) or replica or metadata["name"],
        annotations=metadata.get("annotations") or {},
    )


class Watched:
    """One cluster's pods on their way into the directory."""

    def __init__(self, cluster: str, directory: Directory) -> None:
        self._cluster = cluster
        self._directory = directory

    def replace(self, documents: Mapping[str, Mapping[str, Any]]) -> None:
        """All pods as they are now."""
        pods = {uid: read_pod(self._cluster, document) for uid, document in documents.items()}
        self._directory.replace(self._cluster, {uid: pod for uid, pod in pods.items() if pod})

    def change(self, uid: str, document: Mapping[str, Any] | None) -> None:
        """One pod as it is now; None when it is gone."""
        self._directory.set(self._cluster, uid, read_pod(self._cluster, document) if document else None)


async def watch(cluster: str, port: int, pki: Path, directory: Directory) -> None:
    """Keep the directory up to date with one API server, for ever; an outage is waited out."""
    await watching.follow(port, watching.credentials(pki), "/api/v1/pods", Watched(cluster, directory))


def _owner(metadata: Mapping[str, Any]) -> str:
    owners = metadata.get("ownerReferences") or [{}]
    return str(owners[0].get("name", ""))


def _without_hash(name: str) -> str:
    return name.rpartition("-")[0] or name


def _model(spec: Mapping[str, Any]) -> str:
    """The name under which the first container's engine serves its model, as its command line says."""
    containers = spec.get("containers") or [{}]
    words: list[str] = [*(containers[0].get("command") or []), *(containers[0].get("args") or [])]
    for flag in _MODEL_FLAGS:
        for word, following in itertools.pairwise([*words, ""]):
            if word == flag and following:
                return following
            if word.startswith(flag + "="):
                return word.removeprefix(flag + "=")
    served = [following for word, following in itertools.pairwise(words) if word == "serve"]
    return served[0] if served and not served[0].startswith("-") else ""
