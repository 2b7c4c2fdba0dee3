import itertools
from collections.abc import Iterator
from typing import Any

from local.controls import HOLD, STARTED
from local.plan import Ranges
from local.stages import REAL, stages

STAGES = {stage["metadata"]["name"]: stage["spec"] for stage in stages(Ranges(index=2))}


def test_every_kind_that_must_move_has_stages() -> None:
    kinds: dict[str, set[str]] = {}
    for name, spec in STAGES.items():
        kinds.setdefault(spec["resourceRef"]["kind"], set()).add(name)
    assert kinds == {
        "Node": {"node-initialize", "node-heartbeat"},
        "Pod": {
            "pod-ready",
            "pod-started",
            "pod-held",
            "pod-released",
            "pod-unready",
            "real-pod-ready",
            "real-pod-unready",
            "pod-complete",
            "pod-delete",
        },
        "Service": {"service-load-balancer"},
    }


def pods() -> Iterator[dict[str, str | None]]:
    """Every pod that selectors can tell apart."""
    names = [".metadata.deletionTimestamp", ".status.phase", f'.metadata.annotations["{HOLD}"]']
    names += [f'.metadata.annotations["{STARTED}"]', REAL]
    names += ['.status.conditions.[] | select( .type == "Ready" ) | .status', ".metadata.ownerReferences.[].kind"]
    values: list[list[str | None]] = [
        [None, "now"],
        ["Pending", "Running", "Succeeded"],
        [None, "true"],
        [None, "true"],
        [None, "envoy"],
        [None, "True", "False"],
        [None, "Job"],
    ]
    for combination in itertools.product(*values):
        yield dict(zip(names, combination, strict=True))


def takes(spec: dict[str, Any], pod: dict[str, str | None]) -> bool:
    for expression in spec["selector"]["matchExpressions"]:
        value = pod[expression["key"]]
        matches = {
            "Exists": value is not None,
            "DoesNotExist": value is None,
            "In": value in expression.get("values", []),
            "NotIn": value not in expression.get("values", []),
        }
        if not matches[expression["operator"]]:
            return False
    return True


def test_no_pod_is_taken_by_two_stages() -> None:
    of_pods = {name: spec for name, spec in STAGES.items() if spec["resourceRef"]["kind"] == "Pod"}
    taken: set[str] = set()
    for pod in pods():
        matching = [name for name, spec in of_pods.items() if takes(spec, pod)]
        assert len(matching) <= 1, (pod, matching)
        taken.update(matching)
    assert taken == set(of_pods)


def test_pod_addresses_lie_in_the_clusters_own_range() -> None:
    template = STAGES["pod-ready"]["steps"][0]["patch"]["template"]
    assert f"{Ranges(index=2).pod_prefix}.%d.%d" in template
    assert "metadata.uid" in template
    assert "PodIPsWith" not in template


def test_nodes_report_ephemeral_storage() -> None:
    assert STAGES["node-initialize"]["steps"][0]["patch"]["template"].count("ephemeral-storage") == 2
