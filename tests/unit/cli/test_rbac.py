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


def test_the_example_for_a_serving_cluster_is_what_is_printed_bound_to_an_account(run: Run) -> None:
    text = (ROOT / "examples" / "operate" / "rbac.yaml").read_text()
    documents = {each["kind"]: each for each in YAML(typ="safe").load_all(text)}
    role, binding, account = (documents[kind] for kind in ("ClusterRole", "ClusterRoleBinding", "ServiceAccount"))
    assert role == YAML(typ="safe").load(run("rbac", "gpu-us-east", "-f", LOCAL).out)
    assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == ("ClusterRole", role["metadata"]["name"])
    own = {key: account["metadata"][key] for key in ("name", "namespace")}
    assert binding["subjects"] == [{"kind": "ServiceAccount", **own}]
    token = documents["Secret"]["metadata"]
    assert (token["annotations"]["kubernetes.io/service-account.name"], token["namespace"]) == tuple(own.values())
