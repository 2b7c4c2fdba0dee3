"""Fleet, the settings that no cluster or model owns, and Secret, the values that documents bring along."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, SecretStr

from api.base import API_VERSION, Fault, Kind, Metadata, Model, repeated
from api.cache_settings import CacheSettings
from api.grammar import (
    DNS_SUBDOMAIN,
    DURATION,
    PERCENT,
    Boolean,
    DnsLabel,
    DnsSubdomain,
    Integer,
    Text,
    Text63,
    is_match,
    is_object_key,
    seconds,
)
from api.pins import Pins, StandardPins, pin_faults, pinned
from api.terms import SecretKeyRef

LONGEST_FLEET_NAME = 26
"""Pulumi takes stack names of 100 characters; `<fleet>.workloads.<cluster>` needs 74 of them besides the fleet's."""

CHARTS = (
    "cert-manager",
    "envoy-gateway",
    "ai-gateway-crds",
    "ai-gateway",
    "prometheus",
    "leader-worker-set",
    "node-feature-discovery",
    "dra-driver",
    "grove",
    "kai-scheduler",
    "cluster-autoscaler",
    "aws-dranet",
    "network-operator",
    "csi-mounted-fs-path",
)
"""The charts that a serving cluster may get, by the names that `servingStack.charts` knows."""

MOST_REPLICAS = 1000
"""The highest limit on the replicas of a deployment that a fleet can set."""


class Switch(Model):
    """Whether Modelplane owns this part; false means it is there already and is left alone."""

    enabled: Boolean = True
    """Whether Modelplane installs and owns this part."""


class Chart(Model):
    """A chart's switch and what to take instead of its built-in source, version and values (merged last)."""

    enabled: Boolean = True
    """Whether Modelplane installs the chart; false where the cluster has it already."""
    repository: Text | None = None
    """Where the chart comes from: an https or oci repository, or a folder."""
    version: Text | None = None
    """Version of the chart in place of the built-in one."""
    values: dict[str, Any] = {}
    """Values of the chart, merged over the built-in ones as Helm merges them."""


class ServingStackSettings(Model):
    """How the serving software of a cluster is installed."""

    crds: Switch = Switch()
    """Definitions of Gateway API and its extensions."""
    dra: Switch = Switch()
    """DeviceClasses and what device claims need."""
    charts: dict[str, Chart] = {}
    """Charts by their names here."""
    gateway_class_name: Text63 = "envoy"
    """Name of the GatewayClass that the replicas' gateway uses."""
    inference_pools: Boolean = True
    """False routes Unified replicas to a Service; PrefillDecode is then not possible on the cluster."""
    versions: Pins | None = None
    """Versions of charts by upstream's names; each means the version under `charts`."""
    standard: StandardPins | None = None
    """Where newer releases of upstream have the version of LeaderWorkerSet."""

    def faults(self) -> Iterator[Fault]:
        """FL-X5: a chart by an unknown name would be a setting without effect; FL-X9."""
        versions = {name: chart.version for name, chart in self.charts.items() if chart.version}
        yield from pin_faults(self.versions, self.standard, versions)
        for name in self.charts:
            if name not in CHARTS:
                yield Fault("FL-X5", ("charts", name), f"no chart is called {name}", f"known: {', '.join(CHARTS)}")


class GatewayCharts(Model):
    """The charts of the hub."""

    traefik: Chart = Chart()
    """The gateway itself."""
    metallb: Chart = Chart()
    """Addresses for load balancers, where InferenceGateway asks for MetalLB."""


class FleetGateway(Model):
    """The hub, where InferenceGateway runs, and the address that clients use."""

    kubeconfig_secret_ref: SecretKeyRef | None = None
    """Secret with the kubeconfig of the hub; it is not one of the serving clusters."""
    address: Text | None = None
    """`host[:port]` of whatever stands in front of the Gateway; takes the place of its own address in URLs only."""
    charts: GatewayCharts = GatewayCharts()
    """Charts on the hub."""
    crds: Switch = Switch()
    """Definitions of Gateway API on the hub."""

    def faults(self) -> Iterator[Fault]:
        """The address is a host, with or without a port."""
        host = r"\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?"
        if self.address is not None and not is_match(rf"({host})(:[1-9][0-9]{{0,4}})?", self.address):
            hint = "write it without a scheme or path, as in 127.0.0.1:8080"
            yield Fault("FL-X2", ("address",), f"{self.address!r} is not host[:port]", hint)


class StackOutput(Model):
    """An output of another Pulumi stack."""

    stack: Text
    """Name of the stack, as in organization/project/stack."""
    output: Text
    """Name of the output."""


