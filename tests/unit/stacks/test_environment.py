"""Where state and passphrase lie, whose variables count, and that nothing is written before it is asked for."""

import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

import pytest

from stacks.environment import Environment, environment_of

OURS = {"PULUMI_SKIP_UPDATE_CHECK": "true", "PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER": "true"}


def variables_of(directory: Path, outer: Mapping[str, str]) -> dict[str, str]:
    """Variables but for those that are always there."""
    environment = environment_of(directory, outer)
    found = dict(environment.variables)
    assert found.pop("MODELPLANE_FLEET") == str(directory)
    assert found.pop("PULUMI_OPTION_CWD") == str(environment.work_dir)
    assert found.items() >= OURS.items()
    return {name: value for name, value in found.items() if name not in OURS}


def test_by_default_everything_lies_beside_the_fleet(tmp_path: Path) -> None:
    assert variables_of(tmp_path, {}) == {
        "PULUMI_BACKEND_URL": f"file://{tmp_path}/.modelplane/state?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE_FILE": f"{tmp_path}/.modelplane/passphrase",
    }


FOREIGN: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "a backend for a team": ({"PULUMI_BACKEND_URL": "s3://states"}, {"PULUMI_BACKEND_URL": "s3://states"}),
    "a passphrase of the caller's": ({"PULUMI_CONFIG_PASSPHRASE": "x"}, {"PULUMI_CONFIG_PASSPHRASE": "x"}),
    "an empty passphrase is one": ({"PULUMI_CONFIG_PASSPHRASE": ""}, {"PULUMI_CONFIG_PASSPHRASE": ""}),
    "a passphrase file of the caller's": (
        {"PULUMI_CONFIG_PASSPHRASE_FILE": "/etc/passphrase"},
        {"PULUMI_CONFIG_PASSPHRASE_FILE": "/etc/passphrase"},
    ),
    "a folder at home": ({"PULUMI_BACKEND_URL": "file://~/states"}, {"PULUMI_BACKEND_URL": "file://~/states"}),
    "a folder": ({"PULUMI_BACKEND_URL": "file:///states"}, {"PULUMI_BACKEND_URL": "file:///states"}),
}


@pytest.mark.parametrize(("outer", "want"), FOREIGN.values(), ids=FOREIGN)
def test_the_caller_s_variables_are_respected(tmp_path: Path, outer: dict[str, str], want: dict[str, str]) -> None:
    found = variables_of(tmp_path, outer)
    assert found.items() >= want.items()
    assert ("PULUMI_CONFIG_PASSPHRASE_FILE" in found) == ("PULUMI_CONFIG_PASSPHRASE" not in found)


def test_what_another_fleet_has_left_in_the_shell_does_not_count(tmp_path: Path) -> None:
    """`eval "$(modelplane env -f A)"`, then B: B's stacks must not get into the state of A."""
    left = environment_of(tmp_path / "a", {}).variables
    assert environment_of(tmp_path / "b", left) == environment_of(tmp_path / "b", {})
    assert environment_of(tmp_path / "a", left) == environment_of(tmp_path / "a", {})


def test_what_the_caller_named_counts_for_every_fleet(tmp_path: Path) -> None:
    left = environment_of(
        tmp_path / "a", {"PULUMI_BACKEND_URL": "s3://states", "PULUMI_CONFIG_PASSPHRASE": "x"}
    ).variables
    found = environment_of(tmp_path / "b", left).variables
    assert (found["PULUMI_BACKEND_URL"], found["PULUMI_CONFIG_PASSPHRASE"]) == ("s3://states", "x")
    assert found["PULUMI_OPTION_CWD"].startswith(f"{tmp_path}/b/.modelplane/work-")


def test_settings_of_another_backend_lie_apart(tmp_path: Path) -> None:
    """A stack's settings say what its secrets are encrypted with: with those of another one it cannot be read."""
    folders = {environment_of(tmp_path, {"PULUMI_BACKEND_URL": url}).work_dir for url in ("", "s3://a", "s3://b")}
    assert len(folders) == 3
    assert tmp_path / ".modelplane/work" in folders


EMPTY = {"PULUMI_BACKEND_URL": "", "PULUMI_CONFIG_PASSPHRASE_FILE": ""}


def test_a_variable_that_is_set_to_nothing_is_not_set(tmp_path: Path) -> None:
    assert variables_of(tmp_path, EMPTY) == variables_of(tmp_path, {})


