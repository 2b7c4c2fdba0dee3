"""Where charts, definitions and images come from in an installation without the internet."""

from pathlib import Path

import pytest

from api.versions import GATEWAY_API
from components.chart_values import mirrored_values
from components.mirrors import ChartLocation, chart_location, definitions_location, mirrored_image

IMAGES = {
    "docker.io/envoyproxy/gateway:v1.8.1": "mirror.example/m/envoyproxy/gateway:v1.8.1",
    "registry.k8s.io/lws/lws": "mirror.example/m/lws/lws",
    "localhost:5000/x@sha256:00": "mirror.example/m/x@sha256:00",
    "traefik:v3": "mirror.example/m/library/traefik:v3",
    "docker.io/traefik": "mirror.example/m/library/traefik",
    "vllm/vllm-openai:v0.23.0": "mirror.example/m/vllm/vllm-openai:v0.23.0",
    "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/dranet": "mirror.example/m/eks/dranet",
}


@pytest.mark.parametrize(("image", "want"), IMAGES.items(), ids=IMAGES)
def test_the_mirror_takes_the_registry_s_place(image: str, want: str) -> None:
    assert mirrored_image(image, "mirror.example/m/") == want
    assert mirrored_image(image, None) == image


def located(mirror: str | None, base: Path = Path()) -> ChartLocation:
    return chart_location("lws", "oci://registry.k8s.io/lws/charts", "v0.8.0", mirror, base)


def test_a_mirror_is_a_registry_or_a_repository() -> None:
    assert located("oci://mirror.example/charts/") == ChartLocation(
        chart="oci://mirror.example/charts/lws", version="v0.8.0"
    )
    assert located("http://127.0.0.1:8000") == ChartLocation(
        chart="lws", repository="http://127.0.0.1:8000", version="v0.8.0"
    )


@pytest.mark.parametrize("form", ["lws-v0.8.0.tgz", "lws-v0.8.0", "lws"])
def test_a_mirror_is_a_folder_below_the_fleet_s(tmp_path: Path, form: str) -> None:
    chart = tmp_path / "charts" / form
    chart.mkdir(parents=True)
    assert located("charts", tmp_path) == ChartLocation(chart=str(chart))


def test_a_chart_that_a_folder_lacks_is_named_by_the_file_that_is_missed(tmp_path: Path) -> None:
    assert located("charts", tmp_path) == ChartLocation(chart=str(tmp_path / "charts" / "lws-v0.8.0.tgz"))


def test_definitions_lie_beside_the_charts(tmp_path: Path) -> None:
    upstream = "https://github.com/kubernetes-sigs/gateway-api/releases/download/v1.5.1/standard-install.yaml"
    assert definitions_location(GATEWAY_API, None, tmp_path) == upstream
    assert definitions_location(GATEWAY_API, "oci://mirror.example", tmp_path) == upstream
    assert definitions_location(GATEWAY_API, "http://mirror.example/", tmp_path) == (
        "http://mirror.example/crds/gateway-api-v1.5.1.yaml"
    )
    assert definitions_location(GATEWAY_API, "charts", tmp_path) == str(
        tmp_path / "charts" / "crds" / "gateway-api-v1.5.1.yaml"
    )


def test_charts_take_their_images_from_the_mirror() -> None:
    assert mirrored_values("envoy-gateway", "mirror.example/m/") == {"global": {"imageRegistry": "mirror.example/m"}}
    assert mirrored_values("traefik", "mirror.example") == {
        "image": {"registry": "mirror.example", "repository": "library/traefik"}
    }
    assert mirrored_values("cert-manager", "mirror.example")["webhook"] == {
        "image": {"repository": "mirror.example/jetstack/cert-manager-webhook"}
    }
    assert mirrored_values("grove", "mirror.example")["deployment"] == {
        "env": [{"name": "GROVE_INIT_CONTAINER_IMAGE", "value": "mirror.example/ai-dynamo/grove/grove-initc"}]
    }
    assert mirrored_values("grove", None) == {}
