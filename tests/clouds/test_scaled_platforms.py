"""The platform files of upstream's steps that scale out, with snapshots of their own, since these tests are long."""

from pathlib import Path

import pytest
from clouds.steps import SOURCES, STEPS, from_nothing_to_nothing
from syrupy.assertion import SnapshotAssertion

pytestmark = [pytest.mark.engine, pytest.mark.soak]


@pytest.mark.skipif(not STEPS.exists(), reason="upstream's manifests are not there")
@pytest.mark.parametrize("cloud", SOURCES)
def test_a_platform_file_from_nothing_to_nothing(cloud: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert from_nothing_to_nothing(cloud, "platform-scale.yaml", tmp_path) == snapshot
