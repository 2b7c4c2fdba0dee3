"""What both serving stacks and the hub register, as a whole: rewritten by `pytest tests/golden --snapshot-update`."""

from collections.abc import Sequence
from typing import Any

import pulumi
import pytest
from pulumi import ResourceOptions
from recording import Recording, record
from stack_parts import parts_of, parts_of_hub
from syrupy.assertion import SnapshotAssertion

from components.charts import Mirrors
from components.inference_gateway import InferenceGateway, InferenceGatewayArgs
from components.installation import Part
from components.kubernetes_objects import provider
from components.serving_stack import ServingStack, ServingStackArgs

AIRGAP = Mirrors(charts="oci://mirror.example/charts", images="mirror.example/images")
STACKS: dict[str, Sequence[Part]] = {
    "Standard": parts_of("Standard"),
    "Dynamo": parts_of("Dynamo"),
    "Dynamo from mirrors": parts_of("Dynamo", mirrors=AIRGAP),
    "the hub": parts_of_hub(),
}


def recorded(parts: Sequence[Part]) -> Recording:
    def program() -> pulumi.ComponentResource:
        opts = ResourceOptions(providers=[provider("us", "a kubeconfig", "prod/us", ResourceOptions())])
        if any(part.key == "traefik" for part in parts):
            return InferenceGateway("gateway", InferenceGatewayArgs(fleet="prod", parts=parts), opts)
        return ServingStack("serving-us", ServingStackArgs(cluster="us", parts=parts), opts)

    return record(program)


def shortened(found: dict[str, Any]) -> dict[str, Any]:
    """A registration, definitions without their schemas."""
    if found["type"].endswith("CustomResourceDefinition"):
        return {**found, "inputs": {"metadata": found["inputs"]["metadata"]}}
    return found


@pytest.mark.parametrize("parts", STACKS.values(), ids=STACKS)
def test_registrations(parts: Sequence[Part], snapshot: SnapshotAssertion) -> None:
    assert [shortened(found) for found in recorded(parts).plain()] == snapshot


@pytest.mark.parametrize("parts", STACKS.values(), ids=STACKS)
def test_what_is_needed_is_waited_for(parts: Sequence[Part]) -> None:
    prefix = "gateway" if any(part.key == "traefik" for part in parts) else "serving-us"
    found = {each.name: each for each in recorded(parts).resources}
    made = {part.key for part in parts}
    for part in parts:
        wanted = {f"{prefix}/{need}" for need in part.needs if need in made}
        assert set(found[f"{prefix}/{part.key}"].depends_on) == wanted


@pytest.mark.parametrize("parts", STACKS.values(), ids=STACKS)
def test_a_release_is_awaited_and_makes_no_namespace_of_its_own(parts: Sequence[Part]) -> None:
    for release in recorded(parts).of_kind("Release"):
        assert release.inputs["timeout"] == 600
        assert release.inputs["name"].startswith("mp-")
        assert not {"skipAwait", "createNamespace", "disableWebhooks", "atomic"} & release.inputs.keys()


def test_nothing_is_fetched_from_elsewhere_where_there_are_mirrors() -> None:
    for release in recorded(STACKS["Dynamo from mirrors"]).of_kind("Release"):
        assert release.inputs["chart"].startswith("oci://mirror.example/charts/")
        assert "repositoryOpts" not in release.inputs
    [server] = recorded(STACKS["Dynamo from mirrors"]).of_kind("Deployment")
    [container] = server.inputs["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "mirror.example/images/nvidia/ai-dynamo/modelexpress-server:0.4.1"
