"""Which of several copies of a tool is used, and what is said where there is none."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import ToolMissing, locate
from tools.catalog import KUBERNETES, PULUMI
from tools.locate import Found, Origin, look_up, machine_has

Program = Callable[[str, str], Path]
Built = Callable[[str], Path]
Script = Callable[[Path, str], Path]


def test_a_recent_program_of_the_machine_goes_before_a_built_one(program: Program, built: Built) -> None:
    built("etcd")
    path = program("etcd", "etcd Version: 3.9.1")
    assert look_up("etcd") == Found(name="etcd", path=path, version="3.9.1", origin=Origin.PATH)


SERVES = "echo 41234; exec /bin/sleep 60"
"""A language host takes any argument for an engine's address and serves it: it is never asked for a version."""


def test_a_language_host_beside_the_engine_comes_with_it(
    tmp_path: Path, path_folder: Path, script: Script, built: Built
) -> None:
    built("pulumi-language-python")
    real = script(tmp_path / "cellar" / "pulumi", "echo v3.300.1")
    host = script(tmp_path / "cellar" / "pulumi-language-python", SERVES)
    (path_folder / "pulumi").symlink_to(real)
    assert look_up("pulumi").path == path_folder / "pulumi"
    assert look_up("pulumi-language-python") == Found(
        name="pulumi-language-python", path=host, version="3.300.1", origin=Origin.PATH
    )


def test_a_language_host_on_path_will_do(program: Program, path_folder: Path, script: Script, built: Built) -> None:
    built("pulumi-language-python")
    program("pulumi", "v3.300.1")
    host = script(path_folder / "pulumi-language-python", SERVES)
    assert locate("pulumi-language-python") == host


def test_an_engine_without_a_language_host_is_not_half_used(program: Program, built: Built) -> None:
    cached = {name: built(name) for name in PULUMI.names}
    program("pulumi", "v3.300.1")
    assert {name: locate(name) for name in PULUMI.names} == cached


def test_a_language_host_alone_is_of_no_use(path_folder: Path, script: Script) -> None:
    script(path_folder / "pulumi-language-python", SERVES)
    with pytest.raises(ToolMissing, match="does not say its version"):
        locate("pulumi-language-python")


REFUSED = {
    "too old": "v3.271.9",
    "another major version": "v4.0.0",
    "a pre-release of the least version": "v3.272.0-alpha.1",
    "no version": "hello",
}


@pytest.mark.parametrize("answer", REFUSED.values(), ids=REFUSED)
def test_a_program_that_cannot_be_trusted_is_passed_over(
    program: Program, path_folder: Path, script: Script, built: Built, answer: str
) -> None:
    cached = built("pulumi")
    script(path_folder / "pulumi-language-python", SERVES)
    program("pulumi", answer)
    assert locate("pulumi") == cached


def test_a_program_that_fails_to_say_its_version_is_passed_over(
    path_folder: Path, script: Script, built: Built
) -> None:
    cached = built("etcd")
    script(path_folder / "etcd", "echo v3.9.0; exit 1")
    assert locate("etcd") == cached


def test_a_program_that_changed_is_asked_again(program: Program, built: Built) -> None:
    cached = built("etcd")
    os.utime(program("etcd", "v3.9.0"), (1, 1))
    assert look_up("etcd").origin == Origin.PATH
    os.utime(program("etcd", "v3.1.0"), (2, 2))
    assert locate("etcd") == cached


def test_programs_of_one_module_come_from_one_place(program: Program, built: Built) -> None:
    cached = {name: built(name) for name in KUBERNETES.names}
    program("kube-apiserver", "Kubernetes v1.36.5")
    program("kube-scheduler", "Kubernetes v1.36.5")
    assert {name: locate(name) for name in KUBERNETES.names} == cached

    program("kube-controller-manager", "Kubernetes v1.37.0")
    assert {name: locate(name) for name in KUBERNETES.names} == cached

    newer = {name: program(name, "Kubernetes v1.36.11") for name in KUBERNETES.names}
    assert {name: locate(name) for name in KUBERNETES.names} == newer


def test_the_newest_installed_plugin_is_used(tmp_path: Path, path_folder: Path, script: Script, built: Built) -> None:
    built("pulumi-resource-kubernetes")
    name = "pulumi-resource-kubernetes"
    plugins = tmp_path / "pulumi" / "plugins"
    for version in ("v4.9.0", "v4.34.2", "v4.100.0-alpha.1", "v5.0.0", "v4.30.0"):
        script(plugins / f"resource-kubernetes-{version}" / name, "exit 0")
    assert look_up(name) == Found(
        name=name, path=plugins / "resource-kubernetes-v4.34.2" / name, version="4.34.2", origin=Origin.PLUGIN
    )


def test_an_older_plugin_is_not(tmp_path: Path, path_folder: Path, script: Script, built: Built) -> None:
    cached = built("pulumi-resource-kubernetes")
    script(tmp_path / "pulumi/plugins/resource-kubernetes-v4.20.0/pulumi-resource-kubernetes", "exit 0")
    assert locate("pulumi-resource-kubernetes") == cached


def test_a_wheel_in_the_virtual_environment_goes_before_path(tmp_path: Path, program: Program, script: Script) -> None:
    on_path = program("kubectl", "Client Version: v1.40.0")
    assert locate("kubectl") == on_path
    locked = script(tmp_path / "checkout/.venv/bin/kubectl", "echo 'Client Version: v1.37.1'")
    assert look_up("kubectl") == Found(name="kubectl", path=locked, version="1.37.1", origin=Origin.ENVIRONMENT)


MISSING = {
    "nothing": ("pulumi", {}, "pulumi 3.274.1 is not there"),
    "too old": ("pulumi", {"pulumi": "v3.100.0"}, r"/pulumi is 3.100.0 where 3.272.0 is the least"),
    "silent": ("pulumi", {"pulumi": ""}, "/pulumi does not say its version"),
    "one of several": (
        "kwok",
        {"kwok": "kwok version v0.8.0"},
        "/kwok cannot be used: not all of kwok, kwokctl are of one version",
    ),
    "an old wheel": ("kubectl", {"kubectl": "Client Version: v1.20.1"}, "/kubectl is 1.20.1 where 1.34.0 is the least"),
    "unknown": ("kubelet", {}, "no tool is called 'kubelet'"),
}


@pytest.mark.parametrize(("name", "on_path", "message"), MISSING.values(), ids=MISSING)
def test_what_is_missing_is_said_with_what_to_do(
    program: Program, path_folder: Path, name: str, on_path: dict[str, str], message: str
) -> None:
    for other, answer in on_path.items():
        program(other, answer)
    with pytest.raises(ToolMissing, match=message) as caught:
        locate(name)
    assert caught.value.name == name
    assert ("make tools" if name != "kubelet" else "kube-apiserver") in caught.value.hint


def test_a_program_that_only_looks_like_one_stands_in_for_nothing(path_folder: Path) -> None:
    (path_folder / "etcd").mkdir()
    assert machine_has(KUBERNETES) == {}
    with pytest.raises(ToolMissing):
        locate("etcd")
