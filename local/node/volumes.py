"""What a pod's volumes contain: files from ConfigMaps, Secrets, tokens and the pod itself."""

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from local.node.pods import RealPod

Plain = Mapping[str, Any]
Files = dict[str, bytes]

Read = Callable[[str, str], Plain | None]
"""Kind (`configmaps`, `secrets`) and name to the object in the pod's namespace; None where there is none."""


class NotThere(Exception):
    """A ConfigMap or Secret that the pod cannot start without is not there yet."""


def contents(pod: RealPod, volume: Plain, read: Read, token: Callable[[], str]) -> Files:
    """The volume's files by their path in it; none for one that begins empty. Raises NotThere."""
    if "configMap" in volume:
        return _configmap(volume["configMap"], volume["configMap"]["name"], read)
    if "secret" in volume:
        return _secret(volume["secret"], volume["secret"]["secretName"], read)
    if "downwardAPI" in volume:
        return _downward(pod, volume["downwardAPI"])
    files: Files = {}
    for source in (volume.get("projected") or {}).get("sources") or []:
        if "serviceAccountToken" in source:
            files[source["serviceAccountToken"]["path"]] = token().encode()
        if "configMap" in source:
            files |= _configmap(source["configMap"], source["configMap"]["name"], read)
        if "secret" in source:
            files |= _secret(source["secret"], source["secret"]["name"], read)
        if "downwardAPI" in source:
            files |= _downward(pod, source["downwardAPI"])
    return files


def write(folder: Path, files: Files) -> None:
    """Bring the folder's files to these; each is replaced whole, and only where it differs."""
    for name, content in files.items():
        file = folder / name
        if file.is_file() and file.read_bytes() == content:
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f".{file.name}.new")
        draft.touch(mode=0o600)
        draft.write_bytes(content)
        draft.replace(file)


def _configmap(source: Plain, name: str, read: Read) -> Files:
    found = _found(source, "configmaps", name, read)
    text = {key: value.encode() for key, value in (found.get("data") or {}).items()}
    binary = {key: base64.b64decode(value) for key, value in (found.get("binaryData") or {}).items()}
    return _chosen(source, {**text, **binary})


def _secret(source: Plain, name: str, read: Read) -> Files:
    found = _found(source, "secrets", name, read)
    return _chosen(source, {key: base64.b64decode(value) for key, value in (found.get("data") or {}).items()})


def _found(source: Plain, kind: str, name: str, read: Read) -> Plain:
    found = read(kind, name)
    if found is None and not source.get("optional"):
        raise NotThere(f"{kind}/{name}")
    return found or {}


def _chosen(source: Plain, files: Files) -> Files:
    items = source.get("items")
    if items is None:
        return files
    return {item["path"]: files[item["key"]] for item in items if item["key"] in files}


def _downward(pod: RealPod, source: Plain) -> Files:
    return {
        item["path"]: pod.value(item["fieldRef"]["fieldPath"]).encode()
        for item in source.get("items") or []
        if "fieldRef" in item
    }
