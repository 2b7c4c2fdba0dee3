"""The examples of running the loop as a service: what they start can be started."""

import re
import shlex

from docs.texts import ROOT
from ruamel.yaml import YAML
from unit.cli.running import COMMANDS

FOLDER = ROOT / "examples" / "operate"


def parses(arguments: list[str]) -> None:
    COMMANDS[arguments[0],].make_context("modelplane", arguments[1:])


def test_the_unit_of_systemd_runs_a_command_that_there_is() -> None:
    [line] = re.findall(r"^ExecStart=(.+)$", (FOLDER / "modelplane.service").read_text(), re.MULTILINE)
    program, *arguments = shlex.split(line)
    assert program.endswith("/modelplane")
    parses(arguments)


def test_the_container_is_built_from_every_package_and_runs_a_command_that_there_is() -> None:
    text = (FOLDER / "Containerfile").read_text()
    packages = {"api", "scheduler", "components", "programs", "stacks", "cli", "local", "tools"}
    assert set(re.findall(r"^COPY (\w+) \1$", text, re.MULTILINE)) == packages
    parses(YAML(typ="safe").load(re.findall(r"^CMD (.+)$", text, re.MULTILINE)[0]))


def test_the_deployment_runs_one_loop_with_a_command_that_there_is_and_no_rights_where_it_runs() -> None:
    documents = {each["kind"]: each for each in YAML(typ="safe").load_all((FOLDER / "kubernetes.yaml").read_text())}
    assert set(documents) == {"Namespace", "ServiceAccount", "Deployment", "Service"}
    spec = documents["Deployment"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    pod = spec["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    [container] = pod["containers"]
    parses(container["args"])
    mounted = {mount["name"] for each in (*pod["initContainers"], container) for mount in each["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
    labels = spec["template"]["metadata"]["labels"]
    assert documents["Service"]["spec"]["selector"].items() <= labels.items()
