"""The pods of a replica, as plain data (reference: workloads, sections 4, 8, 9 and 12).

Image, command, arguments and env of the member pass through untouched, and managed labels win over the member's.
Variables that Modelplane sets come before the member's own, so that those may refer to them.
"""

from typing import Any

from api import names
from api.commands import flag, words
from api.images import ROUTING_SIDECAR
from api.replicas import ReplicaEngine, ReplicaMember
from components.mirrors import mirrored_image
from components.serving_manifests import MODEL_EXPRESS_ADDRESS
from components.setting import ENGINE_PORT, Plain, Setting, is_gang, object_metadata

CLAIM = "devices"
MODEL_MOUNT = "/mnt/models"
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the mount of shared memory, not a temporary file
DECODE_PORT = 8001
NIXL_PORT = "5557"
QUEUE = "modelplane"

_STANDARD_GANG = (
    ("MODELPLANE_LEADER_ADDRESS", "$(LWS_LEADER_ADDRESS)"),
    ("MODELPLANE_RANK", "$(LWS_WORKER_INDEX)"),
)
_DYNAMO_GANG = (
    # The scaling group's own name and index: the set's are the same for all copies of a gang.
    ("MODELPLANE_LEADER_ADDRESS", "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-leader-0.$(GROVE_HEADLESS_SERVICE)"),
)


def pod_labels(setting: Setting, engine: ReplicaEngine, member: ReplicaMember, workload: str) -> dict[str, str]:
    """Labels of a member's pods: whose they are, and on pods that answer requests also whom they serve."""
    labels = {
        **member.template.metadata.labels,
        names.LABEL_DEPLOYMENT: setting.replica.metadata.labels[names.LABEL_DEPLOYMENT],
        names.LABEL_WORKLOAD: workload,
    }
    if member.role == "Worker":
        return labels
    labels[names.LABEL_SERVING] = setting.replica.name
    if setting.is_split:
        labels["app"] = setting.replica.name
        labels["llm-d.ai/role"] = "prefill" if engine.phase == "Prefill" else "decode"
        labels["llm-d.ai/inference-serving"] = "true"
    return labels


def pod_spec(setting: Setting, engine: ReplicaEngine, member: ReplicaMember) -> Plain:
    """A member's pod: pinned to its pool, claiming its devices; it answers on port 8000 unless it is a Worker."""
    containers = [engine_container(setting, engine, member)]
    if setting.is_split and engine.phase == "Decode" and member.role != "Worker":
        containers.append(sidecar(setting, engine_port(setting, engine, member)))
    spec: Plain = {
        "containers": containers,
        "nodeSelector": {names.LABEL_POOL: member.node_pool_name},
        "tolerations": [{"key": names.TAINT_GPU, "operator": "Exists", "effect": "NoSchedule"}],
        "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory"}}],
    }
    if claim := setting.cache_claim:
        spec["volumes"].append({"name": "model-cache", "persistentVolumeClaim": {"claimName": claim}})
    if member.device_requests:
        template = names.claim_template(setting.replica.name, engine.name, member.role, member.device_requests)
        spec["resourceClaims"] = [{"name": CLAIM, "resourceClaimTemplateName": template}]
    if secrets := member.template.spec.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": secret.name} for secret in secrets]
    return spec


