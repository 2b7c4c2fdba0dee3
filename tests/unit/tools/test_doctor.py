"""The machine is checked before anything is started, and each failure names its fix."""

import platform
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import cache, doctor
from tools.catalog import MODULES

Script = Callable[[Path, str], Path]


def test_a_system_that_is_not_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    check = doctor.check_system()
    assert not check.passed
    assert "Linux virtual machine" in check.fix


def test_go_is_asked_for_only_while_something_is_missing(path_folder: Path, script: Script) -> None:
    assert "go.dev/dl" in doctor.check_go_command().fix
    for module in MODULES:
        for name in module.names:
            script(cache.product(module, name), "exit 0")
    assert doctor.check_go_command().passed


def test_too_little_space(cache_folder: Path, path_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "BUILD_GIB", 1 << 40)
    assert "MODELPLANE_TOOLS" in doctor.check_space().fix


@pytest.mark.parametrize(("available", "passed"), [("9437184 kB", True), ("1048576 kB", False)])
def test_too_little_memory(tmp_path: Path, available: str, passed: bool) -> None:
    (tmp_path / "meminfo").write_text(f"MemTotal:       16000000 kB\nMemAvailable:   {available}\n")
    assert doctor.check_memory(tmp_path / "meminfo").passed is passed
    assert doctor.check_memory(tmp_path / "nowhere").passed


@pytest.mark.parametrize(("present", "package"), [((), "util-linux"), (("unshare",), "iproute2")])
def test_programs_for_namespaces_are_asked_for(
    path_folder: Path, script: Script, present: tuple[str, ...], package: str
) -> None:
    for name in present:
        script(path_folder / name, "exit 0")
    assert doctor.check_network().fix == f"install {package}"


@pytest.mark.parametrize(
    ("answer", "passed"), [("exit 0", True), ("echo 'Operation not permitted' >&2; exit 1", False)]
)
def test_the_kernel_is_asked_for_a_namespace(path_folder: Path, script: Script, answer: str, passed: bool) -> None:
    script(path_folder / "ip", "exit 0")
    script(path_folder / "unshare", answer)
    check = doctor.check_network()
    assert check.passed is passed
    assert passed or check.found == "Operation not permitted"


SETTINGS = {
    "Ubuntu": ("kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns=0"),
    "Debian": ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
    "hardened": ("user/max_user_namespaces", "0", "user.max_user_namespaces=10000"),
    "a container": ("user/max_user_namespaces", "100", "seccomp=unconfined"),
}


@pytest.mark.parametrize(("name", "value", "fix"), SETTINGS.values(), ids=SETTINGS)
def test_the_setting_that_forbids_user_namespaces_is_named(tmp_path: Path, name: str, value: str, fix: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(f"{value}\n")
    assert fix in doctor.namespace_fix(as_root=False, settings=tmp_path)


def test_root_in_a_container_is_told_which_rights_are_missing(tmp_path: Path) -> None:
    assert "--privileged" in doctor.namespace_fix(as_root=True, settings=tmp_path)
