"""ModelService: one public URL, as an HTTPRoute on the hub that splits over endpoints by weight."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pulumi import ComponentResource, Output, ResourceOptions

from components.kubernetes_objects import register
from components.shares import Door, Share, service_objects


@dataclass(frozen=True, kw_only=True)
class ModelServiceArgs:
    """`shares` are its endpoints in order; `door` leads to the gateway, for more of them than a rule takes."""

    namespace: str
    service: str
    shares: Sequence[Share] = ()
    door: Door | None = None
    labels: dict[str, str] = field(default_factory=dict)


class ModelService(ComponentResource):
    """The route of one service; `accepted` follows what the gateway says of it."""

    accepted: Output[bool]

    def __init__(self, name: str, args: ModelServiceArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("modelplane:index:ModelService", name, {"service": args.service}, opts)
        objects = service_objects(args.namespace, args.service, args.shares, args.door, args.labels)
        inner = ResourceOptions(parent=self, depends_on=opts.depends_on if opts else None)
        for key, manifest in objects.parts.items():
            part = register(manifest, f"{name}/{key}", inner)
            inner = ResourceOptions.merge(inner, ResourceOptions(depends_on=[part]))
        route = register(objects.route, f"{name}/route", inner)
        self.accepted = Output.from_input(getattr(route, "status", None)).apply(_accepted)
        self.register_outputs({"accepted": self.accepted})


def _accepted(status: Any) -> bool:
    parents = (status or {}).get("parents") or []
    return any(
        condition.get("type") == "Accepted" and condition.get("status") == "True"
        for parent in parents
        for condition in parent.get("conditions") or []
    )
