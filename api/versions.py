"""Versions and sources of everything that is installed from elsewhere; no other module holds one.

Each line names where its releases are listed. A Fleet overrides charts one by one (`servingStack.charts`).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ChartSource:
    """A Helm chart as it is published: its name, the repository that lists it, and the version that is taken."""

    chart: str
    repository: str
    version: str


@dataclass(frozen=True)
class ManifestSource:
    """A file of CustomResourceDefinitions as a project publishes it; `url` has a place for the version."""

    name: str
    version: str
    url: str

    @property
    def address(self) -> str:
        """Where the file of this version is."""
        return self.url.format(version=self.version)


CHARTS = {
    # https://github.com/cert-manager/cert-manager/releases
    "cert-manager": ChartSource("cert-manager", "https://charts.jetstack.io", "v1.17.1"),
    # https://github.com/envoyproxy/gateway/releases; 1.8 is the first that routes to InferencePools
    "envoy-gateway": ChartSource("gateway-helm", "oci://docker.io/envoyproxy", "v1.8.1"),
    # https://github.com/envoyproxy/ai-gateway/releases; goes with Envoy Gateway 1.8 or newer
    "ai-gateway-crds": ChartSource("ai-gateway-crds-helm", "oci://docker.io/envoyproxy", "v0.7.0"),
    # https://github.com/envoyproxy/ai-gateway/releases; the same version as its definitions
    "ai-gateway": ChartSource("ai-gateway-helm", "oci://docker.io/envoyproxy", "v0.7.0"),
    # https://github.com/prometheus-community/helm-charts/releases
    "prometheus": ChartSource("kube-prometheus-stack", "https://prometheus-community.github.io/helm-charts", "72.6.2"),
    # https://github.com/kubernetes-sigs/lws/releases
    "leader-worker-set": ChartSource("lws", "oci://registry.k8s.io/lws/charts", "v0.8.0"),
    # https://github.com/kubernetes-sigs/node-feature-discovery/releases
    "node-feature-discovery": ChartSource("node-feature-discovery", "oci://registry.k8s.io/nfd/charts", "0.18.3"),
    # https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/releases
    "dra-driver": ChartSource("dra-driver-nvidia-gpu", "oci://registry.k8s.io/dra-driver-nvidia/charts", "0.4.0"),
    # https://github.com/ai-dynamo/grove/releases; older ones put their variables behind the template's
    "grove": ChartSource("grove-charts", "oci://ghcr.io/ai-dynamo/grove", "v0.1.0-alpha.12-rc2"),
    # https://github.com/kai-scheduler/KAI-Scheduler/releases
    "kai-scheduler": ChartSource("kai-scheduler", "oci://ghcr.io/kai-scheduler/kai-scheduler", "v0.16.8"),
    # https://github.com/traefik/traefik-helm-chart/releases; the version is InferenceGateway's own
    "traefik": ChartSource("traefik", "https://traefik.github.io/charts", "40.2.0"),
    # https://github.com/metallb/metallb/releases
    "metallb": ChartSource("metallb", "https://metallb.github.io/metallb", "0.14.9"),
}
"""By the names that `Fleet.spec.servingStack.charts` and `Fleet.spec.gateway.charts` know."""

CLOUD_CHARTS = {
    # https://github.com/kubernetes/autoscaler/releases; EKS only, the other clouds have one on their side
    "cluster-autoscaler": ChartSource("cluster-autoscaler", "https://kubernetes.github.io/autoscaler", "9.57.0"),
    # https://github.com/aws/eks-charts/releases; claims of EFA devices
    "aws-dranet": ChartSource("aws-dranet", "https://aws.github.io/eks-charts", "1.0.0"),
    # https://github.com/Mellanox/network-operator/releases; InfiniBand on AKS
    "network-operator": ChartSource("network-operator", "https://helm.ngc.nvidia.com/nvidia", "26.4.0"),
    # the registry of Nebius, by tags; volumes on the file system that all nodes of a cluster share
    "csi-mounted-fs-path": ChartSource("csi-mounted-fs-path", "oci://cr.eu-north1.nebius.cloud/mk8s/helm", "0.1.6"),
}
"""Charts that belong to a cluster that was made on a cloud, by the same names."""

# https://github.com/kubernetes-sigs/gateway-api/releases; the standard channel
GATEWAY_API = ManifestSource(
    "gateway-api",
    "v1.5.1",
    "https://github.com/kubernetes-sigs/gateway-api/releases/download/{version}/standard-install.yaml",
)
# https://github.com/kubernetes-sigs/gateway-api-inference-extension/releases
INFERENCE_EXTENSION = ManifestSource(
    "gateway-api-inference-extension",
    "v1.0.1",
    "https://github.com/kubernetes-sigs/gateway-api-inference-extension/releases/download/{version}/manifests.yaml",
)
# https://github.com/ai-dynamo/modelexpress/releases; moves together with the server's image
MODEL_EXPRESS = ManifestSource(
    "modelexpress",
    "v0.4.1",
    "https://raw.githubusercontent.com/ai-dynamo/modelexpress/{version}/examples/crds.yaml",
)
# https://catalog.ngc.nvidia.com/orgs/nvidia/teams/ai-dynamo/containers/modelexpress-server/tags
MODEL_EXPRESS_SERVER = f"nvcr.io/nvidia/ai-dynamo/modelexpress-server:{MODEL_EXPRESS.version.removeprefix('v')}"
