"""What Prometheus is told, and that rules and dashboards ask for nothing else."""

import json
import operator
import re
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from builders import a_class, a_cluster, a_deployment, a_fleet, a_pool, a_service
from engine.fleets import free_port
from prometheus_client import CollectorRegistry, generate_latest
from ruamel.yaml import YAML
from states import a_ledger, an_entry, cluster_outputs, documents_of, pool_facts
from unit.stacks.loop.test_loop import Bench

from api.classes import InferenceClass
from api.errors import InvalidFleet, InvocationError, Problem
from api.names import StackName
from stacks.drift import Drift
from stacks.loop.metrics import FleetCollector, Ran, free_nodes, serve
from stacks.operation import Operation, OperationFailed

ROOT = Path(__file__).resolve().parents[4]
GROUPS = YAML(typ="safe").load((ROOT / "alerts/modelplane.yaml").read_text())["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
PANELS = json.loads((ROOT / "dashboards/modelplane.json").read_text())["panels"]
EXPRESSIONS = [rule["expr"] for rule in RULES] + [target["expr"] for panel in PANELS for target in panel["targets"]]

Samples = dict[str, dict[frozenset[tuple[str, str]], float]]
"""Values by name and labels."""


def a_priced_class() -> InferenceClass:
    plain = a_class().plain()
    plain["metadata"]["annotations"] = {"modelplane.ai/hourly-cost": "2.50"}
    return InferenceClass.parse(plain)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    clusters = (a_cluster("gpu-us-east"), a_cluster("gpu-eu-west"))
    chat = (a_deployment("chat", replicas=2), a_service("chat"))
    bench = Bench(tmp_path, documents_of(a_fleet("local"), a_priced_class(), *clusters, *chat))
    bench.up()
    return bench


def registry_of(bench: Bench, *operations: Operation) -> CollectorRegistry:
    registry = CollectorRegistry()
    ran = Ran(registry)
    for operation in operations:
        ran.operation(operation)
    registry.register(FleetCollector(bench.loop, ran))
    return registry


def samples_of(bench: Bench, *operations: Operation) -> Samples:
    found: Samples = {}
    for family in registry_of(bench, *operations).collect():
        for sample in family.samples:
            found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return found


CHAT = frozenset({("namespace", "ml-team"), ("deployment", "chat")})
UP = Operation(stack=StackName("local", "routing"), action="up", seconds=3.0)


def test_replicas_are_counted_by_deployment(bench: Bench) -> None:
    found = samples_of(bench)
    names = ("desired", "placed", "ready", "routable")
    counts = {name: found[f"modelplane_deployment_replicas_{name}"][CHAT] for name in names}
    assert counts == {"desired": 2, "placed": 2, "ready": 2, "routable": 2}
    bench.simulation.lose_pods(["chat"])
    bench.settle()
    found = samples_of(bench)
    counts = {name: found[f"modelplane_deployment_replicas_{name}"][CHAT] for name in names}
    assert counts == {"desired": 2, "placed": 2, "ready": 0, "routable": 0}


def test_free_nodes_are_those_that_no_replica_takes() -> None:
    clusters = {name: cluster_outputs(name, pools=[pool_facts(nodes=3)]) for name in ("us", "eu")}
    assert free_nodes(clusters, a_ledger(an_entry(cluster="us"), an_entry(cluster="us", index=1))) == {("h100x8",): 4.0}


def test_what_nodes_cost_is_told_by_cluster(tmp_path: Path) -> None:
    documents = documents_of(a_fleet("local"), a_priced_class(), a_cluster("us", pools=[a_pool(nodes=3)]))
    bench = Bench(tmp_path, documents)
    bench.settle()
    assert samples_of(bench)["modelplane_cost_per_hour"] == {frozenset({("cluster", "us")}): 7.5}


def test_operations_their_time_and_their_drift_are_told() -> None:
    registry = CollectorRegistry()
    ran = Ran(registry)
    scaled = Drift(kind="Deployment", name="a", field="spec.replicas", found=2, applied=1, manager="kubectl")
    ran.operation(Operation(stack=UP.stack, action="up", seconds=3.0, drift=(scaled,)))
    ran.operation(Operation(stack=UP.stack, action="up", seconds=30.0, error=OperationFailed("no")))
    text = generate_latest(registry).decode()
    assert 'modelplane_operations_total{kind="routing",result="failed"} 1.0' in text
    assert 'modelplane_operation_seconds_bucket{kind="routing",le="5.0"} 1.0' in text
    assert ran.drift["scaled-by-other"] == 0, "the last look counts"


def test_every_rule_and_panel_asks_for_what_is_exported(bench: Bench) -> None:
    exported = set(samples_of(bench, UP))
    asked = {name for expression in EXPRESSIONS for name in re.findall(r"\bmodelplane_\w+", expression)}
    assert asked - exported == set()
    unseen = {name for name in exported - asked if not name.endswith(("_sum", "_count", "_created"))}
    assert unseen == set(), "what nobody looks at need not be exported"


COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {"<": operator.lt, ">": operator.gt, "==": operator.eq}


def firing(expression: str, samples: Samples, now: float) -> list[frozenset[tuple[str, str]]]:
    """Labels for which a rule's expression holds: the part of PromQL that our rules are written in."""
    if " and " in expression:
        first, second = expression.split(" and ")
        both = set(firing(second, samples, now))
        return [labels for labels in firing(first, samples, now) if labels in both]
    if gone := re.fullmatch(r"absent\((\w+)\)", expression):
        return [] if samples.get(gone[1]) else [frozenset()]
    age = re.fullmatch(r"time\(\) - (\w+) > (\d+)", expression)
    if age:
        return [labels for labels, value in samples.get(age[1], {}).items() if now - value > float(age[2])]
    match = re.fullmatch(r"(\w+)(?:\{(\w+)=\"([^\"]+)\"\})? (<|>|==) (\S+)", expression)
    assert match is not None, f"{expression} is more than is evaluated here"
    name, label, wanted, sign, other = match.groups()
    found = []
    for labels, value in samples.get(name, {}).items():
        if label and (label, wanted) not in labels:
            continue
        right = samples.get(other, {}).get(labels) if other.startswith("modelplane") else float(other)
        if right is not None and COMPARISONS[sign](value, right):
            found.append(labels)
    return found


def alerts(samples: Samples, now: float) -> dict[str, list[frozenset[tuple[str, str]]]]:
    return {rule["alert"]: found for rule in RULES if (found := firing(rule["expr"], samples, now))}


def test_a_healthy_fleet_alerts_nobody(bench: Bench) -> None:
    bench.settle()
    assert bench.loop.good_at is not None
    assert alerts(samples_of(bench), bench.loop.good_at + 60) == {}


def test_one_of_two_placed_fires_and_names_the_deployment(tmp_path: Path) -> None:
    documents = documents_of(
        a_fleet("local"), a_class(), a_cluster("gpu-eu-west"), a_deployment("chat", replicas=2), a_service("chat")
    )
    bench = Bench(tmp_path, documents)
    bench.settle()
    bench.become_ready()
    bench.settle()
    assert bench.loop.good_at is not None
    found = alerts(samples_of(bench), bench.loop.good_at)
    assert found == {"ModelplaneReplicasShort": [CHAT]}


def test_every_other_alert_has_something_that_fires_it(bench: Bench) -> None:
    bench.settle()
    bench.simulation.lose_pods(["chat"])
    bench.settle()
    bench.simulation.unreachable.add("gpu-us-east")
    bench.settle()
    bench.loop.trouble = InvalidFleet([Problem(code="MP122", message="holds no documents")])
    bench.loop.held = ["gone"]
    done = next(iter(bench.loop.done))
    bench.loop.done[done] = replace(bench.loop.done[done], failures=9)
    scaled = Drift(kind="Deployment", name="a", field="spec.replicas", found=2, applied=1, manager="kubectl")
    samples = samples_of(bench, Operation(stack=UP.stack, action="up", drift=(scaled,)))
    now = (bench.loop.good_at or 0) + 3600
    fired = set(alerts(samples, now)) | set(alerts({}, now))
    assert {rule["alert"] for rule in RULES} - fired == {"ModelplaneReplicasShort"}


def test_rules_say_what_is_wrong_and_what_to_do() -> None:
    for rule in RULES:
        assert set(rule["annotations"]) == {"summary", "description"}, rule["alert"]
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert set(re.findall(r"\$labels\.(\w+)", str(rule))) <= {"namespace", "deployment", "stack", "cluster"}


def test_it_answers_scrapes(bench: Bench) -> None:
    port = free_port()
    serve(registry_of(bench), f"127.0.0.1:{port}")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        assert "modelplane_deployment_replicas_desired" in answer.read().decode()


@pytest.mark.parametrize("listen", ["nine", "host:", "127.0.0.1:99999"])
def test_what_is_no_address_is_refused(listen: str) -> None:
    with pytest.raises(InvocationError):
        serve(CollectorRegistry(), listen)
