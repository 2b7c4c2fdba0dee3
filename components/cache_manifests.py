"""What a model cache puts on a cluster, as plain data: a volume claim and, until it is staged, a Job with its token.

The Job is handed a program, not a script: repository and revision are arguments, the token is a mounted file.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from api import names
from api.cache_settings import Hydration
from api.caches import AuthSecret, HuggingFace
from api.images import HYDRATION
from components import hydrate
from components.kubernetes_objects import SKIP_AWAIT
from components.mirrors import mirrored_image

Plain = dict[str, Any]

MOUNT = "/mnt/artifact"
TOKEN_FOLDER = "/var/run/modelplane"  # noqa: S105 - where the token is mounted
RETRIES = 3
KEEP_SECONDS = 3600
"""How long an ended Job stays; longer than any pause between two attempts."""
DEFAULT_REVISION = "main"


@dataclass(frozen=True, kw_only=True)
class CacheSetting:
    """One cache on one cluster."""

    namespace: str
    name: str
    source: HuggingFace
    storage_class: str
    hydration: Hydration = field(default_factory=Hydration)
    image_mirror: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    attempt: int = 1
    """Which Job it is that stages this; another one takes the place of the one before."""

    @property
    def revision(self) -> str:
        """The revision that is staged, also where none is named."""
        return self.source.revision or DEFAULT_REVISION

    @property
    def identity(self) -> str:
        """What a staged volume holds; another one is staged again."""
        return f"{self.source.repo}@{self.revision}/{hydrate.LAYOUT}"


def volume_claim(setting: CacheSetting) -> Plain:
    """The volume: many nodes read and write it. Whether it is bound is told from the live claim, not awaited."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": _metadata(setting, names.cache_claim(setting.namespace, setting.name)),
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": setting.storage_class,
            "resources": {"requests": {"storage": f"{setting.source.size_gib}Gi"}},
        },
    }


def token_secret(setting: CacheSetting, auth: AuthSecret, token: object) -> Plain:
    """The token beside the Job; `token` is a secret output or its text."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": _metadata(setting, names.cache_token(setting.namespace, setting.name)),
        "stringData": {auth.key: token},
    }


def hydration_job(setting: CacheSetting) -> Plain:
    """The Job that stages the cache. A pod that ends for a reason that stays ends the Job; others are tried again."""
    auth = setting.source.auth_secret
    arguments = ["--repo", setting.source.repo, "--revision", setting.revision, "--directory", MOUNT]
    volumes: list[Plain] = [
        {
            "name": "artifact",
            "persistentVolumeClaim": {"claimName": names.cache_claim(setting.namespace, setting.name)},
        }
    ]
    mounts: list[Plain] = [{"name": "artifact", "mountPath": MOUNT}]
    if auth is not None:
        arguments += ["--token-file", f"{TOKEN_FOLDER}/token"]
        secret = {
            "secretName": names.cache_token(setting.namespace, setting.name),
            "items": [{"key": auth.key, "path": "token"}],
        }
        volumes.append({"name": "token", "secret": secret})
        mounts.append({"name": "token", "mountPath": TOKEN_FOLDER, "readOnly": True})
    container: Plain = {
        "name": "hydrate",
        "image": mirrored_image(setting.hydration.image or HYDRATION, setting.image_mirror),
        "command": ["python3", "-c", Path(hydrate.__file__).read_text()],
        "args": arguments,
        "volumeMounts": mounts,
    }
    if setting.hydration.image_pull_policy is not None:
        container["imagePullPolicy"] = setting.hydration.image_pull_policy
    if setting.hydration.hub is not None:
        container["env"] = [{"name": "HF_ENDPOINT", "value": setting.hydration.hub}]
    exits = {"containerName": "hydrate", "operator": "In", "values": sorted(hydrate.EXITS.values())}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(setting, names.cache_job(setting.namespace, setting.name)),
        "spec": {
            "backoffLimit": RETRIES,
            "ttlSecondsAfterFinished": KEEP_SECONDS,
            "podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": exits}]},
            "template": {
                "metadata": {"labels": {names.LABEL_MODEL_CACHE: setting.name}, **_attempt(setting)},
                "spec": {
                    "restartPolicy": "Never",
                    "automountServiceAccountToken": False,
                    "containers": [container],
                    "volumes": volumes,
                },
            },
        },
    }


def _attempt(setting: CacheSetting) -> Plain:
    """Nothing of the first one."""
    return {"annotations": {names.ANNOTATION_ATTEMPT: str(setting.attempt)}} if setting.attempt > 1 else {}


def _metadata(setting: CacheSetting, name: str) -> Plain:
    return {
        "name": name,
        "namespace": setting.namespace,
        "labels": {**setting.labels, names.LABEL_MODEL_CACHE: setting.name},
        "annotations": {SKIP_AWAIT: "true"},
    }
