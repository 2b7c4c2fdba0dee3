"""The API server takes every object of every kind of replica and cache, strictly and as it is, on both stacks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster.workloads.conftest import Acceptance
from replicas import CASES

from api import names
from api.caches import ModelCache
from api.deployments import ModelDeployment
from api.replicas import ModelReplica
from api.terms import Stack
from components.cache_manifests import CacheSetting, hydration_job, token_secret, volume_claim
from components.gang_manifests import FIXED
from components.picker_manifests import inference_pool, picker_objects
from components.pod_manifests import claim_template
from components.replica_manifests import route, service, workload
from components.setting import Setting

Plain = dict[str, Any]

MANIFESTS = Path(__file__).parents[4] / "shared" / "manifests"
EXAMPLES = Path(__file__).parents[3] / "examples"


def documents(kind: str) -> dict[str, Plain]:
    """Documents of a kind in upstream's manifests and in our examples, by file and name."""
    found = {}
    for root in (MANIFESTS, EXAMPLES):
        for file in sorted(root.rglob("*.yaml")):
            for document in yaml.safe_load_all(file.read_text()):
                if document and document.get("kind") == kind:
                    found[f"{file.relative_to(root)}:{document['metadata']['name']}"] = document
    return found


def placed(document: Plain, stack: Stack) -> Setting:
    """A replica of a deployment as if it were placed: every request claims a GPU of pool `gpu`."""
    deployment = ModelDeployment.parse(document)
    shape = document["spec"]["template"]["spec"]
    engines = []
    for engine in shape["engines"]:
        members = []
        for member in engine["members"]:
            requests = [
                {**request, "deviceClassName": "gpu.nvidia.com"}
                for request in (member.get("nodeSelector") or {}).get("devices", [])
            ]
            plain = {key: value for key, value in member.items() if key != "nodeSelector"}
            members.append(plain | {"nodePoolName": "gpu"} | ({"deviceRequests": requests} if requests else {}))
        engines.append({**engine, "members": members})
    spec = {key: shape[key] for key in ("modelCacheRef", "serving") if key in shape}
    metadata = {
        "name": names.replica_name(deployment.name, "us", 0),
        "namespace": "ml-team",
        "labels": {names.LABEL_DEPLOYMENT: deployment.name},
    }
    replica = {
        "apiVersion": "modelplane.ai/v1alpha1",
        "kind": "ModelReplica",
        "metadata": metadata,
        "spec": {**spec, "clusterName": "us", "engines": engines},
    }
    return Setting(
        replica=ModelReplica.parse(replica),
        stack=stack,
        inference_pools=True,
        fast_pools=frozenset({"gpu"}),
        labels={names.LABEL_FLEET: "prod"},
    )


def objects(setting: Setting) -> Iterator[Plain]:
    """Everything that a replica registers, and each of its pods as one: gangs' own schemas are lenient about those."""
    for engine in setting.replica.spec.engines:
        for member in engine.members:
            if member.device_requests:
                yield claim_template(setting, engine, member)
        found = workload(setting, engine)
        yield found
        yield from pods(found)
    yield from picker_objects(setting).values()
    yield inference_pool(setting)
    yield service(setting)
    yield route(setting)


def pods(found: Plain) -> Iterator[Plain]:
    spec = found["spec"]
    if found["kind"] == "LeaderWorkerSet":
        templates = [spec["leaderWorkerTemplate"][f"{role}Template"] for role in ("leader", "worker")]
    elif found["kind"] == "PodCliqueSet":
        templates = [
            {"metadata": {"labels": clique["labels"]}, "spec": clique["spec"]["podSpec"]}
            for clique in spec["template"]["cliques"]
        ]
    else:
        templates = [spec["template"]]
    for number, template in enumerate(templates):
        metadata = {**template["metadata"], "name": f"pod-{number}", "namespace": "ml-team"}
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


@pytest.mark.parametrize("case", CASES)
def test_every_object_of_every_kind_of_replica_is_accepted(server: Acceptance, case: str) -> None:
    assert [refusal for each in objects(CASES[case]) if (refusal := server.refusal(each))] == []


@pytest.mark.parametrize("stack", ["Standard", "Dynamo"])
@pytest.mark.parametrize("document", documents("ModelDeployment").values(), ids=documents("ModelDeployment"))
def test_every_object_of_every_deployment_that_users_write_is_accepted(
    server: Acceptance, document: Plain, stack: Stack
) -> None:
    assert [refusal for each in objects(placed(document, stack)) if (refusal := server.refusal(each))] == []


@pytest.mark.parametrize("document", documents("ModelCache").values(), ids=documents("ModelCache"))
def test_every_object_of_every_cache_is_accepted(server: Acceptance, document: Plain) -> None:
    cache = ModelCache.parse(document)
    source = cache.spec.hugging_face
    assert source is not None
    setting = CacheSetting(namespace="ml-team", name=cache.name, source=source, storage_class="rwx")
    manifests = [volume_claim(setting), hydration_job(setting)]
    if source.auth_secret:
        manifests.append(token_secret(setting, source.auth_secret, "text"))
    assert [refusal for each in manifests if (refusal := server.refusal(each))] == []


def test_a_field_that_does_not_exist_would_be_refused(server: Acceptance) -> None:
    """So that what is accepted above says something."""
    setting = CASES["gang on Dynamo"]
    found = workload(setting, setting.replica.spec.engines[0])
    found["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"][0]["prots"] = []
    assert "prots" in server.refusal(found)
    found = inference_pool(setting)
    found["spec"]["targetPort"] = 8000
    assert "targetPort" in server.refusal(found)


@pytest.mark.parametrize("case", ["standalone", "gang on Standard", "gang on Dynamo", "split"])
def test_what_is_applied_twice_is_not_changed_the_second_time(server: Acceptance, case: str) -> None:
    """Nothing is written that the API server would write differently."""
    for each in [each for each in objects(CASES[case]) if each["kind"] != "Pod"]:
        assert server.refusal(each, dry=False) == ""
        first = server.get(each)["metadata"]
        assert server.refusal(each, dry=False) == ""
        version = "generation" if "generation" in first else "resourceVersion"
        assert server.get(each)["metadata"][version] == first[version]


def test_the_definitions_have_the_fields_that_replace_a_gang(server: Acceptance) -> None:
    """A path that leads nowhere would never replace anything."""
    for case, kind in (("gang on Standard", "LeaderWorkerSet"), ("gang on Dynamo", "PodCliqueSet")):
        setting = CASES[case]
        found = workload(setting, setting.replica.spec.engines[0])
        assert found["kind"] == kind
        for path in FIXED[kind]:
            here: Any = [found]
            for part in path.split("."):
                name, _, is_list = part.partition("[")
                here = [each[name] for each in here]
                here = [item for each in here for item in each] if is_list else here
            assert all(isinstance(each, int) for each in here)
