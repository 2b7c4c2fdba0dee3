"""What is reported and goes on."""

import pytest
from builders import a_cluster, a_deployment, a_gang, a_pool, an_endpoint
from unit.api.rules import Broken, cautioned
from unit.api.test_model_rules import INNER, SHAPE, TEMPLATE, deployed
from unit.api.test_platform_rules import BLOCKS, DEVICE, POOL, classed, clustered

from api import InferenceClass, InferenceCluster, ModelDeployment
from api.base import Kind

CAUTIONS: dict[str, tuple[Kind, list[Broken]]] = {
    "ICL-N7": (InferenceClass.parse(classed(claim="Synthetic")), [("ICL-N7", "spec.devices")]),
    "ICL-N8": (InferenceClass.parse(classed(memory="80Gi")), [("ICL-N8", f"{DEVICE}.capacity.memory.value")]),
    "ICL-N9": (
        InferenceClass.parse(classed({"provider": "GKE", "gke": BLOCKS["GKE"]}, count=4)),
        [("ICL-N9", "spec.provisioning.gke.accelerator.count")],
    ),
    "IC-N5": (a_cluster(pools=[a_pool(zones=["a"])]), [("IC-N5", f"{POOL}.zones")]),
    "IC-N9": (
        InferenceCluster.parse(clustered("Nebius")),
        [("IC-N9", "spec.cluster.nebius.kubernetesVersion")],
    ),
    "IC-N12": (
        InferenceCluster.parse(clustered("EKS", pool={"minNodeCount": 0, "maxNodeCount": 4})),
        [("IC-N12", f"{POOL}.minNodeCount")],
    ),
    "MD-N4": (
        ModelDeployment.parse(deployed(f"{INNER}.spec.containers.0.env", [{"name": "POD_NAME", "value": "x"}])),
        [("MD-N4", f"{TEMPLATE}.spec.containers[0].env[0].name")],
    ),
    "MD-N8": (a_deployment(engines=[a_gang()]), [("MD-N8", f"{SHAPE}.engines[0]")]),
    "a gang with a cache": (a_deployment(engines=[a_gang()], cache="qwen"), []),
    "a flag and its value in one argument": (
        ModelDeployment.parse(
            deployed(f"{INNER}.spec.containers.0.args", ["--max-model-len 32768", "-c", "serve --x y"])
        ),
        [("MD-X2", f"{TEMPLATE}.spec.containers[0].args[0]")],
    ),
    "a port that nothing reaches": (
        ModelDeployment.parse(deployed(f"{INNER}.spec.containers.0.command", ["serve", "--port", "9000"])),
        [("MD-X4", f"{TEMPLATE}.spec.containers[0].command[1]")],
    ),
    "the port that is reached": (
        ModelDeployment.parse(deployed(f"{INNER}.spec.containers.0.args", ["--port=8000"])),
        [],
    ),
    "ME-N3": (an_endpoint(url="https://a.example/base"), [("ME-N3", "spec.url")]),
    "a path that agrees": (an_endpoint(url="https://a.example/base/v1", rewrite_path="/base/"), []),
    "a version twice": (an_endpoint(rewrite_path="/v1/"), [("ME-X1", "spec.rewritePath")]),
}


@pytest.mark.parametrize(("kind", "expected"), CAUTIONS.values(), ids=CAUTIONS)
def test_a_caution_is_no_refusal(kind: Kind, expected: list[Broken]) -> None:
    assert cautioned(kind) == expected
