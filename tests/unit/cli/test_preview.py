"""`preview` around the preview: what it refuses, what it prints in which form, and how it ends."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from states import a_ledger, an_entry, cluster_outputs, retiring
from unit.cli.running import Run, files_below

from api.errors import DeletionRefused, ModelplaneError
from api.names import StackName
from programs.outputs import (
    UNKNOWN,
    ClusterVerdict,
    DeploymentState,
    MaybeText,
    PlacementOutputs,
    RoutingOutputs,
    ServiceBackend,
    ServiceState,
)
from stacks.changes import CREATE, DELETE, REPLACE, SAME, UPDATE, Step, counts
from stacks.costs import Cost, Costs
from stacks.drift import Drift
from stacks.operation import Operation, OperationFailed
from stacks.preview_report import PreviewReport, Side

OLD, NEW, KEPT = an_entry("old"), an_entry("new", "eu"), an_entry("qwen", "eu")


def a_step(operation: str, name: str, *fields: str, kind: str = "kubernetes:core/v1:Service") -> Step:
    return Step(urn=f"urn:pulumi:s::modelplane::{kind}::{name}", type=kind, operation=operation, fields=fields)


def previewed(kind: str, cluster: str | None = None, *steps: Step, **fields: Any) -> Operation:
    stack = StackName("demo", kind, cluster)
    return Operation(stack=stack, action="preview", steps=steps, changes=counts(steps), seconds=1.25, **fields)


def a_service(*backends: tuple[str, int], address: MaybeText = "http://h/ml-team/mock") -> ServiceState:
    return ServiceState(
        address=address,
        backends=tuple(ServiceBackend(endpoint=endpoint, weight=weight) for endpoint, weight in backends),
    )


def a_report(**fields: Any) -> PreviewReport:
    """One replica moves to another cluster, another stays."""
    before = Side(
        placement=PlacementOutputs(ledger=a_ledger(OLD, KEPT)),
        routing=RoutingOutputs(services={"ml-team/mock": a_service((KEPT.key, 9), (OLD.key, 1))}),
    )
    after = Side(
        placement=PlacementOutputs(
            ledger=a_ledger(NEW, KEPT), deployments={"ml-team/qwen": DeploymentState(wanted=1, placed=1)}
        ),
        routing=RoutingOutputs(services={"ml-team/mock": a_service((KEPT.key, 9), (NEW.key, 2))}),
    )
    plain: dict[str, Any] = {
        "operations": [
            previewed("gateway", None, a_step(SAME, "gateway")),
            previewed("workloads", "us", a_step(DELETE, "ml-team/old/service"), a_step(SAME, "ml-team/x/service")),
            previewed(
                "routing",
                None,
                a_step(UPDATE, "service:ml-team/mock/route", "spec.a", "spec.b", "spec.c", "spec.d", "spec.e"),
                a_step(REPLACE, "ml-team/new/slice", "addressType"),
                a_step(CREATE, "ml-team/new", kind="modelplane:index:ModelEndpoint"),
            ),
        ],
        "before": before,
        "after": after,
        "retired": {OLD.key: retiring(OLD, NEW, "cluster us has the taint maintenance")},
        "clusters": {"us": cluster_outputs("us"), "eu": cluster_outputs("eu")},
    }
    return PreviewReport(**(plain | fields))


class FakePreview:
    """Stands in for the preview: tells its operations, and returns its report."""

    report = PreviewReport()
    given: dict[str, Any]

    def __init__(self, documents: Any, engine: Any, options: Any, on_operation: Any) -> None:
        type(self).given = {"documents": documents, "options": options}
        self._on_operation = on_operation

    def run(self) -> PreviewReport:
        for done in self.report.operations:
            self._on_operation(done)
        return self.report


@contextmanager
def nothing(*_: Any) -> Iterator[None]:
    yield


@contextmanager
def idle(*_: Any) -> Iterator[Any]:
    """An engine for previews that does nothing."""
    yield SimpleNamespace(under_way=tuple)


@pytest.fixture
def a_preview(monkeypatch: pytest.MonkeyPatch) -> type[FakePreview]:
    monkeypatch.setattr("stacks.preview.Preview", FakePreview)
    monkeypatch.setattr("stacks.preview_engine.preview_engine", idle)
    monkeypatch.setattr("stacks.interrupt.interruptible", nothing)
    return FakePreview


TABLE = """\
STACK              OPERATION  KIND     RESOURCE             FIELDS
demo.workloads.us  delete     Service  ml-team/old/service
demo.routing       replace    Service  ml-team/new/slice    addressType

STACK              CREATE  UPDATE  REPLACE  DELETE
demo.gateway       -       -       -        -
demo.workloads.us  -       -       -        1
  delete   Service ml-team/old/service
