"""ModelReplica: one placed replica on one cluster, as the workloads, claims and routing objects that serve it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions
from pydantic.alias_generators import to_camel

from api import replicas as kinds
from components import picker_manifests as pickers
from components import replica_manifests as manifests
from components.gang_manifests import FIXED
from components.kubernetes_objects import register
from components.pod_manifests import claim_template
from components.readiness import Readiness, readiness_of
from components.setting import Setting


@dataclass(frozen=True, kw_only=True)
class ModelReplicaArgs(Setting):
    """One replica as the ledger has it, what its cluster can do, and the labels all its objects carry."""


class ModelReplica(ComponentResource):
    """One replica's objects. Readiness follows the live ones and is not awaited.

    `engines` is the readiness of each engine by its name, `picker` that of the endpoint picker, None without one.
    """

    engines: Output[dict[str, Readiness]]
    picker: Output[Readiness | None]
    applied: Output[bool]

    def __init__(self, name: str, args: ModelReplicaArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("modelplane:index:ModelReplica", name, {"cluster": args.replica.spec.cluster_name}, opts)
        workloads = {engine.name: self._engine(name, args, engine) for engine in args.replica.spec.engines}
        self.picker = self._routing(name, args)
        self.applied = Output.all(*(workload.id for _, workload in workloads.values())).apply(lambda _: True)
        found = {engine: _readiness(kind, workload) for engine, (kind, workload) in workloads.items()}
        self.engines = Output.all(**found)
        self.register_outputs({"applied": self.applied})

    def told(self, rule: Callable[[Mapping[str, Readiness], Readiness | None], Readiness]) -> Output[Readiness]:
        """What a rule makes of the readiness of the engines and of the picker."""
        parts: Output[Any] = Output.all(self.engines, self.picker)
        return cast("Output[Readiness]", parts.apply(lambda found: rule(found[0], found[1])))

    def _engine(self, name: str, setting: Setting, engine: kinds.ReplicaEngine) -> tuple[str, Any]:
        """The workload of an engine, with its kind, behind its claims. What cannot be changed on it replaces it."""
        claims = [
            register(
                claim_template(setting, engine, member),
                f"{name}/{engine.name}/{member.role.lower()}/devices",
                ResourceOptions(parent=self),
            )
            for member in engine.members
            if member.device_requests
        ]
        manifest = manifests.workload(setting, engine)
        fixed = FIXED.get(manifest["kind"])
        opts = ResourceOptions(
            parent=self,
            depends_on=claims,
            replace_on_changes=list(fixed) if fixed else None,
            delete_before_replace=True if fixed else None,
        )
        return manifest["kind"], register(manifest, f"{name}/{engine.name}", opts)

    def _routing(self, name: str, setting: Setting) -> Output[Readiness | None]:
        """The route and what it leads to: a pool with its picker, or a Service."""
        child = ResourceOptions(parent=self)
        picker: Output[Readiness | None] = Output.from_input(None)
        if setting.inference_pools:
            objects: dict[str, pulumi.Resource] = {}
            for part, manifest in pickers.picker_objects(setting).items():
                after = ResourceOptions(parent=self, depends_on=list(objects.values()))
                objects[part] = register(manifest, f"{name}/{part}", after)
            register(pickers.inference_pool(setting), f"{name}/pool", child)
            picker = _readiness("Picker", objects["picker/deployment"])
        else:
            register(manifests.service(setting), f"{name}/service", child)
        register(manifests.route(setting), f"{name}/route", child)
        return picker


def _readiness(kind: str, workload: Any) -> Output[Any]:
    """Readiness of a registered workload; typed outputs of the SDK have field names of their own."""
    parts = [Output.from_input(pulumi.get(workload, field)) for field in ("spec", "metadata", "status")]
    return Output.all(*parts).apply(lambda found: readiness_of(kind, *map(_plain, found)))


def _plain(part: Any) -> dict[str, Any]:
    """A typed output of the SDK as the API server's own field names."""
    if not part:
        return {}
    return {to_camel(key): value for key, value in dict(part).items()}
