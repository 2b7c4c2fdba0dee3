"""What a cache puts on a cluster: a volume that many read and write, and a Job that is handed a program."""

from typing import Any

from api.caches import HuggingFace
from components import hydrate
from components.cache_manifests import CacheSetting, hydration_job, token_secret, volume_claim

Plain = dict[str, Any]


def a_setting(**source: Any) -> CacheSetting:
    origin = HuggingFace.model_validate({"repo": "Qwen/Qwen3-8B", "sizeGiB": 20} | source, by_alias=True)
    return CacheSetting(
        namespace="ml-team", name="qwen3-coder", source=origin, storage_class="rwx", labels={"modelplane.ai/fleet": "p"}
    )


def job(setting: CacheSetting) -> Plain:
    return hydration_job(setting)


def container(setting: CacheSetting) -> Plain:
    found: Plain = job(setting)["spec"]["template"]["spec"]["containers"][0]
    return found


def test_the_volume() -> None:
    found = volume_claim(a_setting())
    assert found["metadata"]["name"] == "modelcache-ml-team-qwen3-coder-c65e4"
    assert found["metadata"]["labels"] == {"modelplane.ai/fleet": "p", "modelplane.ai/modelcache": "qwen3-coder"}
    assert found["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "rwx",
        "resources": {"requests": {"storage": "20Gi"}},
    }


def test_the_job() -> None:
    found = job(a_setting())
    assert found["metadata"]["name"] == "modelcache-ml-team-qwen3-coder-hydrate-4774c"
    spec = found["spec"]
    assert spec["backoffLimit"] == 3
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    (rule,) = spec["podFailurePolicy"]["rules"]
    assert rule["onExitCodes"]["values"] == sorted(hydrate.EXITS.values())
    assert hydrate.RETRY not in rule["onExitCodes"]["values"]
    assert "nodeSelector" not in spec["template"]["spec"]


def test_what_is_staged_are_arguments_of_a_program_whose_image_is_pinned() -> None:
    found = container(a_setting(revision="v2"))
    assert found["args"] == ["--repo", "Qwen/Qwen3-8B", "--revision", "v2", "--directory", "/mnt/artifact"]
    assert found["command"][:2] == ["python3", "-c"]
    assert "Qwen" not in found["command"][2]
    name, _, tag = found["image"].rpartition(":")
    assert name.endswith("/python")
    assert tag.count(".") == 2


def test_the_token_is_mounted_and_in_no_spec() -> None:
    setting = a_setting(authSecret={"name": "hf", "key": "TOKEN"})
    found = job(setting)
    assert container(setting)["args"][-2:] == ["--token-file", "/var/run/modelplane/token"]
    assert "env" not in container(setting)
    (token,) = [each for each in found["spec"]["template"]["spec"]["volumes"] if each["name"] == "token"]
    auth = setting.source.auth_secret
    assert auth is not None
    secret = token_secret(setting, auth, "hush")
    assert token["secret"] == {
        "secretName": secret["metadata"]["name"],
        "items": [{"key": "TOKEN", "path": "token"}],
    }
    assert secret["stringData"] == {"TOKEN": "hush"}
    assert secret["metadata"]["name"] == "modelcache-ml-team-qwen3-coder-auth-a73ec"
    assert "hush" not in str(found)


def test_what_a_volume_holds_is_told_by_repository_revision_and_layout() -> None:
    assert a_setting().identity == "Qwen/Qwen3-8B@main/hub-1"
    assert a_setting(revision="v2").identity == "Qwen/Qwen3-8B@v2/hub-1"
