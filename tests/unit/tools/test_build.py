"""Filling the cache, with a `go` that writes text files."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import cache, locate
from tools.build import BuildFailed, build, check_go, missing
from tools.catalog import CHARTS, CRDS, ETCD, KWOK, MODULES, PROVIDER, PULUMI, GoModule

Calls = Callable[[], list[str]]
Script = Callable[[Path, str], Path]
PROJECT = Path(__file__).parents[3]
Program = Callable[[str, str], Path]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of the Go modules that a test may change."""
    for module in MODULES:
        shutil.copytree(cache.SOURCES / module.folder, tmp_path / "sources" / module.folder)
    return tmp_path / "sources"


@pytest.mark.parametrize("module", [PULUMI, PROVIDER, CRDS], ids=lambda module: module.folder)
def test_the_key_changes_with_the_pins(sources: Path, module: GoModule) -> None:
    keys = [cache.key(module, sources)]
    assert keys == [cache.key(module)]
    for name in ("go.mod", "go.sum"):
        with (sources / module.folder / name).open("a") as file:
            file.write("\n")
        keys.append(cache.key(module, sources))
    assert len(set(keys)) == 3


def test_the_key_changes_with_our_own_main(sources: Path) -> None:
    before = cache.key(PROVIDER, sources)
    with (sources / PROVIDER.folder / "main.go").open("a") as file:
        file.write("// changed\n")
    assert cache.key(PROVIDER, sources) != before


@pytest.mark.parametrize("name", ["host.go", "run_program.py"])
def test_the_key_changes_with_a_package_of_ours(sources: Path, name: str) -> None:
    before = cache.key(PULUMI, sources)
    with (sources / PULUMI.folder / "pulumi-language-python" / name).open("a") as file:
        file.write("\n")
    assert cache.key(PULUMI, sources) != before


def test_the_key_does_not_change_with_what_is_copied_beside_the_sources(sources: Path) -> None:
    before = cache.key(PROVIDER, sources)
    (sources / PROVIDER.folder / "schema.json").write_text("{}")
    assert cache.key(PROVIDER, sources) == before


def test_the_key_changes_with_the_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache.key(PULUMI)
    monkeypatch.setattr(cache, "BUILD_FLAGS", ("-mod=readonly",))
    assert cache.key(PULUMI) != before


