"""The identity of a cluster that was handed over: its credential asks for tokens, and is in clear nowhere."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from builders import a_cluster
from clouds.accounts import GOOGLE_TOKEN, google_key
from program_runs import a_directory, ran

from api.fleets import Secret
from api.sources import IdentitySecretRef
from components.cloud_tokens import search_path
from programs import cluster
from programs.identity import BadIdentity, with_identity
from programs.kubernetes_access import BadKubeconfig, single_config
from programs.outputs import ClusterOutputs
from programs.probe import Answer

KUBECONFIG = """\
current-context: us
contexts:
  - {name: other, context: {cluster: other, user: other}}
  - {name: us, context: {cluster: us, user: own}}
clusters:
  - {name: other, cluster: {server: "https://other.example"}}
  - {name: us, cluster: {server: "https://us.example"}}
users:
  - {name: own, user: {token: a-token-of-its-own}}
"""
GOOGLE = IdentitySecretRef(name="us-identity")


@pytest.fixture(scope="module")
def key() -> Iterator[str]:
    with google_key() as found:
        yield found


def test_the_identity_asks_for_the_token_in_place_of_the_kubeconfig_s_own_user(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", search_path(os.environ["PATH"]))
    found = single_config(with_identity(KUBECONFIG, GOOGLE, key))
    assert found.user is not None
    assert found.user.token == GOOGLE_TOKEN
    assert found.cluster.server == "https://us.example"


def test_only_what_is_used_of_the_kubeconfig_is_kept_and_the_credential_is_no_argument(key: str) -> None:
    config: dict[str, Any] = yaml.safe_load(with_identity(KUBECONFIG, GOOGLE, key))
    (user,) = config["users"]
    assert [each["name"] for each in config["clusters"]] == ["us"]
    assert user["user"]["exec"]["args"] == ["kube-token", "gke"]
    assert [each["name"] for each in user["user"]["exec"]["env"]] == ["GOOGLE_CREDENTIALS"]
    assert "a-token-of-its-own" not in json.dumps(config)
    nebius = IdentitySecretRef(name="us-identity", type="NebiusServiceAccountCredentials")
    run = yaml.safe_load(with_identity(KUBECONFIG, nebius, key))["users"][0]["user"]["exec"]
    assert (run["args"], run["env"][0]["name"]) == (["kube-token", "nebius"], "NEBIUS_CREDENTIALS")


@pytest.mark.parametrize("credential", ["a secret that is no key", "[]", "{}"])
def test_a_credential_that_is_none_is_told_without_its_content(credential: str) -> None:
    with pytest.raises(BadIdentity, match="Secret modelplane-system/us-identity key private_key holds no") as caught:
        with_identity(KUBECONFIG, GOOGLE, credential)
    assert "a secret" not in str(caught.value)


def test_a_kubeconfig_without_a_context_is_told(key: str) -> None:
    with pytest.raises(BadKubeconfig, match="no current context"):
        with_identity("clusters: [{name: us, cluster: {}}]", GOOGLE, key)


def test_the_cluster_stack_exports_the_kubeconfig_with_its_identity_as_a_secret(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def probe(kubeconfig: str, **_: Any) -> Answer:
        asked.append(kubeconfig)
        return Answer(reachable=True, kube_system_uid="uid", nodes={"gpu": 1})

    monkeypatch.setattr(cluster, "probe", probe)
    existing = {"secretRef": {"name": "of-us"}, "identitySecretRef": {"name": "us-identity"}}
    document = a_cluster("us", cluster={"source": "Existing", "existing": existing})
    recording = ran(
        "cluster.us",
        a_directory(document, secret("of-us", kubeconfig=KUBECONFIG), secret("us-identity", private_key=key)),
    )
    found = ClusterOutputs.model_validate(recording.exports)
    assert recording.secret == {"kubeconfig"}
    assert json.loads(found.kubeconfig)["users"][0]["name"] == "modelplane-identity"
    assert asked == [found.kubeconfig]


def secret(name: str, **data: str) -> Secret:
    metadata = {"name": name, "namespace": "modelplane-system"}
    return Secret.parse({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data})
