"""One manifest in a fleet with a Standard and a Dynamo cluster: where it goes, and what runs it there."""

from typing import Any

import pytest
from builders import a_class, a_cluster, a_deployment, a_fleet, a_gang, a_member, an_engine
from states import cluster_outputs, documents_of, listed_workloads, pool_facts, serving_outputs

from api import ModelDeployment
from api.fleets import serving_stack_for
from components.replica_manifests import workload
from components.setting import Setting
from programs.ledger import document
from programs.outputs import ClusterOutputs, PlacementOutputs
from programs.placement_plan import Observed, plan_placement
from programs.serving import capabilities_of

STACKS: dict[str, Any] = {"us": "Standard", "eu": "Dynamo"}


def seen() -> dict[str, ClusterOutputs]:
    return {
        name: cluster_outputs(name, pools=[pool_facts(nodes=4)]).model_copy(update={"stack": stack})
        for name, stack in STACKS.items()
    }


def placed(deployment: ModelDeployment, **settings: Any) -> PlacementOutputs:
    fleet = a_fleet(servingStack=settings)
    clusters = [a_cluster(name, stack=stack) for name, stack in STACKS.items()]
    outputs = seen()
    observed = Observed(
        clusters=outputs,
        serving={
            name: serving_outputs(
                name, capabilities=capabilities_of(stack, serving_stack_for(fleet, name), outputs[name])
            )
            for name, stack in STACKS.items()
        },
        workloads={name: listed_workloads(name) for name in STACKS},
    )
    return plan_placement(documents_of(fleet, a_class(), *clusters, deployment), observed, now="now")


def kinds(outputs: PlacementOutputs) -> dict[str, list[str]]:
    """Kinds of the workloads by cluster."""
    found: dict[str, list[str]] = {}
    for entry in outputs.ledger.replicas:
        setting = Setting(replica=document(entry, outputs.ledger), stack=STACKS[entry.cluster])
        found[entry.cluster] = [workload(setting, engine)["kind"] for engine in setting.replica.spec.engines]
    return found


def test_a_gang_goes_to_both_stacks_and_each_runs_it_its_own_way() -> None:
    found = placed(a_deployment(replicas=2, engines=[a_gang(copies=2)]))
    assert kinds(found) == {"us": ["LeaderWorkerSet"], "eu": ["PodCliqueSet"]}
    assert found.deployments["ml-team/qwen"].placed == 2


def test_a_standalone_engine_is_a_deployment_on_both() -> None:
    assert kinds(placed(a_deployment(replicas=2))) == {"us": ["Deployment"], "eu": ["Deployment"]}


def test_a_gang_that_reads_its_rank_stays_off_dynamo_and_the_verdict_says_why() -> None:
    template = {"spec": {"containers": [{"name": "engine", "image": "i", "args": ["--rank=$(MODELPLANE_RANK)"]}]}}
    members = [a_member("Leader"), a_member("Worker", nodes=1, template=template)]
    found = placed(a_deployment(replicas=3, engines=[an_engine(members=members)]))
    assert [entry.cluster for entry in found.ledger.replicas] == ["us", "us"]
    (why,) = [each for each in found.deployments["ml-team/qwen"].verdicts["eu"] if "MODELPLANE_RANK" in each.message]
    assert why.code == "StackIncompatible"


def test_a_gang_stays_off_a_cluster_without_the_software_for_it() -> None:
    charts = {"leader-worker-set": {"enabled": False}}
    found = placed(a_deployment(replicas=3, engines=[a_gang()]), charts=charts)
    assert {entry.cluster for entry in found.ledger.replicas} == {"eu"}
    assert [each.code for each in found.deployments["ml-team/qwen"].verdicts["us"]] == ["StackIncompatible"]


@pytest.mark.parametrize("pools", [True, False])
def test_a_split_replica_needs_pools(pools: bool) -> None:
    engines = [an_engine("d", phase="Decode"), an_engine("p", phase="Prefill")]
    deployment = a_deployment(engines=engines, serving={"mode": "PrefillDecode"})
    found = placed(deployment, inferencePools=pools)
    assert len(found.ledger.replicas) == (1 if pools else 0)


def test_images_come_from_the_fleet_s_mirror_as_the_ledger_has_them() -> None:
    """A changed mirror is a changed template: it rolls like one."""
    fleet = a_fleet(imageMirror="mirror.example/images")
    outputs = seen()
    observed = Observed(
        clusters=outputs,
        serving={name: serving_outputs(name) for name in STACKS},
        workloads={name: listed_workloads(name) for name in STACKS},
    )
    documents = documents_of(fleet, a_class(), a_cluster("us"), a_deployment())
    (template,) = plan_placement(documents, observed, now="now").ledger.templates.values()
    assert template.spec.engine.image == "mirror.example/images/engine:1"