def test_everything_is_built_once(go_calls: Calls, cache_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build()
    assert missing() == ()
    assert locate("etcd").read_text() == "made of go.etcd.io/etcd/server/v3\n"
    assert [path.name for path in (locate("crds") / "gateway-api").iterdir()] == ["gateways.yaml"]
    assert {path.name for path in locate("kwok").parent.iterdir()} == {"kwok", "kwokctl"}
    assert sum(call.startswith("build") for call in go_calls()) == 8
    said = capsys.readouterr().err
    assert "pulumi 3.274.1: ready after 0 s" in said
    assert "min on two cores, once" in said

    before = go_calls()
    build()
    assert go_calls() == before
    assert capsys.readouterr().err == "tools: all there, nothing to build\n"


def test_charts_are_as_their_projects_publish_them(go_calls: Calls) -> None:
    build([CHARTS])
    charts = locate("charts")
    assert (charts / "gateway-helm-v1.8.1/values.yaml").read_text() == (
        "image: docker.io/envoyproxy/gateway:v1.8.1\npullPolicy: IfNotPresent\n"
    )
    assert (charts / "gateway-helm-v1.8.1/Chart.yaml").read_text() == 'version: v1.8.1\nappVersion: "v1.8.1"\n'
    assert (charts / "gateway-helm-v1.8.1/templates/service.yaml").is_file()
    assert (charts / "lws-v0.8.0/values.yaml").read_text() == "tag: v0.8.0\npullPolicy: IfNotPresent\n"
    (definitions,) = (charts / "crds").iterdir()
    assert definitions.name == "gateway-api-inference-extension-v1.0.1.yaml"
    assert definitions.read_text().count("kind: CustomResourceDefinition") == 2


def test_a_chart_that_says_something_else_is_not_taken(go_calls: Calls, tmp_path: Path, cache_folder: Path) -> None:
    (tmp_path / "module/charts/lws/Chart.yaml").write_text("version: 0.2.0\n")
    with pytest.raises(BuildFailed, match=r"charts/lws/Chart.yaml does not say 'version: 0.1.0'"):
        build([CHARTS])


def test_only_what_is_missing_is_built(go_calls: Calls, program: Program) -> None:
    program("etcd", "etcd Version: 3.7.0")
    build([ETCD, KWOK])
    assert [call.split()[-1] for call in go_calls() if call.startswith("build")] == ["sigs.k8s.io/kwok/cmd/kwokctl"]


def test_the_linker_sets_the_version(go_calls: Calls) -> None:
    build([PULUMI])
    (call,) = (call for call in go_calls() if call.startswith("build"))
    assert (
        "-trimpath -mod=readonly -ldflags -s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v3" in call
    )


def test_a_build_does_not_write_to_the_sources(go_calls: Calls) -> None:
    def tree() -> set[Path]:
        return set((cache.SOURCES / PROVIDER.folder).iterdir())

    before = tree()
    build([PROVIDER])
    assert tree() == before


def test_a_failed_build_says_what_the_compiler_said_and_leaves_nothing(
    go_calls: Calls, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GO_FAILS", "1")
    with pytest.raises(BuildFailed) as caught:
        build([ETCD])
    assert caught.value.message == (
        "etcd could not be built:\n  # example.com/broken\n  main.go:7:2: undefined: answer"
    )
    assert str(cache_folder / "log" / "etcd.log") in caught.value.hint
    assert {path.name for path in cache_folder.iterdir()} == {"lock", "log"}
    assert missing([ETCD]) == (ETCD,)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_build_that_is_stopped_stops_its_compilers(
    go_calls: Calls, path_folder: Path, cache_folder: Path, tmp_path: Path, script: Script, number: signal.Signals
) -> None:
    compiler = tmp_path / "compiler"
    os.mkfifo(compiler)
    script(
        path_folder / "go",
        f'[ "$1" = build ] || {{ echo go1.26.8; exit; }}\necho $$ > {compiler}\nread never < {compiler}',
    )
    only_etcd = "m.MODULES = [module for module in m.MODULES if module.folder == 'etcd']"
    program = f"import sys, tools.__main__ as m; {only_etcd}; sys.exit(m.main(['build']))"
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=PROJECT, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        compiling = int(compiler.read_text())
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.splitlines()[-1] == "stopped; what has been compiled is kept"
    assert not Path(f"/proc/{compiling}").exists()
    assert {path.name for path in cache_folder.iterdir()} == {"lock", "log"}


def test_what_a_killed_build_left_is_removed(go_calls: Calls, cache_folder: Path) -> None:
    left = cache_folder / f".building-{cache.home(ETCD).name}"
    (left / "bin").mkdir(parents=True)
    assert missing([ETCD]) == (ETCD,)
    build([ETCD])
    assert not left.exists()
    assert locate("etcd").parent.parent == cache.home(ETCD)


def test_a_second_build_waits_for_the_first_and_then_has_nothing_to_do(go_calls: Calls, cache_folder: Path) -> None:
    waiting = threading.Event()
    entered = threading.Event()

    def second() -> None:
        with cache.lock(waiting.set):
            entered.set()

    with cache.lock(lambda: None):
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.wait(20)
        assert not entered.is_set()
    assert entered.wait(20)
    thread.join()


def test_a_build_that_waited_does_not_build_again(
    go_calls: Calls, cache_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fcntl.flock
    built_by_another: list[bool] = []

    def flock(file: object, operation: int) -> None:
        if operation & fcntl.LOCK_NB and not built_by_another:
            built_by_another.append(True)
            build([ETCD])
            raise BlockingIOError
        real(file, operation)  # type: ignore[arg-type]

    monkeypatch.setattr(fcntl, "flock", flock)
    build([ETCD])
    assert sum(call.startswith("build") for call in go_calls()) == 1
    assert "another build is running, waiting for it to end" in capsys.readouterr().err


GO = {
    "too old": ("go1.25.3", "Go 1.26.6 or newer is needed to build kwok, pulumi, and `go` says: go1.25.3"),
    "odd": ("", "Go 1.26.6 or newer is needed to build kwok, pulumi, and `go` says: nothing"),
}


@pytest.mark.parametrize(("answer", "message"), GO.values(), ids=GO)
def test_a_go_that_cannot_build_is_named(
    go_calls: Calls, monkeypatch: pytest.MonkeyPatch, answer: str, message: str
) -> None:
    monkeypatch.setenv("GO_SAYS", answer)
    with pytest.raises(BuildFailed, match=message) as caught:
        check_go([KWOK, PULUMI])
    assert "install Go 1.26" in caught.value.hint


def test_without_go_nothing_that_is_there_is_missed(path_folder: Path, built: Callable[[str], Path]) -> None:
    built("etcd")
    build([ETCD])
    with pytest.raises(BuildFailed, match="`go` is not on PATH"):
        build([ETCD, CRDS])


def test_a_module_without_the_files_wanted_is_an_error(go_calls: Calls, tmp_path: Path) -> None:
    (tmp_path / "module/config/crd/standard/gateways.yaml").unlink()
    with pytest.raises(BuildFailed, match=r"the module has no config/crd/standard/\*\.yaml"):
        build([CRDS])
