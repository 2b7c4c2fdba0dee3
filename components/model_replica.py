"""ModelReplica: one placed replica on one cluster, as the workloads, claims, Service and route that serve it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pulumi import ComponentResource, Output, ResourceOptions
from pydantic.alias_generators import to_camel

from api import replicas as kinds
from components import replica_manifests as manifests
from components.kubernetes_objects import register
from components.readiness import Readiness, deployment_readiness, together


@dataclass(frozen=True, kw_only=True)
class ModelReplicaArgs:
    """One replica as the ledger has it, and the labels all its objects carry."""

    replica: kinds.ModelReplica
    labels: Mapping[str, str] = field(default_factory=dict)


class ModelReplica(ComponentResource):
    """One replica's objects. `readiness` follows the live Deployments; it is not awaited."""

    readiness: Output[Readiness]
    applied: Output[bool]

    def __init__(self, name: str, args: ModelReplicaArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("modelplane:index:ModelReplica", name, {"cluster": args.replica.spec.cluster_name}, opts)
        child = ResourceOptions(parent=self)
        workloads = []
        for engine in args.replica.spec.engines:
            claims = [
                register(
                    manifests.claim_template(args.replica, engine, member, args.labels),
                    f"{name}/{engine.name}/{member.role.lower()}/devices",
                    child,
                )
                for member in engine.members
                if member.device_requests
            ]
            manifest = manifests.deployment(args.replica, engine, args.labels)
            workload = register(manifest, f"{name}/{engine.name}", ResourceOptions(parent=self, depends_on=claims))
            workloads.append(workload)
        register(manifests.service(args.replica, args.labels), f"{name}/service", child)
        register(manifests.route(args.replica, args.labels), f"{name}/route", child)
        self.applied = Output.all(*(workload.id for workload in workloads)).apply(lambda _: True)
        self.readiness = Output.all(*(_readiness(workload) for workload in workloads)).apply(together)
        self.register_outputs({"applied": self.applied})


def _readiness(workload: Any) -> Output[Readiness]:
    parts = Output.all(workload.spec, workload.metadata, workload.status)
    return cast("Output[Readiness]", parts.apply(lambda found: deployment_readiness(*(_plain(part) for part in found))))


def _plain(part: Any) -> dict[str, Any]:
    """A typed output of the SDK as the API server's own field names."""
    if not part:
        return {}
    return {to_camel(key): value for key, value in dict(part).items()}
