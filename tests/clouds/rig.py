"""A stack of one cluster on the real engine, with doubles in place of its clouds and of what lies in the cluster."""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from builders import document
from pulumi import automation

from api.documents import FleetDocuments
from api.routing import InferenceGateway
from programs import registry
from programs.context import Context
from stacks.engine import Engine
from stacks.environment import environment_of
from tools.locate import locate

DOUBLES = Path(__file__).resolve().parents[1] / "doubles"
PACKAGES = ("aws", "gcp", "azure-native", "terraform-provider", "vultr", "kubernetes")
PROGRAMS = {"eks": "eks_component.py"}
"""Doubles by package that are no resource providers, with what they take from the engine."""
ACCOUNT = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "example"}

Plain = dict[str, Any]

DOOR = InferenceGateway.parse(
    document("InferenceGateway", "default", {"backend": "Traefik", "traefik": {"version": "37.0.0"}})
)


class Clouds:
    """What the doubles hold, in a folder of their own; the clouds' accounts are in `variables`."""

    def __init__(self, folder: Path, packages: Sequence[str] = PACKAGES) -> None:
        self.store, plugins = folder / "store", folder / "plugins"
        for each in (self.store, plugins):
            each.mkdir(parents=True)
        for package in packages:
            starter = plugins / f"pulumi-resource-{package}"
            program = f'"{DOUBLES / PROGRAMS.get(package, "provider.py")}"'
            given = '"$@"' if package in PROGRAMS else package
            starter.write_text(f'#!/bin/sh\nexec "{sys.executable}" {program} {given}\n')
            starter.chmod(0o755)
        self.variables = {
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PATH": os.pathsep.join([str(plugins), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "DOUBLE_STORE": str(self.store),
            **ACCOUNT,
        }

    def held(self, package: str = "aws") -> dict[str, Plain]:
        """What a cloud holds, by id."""
        file = self.store / f"{package}.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def edit(self, package: str, change: Callable[[Plain], None]) -> None:
        """Change what a cloud holds behind the program's back, each entry by itself."""
        held = self.held(package)
        for entry in held.values():
            change(entry)
        (self.store / f"{package}.json").write_text(json.dumps(held))

    def journal(self, operation: str) -> list[str]:
        """Names of what an operation was done to, in order."""
        lines = [json.loads(line) for line in (self.store / "journal.jsonl").read_text().splitlines()]
        return [name for found, _, name in lines if found == operation]

    def go_wrong(self, *faults: Plain) -> None:
        (self.store / "faults.json").write_text(json.dumps(list(faults)))


def stand_in(clouds: Clouds, monkeypatch: pytest.MonkeyPatch, *, with_account: bool = True) -> None:
    """Let the driver's engines find doubles in place of all providers, the one of Kubernetes included."""
    told = {name: value for name, value in clouds.variables.items() if with_account or name not in ACCOUNT}
    monkeypatch.setattr("stacks.engine.plugin_variables", lambda: told)
    monkeypatch.setattr("stacks.project.built_provider", lambda: None)


def engine_of(clouds: Clouds, folder: Path, documents: FleetDocuments, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The driver's engine for a fleet whose directory is `folder`, with doubles in place of all providers."""
    stand_in(clouds, monkeypatch)
    return Engine(environment_of(folder, {}), documents)


class Rig(Clouds):
    """One backend, one stack, one store of doubles, all below `folder`."""

    def __init__(
        self, folder: Path, documents: FleetDocuments, cluster: str = "us", packages: Sequence[str] = PACKAGES
    ) -> None:
        super().__init__(folder, packages)
        self.documents, self.cluster = documents, cluster
        backend, work = folder / "backend", folder / "work"
        for each in (backend, work):
            each.mkdir()
        (work / "Pulumi.yaml").write_text(json.dumps({"name": "modelplane", "runtime": "python"}))
        pulumi = locate("pulumi")
        variables = {
            "PULUMI_BACKEND_URL": f"file://{backend}",
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            **self.variables,
        }
        self._pulumi = automation.PulumiCommand(str(Path(pulumi).parent.parent), skip_version_check=True)
        workspace = automation.LocalWorkspace(
            work_dir=str(work),
            program=self._program,
            env_vars=variables,
            pulumi_command=self._pulumi,
        )
        self.stack = automation.Stack.create_or_select(f"prod.cluster.{cluster}", workspace)
        self._last: Mapping[str, Any] | None = None

    def _program(self) -> None:
        from pulumi.runtime import is_dry_run  # noqa: PLC0415 - asked inside the program

        reader = {f"prod.cluster.{self.cluster}": self._last}.get
        registry.run(
            Context(
                documents=self.documents,
                kind="cluster",
                cluster=self.cluster,
                reader=reader,
                preview=is_dry_run(),
                offline=is_dry_run(),
            )
        )

    def preview(self) -> dict[str, int]:
        return {str(key): count for key, count in self.stack.preview().change_summary.items()}

    def up(self) -> dict[str, int]:
        found = self.stack.up(continue_on_error=True)
        self._last = {key: each.value for key, each in found.outputs.items()}
        return dict(found.summary.resource_changes or {})

    def outputs(self) -> Plain:
        return {key: each.value for key, each in self.stack.outputs().items()}

    def unprotect(self) -> None:
        """What whoever takes a protected cluster away with plain Pulumi does first."""
        command = ["state", "unprotect", "--all", "--yes", "--stack", self.stack.name]
        self._pulumi.run(command, self.stack.workspace.work_dir, self.stack.workspace.env_vars)

    def state(self) -> str:
        return json.dumps(self.stack.export_stack().deployment)
