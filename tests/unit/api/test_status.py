"""Statuses have models of their own, and every reason that is ever given is a known one."""

import re
from pathlib import Path

import pytest

from api.base import API_VERSION, Kind
from api.loader import KINDS
from api.status import CONDITIONS, STATUS, InferenceClusterStatus, ModelCacheStatus, ModelDeploymentStatus

ROOT = Path(__file__).parents[3]
OBSERVED = {name for (version, name) in KINDS if version == API_VERSION} - {"Fleet"} | {"ModelReplica"}


def test_every_kind_that_is_observed_has_a_status_and_conditions() -> None:
    assert set(STATUS) == set(CONDITIONS) == OBSERVED
    assert all("Ready" in conditions for conditions in CONDITIONS.values())


def test_no_document_has_a_status() -> None:
    assert all(issubclass(kind, Kind) and "status" not in kind.model_fields for kind in KINDS.values())


def test_every_reason_in_the_code_is_a_known_one() -> None:
    known = {reason for conditions in CONDITIONS.values() for reasons in conditions.values() for reason in reasons}
    texts = [
        file.read_text() for package in ("programs", "scheduler", "stacks") for file in (ROOT / package).rglob("*.py")
    ]
    pattern = r'\b_?condition\(\s*"\w+"[^()]*?reason="(\w+)"'
    given = {reason for text in texts for reason in re.findall(pattern, text, re.IGNORECASE)}
    assert "AllReplicasReady" in given
    assert given - known == set()


EXAMPLES = {
    "a cluster": (
        InferenceClusterStatus,
        {
            "conditions": [{"type": "Ready", "status": "True", "reason": "Available"}],
            "gateway": {"address": "10.0.0.1"},
            "gpuPools": [{"name": "gpu", "nodes": 2, "nodesPresent": 1}],
        },
    ),
    "a deployment": (ModelDeploymentStatus, {"replicas": {"desired": 3, "total": 2, "ready": 1}}),
    "a cache": (ModelCacheStatus, {"summary": {"ready": "1/2"}, "clusters": [{"name": "us", "phase": "Ready"}]}),
}


@pytest.mark.parametrize(("model", "plain"), EXAMPLES.values(), ids=EXAMPLES)
def test_a_status_reads_back(model: type[InferenceClusterStatus], plain: dict[str, object]) -> None:
    shown = model.model_validate(plain, by_alias=True, by_name=False).plain()
    assert plain.keys() <= shown.keys()
    assert model.model_validate(shown, by_alias=True, by_name=False).plain() == shown
