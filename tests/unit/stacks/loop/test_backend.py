"""Files of a backend that is a folder."""

from pathlib import Path

from stacks.environment import BACKEND, Environment
from stacks.loop.backend import prune, stamps


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
