"""InferenceGateway: the fleet's front door on the hub. Where Traefik is found rather than owned, its class is too."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi_kubernetes as kubernetes
from pulumi import ComponentResource, Output, ResourceOptions

from components.installation import Part, install
from components.serving_plan import GATEWAY


@dataclass(frozen=True, kw_only=True)
class InferenceGatewayArgs:
    """The fleet's name and the parts the hub gets, from `components.serving_plan`."""

    fleet: str
    parts: Sequence[Part]


class InferenceGateway(ComponentResource):
    """The hub's Gateway and what stands behind it."""

    address: Output[str | None]
    is_controlled: Output[bool]
    """Whether Traefik is at work: its release is up or, where it is found, it has given the Gateway an address."""

    def __init__(self, name: str, args: InferenceGatewayArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("modelplane:index:InferenceGateway", name, {"fleet": args.fleet}, opts)
        registered = install(self, name, args.parts)
        self.address = gateway_address(registered[GATEWAY])
        traefik = registered.get("traefik")
        self.is_controlled = (
            traefik.status.apply(lambda status: bool(status) and status.status == "deployed")
            if isinstance(traefik, kubernetes.helm.v3.Release)
            else self.address.apply(lambda address: address is not None)
        )
        self.register_outputs({"address": self.address})


def gateway_address(found: Any) -> Output[str | None]:
    """First address of a live Gateway, None while it has none."""
    return Output.from_input(getattr(found, "status", None)).apply(
        lambda status: next((entry["value"] for entry in (status or {}).get("addresses") or []), None)
    )
