"""What is said of a chart that failed, and what becomes of a release that a killed run left in the middle."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from stacks import charts
from stacks.charts import chart_failure
from stacks.events import RELEASE
from stacks.pending import Unsettled, settle

URN = "urn:pulumi:prod.serving.us::modelplane::kubernetes:helm.sh/v3:Release::serving-us/lws"
PROVIDER = "urn:pulumi:prod.serving.us::modelplane::pulumi:providers:kubernetes::us"
INPUTS = {
    "chart": "oci://registry.k8s.io/lws/charts/lws",
    "version": "v0.8.0",
    "name": "mp-lws",
    "namespace": "lws-system",
}
ENTRY = {"urn": URN, "type": RELEASE, "custom": True, "provider": f"{PROVIDER}::id", "inputs": INPUTS}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the cluster shows, by kubeconfig."""
    shown = {"a kubeconfig": "Deployment lws-system/lws: 0 of 1 pods ready"}

    def look(kubeconfig: str, namespace: str, name: str) -> str:
        assert (namespace, name) == ("lws-system", "mp-lws")
        return shown[kubeconfig]

    monkeypatch.setattr(charts, "first_failing_object", look)
    return shown


def test_a_failed_chart_is_told_by_name_version_release_and_object(cluster: dict[str, str]) -> None:
    error = chart_failure(
        [ENTRY, {**ENTRY, "inputs": {**INPUTS, "name": "mp-kai-scheduler"}}],
        {f"{PROVIDER}::id": "a kubeconfig"},
        ["another: no", "serving-us/lws: it did not\n  become ready"],
        "stack prod.serving.us",
    )
    assert (error.error_code, error.where) == ("MP351", "stack prod.serving.us")
    assert error.message == (
        "chart lws v0.8.0, release lws-system/mp-lws: Deployment lws-system/lws: 0 of 1 pods ready; "
        "it did not become ready (and mp-kai-scheduler)"
    )


def test_where_the_cluster_shows_nothing_helm_s_words_remain(cluster: dict[str, str]) -> None:
    assert chart_failure([ENTRY], {}, ["serving-us/lws: no such chart"], "").message == (
        "chart lws v0.8.0, release lws-system/mp-lws: no such chart"
    )
    cluster["a kubeconfig"] = ""
    assert chart_failure([ENTRY], {f"{PROVIDER}::id": "a kubeconfig"}, ["x"], "").message.endswith("mp-lws: x")


def test_a_cluster_that_was_too_slow_is_asked_again_and_nothing_has_to_be_put_right(cluster: dict[str, str]) -> None:
    said = "serving-us/lws: failed to install CRD: 1 error occurred:\n\t* Timeout: context deadline exceeded"
    error = chart_failure([ENTRY], {}, [said], "")
    assert error.message.endswith("mp-lws: failed to install CRD: Timeout: context deadline exceeded")
    assert error.hint == charts.HINT_SLOW
    assert chart_failure([ENTRY], {}, ["serving-us/lws: no such chart"], "").hint == charts.HINT


def a_state(*resources: Mapping[str, Any], pending: str) -> dict[str, Any]:
    provider = {
        "urn": PROVIDER,
        "id": "id",
        "type": "pulumi:providers:kubernetes",
        "inputs": {
            "kubeconfig": {
                "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
                "plaintext": json.dumps("a kubeconfig"),
            }
        },
    }
    operation = {"resource": ENTRY, "type": pending}
    return {"deployment": {"resources": [provider, *resources], "pending_operations": [operation]}}


@pytest.mark.parametrize("there", [True, False], ids=["it is there", "it is not"])
def test_an_interrupted_install_is_freed_and_kept_where_it_was_made(there: bool) -> None:
    asked: list[tuple[str, str]] = []

    def release(kubeconfig: str, inputs: Mapping[str, Any]) -> bool:
        asked.append((kubeconfig, inputs["name"]))
        return there

    state = a_state(pending="creating")
    settled = settle(state, state, "prod", lambda *_: pytest.fail("it is no object"), release=release)
    assert asked == [("a kubeconfig", "mp-lws")]
    found = [each for each in settled.state["deployment"]["resources"] if each["type"] == RELEASE]
    assert found == (
        [{**ENTRY, "id": "lws-system/mp-lws", "outputs": INPUTS, "dependencies": [], "propertyDependencies": {}}]
        if there
        else []
    )
    assert settled.changed
    what = "found and kept" if there else "not found, made again where wanted"
    assert settled.notes == (f"Release serving-us/lws: interrupted while creating, {what}",)


def test_an_interrupted_upgrade_is_freed_before_anything_is_read_again() -> None:
    asked: list[str] = []

    def release(kubeconfig: str, inputs: Mapping[str, Any]) -> bool:
        asked.append(inputs["name"])
        return True

    kept = {**ENTRY, "id": "lws-system/mp-lws"}
    state = a_state(kept, pending="updating")
    settled = settle(state, state, "prod", lambda *_: None, release=release)
    assert asked == ["mp-lws"]
    assert [each for each in settled.state["deployment"]["resources"] if each["type"] == RELEASE] == [kept]
    assert settled.changed


def test_nothing_is_decided_while_the_cluster_does_not_tell() -> None:
    def release(kubeconfig: str, inputs: Mapping[str, Any]) -> bool:
        raise Unsettled("its cluster does not tell: ConnectError")

    state = a_state(pending="creating")
    with pytest.raises(Unsettled):
        settle(state, state, "prod", lambda *_: None, release=release)
