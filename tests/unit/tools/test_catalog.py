"""The catalog agrees with the Go modules, the lock file and itself."""

import re
import tomllib
from pathlib import Path

import pytest

from tools import cache, catalog
from tools.build import output_name, required_go
from tools.catalog import MODULES, WHEELS, Copied, GoModule
from tools.versions import is_recent_enough, parse

PROJECT = Path(__file__).parents[3]
LOCK = {package["name"]: package for package in tomllib.loads((PROJECT / "uv.lock").read_text())["package"]}

by_folder = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.folder)


def required(module: GoModule) -> dict[str, str]:
    """What the module's go.mod requires: versions by module path."""
    text = (cache.SOURCES / module.folder / "go.mod").read_text()
    return dict(re.findall(r"^(?:require )?\s*(\S+\.\S+/\S+) (v\S+)", text, re.MULTILINE))


def test_everything_that_a_local_fleet_and_the_engine_run_is_there() -> None:
    wanted = {"pulumi", "pulumi-resource-kubernetes", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
    wanted |= {"etcd", "kwok", "kwokctl", "crds", "traefik", "kubectl", "pulumi-language-python"}
    wanted |= {"envoy", "envoy-gateway", "lws-manager", "endpoint-picker", "pd-sidecar", "charts", "inference-pools"}
    assert wanted == set(catalog.names())


def test_a_name_means_one_tool() -> None:
    assert len(set(catalog.names())) == len(catalog.names())
    assert all(catalog.find(name) for name in catalog.names())
    assert catalog.find("kubelet") is None


def test_every_go_module_in_the_tree_is_in_the_catalog() -> None:
    assert {path.parent.name for path in cache.SOURCES.glob("*/go.mod")} == {module.folder for module in MODULES}


@by_folder
def test_the_version_wanted_is_the_one_that_go_mod_pins(module: GoModule) -> None:
    # The provider's module is served under a commit only; its version is told by the linker.
    pins = {version.removeprefix("v").removesuffix("+incompatible") for version in required(module).values()}
    assert module is catalog.PROVIDER or module.version.split()[-1] in pins


@by_folder
def test_a_module_has_checksums_for_what_it_takes(module: GoModule) -> None:
    sums = (cache.SOURCES / module.folder / "go.sum").read_text()
    copied: tuple[Copied, ...] = (*module.beside_sources, *module.contents)
    assert all(f"{copy.module} {required(module)[copy.module]} h1:" in sums for copy in copied)
    assert module.programs or module.contents


@by_folder
def test_programs_of_one_module_do_not_overwrite_each_other(module: GoModule) -> None:
    outputs = [output_name(package) for _, package in module.programs]
    assert len(set(outputs)) == len(outputs)


@by_folder
def test_the_least_version_accepted_is_not_above_the_one_wanted(module: GoModule) -> None:
    if module.on_machine is not None:
        assert is_recent_enough(parse(module.version), parse(module.on_machine.minimum))


@by_folder
def test_every_module_states_the_go_it_needs(module: GoModule) -> None:
    assert required_go(module) >= parse("1.26")


def test_the_least_engine_accepted_is_not_older_than_the_sdk() -> None:
    minimum = catalog.PULUMI.on_machine
    assert minimum is not None
    assert parse(minimum.minimum) >= parse(LOCK["pulumi"]["version"])


def test_wheels_are_locked_in_the_version_that_the_catalog_names() -> None:
    for wheel in WHEELS:
        assert is_recent_enough(parse(LOCK[wheel.distribution]["version"]), parse(wheel.version))


OUTPUTS = {
    "k8s.io/kubernetes/cmd/kube-apiserver": "kube-apiserver",
    "go.etcd.io/etcd/server/v3": "server",
    "sigs.k8s.io/lws/cmd": "cmd",
    "example.com/vault": "vault",
}


@pytest.mark.parametrize(("package", "output"), OUTPUTS.items())
def test_what_go_calls_a_program(package: str, output: str) -> None:
    assert output_name(package) == output
