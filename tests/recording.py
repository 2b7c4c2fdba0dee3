"""What a program registers and exports, recorded without an engine: every request as it would reach one.

The monitor answers with the inputs, and with the live status that `STATUS` gives each kind. Secret values are shown as
`SECRET`, wherever they are.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
from google.protobuf import json_format  # type: ignore[import-untyped]  # its stubs are another package
from pulumi.runtime import mocks, rpc, settings

from components.charts import merged
from programs.reading import whole_numbers

Plain = dict[str, Any]

SECRET = "<secret>"
STATUS: Mapping[str, Plain] = {
    "Gateway": {"addresses": [{"type": "IPAddress", "value": "10.0.0.1"}]},
    "HTTPRoute": {"parents": [{"conditions": [{"type": "Accepted", "status": "True"}]}]},
    "Deployment": {
        "observedGeneration": 1,
        "replicas": 1,
        "updatedReplicas": 1,
        "readyReplicas": 1,
        "availableReplicas": 1,
    },
}
COMPUTED: Mapping[str, Plain] = {
    "gcp:serviceaccount/key:Key": {"privateKey": "eyJ0eXBlIjogInNlcnZpY2VfYWNjb3VudCJ9"},
    "aws:eks/cluster:Cluster": {
        "endpoint": "https://eks.example",
        "certificateAuthority": {"data": "Q0E="},
        "vpcConfig": {"clusterSecurityGroupId": "sg-cluster"},
    },
    "gcp:container/cluster:Cluster": {"endpoint": "192.0.2.1", "masterAuth": {"clusterCaCertificate": "Q0E="}},
    "gcp:serviceaccount/account:Account": {"member": "serviceAccount:access@acme.example"},
    "nebius:index/mk8sV1Cluster:Mk8sV1Cluster": {
        "status": {
            "controlPlane": {
                "endpoints": {"publicEndpoint": "https://mk8s.example"},
                "auth": {"clusterCaCertificate": "-----BEGIN CERTIFICATE-----"},
            }
        }
    },
    "vultr:index/kubernetes:Kubernetes": {"kubeConfig": "YXBpVmVyc2lvbjogdjE="},
}
"""What clouds answer besides the inputs, by type; nested values are laid over those of the inputs."""
CALLS: Mapping[str, Plain] = {
    "azure-native:containerservice:listManagedClusterAdminCredentials": {
        "kubeconfigs": [{"name": "clusterAdmin", "value": "YXBpVmVyc2lvbjogdjE="}]
    }
}
"""What functions of clouds answer; any other is not to be called."""
STACK = "pulumi:pulumi:Stack"


@dataclass(frozen=True, kw_only=True)
class Registered:
    """One registration. Other resources are named by their names."""

    type: str
    name: str
    parent: str = ""
    provider: str = ""
    providers: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    retain_on_delete: bool = False
    delete_before_replace: bool = False
    replace_on_changes: tuple[str, ...] = ()
    additional_secret_outputs: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    """Names and parents it was once known by; the SDK's own aliases of types are not counted."""
    protect: bool = False
    ignore_changes: tuple[str, ...] = ()
    env_var_mappings: Plain = field(default_factory=dict)
    """Variables of ours by those of the provider that they stand for."""
    inputs: Plain = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Kubernetes kind, or noun of a component."""
        return self.type.rpartition(":")[2]

    def plain(self) -> Plain:
        """What is not as by default, for goldens."""
        return {key: value for key, value in vars(self).items() if value or key in {"type", "name"}}


@dataclass
class Recording:
    """What one run registered, in order of names, and its exports; `secret` names those exported as secrets."""

    resources: list[Registered] = field(default_factory=list)
    exports: Plain = field(default_factory=dict)
    secret: set[str] = field(default_factory=set)

    def of_kind(self, kind: str) -> list[Registered]:
        return [found for found in self.resources if found.kind == kind]

    def one(self, kind: str) -> Registered:
        (found,) = self.of_kind(kind)
        return found

    def plain(self) -> list[Plain]:
        return [found.plain() for found in self.resources]

    def objects(self) -> list[str]:
        """Kubernetes objects as `Kind namespace/name`."""
        named = [(found.kind, found.inputs.get("metadata")) for found in self.resources]
        return sorted(
            f"{kind} {metadata.get('namespace', '')}/{metadata['name']}" for kind, metadata in named if metadata
        )


class _Answers(mocks.Mocks):
    def __init__(self, status: Mapping[str, Plain]) -> None:
        self._status = status

    def call(self, args: mocks.MockCallArgs) -> tuple[Plain, Sequence[tuple[str, str]] | None]:  # type: ignore[override]  # as its base has it, but for the kind of sequence
        if args.token not in CALLS:
            raise AssertionError(f"a program calls {args.token}")
        return dict(CALLS[args.token]), ()

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, Plain]:
        state = merged(args.inputs, COMPUTED.get(args.typ, {}))
        if args.typ.startswith("aws:"):
            state.setdefault("arn", f"arn:{args.name}")
            state.setdefault("name", f"{args.name}-name")
        kind = args.typ.rpartition(":")[2]
        if kind in self._status:
            state["status"] = self._status[kind]
        if "metadata" in state:
            state["metadata"] = {**state["metadata"], "generation": 1}
        return (f"{args.name}-id" if args.custom else None), state


class _Monitor(mocks.MockMonitor):
    def __init__(self, answers: mocks.Mocks) -> None:
        super().__init__(answers)
        self.requests: list[Any] = []

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802  # named by gRPC
        self.requests.append(request)
        return super().RegisterResource(request)  # type: ignore[no-untyped-call]  # the SDK's mocks have no types


_LOOP = asyncio.new_event_loop()
"""The SDK takes the thread's loop, which another test may have taken away."""


