"""ModelService: one public URL, as an HTTPRoute on the hub that splits over endpoints by weight."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pulumi import ComponentResource, Output, ResourceOptions

from components.gateway_manifests import service_route
from components.kubernetes_objects import register


@dataclass(frozen=True, kw_only=True)
class ModelServiceArgs:
    """`backends` are finished backend references, in order."""

    namespace: str
    service: str
    backends: Sequence[dict[str, Any]] = ()
    labels: dict[str, str] = field(default_factory=dict)


class ModelService(ComponentResource):
    """The route of one service; `accepted` follows what the gateway says of it."""

    accepted: Output[bool]

    def __init__(self, name: str, args: ModelServiceArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("modelplane:index:ModelService", name, {"service": args.service}, opts)
        manifest = service_route(args.namespace, args.service, args.backends, args.labels)
        needs = opts.depends_on if opts else None
        route = register(manifest, f"{name}/route", ResourceOptions(parent=self, depends_on=needs))
        self.accepted = Output.from_input(getattr(route, "status", None)).apply(_accepted)
        self.register_outputs({"accepted": self.accepted})


def _accepted(status: Any) -> bool:
    parents = (status or {}).get("parents") or []
    return any(
        condition.get("type") == "Accepted" and condition.get("status") == "True"
        for parent in parents
        for condition in parent.get("conditions") or []
    )
