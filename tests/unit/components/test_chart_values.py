"""Every value path that is set exists in the value files of the charts, in the version that is installed.

The value files are the charts' own and are not kept here; without them there is nothing to compare with.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.fleets import ServingStackSettings
from api.versions import CHARTS
from components.chart_values import CHART_VALUES, mirrored_values
from components.charts import STACK_CHARTS, Mirrors, serving_releases

FILES = Path(__file__).resolve().parents[4] / "shared" / "chart-values"
FREE = {("envoy-gateway", "config.envoyGateway")}
"""Values that a chart hands on as a whole: Envoy Gateway's own configuration."""

needs_files = pytest.mark.skipif(not FILES.is_dir(), reason=f"no value files of the charts in {FILES}")


def defaults(key: str) -> dict[str, Any]:
    source = CHARTS[key]
    found: dict[str, Any] = yaml.safe_load((FILES / f"{source.chart}-{source.version}.yaml").read_text()) or {}
    return found


def leaves(values: Mapping[str, Any], at: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, (*at, key))
        else:
            yield (*at, key), value


def missing(key: str, values: Mapping[str, Any]) -> list[str]:
    """Paths that the chart's defaults have no place for."""
    return [".".join(path) for path, _ in leaves(values) if not has_place(key, path, defaults(key))]


def has_place(key: str, path: tuple[str, ...], found: Any) -> bool:
    for position, part in enumerate(path):
        if (key, ".".join(path[:position])) in FREE:
            return True
        if not isinstance(found, Mapping) or part not in found:
            return False
        found = found[part]
    return True


@needs_files
@pytest.mark.parametrize("key", CHARTS)
def test_each_value_that_is_set_exists_in_the_chart(key: str) -> None:
    assert missing(key, CHART_VALUES.get(key, {})) == []


@needs_files
@pytest.mark.parametrize("key", CHARTS)
def test_each_value_that_names_an_image_exists_in_the_chart(key: str) -> None:
    assert missing(key, mirrored_values(key, "mirror.example/m")) == []


@needs_files
def test_the_driver_s_root_exists_in_its_chart() -> None:
    assert "nvidiaDriverRoot" in defaults("dra-driver")


@needs_files
@pytest.mark.parametrize("key", CHARTS)
def test_the_mirror_replaces_each_image_that_the_chart_names_by_registry(key: str) -> None:
    """What is set in place of an image ends like the chart's own name of it, so it is the same image."""
    own = defaults(key)
    for path, value in leaves(mirrored_values(key, "mirror.example")):
        found = own
        for part in path:
            found = found[part]
        if isinstance(value, str) and "/" in value and isinstance(found, str) and "/" in found:
            assert value.partition("/")[2] == found.partition("/")[2]


@needs_files
def test_a_path_that_no_chart_has_is_told() -> None:
    assert missing("metallb", {"crds": {"enable": True}, "controller": {"image": {"repository": "x"}}}) == [
        "crds.enable"
    ]


def test_the_values_of_both_stacks_are_those_that_are_compared() -> None:
    for stack in STACK_CHARTS:
        for release in serving_releases(stack, ServingStackSettings(), Mirrors()):
            assert release.values == CHART_VALUES.get(release.key, {})
