"""How simulated nodes, pods and load balancers behave: KWOK Stages, written for this fleet.

A Stage says which objects it takes and what it writes into them. Selectors of one kind exclude each other, because of
two that match KWOK takes either at random. Selectors on pods are jq keys: KWOK cannot compile CEL's list macros there.
Pod addresses follow from the pod's uid and not from a counter in KWOK's memory, which would give the addresses of
running pods out again after a restart.
"""

from typing import Any

from local.controls import HOLD, START_AFTER, STARTED
from local.node.images import PATTERN
from local.objects import MANAGED_BY, MANAGER, Document
from local.plan import Ranges

HEARTBEAT_MILLISECONDS = 600_000
"""Node status is refreshed this often; the leases that say a node lives are KWOK's own business."""

_CAPACITY = {"cpu": "256", "memory": "2Ti", "ephemeral-storage": "4Ti", "pods": "250"}

_READY = '.status.conditions.[] | select( .type == "Ready" ) | .status'
_PHASE = ".status.phase"
_DELETED = ".metadata.deletionTimestamp"
_HOLD = f'.metadata.annotations["{HOLD}"]'
_STARTED = f'.metadata.annotations["{STARTED}"]'
REAL = f'.spec.containers.[] | select( .image | test("{PATTERN}") ) | .name'
_OWNER = ".metadata.ownerReferences.[].kind"


def stages(ranges: Ranges) -> list[Document]:
    """All Stages of one cluster."""
    return [
        _stage("node-initialize", "Node", [_is(_READY, "True", negate=True)], [_status(_node_status(ranges))]),
        _stage(
            "node-heartbeat",
            "Node",
            [_is(_READY, "True")],
            [_status(_NODE_CONDITIONS)],
            delay={"durationMilliseconds": HEARTBEAT_MILLISECONDS},
        ),
        _stage(
            "pod-ready",
            "Pod",
            [_absent(_DELETED), _is(_PHASE, "Pending"), _absent(_HOLD), _absent(REAL)],
            [_status(_pod_status(ranges, ready=True))],
            delay={
                "durationMilliseconds": 0,
                "durationFrom": {"expressionFrom": f'.metadata.annotations["{START_AFTER}"]'},
            },
        ),
        _stage(
            "pod-held",
            "Pod",
            [_absent(_DELETED), _is(_PHASE, "Pending"), _present(_HOLD)],
            [_status(_pod_status(ranges, ready=False))],
        ),
        _stage(
            "pod-started",
            "Pod",
            [_absent(_DELETED), _is(_PHASE, "Pending"), _absent(_HOLD), _present(REAL)],
            [_status(_pod_status(ranges, ready=False))],
        ),
        _stage(
            "pod-released",
            "Pod",
            [_absent(_DELETED), _is(_PHASE, "Running"), _absent(_HOLD), _is(_READY, "False"), _absent(REAL)],
            [_status(_pod_status(ranges, ready=True))],
        ),
        _stage(
            "real-pod-ready",
            "Pod",
            [
                _absent(_DELETED),
                _is(_PHASE, "Running"),
                _absent(_HOLD),
                _is(_READY, "False"),
                _present(REAL),
                _present(_STARTED),
            ],
            [_status(_pod_status(ranges, ready=True))],
        ),
        _stage(
            "real-pod-unready",
            "Pod",
            [
                _absent(_DELETED),
                _is(_PHASE, "Running"),
                _absent(_HOLD),
                _is(_READY, "True"),
                _present(REAL),
                _absent(_STARTED),
                _is(_OWNER, "Job", negate=True),
            ],
            [_status(_pod_status(ranges, ready=False))],
        ),
        _stage(
            "pod-unready",
            "Pod",
            [_absent(_DELETED), _is(_PHASE, "Running"), _present(_HOLD), _is(_READY, "True")],
            [_status(_pod_status(ranges, ready=False))],
        ),
        _stage(
            "pod-complete",
            "Pod",
            [
                _absent(_DELETED),
                _is(_PHASE, "Running"),
                _absent(_HOLD),
                _is(_READY, "True"),
                _is(_OWNER, "Job"),
            ],
            [_status(_POD_COMPLETED)],
        ),
        _stage("pod-delete", "Pod", [_present(_DELETED)], [{"delete": True}]),
        _stage("service-load-balancer", "Service", _WAITS_FOR_ADDRESS, [_status(_LOAD_BALANCER)]),
    ]


def _stage(
    name: str,
    kind: str,
    selector: list[Document],
    steps: list[Document],
    *,
    delay: Document | None = None,
) -> Document:
    spec: Document = {
        "resourceRef": {"apiGroup": "v1", "kind": kind},
        "selector": {"matchExpressions": selector},
        "steps": steps,
    }
    if delay:
        spec["delay"] = delay
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name, "labels": {MANAGED_BY: MANAGER}},
        "spec": spec,
    }


def _is(key: str, value: str, *, negate: bool = False) -> Document:
    return {"key": key, "operator": "NotIn" if negate else "In", "values": [value]}


def _present(key: str) -> Document:
    return {"key": key, "operator": "Exists"}


def _absent(key: str) -> Document:
    return {"key": key, "operator": "DoesNotExist"}


def _status(template: str) -> dict[str, Any]:
    return {"patch": {"subresource": "status", "root": "status", "template": template}}