def engine_container(setting: Setting, engine: ReplicaEngine, member: ReplicaMember) -> Plain:
    """The engine; a Worker has neither port nor probe, because nothing but its Leader talks to it."""
    given = member.template.spec.engine
    result: Plain = {"name": "engine", "image": given.image, "volumeMounts": _mounts(setting)}
    if given.command:
        result["command"] = list(given.command)
    if given.args or not is_gang(engine):
        result["args"] = list(given.args)
    if env := environment(setting, engine, member):
        result["env"] = env
    if member.role != "Worker":
        port = engine_port(setting, engine, member)
        result |= {"ports": [{"containerPort": port}], "readinessProbe": _probe(port)}
    if member.device_requests:
        result["resources"] = {"claims": [{"name": CLAIM}]}
    if _has_model_express(setting) and member.node_pool_name in setting.fast_pools:
        result["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
    return result


def engine_port(setting: Setting, engine: ReplicaEngine, member: ReplicaMember) -> int:
    """The port an engine listens on: 8000; behind the decode sidecar what --port says in command or args, else 8001."""
    if not setting.is_split or engine.phase != "Decode":
        return ENGINE_PORT
    found = flag(words(member.template.spec.engine), "--port")
    return int(found[0]) if found and found[0].isdecimal() else DECODE_PORT


def environment(setting: Setting, engine: ReplicaEngine, member: ReplicaMember) -> list[Plain]:
    """The variables of an engine: those of the gang, of the cache, of ModelExpress, the member's own, those of NIXL."""
    found: list[Plain] = []
    if is_gang(engine):
        variables = _DYNAMO_GANG if setting.stack == "Dynamo" else _STANDARD_GANG
        found += [{"name": name, "value": value} for name, value in variables]
    if setting.cache_claim:
        found.append({"name": "HF_HUB_CACHE", "value": MODEL_MOUNT})
    if _has_model_express(setting):
        found += _model_express(setting.cache_claim or "")
    own = member.template.spec.engine.model_dump(by_alias=True, exclude_none=True, mode="json")["env"]
    taken = {entry["name"] for entry in own}
    found = [entry for entry in found if entry["name"] not in taken] + own
    if setting.is_split and member.role != "Worker":
        side_channel = (
            _from_pod("VLLM_NIXL_SIDE_CHANNEL_HOST", "status.podIP"),
            {"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": NIXL_PORT},
        )
        found += [entry for entry in side_channel if entry["name"] not in taken]
    return found


def sidecar(setting: Setting, port: int) -> Plain:
    """The proxy in front of a decode engine: it has prefill done elsewhere, then hands the request to the engine."""
    return {
        "name": "pd-sidecar",
        "image": mirrored_image(ROUTING_SIDECAR, setting.image_mirror),
        "args": ["--secure-proxy=false", "--kv-connector=nixlv2", f"--vllm-port={port}"],
        "ports": [{"containerPort": ENGINE_PORT}],
        "readinessProbe": _probe(ENGINE_PORT),
    }


def claim_template(setting: Setting, engine: ReplicaEngine, member: ReplicaMember) -> Plain:
    """The claim of one member, one `exactly` request per device request; selectors unchanged (KEP-4381)."""
    requests = member.device_requests or ()
    name = names.claim_template(setting.replica.name, engine.name, member.role, requests)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": object_metadata(setting, name),
        "spec": {"spec": {"devices": {"requests": [_device_request(request) for request in requests]}}},
    }


def _device_request(request: Any) -> Plain:
    exactly: Plain = {"deviceClassName": request.device_class_name, "count": request.count}
    selectors = [{"cel": {"expression": selector.cel}} for selector in request.selectors or () if selector.cel]
    if selectors:
        exactly["selectors"] = selectors
    return {"name": request.name, "exactly": exactly}


def _mounts(setting: Setting) -> list[Plain]:
    """Shared memory, and the cache: read and write, because engines lock and compile there."""
    mounts = [{"name": "dshm", "mountPath": SHARED_MEMORY}]
    return [*mounts, {"name": "model-cache", "mountPath": MODEL_MOUNT}] if setting.cache_claim else mounts


def _probe(port: int) -> Plain:
    return {
        "httpGet": {"path": "/health", "port": port},
        "initialDelaySeconds": 30,
        "periodSeconds": 10,
        "timeoutSeconds": 5,
    }


def _has_model_express(setting: Setting) -> bool:
    return setting.stack == "Dynamo" and setting.cache_claim is not None


def _model_express(claim: str) -> list[Plain]:
    """Where the server is and which weights these are. The older variable still wins in clients, so both are set."""
    values = {
        "MX_SERVER_ADDRESS": MODEL_EXPRESS_ADDRESS,
        "MODEL_EXPRESS_URL": MODEL_EXPRESS_ADDRESS,
        "MX_MODEL_REVISION": claim,
        "MX_P2P_METADATA": "1",
    }
    fields = {"POD_NAME": "metadata.name", "POD_UID": "metadata.uid", "POD_NAMESPACE": "metadata.namespace"}
    return [
        *({"name": name, "value": value} for name, value in values.items()),
        *(_from_pod(name, path) for name, path in fields.items()),
    ]


def _from_pod(name: str, path: str) -> Plain:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
