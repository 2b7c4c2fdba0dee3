"""Tables: aligned, without colour, with notes where something is not as it should be."""

from datetime import UTC, datetime

import pytest

from cli.printing import table
from cli.tables import age, status_tables

NOW = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("since", "shown"),
    [
        ("2026-03-04T12:00:00Z", "0s"),
        ("2026-03-04T11:58:01Z", "119s"),
        ("2026-03-04T11:58:00Z", "2m"),
        ("2026-03-04T09:59:59Z", "2h"),
        ("2026-03-02T11:59:59Z", "2d"),
        ("2026-03-04T12:00:09Z", "0s"),
        ("", "-"),
        (None, "-"),
        ("yesterday", "-"),
    ],
)
def test_ages_are_short_and_never_negative(since: str | None, shown: str) -> None:
    assert age(since, NOW) == shown


def test_columns_line_up_and_a_row_of_one_cell_is_a_note() -> None:
    rows = [("a", "1", "x"), ("a longer name", "22", ""), ("a note as long as it likes, it widens nothing",)]
    assert table(("NAME", "N", "TEXT"), rows) == (
        "NAME           N   TEXT\n"
        "a              1   x\n"
        "a longer name  22\n"
        "  a note as long as it likes, it widens nothing\n"
    )


def condition(kind: str, status: str, reason: str, message: str = "", since: str = "") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}


def test_each_kind_has_its_table_and_what_is_amiss_has_its_sentence() -> None:
    replica = {
        "kind": "ModelReplica",
        "metadata": {"name": "qwen-1", "namespace": "ml-team"},
        "spec": {"clusterName": "us", "engines": [{"members": [{"nodePoolName": "gpu"}]}]},
        "status": {"conditions": [condition("Ready", "False", "ModelStarting", "0 of 1 pods ready")]},
    }
    leaving = {
        **replica,
        "metadata": {"name": "qwen-2", "namespace": "ml-team"},
        "status": {
            "conditions": [
                condition("Ready", "True", "Available", since="2026-03-04T11:00:00Z"),
                condition("Retiring", "True", "Retiring", "scaled down"),
            ]
        },
    }
    service = {
        "kind": "ModelService",
        "metadata": {"name": "qwen", "namespace": "ml-team"},
        "status": {
            "address": "http://hub/ml-team/qwen",
            "endpoints": [{"endpoint": "ml-team/qwen-1", "weight": 9}],
            "emptyEntries": [1],
            "conditions": [condition("Ready", "True", "Available", since="2026-03-04T11:59:00Z")],
        },
    }
    cluster = {
        "kind": "InferenceCluster",
        "metadata": {"name": "us"},
        "status": {
            "gpuPools": [{"name": "gpu", "nodes": 2, "nodesPresent": 1}, {"name": "new", "nodes": 1}],
            "conditions": [condition("Ready", "Unknown", "Unreachable", "connection refused")],
        },
    }
    assert status_tables([replica, leaving, service, cluster], NOW) == (
        "REPLICA         CLUSTER  POOL  STATUS         AGE\n"
        "ml-team/qwen-1  us       gpu   ModelStarting  -\n"
        "  0 of 1 pods ready\n"
        "ml-team/qwen-2  us       gpu   Retiring       60m\n"
        "  scaled down\n"
        "\n"
        "SERVICE       STATUS  URL                      ENDPOINTS  AGE\n"
        "ml-team/qwen  Ready   http://hub/ml-team/qwen  qwen-1 9   60s\n"
        "  spec.endpoints[1] has no endpoint in use; its share goes to the others\n"
        "\n"
        "CLUSTER  STATUS       NODES             GATEWAY  AGE\n"
        "us       Unreachable  gpu 1/2, new ?/1  -        -\n"
        "  connection refused\n"
    )
