"""Stacks for the Kubernetes Operator and for Pulumi Deployments: all of them, and each waits for what it reads."""

import re

import pytest
from builders import a_fleet
from states import documents_of

from api.names import StackName
from stacks.operator import Source, deployment_settings, files_of, needs, object_name, operator_stacks, variables_of
from stacks.plan import fleet_stacks

SOURCE = Source(repository="https://git.example/fleet.git", branch="main", fleet="fleets/demo", backend="s3://state")
CLUSTERS = ("eu", "us")
FIELDS = {
    "stack",
    "backend",
    "projectRepo",
    "branch",
    "config",
    "envRefs",
    "serviceAccountName",
    "refresh",
    "continueResyncOnCommitMatch",
    "resyncFrequencySeconds",
    "retryMaxBackoffDurationSeconds",
    "destroyOnFinalize",
    "prerequisites",
}
"""Of the operator's Stack, by its reference."""


def test_there_is_an_object_for_each_stack_and_it_deletes_nothing_when_it_goes() -> None:
    made = operator_stacks("demo", CLUSTERS, SOURCE, ["TOKEN"])
    assert [each["spec"]["stack"] for each in made] == [
        f"organization/modelplane/{stack}" for stack in fleet_stacks("demo", CLUSTERS)
    ]
    assert {(each["apiVersion"], each["kind"]) for each in made} == {("pulumi.com/v1", "Stack")}
    assert not any(each["spec"]["destroyOnFinalize"] for each in made)
    assert all(set(each["spec"]) <= FIELDS for each in made)
    names = [each["metadata"]["name"] for each in made]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name) for name in names)


def test_an_object_names_where_values_are_and_holds_none() -> None:
    spec = operator_stacks("demo", (), SOURCE, ["TOKEN"])[0]["spec"]
    assert spec["envRefs"] == {"TOKEN": {"type": "Secret", "secret": {"name": "pulumi", "key": "TOKEN"}}}
    assert spec["config"] == {"modelplane:fleet": "fleets/demo"}


NEEDS = {
    "demo.gateway": [],
    "demo.cluster.us": [],
    "demo.serving.us": ["demo.cluster.us"],
    "demo.placement": [],
    "demo.workloads.us": ["demo.serving.us", "demo.placement"],
    "demo.routing": ["demo.gateway", "demo.placement"],
}


@pytest.mark.parametrize("stack", NEEDS)
def test_a_stack_waits_for_what_its_program_cannot_do_without(stack: str) -> None:
    assert [str(each) for each in needs(StackName(*stack.split(".")))] == NEEDS[stack]


def test_what_is_waited_for_is_among_the_objects_and_comes_before() -> None:
    made = operator_stacks("demo", CLUSTERS, SOURCE, [])
    seen: set[str] = set()
    for each in made:
        assert {before["name"] for before in each["spec"].get("prerequisites", ())} <= seen
        seen.add(each["metadata"]["name"])
    assert object_name(StackName("demo", "cluster", "us")) in seen


def test_deployments_have_settings_for_each_stack_and_no_secret() -> None:
    settings = deployment_settings("demo", CLUSTERS, SOURCE)
    assert list(settings) == [f"organization/modelplane/{stack}" for stack in fleet_stacks("demo", CLUSTERS)]
    one = settings["organization/modelplane/demo.gateway"]
    assert one["sourceContext"] == {"git": {"repoUrl": SOURCE.repository, "branch": "refs/heads/main"}}
    assert one["operationContext"]["environmentVariables"] == {"MODELPLANE_FLEET": "fleets/demo"}


def test_variables_and_files_are_those_that_the_fleet_names() -> None:
    fleet = a_fleet(
        secrets=[
            {
                "namespace": "modelplane-system",
                "name": "hub",
                "keys": {
                    "kubeconfig": {"fromEnv": "HUB"},
                    "other": {"fromFile": "a/file"},
                    "third": {"fromConfig": "x"},
                },
            }
        ],
        credentials={"default": {"vultr": {"env": {"VULTR_API_KEY": "OURS"}}, "aws": {"profile": "x"}}},
    )
    assert variables_of(documents_of(fleet)) == ["HUB", "OURS", "PULUMI_CONFIG_PASSPHRASE"]
    assert files_of(documents_of(fleet)) == ["a/file"]
    assert variables_of(documents_of()) == ["PULUMI_CONFIG_PASSPHRASE"]
