"""InferenceGateway: the fleet's front door on the hub. Where Traefik is found rather than owned, its class is too."""

from dataclasses import dataclass, field
from typing import Any

from pulumi import ComponentResource, Output, ResourceOptions

from api import names
from components.gateway_manifests import HUB_LISTENER_PORT, gateway
from components.kubernetes_objects import namespace_manifest, register

GATEWAY_CLASS = "traefik"


@dataclass(frozen=True, kw_only=True)
class InferenceGatewayArgs:
    """`own_namespace` is false where someone else's namespace of that name exists already."""

    fleet: str
    own_namespace: bool = True
    labels: dict[str, str] = field(default_factory=dict)


class InferenceGateway(ComponentResource):
    """The hub's Gateway and its namespace."""

    address: Output[str | None]

    def __init__(self, name: str, args: InferenceGatewayArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("modelplane:index:InferenceGateway", name, {"fleet": args.fleet}, opts)
        needs = system_namespace(self, name, args.fleet) if args.own_namespace else []
        listener = {"name": "web", "protocol": "HTTP", "port": HUB_LISTENER_PORT}
        manifest = gateway(names.HUB_GATEWAY, GATEWAY_CLASS, [listener], args.labels)
        found = register(manifest, f"{name}/gateway", ResourceOptions(parent=self, depends_on=needs))
        self.address = gateway_address(found)
        self.register_outputs({"address": self.address})


def system_namespace(parent: ComponentResource, name: str, fleet: str) -> list[Any]:
    """The system namespace, kept by Pulumi on delete: the driver removes it once nothing is left in it."""
    manifest = namespace_manifest(names.SYSTEM_NAMESPACE, fleet, names.LABEL_FLEET)
    opts = ResourceOptions(parent=parent, retain_on_delete=True)
    return [register(manifest, f"{name}/{names.SYSTEM_NAMESPACE}", opts)]


def gateway_address(found: Any) -> Output[str | None]:
    """First address of a live Gateway, None while it has none."""
    return Output.from_input(getattr(found, "status", None)).apply(
        lambda status: next((entry["value"] for entry in (status or {}).get("addresses") or []), None)
    )
