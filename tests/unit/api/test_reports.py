"""Inputs that users of such systems have reported as going wrong, each with what happens to it here."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders import Plain, a_cache, a_deployment, a_gang, a_member, a_request, an_engine
from unit.api.rule_cases.case import changed
from unit.api.rule_cases.models import CACHED, DECODE, PREFILL, half, pair
from unit.api.rule_cases.platform import beside, class_of, cluster_of

from api import names
from api.errors import InvalidFleet, Problem, Severity
from api.loader import load
from programs.placement_plan import declared_pools
from scheduler.cel import compile_error
from scheduler.matcher import Matcher

MEMBER = "spec.template.spec.engines[0].members[0]"
INNER = "spec.template.spec.engines.0.members.0"
CONTAINER = f"{INNER}.template.spec.containers.0"
AT_CONTAINER = f"{MEMBER}.template.spec.containers[0]"
DEPLOYMENT = a_deployment().plain()
COMMIT = "9f1a7c0d2b3e4f5a6b7c8d9e0f1a2b3c4d5e6f70"
STAGED = changed(a_cache().plain(), "spec.huggingFace.revision", COMMIT)


def problems(directory: Path, *documents: Plain) -> tuple[Problem, ...]:

    for number, plain in enumerate(documents):
        (directory / f"{number}.json").write_text(json.dumps(plain))
    try:
        return load(directory, check_cel=compile_error, fits=Matcher().fit).warnings
    except InvalidFleet as refusal:
        return refusal.problems


def only(found: tuple[Problem, ...], severity: Severity, path: str) -> Problem:
    [problem] = [problem for problem in found if problem.severity is severity and problem.path == path]
    return problem


def test_d01_a_member_without_a_pod_spec_is_an_error_that_names_the_field(tmp_path: Path) -> None:
    found = problems(tmp_path, changed(DEPLOYMENT, f"{INNER}.template", {}))
    assert len(found) == 1
    problem = only(found, Severity.ERROR, f"{MEMBER}.template.spec")
    assert (problem.message, problem.rule) == ("is required", "MD-N2")


GANG = a_deployment(engines=[a_gang(nodes=1)], cache="qwen").plain()
ISTIO = {"sidecar.istio.io/inject": "false"}


def test_d05_labels_and_annotations_of_one_member_are_kept_for_its_pods(tmp_path: Path) -> None:
    plain = changed(GANG, "spec.template.spec.engines.0.members.1.template.metadata", {"annotations": ISTIO})
    plain = changed(plain, f"{CONTAINER}.args", ["--model=Qwen/Qwen3-8B"])
    problems(tmp_path, plain, a_cache().plain())
    [deployment] = load(tmp_path).deployments.values()
    kept = [member.template.metadata.annotations for member in deployment.spec.template.spec.engines[0].members]
    assert kept == [{}, ISTIO]


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_d05_a_key_of_modelplanes_own_is_refused(field: str, tmp_path: Path) -> None:
    found = problems(tmp_path, changed(DEPLOYMENT, f"{INNER}.template.metadata", {field: {"modelplane.ai/x": "y"}}))
    problem = only(found, Severity.ERROR, f"{MEMBER}.template.metadata.{field}[modelplane.ai/x]")
    assert "reserved" in problem.message


def test_d05_a_misspelt_field_is_an_error(tmp_path: Path) -> None:
    plain = changed(changed(DEPLOYMENT, f"{INNER}.nodeSelector", None), f"{INNER}.nodeselector", {"devices": []})
    problem = only(problems(tmp_path, plain), Severity.ERROR, f"{MEMBER}.nodeselector")
    assert problem.hint == "did you mean nodeSelector?"


def test_d16_names_of_gangs_leave_room_and_differ(tmp_path: Path) -> None:
    deployments = [a_deployment("a" * 59 + last, engines=[a_gang(nodes=1)]).plain() for last in "bc"]
    assert [problem for problem in problems(tmp_path, *deployments) if problem.severity is Severity.ERROR] == []
    loaded = load(tmp_path).deployments.values()

    def made() -> list[str]:
        replicas = [names.replica_name(deployment.name, "us", 0) for deployment in loaded]
        return [names.gang_workload(replica, "main") for replica in replicas]

    assert made() == made()
    assert len(set(made())) == 2
    assert all(len(name) <= 51 for name in made())


def test_d17_a_flag_and_its_value_in_one_item_are_a_warning_with_both_spellings(tmp_path: Path) -> None:
    found = problems(tmp_path, changed(DEPLOYMENT, f"{CONTAINER}.args", ["--max-model-len 32768"]))
    problem = only(found, Severity.WARNING, f"{AT_CONTAINER}.args[0]")
    assert "--max-model-len 32768" in problem.message
    assert "--max-model-len=32768" in problem.hint
    assert "--max-model-len and 32768" in problem.hint
    [deployment] = load(tmp_path).deployments.values()
    [member] = deployment.spec.template.spec.engines[0].members
    assert member.template.spec.engine.args == ("--max-model-len 32768",)


@pytest.mark.parametrize("field", ["command", "args"])
def test_d17_the_script_of_a_shell_is_not_flagged(field: str, tmp_path: Path) -> None:
    script = ["sh", "-c", "exec vllm serve org/name --max-model-len 32768"]
    plain = changed(DEPLOYMENT, f"{CONTAINER}.{field}", script)
    assert problems(tmp_path, plain) == ()


@pytest.mark.parametrize(
    "container", [{"args": ["--port=8200"]}, {"command": ["sh", "-c", "serve --port 8200"]}], ids=["args", "script"]
)
def test_d18_a_prefill_engine_on_another_port_is_named_with_the_port_that_is_reached(
    container: dict[str, Any], tmp_path: Path
) -> None:
    [problem] = problems(tmp_path, pair(half("Prefill", **container), DECODE))
    assert problem.severity is Severity.ERROR
    assert "engine prefill serves on 8200" in problem.message
    assert "8000" in problem.message
    assert problem.hint == "write --port=8000"


def test_d18_the_ports_that_routing_expects_are_fine(tmp_path: Path) -> None:
    assert problems(tmp_path, pair(PREFILL, half("Decode", args=["--port=8001"]))) == ()


@pytest.mark.parametrize(("machine", "is_fine"), {"p5en.48xlarge": True, "g6.xlarge": False}.items())
def test_d20_a_machine_without_efa_is_refused_where_the_fabric_asks_for_it(
    machine: str, is_fine: bool, tmp_path: Path
) -> None:
    where = "spec.provisioning.eks.instanceType"
    listed = [changed(each, where, machine) if each["kind"] == "InferenceClass" else each for each in beside("EKS")]
    found = problems(tmp_path, cluster_of("EKS", fabric={"type": "EFA"}), *listed)
    assert [problem.path for problem in found] == ([] if is_fine else ["spec.nodePools[0].fabric.type"])


def test_d21_a_pool_name_that_aks_would_refuse_is_an_error_there_only(tmp_path: Path) -> None:
    (tmp_path / "aks").mkdir()
    (tmp_path / "eks").mkdir()
    found = problems(tmp_path / "aks", cluster_of("AKS", name="gpu-h100"), *beside("AKS"))
    problem = only(found, Severity.ERROR, "spec.nodePools[0].name")
    assert "AKS" in problem.message
    assert "12 lower-case letters and digits" in problem.hint
    assert problems(tmp_path / "eks", cluster_of("EKS", name="gpu-h100"), *beside("EKS")) == ()


@pytest.mark.parametrize("source", ["AKS", "EKS", "Existing"])
def test_d21_the_system_pools_name_is_taken_and_fits_everywhere(source: str, tmp_path: Path) -> None:
    found = problems(tmp_path, cluster_of(source, name=names.SYSTEM_POOL), *beside(source))
    assert only(found, Severity.ERROR, "spec.nodePools[0].name").rule == "IC-N3"
    assert len(names.SYSTEM_POOL) <= 12
    assert names.SYSTEM_POOL.isalpha()


ASLEEP = {"nodeCount": 0, "minNodeCount": 0, "maxNodeCount": 2}


def test_d22_a_gke_pool_without_zones_is_an_error(tmp_path: Path) -> None:
    found = problems(tmp_path, cluster_of("GKE", zones=[], **ASLEEP), *beside("GKE"))
    problem = only(found, Severity.ERROR, "spec.nodePools[0].zones")
    assert "zones" in problem.message
    assert len(found) == 1


def test_d22_a_gke_pool_may_sleep(tmp_path: Path) -> None:
    assert problems(tmp_path, cluster_of("GKE", **ASLEEP), *beside("GKE")) == ()


def test_d22_an_eks_pool_that_sleeps_is_a_warning(tmp_path: Path) -> None:
    problem = only(
        problems(tmp_path, cluster_of("EKS", **ASLEEP), *beside("EKS")),
        Severity.WARNING,
        "spec.nodePools[0].minNodeCount",
    )
    assert "from zero" in problem.message


@pytest.mark.parametrize(("source", "counted"), {"GKE": 2, "EKS": 0}.items())
def test_d22_only_nodes_that_something_can_start_are_counted_on(source: str, counted: int, tmp_path: Path) -> None:
    problems(tmp_path, cluster_of(source, **ASLEEP), *beside(source))
    (pool,) = declared_pools(load(tmp_path), "us")
    assert pool.usable_nodes == counted


def test_d24_weights_under_a_commit_are_not_found_without_it(tmp_path: Path) -> None:
    [problem] = problems(tmp_path, CACHED, STAGED)
    assert (problem.severity, problem.rule, problem.path) == (Severity.WARNING, "MD-N10", f"{AT_CONTAINER}.args[0]")
    assert "cache qwen" in problem.message
    assert "engine main" in problem.message
    assert f"--revision={COMMIT}" in problem.hint


def test_d24_with_the_revision_all_is_well(tmp_path: Path) -> None:
    plain = changed(CACHED, f"{CONTAINER}.args", ["--model=Qwen/Qwen3-8B", "--revision", COMMIT])
    assert problems(tmp_path, plain, STAGED) == ()


def test_d24_another_repository_is_a_warning_of_its_own(tmp_path: Path) -> None:
    plain = changed(CACHED, f"{CONTAINER}.args", ["--model=Qwen/Qwen3-4B"])
    [problem] = problems(tmp_path, plain, STAGED)
    assert (problem.severity, problem.rule) == (Severity.WARNING, "MD-X6")
    assert "Qwen/Qwen3-4B" in problem.message


NAMED = {
    "vllm serve org/name": {"command": ["vllm", "serve", "org/name"]},
    "the entry point of the image": {"args": ["org/name", "--tp=8"]},
    "a flag of its own item": {"args": ["--model-path", "org/name"]},
    "the script of a shell": {"command": ["bash", "-c", "exec vllm serve org/name \\\n --port=8000"]},
    "a script that cannot be taken apart": {"command": ["sh", "-c", "vllm serve org/name --text 'it"]},
}


@pytest.mark.parametrize("container", NAMED.values(), ids=NAMED)
def test_a_model_is_found_however_it_is_named(container: dict[str, Any], tmp_path: Path) -> None:
    plain = changed(CACHED, f"{CONTAINER}.args", None)
    for field, value in container.items():
        plain = changed(plain, f"{CONTAINER}.{field}", value)
    [problem] = problems(tmp_path, plain, a_cache().plain())
    assert (problem.rule, "org/name" in problem.message) == ("MD-X6", True)


UNTOLD = {
    "a variable of the shell": {"command": ["sh", "-c", "serve --model $WHAT"]},
    "a variable of the engine": {"env": [{"name": "MODEL_ID", "value": "org/name"}]},
    "a path below the mount": {"args": ["--model=/mnt/models/x"]},
}


@pytest.mark.parametrize("container", UNTOLD.values(), ids=UNTOLD)
def test_what_cannot_be_told_is_no_fault(container: dict[str, Any], tmp_path: Path) -> None:
    plain = changed(CACHED, f"{CONTAINER}.args", None)
    for field, value in container.items():
        plain = changed(plain, f"{CONTAINER}.{field}", value)
    assert problems(tmp_path, plain, a_cache().plain()) == ()


def test_an_engine_with_a_command_that_names_no_model_is_a_warning(tmp_path: Path) -> None:
    plain = changed(changed(CACHED, f"{CONTAINER}.args", None), f"{CONTAINER}.command", ["serve"])
    [problem] = problems(tmp_path, plain, a_cache().plain())
    assert (problem.rule, problem.severity) == ("MD-N10", Severity.WARNING)


def test_a_request_that_only_a_fact_satisfies_cannot_be_claimed(tmp_path: Path) -> None:
    wide = a_deployment(engines=[an_engine(members=[a_member(requests=[a_request(cel="true", count=1)])])]).plain()
    facts = class_of(claim="Synthetic", deviceClassName=None)
    found = problems(tmp_path, wide, cluster_of(), facts, beside()[1])
    assert "MD-F2" in {problem.rule for problem in found}
