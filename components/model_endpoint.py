"""ModelEndpoint: one reachable backend, as a Service and its EndpointSlice on the hub."""

from dataclasses import dataclass, field
from typing import Any

from pulumi import ComponentResource, ResourceOptions

from api.routing import Address
from components.gateway_manifests import endpoint_service, endpoint_slice, endpoint_tls
from components.kubernetes_objects import register


@dataclass(frozen=True, kw_only=True)
class ModelEndpointArgs:
    """`service` is the name of the Service on the hub."""

    namespace: str
    service: str
    address: Address
    labels: dict[str, str] = field(default_factory=dict)


class ModelEndpoint(ComponentResource):
    """Service first, then the slice that names it."""

    objects: list[Any]

    def __init__(self, name: str, args: ModelEndpointArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("modelplane:index:ModelEndpoint", name, {"service": args.service}, opts)
        service = register(
            endpoint_service(args.namespace, args.service, args.address, args.labels),
            f"{name}/service",
            ResourceOptions(parent=self),
        )
        leads_to = register(
            endpoint_slice(args.namespace, args.service, args.address, args.labels),
            f"{name}/slice",
            ResourceOptions(
                parent=self, depends_on=[service], replace_on_changes=["addressType"], delete_before_replace=True
            ),
        )
        self.objects = [service, leads_to]
        policy = endpoint_tls(args.namespace, args.service, args.address, args.labels)
        if policy is not None:
            self.objects.append(register(policy, f"{name}/tls", ResourceOptions(parent=self, depends_on=[service])))
        self.register_outputs({})
