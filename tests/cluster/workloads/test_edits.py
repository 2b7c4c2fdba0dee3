"""Edits of what runs, with the real engine and provider on a real API server: what changes in place and what does not.

The tests build on each other and run in the order they are written in.
"""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cluster.workloads.conftest import Acceptance
from pulumi import ResourceOptions, automation
from replicas import LABELS, a_claiming, a_gang, a_replica, a_standalone

from api.caches import HuggingFace
from api.replicas import ModelReplica as Replica
from components.cache_manifests import CacheSetting
from components.kubernetes_objects import provider, register
from components.model_cache import ModelCache, ModelCacheArgs
from components.model_replica import ModelReplica, ModelReplicaArgs
from stacks.command import RunningEngines
from stacks.engine import plugin_variables
from stacks.lean import pulumi_command

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
"""The engine's own language server closes its sockets when it is collected."""

Plain = dict[str, Any]
Steps = dict[str, str]


@dataclass
class Wanted:
    """What the stack is to hold; tests change it step by step."""

    image: str = "registry.example/vllm:1"
    claimed: int = 8
    copies: int = 2
    workers: int = 1
    revision: str = "main"
    attempt: int = 1
    text: str = "a"

    def gang(self) -> Plain:
        leader = a_claiming("Leader", image=self.image)
        leader["deviceRequests"][0]["count"] = self.claimed
        return a_gang(copies=self.copies, members=[leader, a_claiming("Worker", nodes=self.workers, image=self.image)])

    def replicas(self) -> dict[str, tuple[str, Replica]]:
        return {
            "alone": ("Standard", a_replica([a_standalone(copies=self.copies)], name="alone")),
            "lws": ("Standard", a_replica([self.gang()], name="lws")),
            "grove": ("Dynamo", a_replica([self.gang()], name="grove")),
        }

    def program(self, kubeconfig: str) -> Callable[[], None]:
        def program() -> None:
            access = provider("us", kubeconfig, "prod/us", ResourceOptions())
            opts = ResourceOptions(providers=[access])
            for name, (stack, replica) in self.replicas().items():
                args: Plain = {"replica": replica, "stack": stack, "inference_pools": True, "labels": LABELS}
                ModelReplica(name, ModelReplicaArgs(**args), opts)
            source = HuggingFace.model_validate({"repo": "o/m", "sizeGiB": 1, "revision": self.revision}, by_alias=True)
            setting = CacheSetting(
                namespace="ml-team",
                name="cache",
                source=source,
                storage_class="rwx",
                labels=dict(LABELS),
                attempt=self.attempt,
            )
            ModelCache("cache", ModelCacheArgs(setting=setting, hydrates=True), opts)
            for kind, field_name in (("ConfigMap", "data"), ("Secret", "stringData")):
                metadata = {"name": "flags", "namespace": "ml-team"}
                manifest = {"apiVersion": "v1", "kind": kind, "metadata": metadata, field_name: {"text": self.text}}
                register(manifest, kind, ResourceOptions(provider=access))

        return program


@dataclass
class Stack:
    """The stack, and what its last update did by logical name."""

    kubeconfig: str
    folder: Path
    wanted: Wanted = field(default_factory=Wanted)

    def up(self, **changes: Any) -> Steps:
        """Bring the stack up with changes; operations by name, those that left things as they were not among them."""
        for name, value in changes.items():
            setattr(self.wanted, name, value)
        steps: Steps = {}

        def note(event: Any) -> None:
            if event.resource_pre_event:
                found = event.resource_pre_event.metadata
                if found.op not in {"same", "read", "refresh"}:
                    name = found.urn.rpartition("::")[2]
                    steps[name] = "replace" if "replace" in found.op else steps.get(name, found.op)

        variables = {
            **os.environ,
            **plugin_variables(),
            "PULUMI_BACKEND_URL": f"file://{self.folder}",
            "PULUMI_CONFIG_PASSPHRASE": "of a test",
        }
        stack = automation.create_or_select_stack(
            stack_name="edits",
            project_name="edits",
            program=self.wanted.program(self.kubeconfig),
            opts=automation.LocalWorkspaceOptions(
                work_dir=str(self.folder),
                env_vars=variables,
                pulumi_command=pulumi_command(RunningEngines()),
            ),
        )
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            stack.up(on_event=note, suppress_outputs=True, suppress_progress=True)
        finally:
            asyncio.set_event_loop(None)
            loop.close()
        return steps


@pytest.fixture(scope="module")
def stack(server: Acceptance, tmp_path_factory: pytest.TempPathFactory) -> Stack:
    found = Stack(server.kubeconfig, tmp_path_factory.mktemp("edits"))
    assert set(found.up().values()) == {"create"}
    return found


def test_the_same_again_changes_nothing(stack: Stack) -> None:
    assert stack.up() == {}


def test_an_image_changes_in_place(stack: Stack) -> None:
    found = stack.up(image="registry.example/vllm:2")
    assert found == {"lws/qwen3-coder": "update", "grove/qwen3-coder": "update"}


def test_copies_change_in_place_also_to_fewer(stack: Stack) -> None:
    everything = {f"{name}/qwen3-coder": "update" for name in ("alone", "lws", "grove")}
    assert stack.up(copies=3) == everything
    assert stack.up(copies=1) == everything


def test_another_claim_is_another_template_and_the_workload_follows(stack: Stack, server: Acceptance) -> None:
    found = stack.up(claimed=4)
    assert found == {
        "lws/qwen3-coder": "update",
        "grove/qwen3-coder": "update",
        "lws/qwen3-coder/leader/devices": "replace",
        "grove/qwen3-coder/leader/devices": "replace",
    }


def test_the_size_of_a_gang_replaces_it(stack: Stack) -> None:
    assert stack.up(workers=2) == {"lws/qwen3-coder": "replace", "grove/qwen3-coder": "replace"}
    assert stack.up() == {}


def test_another_revision_is_another_job_on_the_same_volume(stack: Stack) -> None:
    """D13."""
    assert stack.up(revision="v2") == {"cache/hydration": "replace"}
    assert stack.up() == {}


def test_another_attempt_is_another_job_on_the_same_volume(stack: Stack) -> None:
    assert stack.up(attempt=2) == {"cache/hydration": "replace"}
    assert stack.up() == {}


def test_values_change_in_place(stack: Stack) -> None:
    """A pod that starts while its Secret is away would fail."""
    assert stack.up(text="b") == {"ConfigMap": "update", "Secret": "update"}
    assert stack.up() == {}
