"""What a pass ends with: one exit code, the most severe of all that happened."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from states import cluster_outputs

from api.errors import (
    Cancelled,
    DeletionRefused,
    InvocationError,
    LockHeld,
    MissingInput,
    ModelplaneError,
    TimedOut,
    UnreadableStack,
)
from api.names import StackName
from programs.outputs import DeploymentState, PlacementOutputs, RoutingOutputs, ServiceState
from stacks.operation import Operation, OperationFailed
from stacks.report import SEVERITY, Report

SHORT = PlacementOutputs(deployments={"ml-team/qwen": DeploymentState(wanted=2, placed=1)})
FULL = PlacementOutputs(deployments={"ml-team/qwen": DeploymentState(wanted=2, placed=2)})
PARKED = PlacementOutputs(deployments={"ml-team/qwen": DeploymentState(wanted=0, placed=0)})
QUIET = {"us": cluster_outputs("us", reachable=False), "eu": cluster_outputs("eu")}
ENGINE = OperationFailed("the provider said no")


def an_operation(
    kind: str = "workloads", cluster: str | None = "us", error: ModelplaneError | None = None
) -> Operation:
    stack = StackName("prod", kind, cluster)
    return Operation(stack=stack, action="up", changes={"same": 3}, seconds=1.52, error=error)


def failing(kind: str, cluster: str | None, error: ModelplaneError) -> Report:
    return Report(operations=[an_operation(kind, cluster, error)], placement=FULL)


CODES: dict[str, tuple[Report, int]] = {
    "nothing happened": (Report(), 0),
    "all went well": (Report(operations=[an_operation()], placement=FULL), 0),
    "a deployment is parked": (Report(placement=PARKED), 0),
    "replicas are still starting": (Report(placement=FULL, starting=["ml-team/a"]), 0),
    "they are, at the end of the time that was given": (
        Report(placement=FULL, starting=["ml-team/a"], timed_out=True),
        9,
    ),
    "a deployment runs short": (Report(placement=SHORT), 20),
    "a cluster's stack failed": (failing("workloads", "us", ENGINE), 21),
    "the hub's stack failed": (failing("gateway", None, ENGINE), 1),
    "a cluster does not answer": (Report(placement=FULL, clusters=QUIET), 22),
    "a stack is locked": (failing("workloads", "us", LockHeld("locked")), 24),
    "the guard stopped a deletion": (failing("placement", None, DeletionRefused("too much")), 26),
    "somebody stopped it": (failing("placement", None, Cancelled("stopped")), 8),
    "the pass itself failed": (Report(placement=FULL, failures=[UnreadableStack("unread")]), 1),
    "an input of a cluster's stack is not there": (failing("serving", "us", MissingInput("not yet")), 21),
    "a cluster cannot be made as it is written": (failing("cluster", "us", InvocationError("no")), 21),
    "short, and a cluster failed": (
        Report(operations=[an_operation(error=ENGINE)], placement=SHORT),
        21,
    ),
    "short, and a cluster does not answer": (Report(placement=SHORT, clusters=QUIET), 22),
    "a cluster failed, another does not answer": (
        Report(operations=[an_operation(error=ENGINE)], placement=SHORT, clusters=QUIET),
        21,
    ),
    "out of time, and a cluster failed": (
        Report(operations=[an_operation(error=ENGINE)], timed_out=True, clusters=QUIET),
        9,
    ),
    "locked, and out of time": (Report(operations=[an_operation(error=LockHeld("l"))], timed_out=True), 24),
    "guarded, and locked": (
        Report(
            operations=[
                an_operation(error=LockHeld("l")),
                an_operation("placement", None, DeletionRefused("too much")),
            ]
        ),
        26,
    ),
    "guarded, and the hub failed": (
        Report(
            operations=[an_operation("gateway", None, ENGINE), an_operation("placement", None, DeletionRefused("t"))]
        ),
        1,
    ),
}


@pytest.mark.parametrize(("report", "code"), CODES.values(), ids=CODES)
def test_exit_codes(report: Report, code: int) -> None:
    assert report.exit_code == code


def test_what_failed_and_was_made_good_later_is_no_failure() -> None:
    report = Report(operations=[an_operation(error=ENGINE), an_operation()], placement=FULL)
    assert (report.exit_code, report.errors) == (0, [])


def test_what_went_well_and_failed_later_is_one() -> None:
    report = Report(operations=[an_operation(), an_operation(error=ENGINE)], placement=FULL)
    assert (report.exit_code, report.errors) == (21, [ENGINE])


ERRORS = (LockHeld("l"), DeletionRefused("d"), Cancelled("c"), TimedOut("t"), ENGINE, UnreadableStack("u"))


@settings(deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(ERRORS), max_size=4), st.booleans(), st.booleans(), st.booleans())
def test_more_trouble_is_never_less_severe(errors: list[ModelplaneError], short: bool, quiet: bool, late: bool) -> None:
    def code(count: int) -> int:
        return Report(
            operations=[an_operation("workloads", f"c{number}", error) for number, error in enumerate(errors[:count])],
            placement=SHORT if short else FULL,
            clusters=QUIET if quiet else {},
            timed_out=late,
        ).exit_code

    ranks = [(*SEVERITY, 0).index(code(count)) for count in range(len(errors) + 1)]
    assert ranks == sorted(ranks, reverse=True)


def test_changes_are_counted_over_all_operations() -> None:
    first = Operation(stack=StackName("prod", "routing"), action="up", changes={"create": 2, "same": 9, "refresh": 4})
    again = Operation(stack=StackName("prod", "routing"), action="up", changes={"update": 1, "delete": 1, "read": 7})
    assert (first.changed, again.changed) == (2, 2)
    assert Report(operations=[first, again]).changed == 4


def test_the_report_for_programs() -> None:
    report = Report(
        operations=[an_operation(), an_operation(error=OperationFailed("no", where="stack prod.workloads.us"))],
        placement=SHORT,
        routing=RoutingOutputs(services={"ml-team/qwen": ServiceState(address="http://h/ml-team/qwen")}),
        starting=["ml-team/a"],
        clusters={"us": cluster_outputs("us", kubeconfig="hush")},
    )
    plain = report.plain()
    assert plain == {
        "exitCode": 21,
        "changed": 0,
        "stacks": {
            "prod.workloads.us": {
                "changed": 0,
                "changes": {},
                "seconds": 3.0,
                "error": {"code": "MP340", "where": "stack prod.workloads.us", "message": "no", "hint": ""},
            }
        },
        "starting": ["ml-team/a"],
        "cost": None,
        "notDone": [],
        "deployments": {"ml-team/qwen": {"wanted": 2, "placed": 1, "ready": 0, "conditions": [], "verdicts": {}}},
        "services": {
            "ml-team/qwen": {
                "address": "http://h/ml-team/qwen",
                "backends": [],
                "emptyEntries": [],
                "accepted": False,
                "conditions": [],
            }
        },
        "errors": [{"code": "MP340", "where": "stack prod.workloads.us", "message": "no", "hint": ""}],
    }
    assert "hush" not in json.dumps(plain)
