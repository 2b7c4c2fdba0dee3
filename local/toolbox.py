"""The programs that a local fleet runs, found once."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tools
from api.errors import MissingTool
from tools.locate import look_up

SERVERS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
POD_PROGRAMS = ("envoy-gateway", "envoy", "lws-manager", "inference-pools", "endpoint-picker", "pd-sidecar")
"""What runs in place of images, in pods."""

PROGRAMS = (*SERVERS, "kwok", "kwokctl", "traefik", "kubectl", *POD_PROGRAMS)


@dataclass(frozen=True, kw_only=True)
class Toolbox:
    """Where each program is, which Kubernetes they are (as in `v1.36.3`), where definitions and charts lie."""

    paths: dict[str, Path]
    kubernetes: str
    definitions: Path
    charts: Path

    def __getitem__(self, name: str) -> Path:
        """The path of a program."""
        return self.paths[name]


@cache
def find() -> Toolbox:
    """Find all programs; raises MissingTool (MP401) naming the first that is absent."""
    try:
        paths = {name: tools.locate(name) for name in PROGRAMS}
        version = look_up("kube-apiserver").version
        return Toolbox(
            paths=paths,
            kubernetes=f"v{version.removeprefix('v')}",
            definitions=tools.locate("crds") / "gateway-api",
            charts=tools.locate("charts"),
        )
    except tools.ToolMissing as error:
        raise MissingTool(error.message, code="MP401", hint=error.hint) from error
