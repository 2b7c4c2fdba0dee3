"""The hydration program as the process that a Job starts, against a small hub, on a folder or a volume of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cluster.workloads.hub import TOKEN, Hub, commit_of, serving

from api.caches import HuggingFace
from components.cache_manifests import MOUNT, CacheSetting, hydration_job

WEIGHTS = bytes(range(256)) * 4096
CONFIG = b'{"architectures": ["Qwen"]}'
MAIN = {"config.json": CONFIG, "model-1.safetensors": WEIGHTS, "extra/notes.txt": b"", "copy.safetensors": WEIGHTS}
V2 = {"config.json": b'{"architectures": ["Qwen2"]}', "model-1.safetensors": WEIGHTS[::-1]}


@dataclass
class Outcome:
    code: int
    reason: str
    message: str
    output: str


@dataclass
class Stage:
    """A hub, a volume and the program's own command line, out of the Job's manifest."""

    hub: Hub
    volume: Path
    report: Path

    def run(self, revision: str | None = None, *, token: str | None = None, limit: int | None = None) -> Outcome:
        source = HuggingFace.model_validate({"repo": "org/model", "revision": revision, "sizeGiB": 1}, by_alias=True)
        setting = CacheSetting(namespace="ml-team", name="c", source=source, storage_class="rwx")
        container = hydration_job(setting)["spec"]["template"]["spec"]["containers"][0]
        arguments = [str(self.volume) if each == MOUNT else each for each in container["args"]]
        if token is not None:
            secret = self.report.with_name("token")
            secret.write_text(token)
            arguments += ["--token-file", str(secret)]
        self.report.unlink(missing_ok=True)
        program = container["command"][2]
        command = [sys.executable, "-c", program, *arguments, "--report", str(self.report)]
        if limit is not None:
            command = ["sh", "-c", f'ulimit -f {limit // 512}; exec "$@"', "sh", *command]
        environment = {"PATH": os.environ["PATH"], "HF_ENDPOINT": self.hub.url}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        told = json.loads(self.report.read_text()) if self.report.exists() else {}
        return Outcome(done.returncode, told.get("reason", ""), told.get("message", ""), done.stdout + done.stderr)

    def read(self, path: str) -> bytes:
        return (self.volume / path).read_bytes()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    volume = tmp_path / "volume"
    (volume / "lost+found").mkdir(parents=True)
    with serving(Hub(files={"main": dict(MAIN), "v2": dict(V2)})) as hub:
        yield Stage(hub, volume, tmp_path / "report")


def test_a_repository_is_staged_as_a_hub_cache_with_links_at_the_root(stage: Stage) -> None:
    assert stage.run().code == 0
    commit = commit_of("main")
    snapshot = f"models--org--model/snapshots/{commit}"
    for path, content in MAIN.items():
        assert stage.read(f"{snapshot}/{path}") == stage.read(path) == content
        assert (stage.volume / snapshot / path).is_symlink()
    assert stage.read("models--org--model/refs/main") == commit.encode()
    assert len(list((stage.volume / "models--org--model/blobs").iterdir())) == 3
    marker = json.loads(stage.read(".modelplane-hydrated"))
    assert marker == {"repo": "org/model", "revision": "main", "layout": "hub-1", "commit": commit}


def test_an_engine_finds_it_offline(stage: Stage) -> None:
    """As the hub's own client looks it up: reference, then snapshot."""
    stage.run("v2")
    root = stage.volume / "models--org--model"
    commit = (root / "refs/v2").read_text()
    assert (root / "snapshots" / commit / "config.json").read_bytes() == V2["config.json"]


def test_what_is_staged_is_not_asked_for_again(stage: Stage) -> None:
    stage.run()
    stage.hub.asked.clear()
    assert stage.run().code == 0
    assert stage.hub.asked == []


def test_a_gated_repository(stage: Stage) -> None:
    stage.hub.is_gated = True
    without = stage.run()
    assert (without.code, without.reason) == (10, "Refused")
    assert "without a token" in without.message
    wrong = stage.run(token="another")
    assert (wrong.code, wrong.reason) == (10, "Refused")
    assert "with this token" in wrong.message
    right = stage.run(token=f"{TOKEN}\n")
    assert right.code == 0
    assert TOKEN not in without.output + wrong.output + right.output


