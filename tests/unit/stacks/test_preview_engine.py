"""Where a preview runs: which engine a stack gets, and that nothing of the fleet's own is touched by it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from unit.cli.running import files_below

from api.documents import FleetDocuments
from api.errors import Cancelled, DeletionRefused, ModelplaneError
from api.names import StackName
from programs.context import Context
from stacks import preview_engine as module
from stacks.environment import BACKEND, FOLDER_OF_ENGINE, PASSPHRASE, PASSPHRASE_FILE, Environment, environment_of
from stacks.operation import Operation, OperationFailed
from stacks.preview_engine import PreviewEngine, preview_engine
from stacks.state import has_state

GATEWAY, ROUTING = StackName("prod", "gateway"), StackName("prod", "routing")


class FakeEngine:
    """Notes what it is asked, and where it would work."""

    made: list["FakeEngine"]

    def __init__(self, environment: Environment, documents: FleetDocuments, **_: Any) -> None:
        self.environment = environment
        self.running = self
        self.run = object()
        self.previewed: list[str] = []
        self.cancelled = 0
        self.error: ModelplaneError | None = None
        self.settings = files_below(environment.work_dir) if environment.work_dir.is_dir() else {}
        type(self).made.append(self)

    def stacks(self) -> dict[StackName, int]:
        return {GATEWAY: 4}

    def preview(self, stack: StackName, context: Context, take: Any, *, refresh: bool = False) -> Operation:
        self.previewed.append(f"{stack} with a look" if refresh else str(stack))
        error = self.error if refresh else None
        return Operation(stack=stack, action="preview", error=error, messages=("noticed",))

    def preview_destroy(self, stack: StackName) -> Operation:
        self.previewed.append(f"destroy {stack}")
        return Operation(stack=stack, action="preview")

    def outputs(self, stack: str) -> dict[str, Any]:
        return {"of": stack}

    def cancel(self) -> int:
        self.cancelled += 1
        return 1

    def kill(self) -> list[Any]:
        return []


@pytest.fixture(autouse=True)
def engines(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (BACKEND, PASSPHRASE, PASSPHRASE_FILE, FOLDER_OF_ENGINE):
        monkeypatch.delenv(name, raising=False)
    FakeEngine.made = []
    monkeypatch.setattr(module, "Engine", FakeEngine)


@contextmanager
def previewing(directory: Path) -> Iterator[tuple[PreviewEngine, FakeEngine, FakeEngine]]:
    documents = FleetDocuments(directory=directory)
    with preview_engine(environment_of(directory), documents) as engine:
        there, absent = FakeEngine.made
        yield engine, there, absent


def with_state(directory: Path) -> None:
    environment = environment_of(directory)
    environment.prepare()
    (environment.work_dir / "Pulumi.prod.gateway.yaml").write_text("encryptionsalt: some\n")
    (environment.folder / "state" / ".pulumi" / "stacks").mkdir(parents=True)


def context() -> Context:
    return Context(documents=FleetDocuments(directory=Path()), kind="gateway")


def test_a_stack_that_exists_is_previewed_where_it_is_and_another_in_a_stand_in(tmp_path: Path) -> None:
    with_state(tmp_path)
    with previewing(tmp_path) as (engine, there, absent):
        engine.preview(GATEWAY, context(), lambda _: None)
        engine.preview(ROUTING, context(), lambda _: None)
        engine.preview_destroy(GATEWAY)
        assert engine.existing == {GATEWAY: 4}
        assert engine.outputs("prod.gateway") == {"of": "prod.gateway"}
    assert there.previewed == ["prod.gateway", "destroy prod.gateway"]
    assert absent.previewed == ["prod.routing"]


def test_the_stand_in_knows_nothing_of_the_fleet_s_backend_and_passphrase(tmp_path: Path) -> None:
    with_state(tmp_path)
    real = environment_of(tmp_path).variables
    with previewing(tmp_path) as (_, there, absent):
        assert (there.environment.variables[BACKEND], there.environment.variables[PASSPHRASE_FILE]) == (
            real[BACKEND],
            real[PASSPHRASE_FILE],
        )
        assert absent.environment.variables[BACKEND] != real[BACKEND]
        assert PASSPHRASE_FILE not in absent.environment.variables
        assert len(absent.environment.variables[PASSPHRASE]) > 15
        assert absent.environment.variables["MODELPLANE_FLEET"] == str(tmp_path)


def test_engines_work_in_a_folder_that_is_gone_afterwards_on_a_copy_of_the_settings(tmp_path: Path) -> None:
    with_state(tmp_path)
    before = files_below(tmp_path)
    with previewing(tmp_path) as (_, there, absent):
        for engine in (there, absent):
            work = engine.environment.work_dir
            assert tmp_path not in work.parents
            assert engine.environment.variables[FOLDER_OF_ENGINE] == str(work)
        assert there.settings["Pulumi.prod.gateway.yaml"] == b"encryptionsalt: some\n"
        assert absent.settings == {}
        home = there.environment.directory.parent
        assert home.stat().st_mode & 0o077 == 0, "only its owner can look in"
        (there.environment.work_dir / "Pulumi.prod.routing.yaml").write_text("made by the engine\n")
    assert not home.exists()
    assert files_below(tmp_path) == before


def test_a_fleet_without_state_is_not_even_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(self: FakeEngine) -> dict[StackName, int]:
        raise AssertionError("the backend was asked")

    monkeypatch.setattr(FakeEngine, "stacks", asked)
    with previewing(tmp_path) as (engine, _, absent):
        engine.preview(GATEWAY, context(), lambda _: None)
        assert engine.existing == {}
    assert absent.previewed == ["prod.gateway"]
    assert list(tmp_path.iterdir()) == []


def test_a_stack_that_exists_is_looked_at_first_where_that_is_asked_for(tmp_path: Path) -> None:
    with_state(tmp_path)
    with previewing(tmp_path) as (engine, there, absent):
        found = engine.preview(GATEWAY, context(), lambda _: None, refresh=True)
        engine.preview(ROUTING, context(), lambda _: None, refresh=True)
        assert found.messages == ("noticed",)
    assert (there.previewed, absent.previewed) == (["prod.gateway with a look"], ["prod.routing"])


def test_what_cannot_be_looked_at_is_previewed_without_and_says_so(tmp_path: Path) -> None:
    with_state(tmp_path)
    with previewing(tmp_path) as (engine, there, _):
        there.error = OperationFailed("no route to host\nand more")
        found = engine.preview(GATEWAY, context(), lambda _: None, refresh=True)
        assert found.ok
        assert found.messages == ("its live objects could not be looked at: no route to host", "noticed")
        there.previewed.clear()
        there.error = DeletionRefused("too much")
        assert engine.preview(GATEWAY, context(), lambda _: None, refresh=True).error is there.error
    assert there.previewed == ["prod.gateway with a look"], "what the program refuses is refused without a look too"


def test_a_preview_that_is_stopped_begins_nothing_more(tmp_path: Path) -> None:
    with_state(tmp_path)
    with previewing(tmp_path) as (engine, there, absent):
        engine.stop.request()
        found = [engine.preview(GATEWAY, context(), lambda _: None), engine.preview_destroy(GATEWAY)]
        assert [type(done.error) for done in found] == [Cancelled, Cancelled]
        assert engine.running.cancel() == 2
        assert (there.cancelled, absent.cancelled) == (1, 1)
    assert there.previewed == []


def named(tmp_path: Path, *folders: str) -> str:
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
    return f"file://{tmp_path}/a%20b"


STATES: dict[str, tuple[list[str], bool]] = {
    "a folder that is not there is for the engine to complain of": ([], True),
    "an empty folder": (["a b"], False),
    "a folder with a backend and no stack": (["a b/.pulumi"], False),
    "a folder with stacks": (["a b/.pulumi/stacks"], True),
}


@pytest.mark.parametrize(("folders", "want"), STATES.values(), ids=STATES)
@pytest.mark.parametrize("query", ["", "?no_tmp_dir=true"])
def test_whether_a_backend_may_hold_stacks(folders: list[str], want: bool, query: str, tmp_path: Path) -> None:
    outer = {BACKEND: named(tmp_path, *folders) + query, PASSPHRASE: "x"}
    assert has_state(environment_of(tmp_path / "fleet", outer)) is want


def test_a_backend_somewhere_else_may_always_hold_some(tmp_path: Path) -> None:
    assert has_state(environment_of(tmp_path, {BACKEND: "s3://bucket", PASSPHRASE: "x"}))
    assert not has_state(environment_of(tmp_path, {"HOME": os.environ.get("HOME", "/")}))
