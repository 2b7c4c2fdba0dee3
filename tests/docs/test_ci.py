"""Pipelines of examples/ci: valid by their systems' schemas, with commands that parse and a job for each stack."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from unit.cli.running import COMMANDS

ROOT = Path(__file__).parents[2]
CI = ROOT / "examples" / "ci"
CHECKS = {
    "github-actions.yaml": ("vendor.github-workflows",),
    "gitlab-ci.yaml": ("vendor.gitlab-ci", "--data-transform", "gitlab-ci"),
}
STACKS = [
    {"name": "demo.gateway", "kind": "gateway", "exists": True},
    {"name": "demo.placement", "kind": "placement", "exists": True},
    {"name": "demo.cluster.us", "kind": "cluster", "exists": False},
]


def scripts(value: Any) -> Iterator[str]:
    """Every text below `run` and `script`."""
    if isinstance(value, list):
        for item in value:
            yield from scripts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in ("run", "script") and isinstance(item, str | list):
                yield from [item] if isinstance(item, str) else item
            else:
                yield from scripts(item)


def pipeline(name: str) -> Any:
    return YAML(typ="safe").load((CI / name).read_text())


def test_every_pipeline_is_checked() -> None:
    assert {file.name for file in CI.iterdir()} == set(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_a_pipeline_is_valid_by_the_schema_of_its_system(name: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", *CHECKS[name], str(CI / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", CHECKS)
def test_every_command_of_a_pipeline_parses(name: str) -> None:
    found = [
        command for text in scripts(pipeline(name)) for command in re.findall(r"\bmodelplane ([a-z][^|\n]*)", text)
    ]
    assert len(found) >= 5
    for command in found:
        written = command.partition('"]')[0]
        words = shlex.split(written.replace("${{ matrix.stack }}", "demo.gateway").replace("{name}", "demo.gateway"))
        COMMANDS[words[0],].make_context("modelplane", words[1:])


def test_github_gets_the_names_of_stacks_that_can_drift() -> None:
    (text,) = [text for text in scripts(pipeline("github-actions.yaml")) if "stacks -o json" in text]
    program = re.search(r"python3 -c '([^']*)'", text)
    assert program
    assert json.loads(ran(program[1])) == ["demo.gateway"]


def test_gitlab_gets_a_job_for_each_stack_that_can_drift() -> None:
    (text,) = [text for text in scripts(pipeline("gitlab-ci.yaml")) if "stacks -o json" in text]
    program = re.search(r"python3 -c '([^']*)'", text)
    assert program
    image = {"name": "$MODELPLANE_IMAGE", "entrypoint": [""]}
    assert json.loads(ran(program[1])) == {
        "demo.gateway": {"image": image, "script": ["modelplane drift demo.gateway"]}
    }
    assert list(json.loads(ran(program[1], []))) == ["nothing"]


def ran(program: str, stacks: Any = STACKS) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(stacks),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout
