"""Gangs as plain data: a LeaderWorkerSet on Standard, a Grove PodCliqueSet on Dynamo (reference: workloads, 6 and 7).

Fields that a webhook would fill in are written out, so that no update fights it. What a live set may not change is
`FIXED`: an edit of it replaces the set.
"""

from api import names
from api.replicas import ReplicaEngine, ReplicaMember
from components.pod_manifests import QUEUE, pod_labels, pod_spec
from components.setting import Plain, Setting, member_of, object_metadata

LEADER_WORKER_SET = "leaderworkerset.x-k8s.io/v1"
GROVE = "grove.io/v1alpha1"
GANG_SOFTWARE = {
    "Standard": ("leader-worker-set", "leaderworkersets.leaderworkerset.x-k8s.io"),
    "Dynamo": ("grove", "podcliquesets.grove.io"),
}
"""By stack: the chart that brings the software for gangs, and the definition that tells that it is there."""
FIXED = {
    "LeaderWorkerSet": ("spec.leaderWorkerTemplate.size",),
    "PodCliqueSet": (
        "spec.template.cliques[*].spec.minAvailable",
        "spec.template.podCliqueScalingGroups[*].minAvailable",
    ),
}
"""Fields by kind that the controllers' webhooks refuse to change on a set that exists."""

_GROUP = "gang"
_TERMINATION_DELAY = "4h"


def leader_worker_set(setting: Setting, engine: ReplicaEngine) -> Plain:
    """The gangs of an engine on Standard: `copies` groups of one leader and its workers."""
    name = names.gang_workload(setting.replica.name, engine.name)
    leader, worker = member_of(engine), member_of(engine, worker=True)
    return {
        "apiVersion": LEADER_WORKER_SET,
        "kind": "LeaderWorkerSet",
        "metadata": object_metadata(setting, name),
        "spec": {
            "replicas": engine.copies,
            "leaderWorkerTemplate": {
                "size": 1 + worker.nodes,
                "leaderTemplate": _template(setting, engine, leader, name, {names.LABEL_LWS_ROLE: "leader"}),
                "workerTemplate": _template(setting, engine, worker, name, {}),
            },
        },
    }


def clique_set(setting: Setting, engine: ReplicaEngine) -> Plain:
    """The gangs of an engine on Dynamo: one set whose scaling group holds `copies` gangs.

    The group asks for one gang at least: were it all of them, one that stays down would take the others with it. The
    cliques start in any order the pods need; a start-after order would have leader and workers wait for each other.
    """
    name = names.clique_set(setting.replica.name, engine.name)
    leader, worker = member_of(engine), member_of(engine, worker=True)
    return {
        "apiVersion": GROVE,
        "kind": "PodCliqueSet",
        "metadata": object_metadata(setting, name),
        "spec": {
            "replicas": 1,
            "template": {
                "cliqueStartupType": "CliqueStartupTypeExplicit",
                "terminationDelay": _TERMINATION_DELAY,
                "headlessServiceConfig": {"publishNotReadyAddresses": True},
                "cliques": [
                    _clique(setting, engine, leader, name, {names.LABEL_CLIQUE_ROLE: "leader"}),
                    _clique(setting, engine, worker, name, {}),
                ],
                "podCliqueScalingGroups": [
                    {
                        "name": _GROUP,
                        "cliqueNames": ["leader", "worker"],
                        "replicas": engine.copies,
                        "minAvailable": 1,
                    }
                ],
            },
        },
    }


def _template(
    setting: Setting, engine: ReplicaEngine, member: ReplicaMember, workload: str, managed: dict[str, str]
) -> Plain:
    metadata: Plain = {"labels": {**pod_labels(setting, engine, member, workload), **managed}}
    if member.template.metadata.annotations:
        metadata["annotations"] = dict(member.template.metadata.annotations)
    return {"metadata": metadata, "spec": pod_spec(setting, engine, member)}


def _clique(
    setting: Setting, engine: ReplicaEngine, member: ReplicaMember, workload: str, managed: dict[str, str]
) -> Plain:
    """One clique. All of its pods have to run: a gang is whole or not at all."""
    role = member.role.lower()
    template = _template(setting, engine, member, workload, {**managed, "kai.scheduler/queue": QUEUE})
    clique: Plain = {
        "name": role,
        **template["metadata"],
        "spec": {
            "roleName": role,
            "replicas": member.nodes,
            "minAvailable": member.nodes,
            "podSpec": {**template["spec"], "schedulerName": "kai-scheduler"},
        },
    }
    return clique
