"""`modelplane rbac` prints what an administrator applies."""

from ruamel.yaml import YAML
from unit.cli.running import ROOT, Run

LOCAL = str(ROOT / "examples" / "local")


def test_every_cluster_and_the_hub_have_a_role(run: Run) -> None:
    done = run("rbac", "-f", LOCAL)
    assert done.code == 0, done.err
    roles = list(YAML(typ="safe").load_all(done.out))
    assert [(role["kind"], role["metadata"]["name"]) for role in roles] == [("ClusterRole", "modelplane-demo")] * 3
    assert [line for line in done.out.splitlines() if line.startswith("#")] == [
        "# on gpu-eu-west",
        "# on gpu-us-east",
        "# on hub",
    ]


def test_one_can_be_named(run: Run) -> None:
    done = run("rbac", "hub", "-f", LOCAL)
    [role] = YAML(typ="safe").load_all(done.out)
    assert {rule["apiGroups"][0] for rule in role["rules"]} == {
        "",
        "discovery.k8s.io",
        "gateway.networking.k8s.io",
        "apiextensions.k8s.io",
    }


def test_a_cluster_that_is_not_there_is_refused(run: Run) -> None:
    done = run("rbac", "nowhere", "-f", LOCAL)
    assert done.code == 2
    assert "MP201" in done.err
    assert "gpu-eu-west, gpu-us-east, hub" in done.err
