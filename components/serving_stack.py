"""ServingStack: the serving software of one cluster. This release installs no chart: parts switched off are found.

The Gateway waits for its address, so a serving stack that is up has one.
"""

from dataclasses import dataclass, field

from pulumi import ComponentResource, Output, ResourceOptions

from api import names
from components.gateway_manifests import gateway
from components.inference_gateway import gateway_address, system_namespace
from components.kubernetes_objects import register

LISTENER_PORT = 80


@dataclass(frozen=True, kw_only=True)
class ServingStackArgs:
    """`own_namespace` is false where someone else's namespace of that name exists already."""

    fleet: str
    cluster: str
    gateway_class: str
    own_namespace: bool = True
    labels: dict[str, str] = field(default_factory=dict)


class ServingStack(ComponentResource):
    """One cluster's gateway objects; `gateway_address` resolves once the Gateway has an address."""

    gateway_address: Output[str | None]

    def __init__(self, name: str, args: ServingStackArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("modelplane:index:ServingStack", name, {"cluster": args.cluster}, opts)
        needs = system_namespace(self, name, args.fleet) if args.own_namespace else []
        listener = {"name": "http", "protocol": "HTTP", "port": LISTENER_PORT}
        manifest = gateway(names.WORKLOAD_GATEWAY, args.gateway_class, [listener], args.labels)
        found = register(manifest, f"{name}/gateway", ResourceOptions(parent=self, depends_on=needs))
        self.gateway_address = gateway_address(found)
        self.register_outputs({"gatewayAddress": self.gateway_address})
