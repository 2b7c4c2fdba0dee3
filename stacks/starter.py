"""The first documents of a fleet: one cluster, one model, one URL, as files with comments. Pure.

Four beginnings: clusters that `modelplane local up` starts on this machine, a cluster of one's own, and one that is
made on EKS or GKE. They differ in the Fleet and in the cluster; class, model and gateway are alike.
"""

from collections.abc import Mapping
from enum import StrEnum


class Source(StrEnum):
    """Where the first cluster comes from."""

    LOCAL = "local"
    EXISTING = "existing"
    EKS = "eks"
    GKE = "gke"


_LOCAL_FLEET = """\
# The settings of the whole fleet. Its name begins the name of every stack: {name}.gateway, {name}.cluster.first, …
apiVersion: modelplane.ai/v1alpha1
kind: Fleet
metadata:
  name: {name}
spec:
  gateway:
    # The hub: the cluster where the front door runs. It serves no model itself.
    kubeconfigSecretRef: {{name: hub, key: kubeconfig}}
    address: 127.0.0.1:8080
    # The local hub runs Traefik already, so it is found there and not installed.
    charts:
      traefik: {{enabled: false}}
    crds: {{enabled: false}}
  # `modelplane local up` writes these files.
  secrets:
  - namespace: modelplane-system
    name: hub
    keys:
      kubeconfig: {{fromFile: .modelplane/local/hub/kubeconfig}}
  - namespace: modelplane-system
    name: first
    keys:
      kubeconfig: {{fromFile: .modelplane/local/first/kubeconfig}}
  # Simulated GPUs need no drivers, so two charts are all that is installed.
  chartMirror: .modelplane/local/charts
  servingStack:
    inferencePools: false
    crds: {{enabled: false}}
    dra: {{enabled: false}}
    charts:
      cert-manager: {{enabled: false}}
      ai-gateway-crds: {{enabled: false}}
      ai-gateway: {{enabled: false}}
      prometheus: {{enabled: false}}
      node-feature-discovery: {{enabled: false}}
      dra-driver: {{enabled: false}}
"""

_FLEET = """\
# The settings of the whole fleet. Its name begins the name of every stack: {name}.gateway, {name}.cluster.first, …
apiVersion: modelplane.ai/v1alpha1
kind: Fleet
metadata:
  name: {name}
spec:
  gateway:
    # The hub: a small cluster of your own where clients arrive. It is none of the clusters that serve.
    kubeconfigSecretRef: {{name: hub, key: kubeconfig}}
  # Where Secrets come from: a file, a variable, Pulumi config or another stack. They are in no state in clear.
  secrets:
  - namespace: modelplane-system
    name: hub
    keys:
      kubeconfig: {{fromEnv: HUB_KUBECONFIG}}
"""

_FIRST_KUBECONFIG = """\
  - namespace: modelplane-system
    name: first
    keys:
      kubeconfig: {fromEnv: FIRST_KUBECONFIG}
"""

_CREDENTIALS = {
    Source.EKS: "  # The account: a profile of your AWS configuration; without this line AWS's usual variables count.\n"
    "  credentials:\n    default:\n      aws: {profile: default}\n",
    Source.GKE: "  # The project that the cluster is made in. Write your own.\n"
    "  credentials:\n    default:\n      gcp: {project: my-project}\n",
}

_CLASS = """\
# What one GPU node offers. Models ask for devices by these facts, never by the name of a cluster or a pool.
apiVersion: modelplane.ai/v1alpha1
kind: InferenceClass
metadata:
  name: l4
spec:
  description: A node with one L4
{recipe}  devices:
  - name: gpu
    driver: gpu.nvidia.com
    deviceClassName: gpu.nvidia.com
    count: 1
    attributes:
      architecture: {{string: Ada Lovelace}}
      cudaComputeCapability: {{version: 8.9.0}}
    capacity:
      # What the driver reports as usable, less than what is on the box.
      memory: {{value: 23034Mi}}
"""

