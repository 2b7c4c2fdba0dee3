"""Several accounts of one cloud side by side: each cluster is made by its own, and no state holds what they are."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from builders import a_fleet
from clouds.rig import ACCOUNT, DOOR, Clouds, engine_of
from doubles.outputs import digest_of
from sites import Plain, a_cloud_class, a_cloud_cluster
from states import documents_of

from api.names import StackName

pytestmark = pytest.mark.engine

SECRETS = {
    "EKS": {
        "US_KEY": "AKIAOFTHEUNITEDSTATES",
        "US_SECRET": "quite-unlike-any-other-1",
        "EU_KEY": "AKIAOFEUROPE",
        "EU_SECRET": "quite-unlike-any-other-2",
    },
    "GKE": {
        "US_KEY": json.dumps({"type": "service_account", "private_key": "quite-unlike-any-other-1"}),
        "EU_KEY": json.dumps({"type": "service_account", "private_key": "quite-unlike-any-other-2"}),
    },
}
CREDENTIALS: dict[str, dict[str, Plain]] = {
    "EKS": {
        name: {"aws": {"env": {"AWS_ACCESS_KEY_ID": f"{name}_KEY", "AWS_SECRET_ACCESS_KEY": f"{name}_SECRET"}}}
        for name in ("US", "EU")
    },
    "GKE": {
        name: {"gcp": {"project": f"acme-{name.lower()}", "env": {"GOOGLE_CREDENTIALS": f"{name}_KEY"}}}
        for name in ("US", "EU")
    },
}
PACKAGES = {"EKS": "aws", "GKE": "gcp"}


@pytest.mark.parametrize("source", [pytest.param("EKS", marks=pytest.mark.soak), "GKE"])
def test_two_clusters_of_one_cloud_are_made_by_two_accounts(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clusters = [a_cloud_cluster(source, name.lower(), credentials={"name": name.lower()}) for name in ("US", "EU")]
    credentials = {name.lower(): entry for name, entry in CREDENTIALS[source].items()}
    fleet = a_fleet("prod", gateway={"kubeconfigSecretRef": {"name": "hub"}}, credentials=credentials)
    documents = documents_of(fleet, DOOR, a_cloud_class(source), *clusters)
    clouds = Clouds(tmp_path / "clouds")
    clouds.variables |= SECRETS[source]
    engine = engine_of(clouds, tmp_path, documents, monkeypatch)
    stacks = [StackName("prod", "cluster", cluster.name) for cluster in clusters]
    with ThreadPoolExecutor(len(stacks)) as pool:
        operations = list(pool.map(lambda stack: engine.up(stack, refresh=False), stacks))
    assert [(operation.ok, operation.error) for operation in operations] == [(True, None)] * 2
    made = {name: {entry["account"] for entry in held} for name, held in by_cluster(clouds, PACKAGES[source]).items()}
    keys = {name.lower(): SECRETS[source][f"{name}_KEY"] for name in ("US", "EU")}
    assert made == {name: {digest_of(key)} for name, key in keys.items()}
    for stack in stacks:
        state = engine._run("stack", "export", "--show-secrets", "--stack", str(stack))
        assert isinstance(state, str)
        assert f"cluster-{stack.cluster}/cluster" in state
        for secret in (*SECRETS[source].values(), "quite-unlike-any-other", ACCOUNT["AWS_ACCESS_KEY_ID"]):
            assert json.dumps(secret)[1:-1] not in state


def by_cluster(clouds: Clouds, package: str) -> dict[str, list[Plain]]:
    """What a cloud holds, by the cluster that it is of."""
    found: dict[str, list[Plain]] = {}
    for entry in clouds.held(package).values():
        found.setdefault(entry["name"].partition("/")[0].removeprefix("cluster-"), []).append(entry)
    return found