class KeySource(Model):
    """Where one value of a Secret comes from; exactly one of the four. Files are relative to the document."""

    from_file: Text | None = None
    """File with the value, relative to the document."""
    from_env: Text | None = None
    """Environment variable with the value."""
    from_stack: StackOutput | None = None
    """Output of another Pulumi stack."""
    from_config: Text | None = None
    """Key of a secret in the Pulumi configuration or ESC environment."""

    def faults(self) -> Iterator[Fault]:
        """One source."""
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            hint = "keep exactly one of fromFile, fromEnv, fromStack, fromConfig"
            yield Fault("FL-X3", (), f"{len(given)} sources where one is needed", hint)


class FleetSecret(Model):
    """A Secret whose values are fetched when they are needed."""

    namespace: DnsLabel = "default"
    """Namespace of the Secret."""
    name: DnsSubdomain
    """Name of the Secret."""
    keys: Annotated[dict[str, KeySource], Field(min_length=1)]
    """Where the value of each key comes from."""


class CloudCredential(Model):
    """What a cloud is called with; `env` maps the provider's variables to ours, values never reach the state."""

    project: Text | None = None
    """Project of Google Cloud or Nebius that resources belong to."""
    subscription: Text | None = None
    """Subscription of Azure."""
    profile: Text | None = None
    """Profile in the configuration files of AWS or Nebius."""
    env: dict[str, Text] = {}
    """The provider's environment variables, each with the name of ours that holds the value."""


class CredentialSet(Model):
    """One name of `spec.cluster.<cloud>.credentials.name`, for each cloud that uses it."""

    aws: CloudCredential | None = None
    """Amazon Web Services."""
    gcp: CloudCredential | None = None
    """Google Cloud."""
    azure: CloudCredential | None = None
    """Microsoft Azure."""
    nebius: CloudCredential | None = None
    """Nebius."""
    vultr: CloudCredential | None = None
    """Vultr."""

    _FIELDS: ClassVar[dict[str, tuple[str, ...]]] = {
        "aws": ("profile",),
        "gcp": ("project",),
        "azure": ("subscription",),
        "nebius": ("project", "profile"),
        "vultr": (),
    }

    def faults(self) -> Iterator[Fault]:
        """A field that the cloud does not know would be a setting without effect."""
        for cloud, known in self._FIELDS.items():
            credential = getattr(self, cloud)
            for field in ("project", "subscription", "profile"):
                if credential is not None and field not in known and getattr(credential, field) is not None:
                    hint = f"{cloud} takes {', '.join((*known, 'env'))}"
                    yield Fault("FL-X6", (cloud, field), f"{cloud} has no {field}", hint)


ControlPlane = Literal["Resources", "Component"]


class ClusterSettings(Model):
    """Settings of one cluster, on top of the fleet's."""

    serving_stack: ServingStackSettings = ServingStackSettings()
    """Serving software of this cluster, field by field over the fleet's."""
    control_plane: ControlPlane = "Resources"
    """What makes a control plane on EKS: plain resources, or the Component of pulumi_eks; cannot change afterwards."""


class Deletion(Model):
    """How much one pass may delete or replace, and whether clusters are protected besides."""

    max_share: Annotated[str, Field(pattern=PERCENT)] = "20%"
    """How many of the replicas one pass may delete or replace, at least one; more is refused."""
    protect_clusters: Boolean = True
    """Protect the resources of clusters from deletion."""

    @property
    def share(self) -> float:
        """The largest share of the replicas, from 0.0 to 1.0."""
        return int(self.max_share.removesuffix("%")) / 100


class Unreachable(Model):
    """When endpoints of an unreachable cluster are withdrawn; never unless a duration is given."""

    withdraw_after: Annotated[Text, Field(pattern=DURATION)] | None = None
    """How long a cluster may be out of reach before its endpoints are withdrawn, as in 10m; never where absent."""

    @property
    def withdraw_after_seconds(self) -> int | None:
        """The duration in seconds; None means never."""
        return None if self.withdraw_after is None else seconds(self.withdraw_after)


class Limits(Model):
    """Upper limits of what a team may ask for."""

    replicas: Annotated[Integer, Field(ge=1, le=MOST_REPLICAS)] = 10
    """The most replicas a deployment may ask for."""


