"""ServingStack: everything that is installed on one cluster so that replicas can run there and be reached.

The Gateway waits for its address, so a serving stack that is up has one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pulumi import ComponentResource, Output, ResourceOptions

from components.inference_gateway import gateway_address
from components.installation import Part, install
from components.serving_plan import GATEWAY


@dataclass(frozen=True, kw_only=True)
class ServingStackArgs:
    """The cluster's name and the parts it gets, from `components.serving_plan`."""

    cluster: str
    parts: Sequence[Part]


class ServingStack(ComponentResource):
    """One cluster's serving software; `gateway_address` resolves once the Gateway has an address."""

    gateway_address: Output[str | None]

    def __init__(self, name: str, args: ServingStackArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("modelplane:index:ServingStack", name, {"cluster": args.cluster}, opts)
        registered = install(self, name, args.parts)
        self.gateway_address = gateway_address(registered[GATEWAY])
        self.register_outputs({"gatewayAddress": self.gateway_address})
