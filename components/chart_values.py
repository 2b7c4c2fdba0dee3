"""The values that are set in each chart, and where each chart names its images (reference: serving-stack, section 5).

Everything else is left at the chart's own defaults. A test compares every path with the charts' value files.
"""

from collections.abc import Mapping
from typing import Any

from components.mirrors import mirrored_image

Plain = dict[str, Any]

AI_GATEWAY_HOST = "ai-gateway-controller.envoy-ai-gateway-system.svc.cluster.local"
"""The AI gateway's chart overrides its own full name, so that this holds whatever the release is called."""
AI_GATEWAY_PORT = 1063
ENVOY_STATISTICS_PORT = 19001

_ALL = {"includeAll": True}
_ENVOY_GATEWAY = {
    "extensionApis": {"enableBackend": True},
    "extensionManager": {
        "hooks": {
            "xdsTranslator": {
                "translation": {"listener": _ALL, "route": _ALL, "cluster": _ALL, "secret": _ALL},
                "post": ["Translation", "Cluster", "Route"],
            }
        },
        "service": {"fqdn": {"hostname": AI_GATEWAY_HOST, "port": AI_GATEWAY_PORT}},
        "backendResources": [
            {"group": "inference.networking.k8s.io", "kind": "InferencePool", "version": "v1"},
        ],
    },
}
_ENVOY_SCRAPE_JOB = {
    "job_name": "envoy-gateway-proxy",
    "metrics_path": "/stats/prometheus",
    "kubernetes_sd_configs": [{"role": "pod", "namespaces": {"names": ["envoy-gateway-system"]}}],
    "relabel_configs": [
        {
            "source_labels": ["__meta_kubernetes_pod_label_app_kubernetes_io_component"],
            "action": "keep",
            "regex": "proxy",
        },
        {
            "source_labels": ["__address__"],
            "action": "replace",
            "regex": r"([^:]+)(?::\d+)?",
            "replacement": f"$1:{ENVOY_STATISTICS_PORT}",
            "target_label": "__address__",
        },
    ],
}

CHART_VALUES: Mapping[str, Plain] = {
    "cert-manager": {"crds": {"enabled": True, "keep": False}},
    "envoy-gateway": {"config": {"envoyGateway": _ENVOY_GATEWAY}},
    "prometheus": {
        "fullnameOverride": "prometheus",
        "prometheus": {
            "prometheusSpec": {
                "podMonitorSelectorNilUsesHelmValues": False,
                "podMonitorNamespaceSelector": {},
                "additionalScrapeConfigs": [_ENVOY_SCRAPE_JOB],
            }
        },
        "grafana": {"enabled": False},
        "alertmanager": {"enabled": False},
    },
    # Without it no GPU node is labelled, so no driver runs there, and no claim can ever be allocated.
    "node-feature-discovery": {
        "worker": {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]}
    },
    # The chart refuses to render its GPU part without the override.
    "dra-driver": {"gpuResourcesEnabledOverride": True, "resources": {"computeDomains": {"enabled": False}}},
    "traefik": {
        "providers": {
            "kubernetesGateway": {
                "enabled": True,
                "statusAddress": {"service": {"namespace": "traefik-system", "name": "traefik"}},
            },
            "kubernetesIngress": {"enabled": False},
        },
        "service": {"nameOverride": "traefik"},
        "gateway": {"enabled": False},
        "gatewayClass": {"enabled": False},
    },
    "metallb": {},
}

_JETSTACK = "quay.io/jetstack/cert-manager"
_IMAGES: Mapping[str, Mapping[str, str]] = {
    "cert-manager": {
        "image.repository": f"{_JETSTACK}-controller",
        "webhook.image.repository": f"{_JETSTACK}-webhook",
        "cainjector.image.repository": f"{_JETSTACK}-cainjector",
        "acmesolver.image.repository": f"{_JETSTACK}-acmesolver",
        "startupapicheck.image.repository": f"{_JETSTACK}-startupapicheck",
    },
    "ai-gateway": {
        "extProc.image.repository": "docker.io/envoyproxy/ai-gateway-extproc",
        "controller.image.repository": "docker.io/envoyproxy/ai-gateway-controller",
    },
    "leader-worker-set": {"image.manager.repository": "registry.k8s.io/lws/lws"},
    "node-feature-discovery": {"image.repository": "registry.k8s.io/nfd/node-feature-discovery"},
    "dra-driver": {"image.repository": "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu"},
    "grove": {
        "image.repository": "ghcr.io/ai-dynamo/grove/grove-operator",
        "crdInstaller.image.repository": "ghcr.io/ai-dynamo/grove/grove-install-crds",
    },
    "kai-scheduler": {"global.registry": "ghcr.io/kai-scheduler/kai-scheduler"},
    "metallb": {
        "controller.image.repository": "quay.io/metallb/controller",
        "speaker.image.repository": "quay.io/metallb/speaker",
        "speaker.frr.image.repository": "quay.io/frrouting/frr",
    },
}
"""Values that name an image without its tag, with what each chart has there."""

_REGISTRIES: Mapping[str, str] = {
    "envoy-gateway": "global.imageRegistry",
    "prometheus": "global.imageRegistry",
    "traefik": "image.registry",
}
"""Values that name the registry of all images of a chart."""

_GROVE_INIT = "ghcr.io/ai-dynamo/grove/grove-initc"


def mirrored_values(key: str, mirror: str | None) -> Plain:
    """Values that make a chart take its images from a mirror; none without one."""
    if mirror is None:
        return {}
    values: Plain = {}
    for path, image in _IMAGES.get(key, {}).items():
        _put(values, path, mirrored_image(image, mirror))
    if key in _REGISTRIES:
        _put(values, _REGISTRIES[key], mirror.rstrip("/"))
    if key == "traefik":
        _put(values, "image.repository", "library/traefik")
    if key == "grove":
        image = mirrored_image(_GROVE_INIT, mirror)
        _put(values, "deployment.env", [{"name": "GROVE_INIT_CONTAINER_IMAGE", "value": image}])
    return values


def _put(values: Plain, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for parent in parents:
        values = values.setdefault(parent, {})
    values[last] = value