_RECIPES = {
    Source.EKS: """\
  provisioning:
    provider: EKS
    eks:
      instanceType: g6.xlarge
      diskSizeGb: 100
      accelerator: {type: nvidia-l4, count: 1}
""",
    Source.GKE: """\
  provisioning:
    provider: GKE
    gke:
      machineType: g2-standard-8
      diskSizeGb: 100
      accelerator: {type: nvidia-l4, count: 1}
""",
}

_EXISTING = """\
    source: Existing
    existing:
      secretRef: {name: first, key: kubeconfig}
"""

_SOURCES = {
    Source.LOCAL: _EXISTING,
    Source.EXISTING: _EXISTING,
    Source.EKS: "    source: EKS\n    eks: {region: us-west-2}\n",
    Source.GKE: "    source: GKE\n    gke: {region: us-central1}\n",
}

_ZONES = {Source.EKS: "    zones: [us-west-2a]\n", Source.GKE: "    zones: [us-central1-a]\n"}

_CLUSTER = """\
---
# A cluster that serves. Its labels are what deployments and caches can select clusters by.
apiVersion: modelplane.ai/v1alpha1
kind: InferenceCluster
metadata:
  name: first
  labels: {{region: here}}
spec:
  cluster:
{source}  nodePools:
  - name: l4
    className: l4
    nodeCount: 1
{zones}"""

_GATEWAY = """\
# The one front door of the fleet; it is always called default.
apiVersion: modelplane.ai/v1alpha1
kind: InferenceGateway
metadata:
  name: default
spec:
  backend: Traefik
  traefik:
    version: "40.2.0"
"""

_MODEL = """\
# A model: one whole copy of it, wherever one GPU with 20 GiB is free. {note}
apiVersion: modelplane.ai/v1alpha1
kind: ModelDeployment
metadata:
  name: qwen3-8b
  namespace: ml-team
spec:
  replicas: 1
  template:
    spec:
      engines:
      - name: main
        members:
        - role: Standalone
          nodeSelector:
            devices:
            - name: gpu
              count: 1
              selectors:
              - cel: device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("20Gi")) >= 0
          template:
            spec:
              containers:
              - name: engine
                image: vllm/vllm-openai:v0.23.0
                args: ["--model=Qwen/Qwen3-8B", "--served-model-name=qwen3-8b", "--max-model-len=16384"]
---
# The URL that clients use: …/ml-team/qwen3-8b. Every replica is behind it while it is ready.
apiVersion: modelplane.ai/v1alpha1
kind: ModelService
metadata:
  name: qwen3-8b
  namespace: ml-team
spec:
  endpoints:
  - selector:
      matchLabels:
        modelplane.ai/deployment: qwen3-8b
"""

_LOCAL_NOTE = "On a local fleet no image is pulled:\n# an engine without a model answers in its place."


def starter(name: str, source: Source) -> Mapping[str, str]:
    """Files of a fleet called `name`, by their names in its directory."""
    return {
        "fleet.yaml": _fleet(name, source),
        "gateway.yaml": _GATEWAY,
        "clusters.yaml": _CLASS.format(recipe=_RECIPES.get(source, ""))
        + _CLUSTER.format(source=_SOURCES[source], zones=_ZONES.get(source, "")),
        "models.yaml": _MODEL.format(note=_LOCAL_NOTE if source is Source.LOCAL else "").replace(" \n", "\n"),
    }


def next_steps(source: Source) -> tuple[str, ...]:
    """Commands that bring such a fleet up, in their order."""
    first = {
        Source.LOCAL: ("modelplane local up",),
        Source.EXISTING: (
            'export HUB_KUBECONFIG="$(cat KUBECONFIG_OF_THE_HUB)"',
            'export FIRST_KUBECONFIG="$(cat KUBECONFIG_OF_THE_CLUSTER)"',
        ),
    }.get(source, ('export HUB_KUBECONFIG="$(cat KUBECONFIG_OF_THE_HUB)"',))
    return (*first, "modelplane doctor", "modelplane preview", "modelplane up")


def _fleet(name: str, source: Source) -> str:
    if source is Source.LOCAL:
        return _LOCAL_FLEET.format(name=name)
    own = _FIRST_KUBECONFIG if source is Source.EXISTING else ""
    return _FLEET.format(name=name) + own + _CREDENTIALS.get(source, "")
