"""A pod as this node has to run it, read from the API server's document."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from local import controls
from local.node.images import PASSED_OVER, Program, program_for

Plain = Mapping[str, Any]

API_HOST = "kubernetes.default.svc"
"""By this name programs in pods find their API server; its certificate has it."""
API_PORT = 443

_VARIABLE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


@dataclass(frozen=True, kw_only=True)
class Mount:
    """One volume in a container: where it appears, and which file or folder of it."""

    path: str
    volume: str
    inside: str = ""


@dataclass(frozen=True, kw_only=True)
class Container:
    """One container: what runs in place of its image, and with what."""

    name: str
    program: Program
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    mounts: tuple[Mount, ...]
    probe: tuple[int, str] | None = None
    """Port and path that answer 200 once the program is ready."""
    liveness: tuple[int, str] | None = None
    """Port and path that answer 200 while the program lives."""
    ports: tuple[int, ...] = ()
    """Where it listens; a program without a probe is taken as ready once all of them are open."""


@dataclass(frozen=True, kw_only=True)
class RealPod:
    """One pod that runs for real."""

    cluster: str
    namespace: str
    name: str
    uid: str
    address: str
    account: str
    labels: Mapping[str, str]
    containers: tuple[Container, ...]
    volumes: tuple[Plain, ...]
    ports: Mapping[str, int] = field(default_factory=dict)
    """Container ports by name."""
    is_job: bool = False
    """It ends by itself, and is then done."""
    engine_ports: tuple[int, ...] = ()
    """Where containers listen that no program stands for: engines, beside a sidecar that talks to them."""

    def value(self, path: str) -> str:
        """What a field of the downward API says (`metadata.namespace`, `status.podIP`); empty for any other."""
        known = {
            "metadata.name": self.name,
            "metadata.namespace": self.namespace,
            "metadata.uid": self.uid,
            "spec.serviceAccountName": self.account,
            "status.podIP": self.address,
            "status.podIPs": self.address,
        }
        keyed = _KEYED.fullmatch(path)
        return self.labels.get(keyed[2], "") if keyed and keyed[1] == "labels" else known.get(path, "")


def read_pod(cluster: str, document: Plain) -> RealPod | None:
    """The pod, if this node runs any of its containers; None also before it has an address, and while it is held.

    A Job's pod is run to its own end although KWOK says at once that it has ended.
    """
    metadata, spec, status = document["metadata"], document.get("spec", {}), document.get("status", {})
    owners = metadata.get("ownerReferences") or []
    is_job = any(owner["kind"] == "Job" for owner in owners)
    is_over = status.get("phase") in {"Succeeded", "Failed"} and not is_job
    if not status.get("podIP") or is_over or controls.HOLD in (metadata.get("annotations") or {}):
        return None
    ours = [container for container in spec.get("containers") or [] if container["name"] not in PASSED_OVER]
    wanted = [(container, program) for container in ours if (program := program_for(container.get("image", "")))]
    if not wanted:
        return None
    bare = RealPod(
        cluster=cluster,
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        address=status["podIP"],
        account=spec.get("serviceAccountName") or "default",
        labels=metadata.get("labels") or {},
        containers=(),
        volumes=tuple(spec.get("volumes") or ()),
        ports={
            port["name"]: port["containerPort"]
            for container, _ in wanted
            for port in container.get("ports") or []
            if "name" in port
        },
        is_job=is_job,
        engine_ports=tuple(
            port["containerPort"]
            for container in ours
            if program_for(container.get("image", "")) is None
            for port in container.get("ports") or []
        ),
    )
    return replace(bare, containers=tuple(_container(bare, container, program) for container, program in wanted))


def _container(pod: RealPod, document: Plain, program: Program) -> Container:
    environment = {"KUBERNETES_SERVICE_HOST": API_HOST, "KUBERNETES_SERVICE_PORT": str(API_PORT), "PATH": "/bin"}
    for variable in document.get("env") or []:
        source = variable.get("valueFrom") or {}
        value = pod.value(source["fieldRef"]["fieldPath"]) if "fieldRef" in source else variable.get("value", "")
        environment[variable["name"]] = expanded(value, environment)
    # The first word of a command is the program, which is ours already.
    words = [*(document.get("command") or [])[1:], *(document.get("args") or [])]
    return Container(
        name=document["name"],
        program=program,
        arguments=(*(program.argument(expanded(word, environment)) for word in words), *program.arguments),
        environment=environment,
        mounts=tuple(
            Mount(path=mount["mountPath"], volume=mount["name"], inside=mount.get("subPath", ""))
            for mount in document.get("volumeMounts") or []
        ),
        probe=_probe(document, "readinessProbe", pod.ports),
        liveness=_probe(document, "livenessProbe", pod.ports),
        ports=tuple(port["containerPort"] for port in document.get("ports") or []),
    )


def _probe(document: Plain, kind: str, ports: Mapping[str, int]) -> tuple[int, str] | None:
    """A probe by HTTP; other ways of probing are not known here."""
    asked = (document.get(kind) or {}).get("httpGet")
    if asked is None:
        return None
    port = asked["port"]
    number = ports.get(port, 0) if isinstance(port, str) else port
    return (number, asked.get("path", "/")) if number else None


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """`$(NAME)` replaced by the variable where there is one, as a kubelet does it."""
    return _VARIABLE.sub(lambda match: environment.get(match[1], match[0]), text)
