"""Files of a backend that is a folder."""

import json
from pathlib import Path

import pytest

from api.errors import UnreadableStack
from stacks.environment import BACKEND, Environment
from stacks.loop.backend import prune, stamps, state_of


def an_environment(folder: Path, backend: str | None = None) -> Environment:
    return Environment(directory=folder, variables={BACKEND: backend or f"file://{folder}/state"})


def test_history_and_backups_keep_the_newest_of_each_stack(tmp_path: Path) -> None:
    root = tmp_path / "state" / ".pulumi"
    for stack in ("f.gateway", "f.routing"):
        for part, suffixes in (("history", ("history.json", "checkpoint.json")), ("backups", ("json",))):
            folder = root / part / "modelplane" / stack
            folder.mkdir(parents=True)
            for number in range(10, 40):
                for suffix in suffixes:
                    (folder / f"{stack}-{number}.{suffix}").write_text("{}")
    assert prune(an_environment(tmp_path), kept=3) == 2 * (27 * 2 + 27)
    left = sorted(path.name for path in (root / "history" / "modelplane" / "f.routing").iterdir())
    assert left == [f"f.routing-{number}.{kind}.json" for number in (37, 38, 39) for kind in ("checkpoint", "history")]
    assert prune(an_environment(tmp_path), kept=3) == 0


def test_a_folder_that_cannot_be_read_is_not_one_without_stacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state" / ".pulumi" / "stacks" / "modelplane").mkdir(parents=True)

    def refused(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refused)
    with pytest.raises(UnreadableStack, match="Permission denied"):
        stamps(an_environment(tmp_path))


def test_a_stack_that_was_written_has_another_stamp(tmp_path: Path) -> None:
    folder = tmp_path / "state" / ".pulumi" / "stacks" / "modelplane"
    folder.mkdir(parents=True)
    for name in ("f.gateway", "f.cluster.us"):
        (folder / f"{name}.json").write_text("{}")
    (folder / "f.gateway.json.bak").write_text("{}")
    before = stamps(an_environment(tmp_path))
    assert before is not None
    assert set(before) == {"f.gateway", "f.cluster.us"}
    (folder / "f.gateway.json").write_text("{ }")
    after = stamps(an_environment(tmp_path))
    assert after is not None
    assert {name for name in after if after[name] != before[name]} == {"f.gateway"}


def test_a_backend_that_is_no_folder_tells_nothing_and_loses_nothing(tmp_path: Path) -> None:
    environment = an_environment(tmp_path, "s3://bucket")
    assert stamps(environment) is None
    assert prune(environment) == 0


LATEST = {"resources": [{"type": "pulumi:pulumi:Stack", "outputs": {"a": 1}}], "pending_operations": [{}]}


def write(folder: Path, content: str) -> None:
    file = folder / "state" / ".pulumi" / "stacks" / "modelplane" / "f.gateway.json"
    file.parent.mkdir(parents=True)
    file.write_text(content)


def test_a_state_is_read_as_an_export_has_it(tmp_path: Path) -> None:
    write(tmp_path, json.dumps({"version": 3, "checkpoint": {"stack": "f.gateway", "latest": LATEST}}))
    assert state_of(an_environment(tmp_path), "f.gateway") == {"version": 3, "deployment": LATEST}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"version": 3',
        json.dumps({"version": 4, "features": ["new"], "checkpoint": {"latest": LATEST}}),
        json.dumps({"version": 3, "features": ["new"], "checkpoint": {"latest": LATEST}}),
        json.dumps({"version": 3, "checkpoint": None}),
    ],
)
def test_a_file_of_a_form_that_is_not_known_is_left_to_the_cli(tmp_path: Path, content: str) -> None:
    write(tmp_path, content)
    assert state_of(an_environment(tmp_path), "f.gateway") is None


def test_a_stack_without_a_file_and_another_backend_are_left_to_the_cli(tmp_path: Path) -> None:
    assert state_of(an_environment(tmp_path), "f.gateway") is None
    assert state_of(an_environment(tmp_path, "s3://bucket"), "f.gateway") is None