RELATIVE = {"file://.": "/.", "file://states": "/states", "file://states?metadata=skip": "/states?metadata=skip"}


@pytest.mark.parametrize(("backend", "below"), RELATIVE.items(), ids=RELATIVE)
def test_relative_paths_are_those_of_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, below: str
) -> None:
    """The engine runs in a folder of its own, plain Pulumi in the caller's: both have to mean the same state."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    outer = {"PULUMI_BACKEND_URL": backend, "PULUMI_CONFIG_PASSPHRASE_FILE": "secret.txt"}
    assert variables_of(tmp_path, outer) == {
        "PULUMI_BACKEND_URL": f"file://{elsewhere}{below}",
        "PULUMI_CONFIG_PASSPHRASE_FILE": f"{elsewhere}/secret.txt",
    }


@pytest.mark.parametrize("name", ["my fleet", "a#1", "50%", "a?b=c", "a%20b", "größe"])
def test_a_folder_s_name_is_not_taken_for_a_part_of_the_url(tmp_path: Path, name: str) -> None:
    directory = tmp_path / name
    url = variables_of(directory, {})["PULUMI_BACKEND_URL"]
    backend = url.removeprefix("file://").removesuffix("?metadata=skip")
    assert not set("#? ") & set(backend)
    assert unquote(backend) == f"{directory}/.modelplane/state"


def test_a_relative_directory_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert environment_of(Path("fleet"), {}).directory == tmp_path / "fleet"


def test_nothing_is_written_before_it_is_asked_for(tmp_path: Path) -> None:
    environment_of(tmp_path, {})
    assert list(tmp_path.iterdir()) == []


def test_preparing_makes_folders_that_git_passes_over(tmp_path: Path) -> None:
    environment = environment_of(tmp_path, {})
    environment.prepare()
    assert sorted(path.name for path in environment.folder.iterdir()) == [".gitignore", "passphrase", "state", "work"]
    assert (environment.folder / ".gitignore").read_text() == "*\n"


def test_the_passphrase_is_made_once_and_is_its_owner_s_alone(tmp_path: Path) -> None:
    environment_of(tmp_path, {}).prepare()
    path = tmp_path / ".modelplane/passphrase"
    first = path.read_text()
    assert len(first.strip()) >= 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    environment_of(tmp_path, {}).prepare()
    assert path.read_text() == first


def test_two_fleets_have_two_passphrases(tmp_path: Path) -> None:
    for name in ("a", "b"):
        environment_of(tmp_path / name, {}).prepare()
    assert (tmp_path / "a/.modelplane/passphrase").read_text() != (tmp_path / "b/.modelplane/passphrase").read_text()


def test_a_passphrase_is_never_seen_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run that read an empty one would encrypt its state with nothing."""
    path = tmp_path / ".modelplane/passphrase"
    seen: list[bool] = []

    def made(length: int) -> str:
        seen.append(path.exists())
        return "x" * length

    monkeypatch.setattr(secrets, "token_urlsafe", made)
    environment_of(tmp_path, {}).prepare()
    assert seen == [False]
    assert path.read_text() == "x" * 32 + "\n"


def test_of_two_runs_that_make_the_passphrase_at_once_one_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ".modelplane/passphrase"

    def overtaken(length: int) -> str:
        path.write_text("theirs\n")
        return "ours"

    monkeypatch.setattr(secrets, "token_urlsafe", overtaken)
    environment_of(tmp_path, {}).prepare()
    assert path.read_text() == "theirs\n"
    assert sorted(found.name for found in path.parent.iterdir()) == [".gitignore", "passphrase", "state", "work"]


@pytest.mark.parametrize("outer", [{"PULUMI_CONFIG_PASSPHRASE": "x"}, {"PULUMI_CONFIG_PASSPHRASE_FILE": "/etc/mine"}])
def test_no_passphrase_is_made_where_the_caller_has_one(tmp_path: Path, outer: dict[str, str]) -> None:
    environment_of(tmp_path, outer).prepare()
    assert not (tmp_path / ".modelplane/passphrase").exists()


def test_paths_of_an_environment(tmp_path: Path) -> None:
    environment = Environment(directory=tmp_path, variables={})
    assert environment.folder == tmp_path / ".modelplane"
    assert environment.work_dir == tmp_path / ".modelplane/work"
