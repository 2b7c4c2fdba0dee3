"""Both serving stacks and the hub from nothing to nothing, with Helm on real API servers and stand-in charts.

The tests build on each other and run in the order they are written in.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from engine.bare import Bare, bare_cluster
from engine.fleets import Done, Scratch
from engine.runs import locks, marked, running, tell, wait_until
from standin_charts import KEPT, Repository, StandIn, all_charts

from components.charts import NEEDS
from components.definitions import DEFINITIONS

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(1200)]

SLOW_SECONDS = 12
STANDARD = {
    "mp-cert-manager",
    "mp-gateway-helm",
    "mp-ai-gateway-crds-helm",
    "mp-ai-gateway-helm",
    "mp-kube-prometheus-stack",
    "mp-lws",
    "mp-node-feature-discovery",
    "mp-dra-driver-nvidia-gpu",
}
DYNAMO = (STANDARD - {"mp-lws"}) | {"mp-grove-charts", "mp-kai-scheduler"}
HUB = {"mp-traefik", "mp-metallb"}
SERVING, GATEWAY = "demo.serving.us", "demo.gateway"
AWKWARD = {"list": [1, "2", {"three": "03"}], "zero": 0, "off": False, "big": 1234567, "digits": "007", "empty": {}}
"""Values that a careless comparison takes for changed."""


class BareFleet(Scratch):
    """A fleet with one serving cluster and a hub that have nothing, and nothing to serve."""

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True)

    def write(self, kubeconfigs: dict[str, str], mirror: str) -> None:
        secrets = []
        for name, text in kubeconfigs.items():
            (self.directory / f"{name}.kubeconfig").write_text(text)
            keys = {"kubeconfig": {"fromFile": f"{name}.kubeconfig"}}
            secrets.append({"namespace": "modelplane-system", "name": name, "keys": keys})
        spec: dict[str, Any] = {
            "gateway": {"kubeconfigSecretRef": {"name": "hub", "key": "kubeconfig"}},
            "secrets": secrets,
            "chartMirror": mirror,
            "servingStack": {"inferencePools": False, "charts": {"cert-manager": {"values": {"awkward": AWKWARD}}}},
        }
        existing = {"secretRef": {"name": "us", "key": "kubeconfig"}}
        metallb = {"loadBalancer": "MetalLB", "metallb": {"addressPool": "10.0.0.1-10.0.0.9"}}
        self.document("Fleet", "demo", spec)
        self.document(
            "InferenceCluster",
            "us",
            {"cluster": {"source": "Existing", "existing": existing}, "stack": "Standard"},
        )
        self.document(
            "InferenceGateway", "default", {"backend": "Traefik", "traefik": {"version": "40.2.0", **metallb}}
        )

    def document(self, kind: str, name: str, spec: dict[str, Any]) -> None:
        document = {
            "apiVersion": "modelplane.ai/v1alpha1",
            "kind": kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        (self.directory / f"{kind.lower()}.yaml").write_text(json.dumps(document))

    def chart(self, key: str, **settings: Any) -> None:
        """Change the settings of one chart of the serving stack."""

        def change(document: dict[str, Any]) -> dict[str, Any]:
            charts = document["spec"]["servingStack"]["charts"]
            charts[key] = {**charts.get(key, {}), **settings}
            return document

        self.edit("Fleet", "demo", change)

    def stack(self, name: str) -> None:
        def change(document: dict[str, Any]) -> dict[str, Any]:
            document["spec"]["stack"] = name
            return document

        self.edit("InferenceCluster", "us", change)


@dataclass
class Scene:
    fleet: BareFleet
    us: Bare
    hub: Bare
    repository: Repository
    logs: Path

    def up(self) -> Done:
        done = self.fleet.run("up", "-o", "json", "--wait", "2m")
        tell(done.err)
        return done


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    home = tmp_path_factory.mktemp("charts")
    repository = Repository(home / "repository")
    repository.put(*all_charts())
    taken: set[int] = set()
    with ExitStack() as stack:
        url = stack.enter_context(repository.served())
        us, hub = (
            stack.enter_context(bare_cluster(home / "clusters", name, index, taken))
            for index, name in enumerate(("us", "hub"), start=1)
        )
        fleet = BareFleet(home / "fleet")
        fleet.write({"us": us.kubeconfig, "hub": hub.kubeconfig}, url)
        yield Scene(fleet, us, hub, repository, home / "logs")


def changed(done: Done) -> dict[str, int]:
    return {name: stack["changed"] for name, stack in done.json()["stacks"].items()}


def of(chart: str, **fields: Any) -> StandIn:
    """A stand-in like the one that is there, with other fields."""
    return replace(next(each for each in all_charts() if each.name == chart), **fields)


def killed(scene: Scene, release: str, status: str) -> None:
    """Run `up` and kill all of it while Helm notes that state of a release."""
    with running(scene.fleet.directory, scene.logs, "up") as run:
        wait_until(lambda: scene.us.releases().get(release, ("", 0))[0] == status, 300, f"{release} is {status}")
        run.kill("driver", "engine", "provider")
        run.ended(60)
        wait_until(lambda: not run.started(), 60, "everything of the killed run is gone")
        tell(run.said)
    assert scene.us.releases()[release][0] == status, "Helm would refuse the next operation"


def test_a_preview_needs_no_definition_on_the_cluster(scene: Scene) -> None:
    preview = scene.fleet.run("preview")
    assert preview.code == 0, preview.err
    assert scene.us.releases() == {}


def test_an_install_that_was_killed_is_recovered(scene: Scene) -> None:
    scene.repository.put(of("lws", slow=SLOW_SECONDS))
    killed(scene, "mp-lws", "pending-install")
    up = scene.up()
    assert up.code == 0, up.err
    assert scene.us.releases() == dict.fromkeys(STANDARD, ("deployed", 1))
    assert scene.hub.releases() == dict.fromkeys(HUB, ("deployed", 1))
    assert locks(scene.fleet.directory) == []
    assert marked(scene.fleet.directory) == []


def test_what_is_needed_was_installed_before(scene: Scene) -> None:
    names = {"ai-gateway-crds": "mp-ai-gateway-crds-helm", "ai-gateway": "mp-ai-gateway-helm"}
    names |= {"envoy-gateway": "mp-gateway-helm", "dra-driver": "mp-dra-driver-nvidia-gpu"}
    names["node-feature-discovery"] = "mp-node-feature-discovery"
    secrets = scene.us.items("/api/v1/secrets", labelSelector="owner=helm")
    begun = {each["metadata"]["labels"]["name"]: _seconds(each["metadata"]["creationTimestamp"]) for each in secrets}
    up = {each["metadata"]["labels"]["name"]: int(each["metadata"]["labels"]["modifiedAt"]) for each in secrets}
    for chart, needs in NEEDS.items():
        for need in needs:
            if {chart, need} <= names.keys():
                assert begun[names[chart]] >= up[names[need]], f"{chart} was begun before {need} was up"


def _seconds(timestamp: str) -> int:
    return int(datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp())


def test_the_objects_are_there_and_the_gateways_have_addresses(scene: Scene) -> None:
    assert scene.us.definitions() >= {*KEPT, *DEFINITIONS["gateway-api-inference-extension"]}
    assert set(DEFINITIONS["gateway-api"]) <= scene.hub.definitions()
    quota = scene.us.get("/api/v1/namespaces/dra-driver-nvidia-gpu/resourcequotas/allow-critical-pods")
    assert quota
    assert quota["spec"]["hard"] == {"pods": "1k"}
    pools = scene.hub.items("/apis/metallb.io/v1beta1/ipaddresspools")
    assert [pool["spec"]["addresses"] for pool in pools] == [["10.0.0.1-10.0.0.9"]]
    items = {(it["kind"], it["metadata"]["name"]): it for it in scene.fleet.run("status", "-o", "json").json()["items"]}
    conditions = items["InferenceGateway", "default"]["status"]["conditions"]
    told = {it["type"]: (it["status"], it["reason"]) for it in conditions}
    assert told["ControllerReady"] == ("True", "ControllerHealthy")
    assert told["Ready"] == ("True", "Available")
    assert told["RightsSufficient"] == ("True", "RightsSufficient")


def test_a_second_up_and_a_preview_change_nothing(scene: Scene) -> None:
    up = scene.up()
    assert up.code == 0, up.err
    assert set(changed(up).values()) == {0}
    preview = scene.fleet.run("preview", "--expect-no-changes")
    assert preview.code == 0, preview.out + preview.err
    assert scene.us.releases() == dict.fromkeys(STANDARD, ("deployed", 1))


def test_values_reach_the_chart_as_they_are_written(scene: Scene) -> None:
    found = scene.us.get("/api/v1/namespaces/cert-manager/configmaps/mp-cert-manager-values")
    assert found
    values = json.loads(found["data"]["values.json"])
    assert values["awkward"] == {key: value for key, value in AWKWARD.items() if key != "empty"} | {"empty": {}}
    assert values["crds"] == {"enabled": True, "keep": False}


def test_one_version_is_bumped_and_a_killed_upgrade_is_recovered(scene: Scene) -> None:
    scene.repository.put(of("lws", version="v0.8.1", slow=SLOW_SECONDS))
    scene.fleet.chart("leader-worker-set", version="v0.8.1")
    killed(scene, "mp-lws", "pending-upgrade")
    up = scene.up()
    assert up.code == 0, up.err
    found = scene.us.releases()
    assert found.pop("mp-lws") == ("deployed", 2)
    assert found == dict.fromkeys(STANDARD - {"mp-lws"}, ("deployed", 1))
    [deployment] = scene.us.items("/apis/apps/v1/namespaces/lws-system/deployments")
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"].endswith(":v0.8.1")
    assert set(changed(scene.up()).values()) == {0}


def test_a_chart_that_fails_is_told_and_stops_nothing_else(scene: Scene) -> None:
    scene.repository.put(of("kube-prometheus-stack", version="72.6.3", is_refused=True))
    scene.repository.put(of("node-feature-discovery", version="0.18.4"))
    scene.fleet.chart("prometheus", version="72.6.3")
    scene.fleet.chart("node-feature-discovery", version="0.18.4")
    up = scene.up()
    assert up.code == 21, up.err
    told = " ".join(up.err.split())
    assert "chart kube-prometheus-stack 72.6.3, release monitoring/mp-kube-prometheus-stack: ConfigMap" in told
    assert "mp-kube-prometheus-stack-refused" in told
    found = scene.us.releases()
    assert found["mp-kube-prometheus-stack"][0] == "failed"
    assert found["mp-node-feature-discovery"] == ("deployed", 2), "charts that do not need it go on"
    scene.fleet.chart("prometheus", version="72.6.2")
    up = scene.up()
    assert up.code == 0, up.err
    assert scene.us.releases()["mp-kube-prometheus-stack"][0] == "deployed"


def test_the_stack_of_a_cluster_cannot_change(scene: Scene) -> None:
    scene.fleet.stack("Dynamo")
    up = scene.fleet.run("up")
    assert up.code in {1, 2, 21}, up.err
    assert "MP135" in up.err
    assert "spec.stack" in up.err
    assert "mp-lws" in scene.us.releases()
    scene.fleet.stack("Standard")


def test_destroy_leaves_nothing(scene: Scene) -> None:
    down = scene.fleet.run("destroy", "--yes")
    tell(down.err)
    assert down.code == 0, down.err
    for cluster in (scene.us, scene.hub):
        assert cluster.releases() == {}
        assert cluster.namespaces() == set()
    assert scene.us.definitions() == KEPT, "Helm leaves what charts bring in their folder crds"
    assert scene.hub.definitions() == set()


def test_dynamo_has_its_own_charts_queues_and_server_out_of_a_folder(scene: Scene) -> None:
    scene.fleet.stack("Dynamo")
    scene.fleet.chart("node-feature-discovery", version="0.18.3")
    folder = str(scene.repository.folder)
    scene.fleet.edit("Fleet", "demo", lambda it: it["spec"].update(chartMirror=folder) or it)
    scene.repository.put(of("grove-charts", version="v0.1.0-alpha.13", is_refused=True))
    scene.fleet.chart("grove", version="v0.1.0-alpha.13")
    up = scene.up()
    assert up.code == 21, up.err
    assert "chart grove-charts v0.1.0-alpha.13, release grove-system/mp-grove-charts" in up.err
    scene.fleet.chart("grove", version="v0.1.0-alpha.12-rc2")
    up = scene.up()
    assert up.code == 0, up.err
    found = scene.us.releases()
    assert found.pop("mp-grove-charts")[0] == "deployed", "an install that failed is gone over"
    assert found == dict.fromkeys(DYNAMO - {"mp-grove-charts"}, ("deployed", 1))
    queues = {it["metadata"]["name"]: it["spec"] for it in scene.us.items("/apis/scheduling.run.ai/v2/queues")}
    assert {name: spec.get("parentQueue") for name, spec in queues.items()} == {
        "modelplane-root": None,
        "modelplane": "modelplane-root",
    }
    server = scene.us.get("/apis/apps/v1/namespaces/modelplane-system/deployments/modelexpress-server")
    assert server
    assert server["status"]["readyReplicas"] == 1
    assert set(changed(scene.up()).values()) == {0}


def test_dynamo_goes_too(scene: Scene) -> None:
    down = scene.fleet.run("destroy", "--yes")
    tell(down.err)
    assert down.code == 0, down.err
    assert scene.us.releases() == {}
    assert scene.us.namespaces() == set()
    assert scene.us.definitions() == KEPT