demo.routing       1       1       1        -
  create   ModelEndpoint ml-team/new
  replace  Service ml-team/new/slice  (addressType)
  update   Service service:ml-team/mock/route  (spec.a, spec.b, spec.c, 2 more)

REPLICA            CHANGE  CLUSTER  DETAIL
ml-team/new-ac8a6  place   eu       pool gpu
ml-team/old-0e6b1  retire  us       cluster us has the taint maintenance; ml-team/new-ac8a6 takes its place

SERVICE       ENDPOINT            WEIGHT
ml-team/mock  ml-team/qwen-2d4be  9
ml-team/mock  ml-team/new-ac8a6   - → 2
ml-team/mock  ml-team/old-0e6b1   1 → -

assumed: what is new or changed will be ready; addresses that only an update can tell are unknown
"""


def test_a_table_shows_stacks_resources_replicas_and_weights(
    run: Run, fleet: Path, a_preview: type[FakePreview]
) -> None:
    a_preview.report = a_report()
    done = run("preview", "-f", fleet)
    assert done.code == 0
    assert done.out == TABLE.replace("new-ac8a6", NEW.name).replace("old-0e6b1", OLD.name).replace(
        "qwen-2d4be", KEPT.name
    )
    *lines, last = done.err.splitlines()
    assert lines == [
        "demo.gateway                preview  no change  1.2s",
        "demo.workloads.us           preview  1 to delete  1.2s",
        "demo.routing                preview  1 to create, 1 to update, 1 to replace  1.2s",
    ]
    assert last.startswith(
        "demo: 1 to create, 1 to update, 1 to replace, 1 to delete; ledger: 1 to place, 1 to retire in 3 stacks, "
    )


def test_without_changes_only_stacks_are_listed(run: Run, fleet: Path, a_preview: type[FakePreview]) -> None:
    side = a_report().after
    a_preview.report = a_report(before=side, after=side, operations=[previewed("gateway", None, a_step(SAME, "g"))])
    done = run("preview", "-f", fleet, "--expect-no-changes")
    assert done.code == 0
    assert done.out == "STACK         CREATE  UPDATE  REPLACE  DELETE\ndemo.gateway  -       -       -        -\n"
    assert "demo: no changes in 1 stack, " in done.err


def test_json_is_the_report_and_nothing_else(run: Run, fleet: Path, a_preview: type[FakePreview]) -> None:
    a_preview.report = a_report()
    done = run("preview", "-f", fleet, "-o", "json")
    told = json.loads(done.out)
    assert told.items() >= a_preview.report.plain().items()
    assert told["fleet"] == "demo"
    assert [(each["name"], each["wanted"], each["more"]) for each in told["capacity"]] == [("mock-demo", 2, 0)]
    assert {each["code"] for each in told["findings"]} <= {"MP123"}
    assert told["unknowns"] == [
        "what is new or changed will be ready; addresses that only an update can tell are unknown"
    ]
    assert told["changes"] == {"create": 1, "update": 1, "replace": 1, "delete": 1}
    assert told["stacks"]["demo.workloads.us"] == {
        "changes": {"create": 0, "update": 0, "replace": 0, "delete": 1, "same": 1},
        "resources": [
            {"operation": "delete", "type": "kubernetes:core/v1:Service", "name": "ml-team/old/service", "fields": []}
        ],
        "drift": [],
        "error": None,
        "seconds": 1.2,
    }
    assert told["ledger"] == [
        {"operation": "place", "subject": "replica", "name": NEW.key, "cluster": "eu", "pools": ["gpu"]},
        {
            "operation": "retire",
            "subject": "replica",
            "name": OLD.key,
            "cluster": "us",
            "pools": ["gpu"],
            "reason": "cluster us has the taint maintenance",
            "successor": NEW.key,
        },
    ]
    assert told["services"]["ml-team/mock"]["weights"] == [
        {"endpoint": KEPT.key, "before": 9, "after": 9},
        {"endpoint": NEW.key, "before": None, "after": 2},
        {"endpoint": OLD.key, "before": 1, "after": None},
    ]
    assert "kubeconfig" not in done.out


def test_markdown_fits_a_pull_request(run: Run, fleet: Path, a_preview: type[FakePreview]) -> None:
    a_preview.report = a_report()
    done = run("preview", "-f", fleet, "-o", "markdown")
    lines = done.out.splitlines()
    assert lines[0] == "### Preview of fleet `demo`"
    assert lines[4] == "#### Deleted and replaced"
    assert "| `demo.routing` | 1 | 1 | 1 | - |" in lines
    assert "| _1 stack without a change_ |  |  |  |  |" in lines
    assert "<details><summary>Resources (4)</summary>" in lines
    assert "| `demo.workloads.us` | delete | Service | ml-team/old/service |  |" in lines
    assert f"| {NEW.key} | place | eu | pool gpu |" in lines
    assert f"| ml-team/mock | {OLD.key} | 1 → - |" in lines


def test_drift_is_shown_where_it_was_looked_for(run: Run, fleet: Path, a_preview: type[FakePreview]) -> None:
    scaled = Drift(
        kind="Deployment", name="ml-team/a/main", field="spec.replicas", found=2, applied=1, manager="kubectl"
    )
    missing = Drift(kind="Service", name="ml-team/a/service", field="gone")
    a_preview.report = a_report(operations=[previewed("workloads", "us", drift=(scaled, missing))])
    done = run("preview", "-f", fleet, "--refresh")
    assert a_preview.given["options"].refresh
    assert (
        "demo.workloads.us  -       -       -        -\n"
        "  drift    Deployment ml-team/a/main: copies 2 → 1, last set by kubectl\n"
        "  drift    Service ml-team/a/service: is not there any more\n"
    ) in done.out
    markdown = run("preview", "-f", fleet, "-o", "markdown").out
    assert not a_preview.given["options"].refresh
    assert "| `demo.workloads.us` | Deployment | ml-team/a/main | copies 2 → 1, last set by kubectl |" in markdown
    told = json.loads(run("preview", "-f", fleet, "-o", "json").out)
    assert told["stacks"]["demo.workloads.us"]["drift"] == [
        {
            "kind": "Deployment",
            "name": "ml-team/a/main",
            "field": "spec.replicas",
            "found": 2,
            "applied": 1,
            "manager": "kubectl",
        },
        {"kind": "Service", "name": "ml-team/a/service", "field": "gone"},
    ]


def test_a_short_deployment_says_why(run: Run, fleet: Path, a_preview: type[FakePreview]) -> None:
    verdicts = {"us": (ClusterVerdict(code="NotEnoughNodes", message="pool gpu has 0 of 1 nodes free, needs 1"),)}
    state = DeploymentState(wanted=2, placed=1, verdicts=verdicts)
    a_preview.report = a_report(after=Side(placement=PlacementOutputs(deployments={"ml-team/qwen": state})))
    done = run("preview", "-f", fleet)
    assert done.code == 20
    assert done.out.endswith(
        "DEPLOYMENT    WANTED  PLACED\nml-team/qwen  2       1\n  us: pool gpu has 0 of 1 nodes free, needs 1\n"
    )


def test_an_address_that_is_not_known_is_said_to_be_unknown(
    run: Run, fleet: Path, a_preview: type[FakePreview]
) -> None:
    service = a_service((NEW.key, 1), address=UNKNOWN)
    a_preview.report = a_report(before=Side(), after=Side(routing=RoutingOutputs(services={"ml-team/mock": service})))
    assert "ml-team/mock  address            unknown\n" in run("preview", "-f", fleet).out
    told = json.loads(run("preview", "-f", fleet, "-o", "json").out)
    assert told["services"]["ml-team/mock"]["address"] == "unknown"


def test_services_that_come_and_go_without_endpoints_are_shown(
    run: Run, fleet: Path, a_preview: type[FakePreview]
) -> None:
    a_preview.report = a_report(
        before=Side(routing=RoutingOutputs(services={"ml-team/a": a_service()})),
        after=Side(routing=RoutingOutputs(services={"ml-team/b": a_service()})),
    )
    done = run("preview", "-f", fleet)
    assert "SERVICE    ENDPOINT  WEIGHT\nml-team/a  -         gone\nml-team/b  -         new\n" in done.out


def test_clusters_that_did_not_answer_are_told(run: Run, fleet: Path, a_preview: type[FakePreview]) -> None:
    quiet = cluster_outputs("us", reachable=False, reason="Unreachable: ConnectError")
    a_preview.report = a_report(clusters={"us": quiet})
    done = run("preview", "-f", fleet)
    assert done.code == 22
    assert "cluster us did not answer when it was last asked (Unreachable: ConnectError)" in done.out


CODES: dict[str, tuple[dict[str, Any], int]] = {
    "changes, and nobody expected none": ({"expect_no_changes": False}, 0),
    "changes where none were expected": ({"expect_no_changes": True}, 7),
    "the ledger alone changes": ({"expect_no_changes": True, "operations": []}, 7),
    "resources alone change": ({"expect_no_changes": True, "after": a_report().before}, 7),
    "changes, and a cluster failed": (
        {
            "expect_no_changes": True,
            "operations": [previewed("workloads", "us", a_step(CREATE, "a"), error=OperationFailed("no"))],
        },
        21,
    ),
    "changes, and the hub failed": (
        {"expect_no_changes": True, "operations": [previewed("gateway", error=OperationFailed("no"))]},
        1,
    ),
    "the guard would stop it": ({"operations": [previewed("placement", error=DeletionRefused("too much"))]}, 26),
    "a cluster is held": ({"failures": [DeletionRefused("held")]}, 26),
}


@pytest.mark.parametrize(("fields", "code"), CODES.values(), ids=CODES)
def test_exit_codes(fields: dict[str, Any], code: int, run: Run, fleet: Path, a_preview: type[FakePreview]) -> None:
    a_preview.report = a_report(**fields)
    done = run("preview", "-f", fleet, "-o", "json")
    assert done.code == code
    assert json.loads(done.out)["exitCode"] == code


def test_what_failed_is_told_with_its_stack_and_at_the_end(run: Run, fleet: Path, a_preview: type[FakePreview]) -> None:
    error = OperationFailed("the provider said no\nand more", where="stack demo.workloads.us", hint="look")
    a_preview.report = a_report(operations=[previewed("workloads", "us", error=error)])
    done = run("preview", "-f", fleet)
    assert done.code == 21
    assert "demo.workloads.us  -       -       -        -\n  error MP340: the provider said no\n" in done.out
    assert "error MP340: stack demo.workloads.us: the provider said no\nand more\nhint: look\n" in done.err
    assert ", 1 error, " in done.err.splitlines()[-1]


def test_what_an_update_would_be_permitted_is_permitted_here(
    run: Run, fleet: Path, a_preview: type[FakePreview]
) -> None:
    a_preview.report = a_report()
    done = run(
        "preview",
        "-f",
        fleet,
        "--allow",
        "0123456789",
        "--delete-cluster",
        "gone",
        "--forget",
        "lost",
        "--rebuild-ledger",
        "--parallel",
        "7",
    )
    assert done.code == 0, done.err
    options = a_preview.given["options"]
    assert (options.permissions.deletions, options.permissions.delete_clusters) == ({"0123456789"}, {"gone"})
    assert (options.permissions.forget, options.permissions.rebuild_ledger, options.parallel) == ({"lost"}, True, 7)


def test_values_that_cannot_be_had_are_no_reason_to_stop(run: Run, fleet: Path, a_preview: type[FakePreview]) -> None:
    a_preview.report = a_report()
    (fleet / ".modelplane/local/hub/kubeconfig").unlink()
    done = run("preview", "-f", fleet)
    assert done.code == 0
    assert done.err.startswith(f"warning MP123: {fleet}/fleet.yaml:")


def broken(fleet: Path) -> None:
    (fleet / "mock.yaml").write_text("")


def without_a_front_door(fleet: Path) -> None:
    (fleet / "gateway.yaml").unlink()


@pytest.mark.parametrize("spoil", [broken, without_a_front_door])
def test_what_up_refuses_is_refused_before_anything(spoil: Any, run: Run, fleet: Path) -> None:
    spoil(fleet)
    before = files_below(fleet)
    done = run("preview", "-f", fleet)
    assert (done.code, done.out) == (2, "")
    assert files_below(fleet) == before


def test_a_cluster_that_is_documented_is_not_deleted(run: Run, fleet: Path) -> None:
    done = run("preview", "-f", fleet, "--delete-cluster", "gpu-us-east")
    assert done.code == 2
    assert "cluster gpu-us-east is still in the documents" in done.err


def test_a_backend_that_cannot_be_read_is_told(run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def unreadable(*_: Any) -> Iterator[None]:
        raise ModelplaneError("the backend cannot be read", code="MP301")
        yield

    monkeypatch.setattr("stacks.preview_engine.preview_engine", unreadable)
    done = run("preview", "-f", fleet)
    assert (done.code, done.out) == (1, "")
    assert "error MP301: the backend cannot be read" in done.err


def test_the_cost_per_hour_is_told_before_and_after(run: Run, fleet: Path, a_preview: type[FakePreview]) -> None:
    costs = Costs(clusters=(Cost(cluster="eu", before=None, after=12.5), Cost(cluster="us", before=1200.0, after=None)))
    a_preview.report = a_report(costs=costs)
    shown = "COST PER HOUR  BEFORE    AFTER\neu             -         12.50\nus             1,200.00  -\n"
    assert shown + "fleet          1,200.00  12.50\n" in run("preview", "-f", fleet).out
    assert "| fleet | 1,200.00 | 12.50 |" in run("preview", "-f", fleet, "-o", "markdown").out
    cost = json.loads(run("preview", "-f", fleet, "-o", "json").out)["cost"]
    assert (cost["before"], cost["after"]) == (1200.0, 12.5)