class FleetSpec(Model):
    """Everything about the fleet that is not a cluster or a model."""

    gateway: FleetGateway = FleetGateway()
    """The hub, where InferenceGateway runs."""
    secrets: tuple[FleetSecret, ...] = ()
    """Where the values of Secrets come from; each Secret once."""
    credentials: dict[str, CredentialSet] = {}
    """Credentials by the name that clusters refer to."""
    serving_stack: ServingStackSettings = ServingStackSettings()
    """How serving software is installed on all clusters."""
    clusters: dict[str, ClusterSettings] = {}
    """Settings of single clusters by name."""
    chart_mirror: Text | None = None
    """One base for all charts in place of their repositories: a folder, https or oci."""
    image_mirror: Text | None = None
    """One base for all images in place of their registries, also inside values of charts."""
    deletion: Deletion = Deletion()
    """How much may be deleted."""
    unreachable: Unreachable = Unreachable()
    """What happens to clusters out of reach."""
    caches: CacheSettings = CacheSettings()
    """How model caches are staged, and what replicas wait for."""
    limits: Limits = Limits()
    """Upper limits of what deployments may ask for."""
    tags: dict[str, str] = {}
    """Tags for every resource in a cloud."""

    def faults(self) -> Iterator[Fault]:
        """Two sources of one Secret."""
        names = ((secret.namespace, secret.name) for secret in self.secrets)
        yield from repeated(names, "FL-X4", ("secrets",), "namespace and name")


class Fleet(Kind):
    """The settings of a whole fleet, at most one in a directory; its name begins every stack's name."""

    namespaced: ClassVar[bool] = False

    api_version: Literal["modelplane.ai/v1alpha1"] = API_VERSION
    """Group and version of the kind."""
    kind: Literal["Fleet"] = "Fleet"
    """The kind of the document."""
    spec: FleetSpec = FleetSpec()
    """Settings of the whole fleet."""

    def faults(self) -> Iterator[Fault]:
        """The name leaves room for the rest of a stack's name."""
        if len(self.name) > LONGEST_FLEET_NAME:
            message = f"at most {LONGEST_FLEET_NAME} characters, this has {len(self.name)}"
            yield Fault("FL-X1", ("metadata", "name"), message, "shorten it: it begins the names of all stacks")


class SecretMetadata(Metadata):
    """Metadata of a Secret, whose name may have dots."""

    name: Annotated[str, Field(max_length=253, pattern=DNS_SUBDOMAIN)]
    """Name of the Secret; it may have dots."""


class Secret(Kind):
    """A document of the core kind Secret. Its values never show in a text made of it."""

    api_version: Literal["v1"] = "v1"
    """Group and version of the kind."""
    kind: Literal["Secret"] = "Secret"
    """The kind of the document."""
    metadata: SecretMetadata
    """Name, namespace and labels."""
    type: Text = "Opaque"
    """Type of the Secret; nothing here depends on it."""
    immutable: Boolean | None = None
    """Accepted and without effect."""
    data: dict[str, SecretStr] = {}
    """Values in base64; `stringData` has them as they are and wins."""
    string_data: dict[str, SecretStr] = {}
    """Values as they are; they win over `data`."""

    def faults(self) -> Iterator[Fault]:
        """Keys have the form Kubernetes asks for, data is base64."""
        for field, entries in (("data", self.data), ("stringData", self.string_data)):
            for key in entries:
                if not is_object_key(key):
                    hint = "use letters, digits, '-', '_' and '.'"
                    yield Fault("SEC-X1", (field, key), f"{key!r} is not a key of a Secret", hint)
        for key, value in self.data.items():
            if _decoded(value) is None:
                yield Fault("SEC-X2", ("data", key), "the value is not base64", "put it under stringData as it is")

    def values(self) -> Mapping[str, bytes]:
        """The values by key, decoded; the caller keeps them out of every text."""
        decoded = {key: _decoded(value) or b"" for key, value in self.data.items()}
        return decoded | {key: value.get_secret_value().encode() for key, value in self.string_data.items()}


def control_plane_for(fleet: Fleet | None, cluster: str) -> ControlPlane:
    """What makes the control plane of a cluster on EKS."""
    own = fleet.spec.clusters.get(cluster) if fleet else None
    return own.control_plane if own else "Resources"


def serving_stack_for(fleet: Fleet | None, cluster: str) -> ServingStackSettings:
    """The settings that apply to a cluster: the fleet's, and on top, field by field, the cluster's own.

    `charts` are merged by name and then by field, `values` as Helm merges them. Without a Fleet the defaults apply.
    """
    if fleet is None:
        return ServingStackSettings()
    own = fleet.spec.clusters.get(cluster)
    merged = _given(fleet.spec.serving_stack)
    return ServingStackSettings.model_validate(_overlay(merged, _given(own.serving_stack)) if own else merged)


def _given(settings: ServingStackSettings) -> dict[str, Any]:
    """What is written, with every pin as the version of its chart."""
    plain = settings.model_dump(by_alias=True, exclude_unset=True, exclude={"versions", "standard"})
    pins = {chart: {"version": version} for chart, version in pinned(settings.versions, settings.standard).items()}
    return _overlay(plain, {"charts": pins}) if pins else plain


def _overlay(base: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in top.items():
        below = merged.get(key)
        merged[key] = _overlay(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _decoded(value: SecretStr) -> bytes | None:
    try:
        return base64.b64decode("".join(value.get_secret_value().split()), validate=True)
    except (binascii.Error, ValueError):
        return None
