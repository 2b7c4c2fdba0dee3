"""The tools of this machine, each started once: it runs and is the version that the catalog promises."""

import subprocess
from pathlib import Path

import pytest

import tools
from tools import catalog
from tools.locate import version_of
from tools.versions import is_recent_enough, parse

SOURCES: tuple[catalog.GoModule | catalog.Wheel, ...] = (*catalog.MODULES, *catalog.WHEELS)
ASKABLE = {
    name: source.on_machine
    for source in SOURCES
    for name in (source.names if isinstance(source, catalog.GoModule) else (source.name,))
    if source.on_machine is not None and name not in source.on_machine.silent
}


@pytest.mark.parametrize("name", ASKABLE)
def test_a_program_says_the_version_that_it_was_found_under(name: str) -> None:
    found = tools.look_up(name)
    version = version_of(found.path, ASKABLE[name].ask)
    assert version == parse(found.version)
    assert is_recent_enough(version, parse(ASKABLE[name].minimum))


def test_the_provider_serves() -> None:
    """A provider prints the port it listens on, and leaves when its engine is not there."""
    provider = tools.locate("pulumi-resource-kubernetes")
    with subprocess.Popen([provider, "127.0.0.1:1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            assert int(process.stdout.readline()) > 0
        finally:
            process.kill()


def test_the_gateway_api_is_there_in_the_version_pinned() -> None:
    files: list[Path] = sorted((tools.locate("crds") / "gateway-api").glob("*.yaml"))
    definitions = [text for text in (file.read_text() for file in files) if "kind: CustomResourceDefinition" in text]
    assert len(definitions) == 8
    assert all("gateway.networking.k8s.io/bundle-version: v1.5.1" in text for text in definitions)
    assert all("gateway.networking.k8s.io/channel: standard" in text for text in definitions)