def record(
    program: Callable[[], object], *, preview: bool = False, status: Mapping[str, Plain] = STATUS, stack: str = "stack"
) -> Recording:
    """Run a program against the recording monitor. What it raises is raised here."""
    asyncio.set_event_loop(_LOOP)
    return _record(program, preview=preview, status=status, stack=stack)


def _record(program: Callable[[], object], *, preview: bool, status: Mapping[str, Plain], stack: str) -> Recording:
    monitor = _Monitor(_Answers(status))
    settings.set_root_resource(None)  # type: ignore[arg-type]  # each run has a root of its own
    mocks.set_mocks(monitor.mocks, project="modelplane", stack=stack, preview=preview, monitor=monitor)
    recording = Recording()

    def run() -> Any:
        program()
        exported = getattr(settings.get_root_resource(), "outputs", {})
        outputs: Plain = {key: pulumi.Output.from_input(value) for key, value in exported.items()}
        marks: Any = {key: found.is_secret() for key, found in outputs.items()}
        whole = pulumi.Output.from_input(outputs).apply(recording.exports.update)
        marked = pulumi.Output.from_input(marks).apply(
            lambda found: recording.secret.update(key for key, is_secret in found.items() if is_secret)
        )
        return pulumi.Output.all(whole, marked)

    pulumi.runtime.test(run)()  # type: ignore[no-untyped-call]  # the SDK's decorator has no types
    found = [_registered(request) for request in monitor.requests if request.type != STACK]
    recording.resources = sorted(found, key=lambda each: (each.name, each.type))
    return recording


def _registered(request: Any) -> Registered:
    return Registered(
        type=request.type,
        name=request.name,
        parent=_name(request.parent),
        provider=_name(request.provider.rpartition("::")[0]),
        providers=tuple(sorted(_name(reference.rpartition("::")[0]) for reference in request.providers.values())),
        depends_on=tuple(sorted(_name(urn) for urn in request.dependencies)),
        retain_on_delete=request.retainOnDelete,
        delete_before_replace=request.deleteBeforeReplace,
        replace_on_changes=tuple(request.replaceOnChanges),
        additional_secret_outputs=tuple(request.additionalSecretOutputs),
        aliases=tuple(alias.spec.name or _name(alias.spec.parentUrn) for alias in request.aliases if _renames(alias)),
        protect=request.protect,
        ignore_changes=tuple(request.ignoreChanges),
        env_var_mappings=dict(request.envVarMappings),
        inputs=whole_numbers(_shown(json_format.MessageToDict(request.object))),
    )


def _renames(alias: Any) -> bool:
    return bool(alias.urn or alias.spec.name or alias.spec.parentUrn)


def _name(urn: str) -> str:
    return "" if f"::{STACK}::" in urn else urn.rpartition("::")[2]


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        if value.get(rpc._special_sig_key) == rpc._special_secret_sig:
            return SECRET
        return {key: _shown(item) for key, item in sorted(value.items())}
    return [_shown(item) for item in value] if isinstance(value, list) else value