_NODE_CONDITIONS = """\
conditions:
{{ $now := Now }}
{{ $since := or .metadata.creationTimestamp $now }}
{{ range NodeConditions }}
- type: {{ .type | Quote }}
  status: {{ .status | Quote }}
  reason: {{ .reason | Quote }}
  message: {{ .message | Quote }}
  lastHeartbeatTime: {{ $now | Quote }}
  lastTransitionTime: {{ $since | Quote }}
{{ end }}
"""


def _node_status(ranges: Ranges) -> str:
    capacity = "".join(f"  {resource}: {quantity!r}\n" for resource, quantity in _CAPACITY.items())
    return _filled(_NODE_STATUS, node=ranges.node, capacity=capacity) + _NODE_CONDITIONS


def _pod_status(ranges: Ranges, *, ready: bool) -> str:
    """Status of a pod that runs, ready or held; a held pod is in a crash loop if its annotation says so."""
    state = _CONTAINER_READY if ready else _CONTAINER_HELD
    template = _POD_STATUS.replace("@container@", state)
    return _filled(template, prefix=ranges.pod_prefix, node=ranges.node, ready=str(ready), hold=HOLD)


def _filled(template: str, **values: str) -> str:
    """The template with `@name@` replaced; braces are left to KWOK, which reads them."""
    for name, value in values.items():
        template = template.replace(f"@{name}@", value)
    return template


_NODE_STATUS = """\
phase: Running
addresses:
- type: InternalIP
  address: @node@
- type: Hostname
  address: {{ .metadata.name | Quote }}
allocatable:
@capacity@capacity:
@capacity@nodeInfo:
  architecture: amd64
  operatingSystem: linux
  bootID: ""
  containerRuntimeVersion: {{ printf "kwok-%s" Version }}
  kernelVersion: {{ printf "kwok-%s" Version }}
  kubeProxyVersion: {{ printf "kwok-%s" Version }}
  kubeletVersion: {{ printf "kwok-%s" Version }}
  machineID: ""
  osImage: simulated
  systemUUID: ""
"""

_CONTAINER_READY = """\
  ready: true
  started: true
  restartCount: 0
  state: {running: {startedAt: {{ $now | Quote }}}}
"""

_CONTAINER_HELD = """\
  ready: false
  {{ if eq $hold "crash" }}
  started: false
  restartCount: 3
  state: {waiting: {reason: CrashLoopBackOff, message: "held by @hold@"}}
  {{ else }}
  started: true
  restartCount: 0
  state: {running: {startedAt: {{ $now | Quote }}}}
  {{ end }}
"""

_POD_STATUS = """\
{{ $now := Now }}
{{ $start := or .status.startTime $now }}
{{ $hold := index (or .metadata.annotations dict) "@hold@" }}
{{ $hash := sha256sum .metadata.uid }}
{{ $third := int64 (printf "0x%s" (substr 0 2 $hash)) }}
{{ $fourth := int64 (printf "0x%s" (substr 2 4 $hash)) }}
{{ $address := printf "@prefix@.%d.%d" $third $fourth }}
phase: Running
startTime: {{ $start | Quote }}
hostIP: @node@
hostIPs:
- ip: @node@
podIP: {{ $address | Quote }}
podIPs:
- ip: {{ $address | Quote }}
conditions:
- {type: PodScheduled, status: "True", lastTransitionTime: {{ $start | Quote }}}
- {type: Initialized, status: "True", lastTransitionTime: {{ $start | Quote }}}
- {type: Ready, status: "@ready@", lastTransitionTime: {{ $now | Quote }}}
- {type: ContainersReady, status: "@ready@", lastTransitionTime: {{ $now | Quote }}}
{{ range .spec.readinessGates }}
- {type: {{ .conditionType | Quote }}, status: "True", lastTransitionTime: {{ $now | Quote }}}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
@container@{{ end }}
{{ with .spec.initContainers }}
initContainerStatuses:
{{ range . }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  restartCount: 0
  {{ if eq (or .restartPolicy "") "Always" }}
  started: true
  state: {running: {startedAt: {{ $now | Quote }}}}
  {{ else }}
  started: false
  state:
    terminated:
      exitCode: 0
      reason: Completed
      startedAt: {{ $now | Quote }}
      finishedAt: {{ $now | Quote }}
  {{ end }}
{{ end }}
{{ end }}
"""

_POD_COMPLETED = """\
{{ $now := Now }}
phase: Succeeded
conditions:
- {type: Ready, status: "False", reason: PodCompleted, lastTransitionTime: {{ $now | Quote }}}
- {type: ContainersReady, status: "False", reason: PodCompleted, lastTransitionTime: {{ $now | Quote }}}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: false
  started: false
  restartCount: 0
  state:
    terminated:
      exitCode: 0
      reason: Completed
      startedAt: {{ $now | Quote }}
      finishedAt: {{ $now | Quote }}
{{ end }}
"""

_WAITS_FOR_ADDRESS: list[Document] = [
    {"cel": {"expression": "self.spec.type == 'LoadBalancer'"}},
    {"cel": {"expression": "!has(self.status.loadBalancer) || !has(self.status.loadBalancer.ingress)"}},
]

_LOAD_BALANCER = """\
loadBalancer:
  ingress:
  - ip: {{ or .spec.loadBalancerIP .spec.clusterIP | Quote }}
"""
