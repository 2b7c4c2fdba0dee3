"""The routing layer of a replica on clusters with InferencePools, as plain data (reference: workloads, 10 to 12).

A pool is there also for a single pod: adding one later would drop requests. Its picker is asked for every request, and
FailOpen says that any pod is taken where it does not answer; gateways do not act on that (`readiness`).
"""

import hashlib
import json

from api import names
from api.commands import flag, words
from api.images import ENDPOINT_PICKER
from api.replicas import ReplicaEngine
from components.mirrors import mirrored_image
from components.setting import ENGINE_PORT, Plain, Setting, member_of, object_metadata

POOL_GROUP = "inference.networking.k8s.io"
RBAC = "rbac.authorization.k8s.io"
PICKER_PORT = 9002
HEALTH_PORT = 9003
BLOCK_SIZE = 16
CONFIGURATION_KEY = "epp-config.yaml"
_LEAST_UNCACHED_TOKENS = 16
"""Prompt tokens that make prefilling elsewhere worth it; the picker's own default of 0 means never."""


def inference_pool(setting: Setting) -> Plain:
    """The pods that answer for the replica, and the picker that chooses among them."""
    return {
        "apiVersion": f"{POOL_GROUP}/v1",
        "kind": "InferencePool",
        "metadata": object_metadata(setting, names.inference_pool(setting.replica.name)),
        "spec": {
            "selector": {"matchLabels": {names.LABEL_SERVING: setting.replica.name}},
            "targetPorts": [{"number": ENGINE_PORT}],
            "endpointPickerRef": {
                "group": "",
                "kind": "Service",
                "name": names.endpoint_picker(setting.replica.name),
                "port": {"number": PICKER_PORT},
                "failureMode": "FailOpen",
            },
        },
    }


def picker_objects(setting: Setting) -> dict[str, Plain]:
    """The picker's objects by what they are of it, each behind those it needs."""
    name = names.endpoint_picker(setting.replica.name)
    metadata = object_metadata(setting, name)
    configuration = picker_configuration(setting)
    return {
        "picker/account": {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        "picker/role": {
            "apiVersion": f"{RBAC}/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": [
                _read("", "pods"),
                _read(POOL_GROUP, "inferencepools"),
                _read("inference.networking.x-k8s.io", "inferenceobjectives"),
            ],
        },
        "picker/binding": {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": setting.replica.namespace}],
        },
        "picker/configuration": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {CONFIGURATION_KEY: configuration},
        },
        "picker/deployment": _deployment(setting, name, configuration),
        "picker/service": {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {
                "type": "ClusterIP",
                "selector": {"app": name},
                "ports": [
                    {
                        "name": "grpc-ext-proc",
                        "port": PICKER_PORT,
                        "targetPort": PICKER_PORT,
                        "protocol": "TCP",
                        "appProtocol": "http2",
                    }
                ],
            },
        },
    }


def picker_configuration(setting: Setting) -> str:
    """The picker's plugins and profiles, as JSON (which is YAML): cached prefixes count twice as much as queues."""
    scoring = [
        {"pluginRef": "max-score-picker"},
        {"pluginRef": "prefix-cache-scorer", "weight": 2},
        {"pluginRef": "queue-scorer", "weight": 1},
    ]
    plugins: list[Plain] = [
        {
            "type": "approx-prefix-cache-producer",
            "parameters": {
                "autoTune": False,
                "blockSizeTokens": block_size(setting),
                "maxPrefixBlocksToMatch": 256,
                "lruCapacityPerServer": 31250,
            },
        },
        {"type": "prefix-cache-scorer"},
        {"type": "queue-scorer"},
        {"type": "max-score-picker"},
    ]
    profiles: list[Plain] = [{"name": "default", "plugins": scoring}]
    if setting.is_split:
        plugins += [
            {"type": "disagg-headers-handler"},
            {"type": "prefill-filter"},
            {"type": "decode-filter"},
            {"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": _LEAST_UNCACHED_TOKENS}},
            {"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "prefix-based-pd-decider"}}},
        ]
        profiles = [
            {"name": phase, "plugins": [{"pluginRef": f"{phase}-filter"}, *scoring]} for phase in ("prefill", "decode")
        ]
    document = {
        "apiVersion": "llm-d.ai/v1alpha1",
        "kind": "EndpointPickerConfig",
        "plugins": plugins,
        "schedulingProfiles": profiles,
    }
    return json.dumps(document, indent=2) + "\n"


def block_size(setting: Setting) -> int:
    """Tokens in a block of the engine's prefix cache, as its command or args say; 16 where they do not."""
    line = words(member_of(_measured(setting)).template.spec.engine)
    found = flag(line, "--block-size") or flag(line, "--page-size")
    return int(found[0]) if found and found[0].isdecimal() and int(found[0]) else BLOCK_SIZE


def _measured(setting: Setting) -> ReplicaEngine:
    """The engine whose cache is scored: the one that decodes, else the first."""
    engines = setting.replica.spec.engines
    return next((engine for engine in engines if engine.phase == "Decode"), engines[0])


def _deployment(setting: Setting, name: str, configuration: str) -> Plain:
    """The picker. It reads its configuration at its start only: the checksum starts it anew."""
    checksum = hashlib.sha256(configuration.encode()).hexdigest()
    container: Plain = {
        "name": "epp",
        "image": mirrored_image(ENDPOINT_PICKER, setting.image_mirror),
        "args": [
            f"--pool-name={names.inference_pool(setting.replica.name)}",
            f"--pool-namespace={setting.replica.namespace}",
            f"--pool-group={POOL_GROUP}",
            f"--config-file=/config/{CONFIGURATION_KEY}",
            f"--grpc-port={PICKER_PORT}",
        ],
        "ports": [
            {"name": "grpc", "containerPort": PICKER_PORT},
            {"name": "grpc-health", "containerPort": HEALTH_PORT},
        ],
        "volumeMounts": [{"name": "config", "mountPath": "/config", "readOnly": True}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": object_metadata(setting, name),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": {names.ANNOTATION_PICKER_CHECKSUM: checksum}},
                "spec": {
                    "serviceAccountName": name,
                    "containers": [container],
                    "volumes": [{"name": "config", "configMap": {"name": name}}],
                },
            },
        },
    }


def _read(group: str, resource: str) -> Plain:
    return {"apiGroups": [group], "resources": [resource], "verbs": ["get", "watch", "list"]}