def test_the_token_goes_to_the_hub_and_not_to_the_store_it_redirects_to(stage: Stage) -> None:
    stage.hub.is_gated = True
    assert stage.run(token=TOKEN).code == 0
    assert set(stage.hub.tokens_at_store) == {""}


@pytest.mark.parametrize(("revision", "said"), [("nowhere", "org/model at nowhere")])
def test_a_revision_that_is_not_there(stage: Stage, revision: str, said: str) -> None:
    found = stage.run(revision)
    assert (found.code, found.reason) == (11, "NotFound")
    assert said in found.message


def test_a_volume_that_is_full(stage: Stage) -> None:
    found = stage.run(limit=512 * 1024)
    assert (found.code, found.reason) == (12, "OutOfSpace")
    assert not (stage.volume / ".modelplane-hydrated").exists()


def test_a_repository_that_cannot_fit_is_not_begun(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    class Huge(bytes):
        def __len__(self) -> int:
            return 10**18

    stage.hub.files["main"]["huge.bin"] = Huge(b"x")
    found = stage.run()
    assert (found.code, found.reason) == (12, "OutOfSpace")
    assert "GiB" in found.message
    assert not any("/resolve/" in path for path in stage.hub.asked)


def test_a_download_that_breaks_off_goes_on_where_it_stopped(stage: Stage) -> None:
    stage.hub.files["main"] = {"model-1.safetensors": WEIGHTS}
    stage.hub.cut_after = 300_000
    cut = stage.run()
    assert (cut.code, cut.reason) == (1, "Interrupted")
    assert not (stage.volume / ".modelplane-hydrated").exists()
    stage.hub.asked.clear()
    assert stage.run().code == 0
    assert stage.read("model-1.safetensors") == WEIGHTS
    (rest,) = [path for path in stage.hub.asked if path.endswith("bytes=300000-") and "resolve" in path]
    assert "model-1.safetensors" in rest


def test_content_that_is_not_what_its_name_says_is_thrown_away(stage: Stage) -> None:
    stage.hub.files["main"] = {"model-1.safetensors": WEIGHTS}
    stage.hub.cut_after = 300_000
    stage.run()
    (partial,) = (stage.volume / "models--org--model/blobs").glob("*.incomplete")
    partial.write_bytes(b"x" * partial.stat().st_size)
    assert stage.run().code == 1
    assert stage.run().code == 0
    assert stage.read("model-1.safetensors") == WEIGHTS


def test_another_revision_is_staged_beside_the_old_one_and_takes_its_links(stage: Stage) -> None:
    """D13."""
    stage.run()
    assert stage.run("v2").code == 0
    assert stage.read("config.json") == V2["config.json"]
    assert not (stage.volume / "extra").exists()
    assert (stage.volume / "lost+found").is_dir()
    old = f"models--org--model/snapshots/{commit_of('main')}/config.json"
    assert stage.read(old) == CONFIG
    assert json.loads(stage.read(".modelplane-hydrated"))["revision"] == "v2"


def test_a_commit_needs_no_reference(stage: Stage) -> None:
    """D24."""
    commit = commit_of("a")
    stage.hub.files = {commit: {"config.json": CONFIG}}
    stage.run(commit)
    listed = commit_of(commit)
    assert (stage.volume / f"models--org--model/snapshots/{listed}/config.json").read_bytes() == CONFIG


def test_a_file_that_would_lie_outside_is_refused(stage: Stage) -> None:
    stage.hub.files["main"] = {"../../escape": b"x"}
    found = stage.run()
    assert (found.code, found.reason) == (14, "BadRepository")
    assert not (stage.volume.parent / "escape").exists()


def test_a_hub_that_is_not_there_is_tried_again(stage: Stage) -> None:
    stage.hub.url = "http://127.0.0.1:9"
    found = stage.run()
    assert (found.code, found.reason) == (1, "Interrupted")
