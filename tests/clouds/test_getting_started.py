"""The platform files of upstream's first steps, as they are: previewed, brought up, brought up again and taken down."""

from pathlib import Path

import pytest
from clouds.steps import SOURCES, STEPS, from_nothing_to_nothing
from syrupy.assertion import SnapshotAssertion

pytestmark = pytest.mark.engine


@pytest.mark.skipif(not STEPS.exists(), reason="upstream's manifests are not there")
@pytest.mark.parametrize("cloud", SOURCES)
def test_a_platform_file_from_nothing_to_nothing(cloud: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert from_nothing_to_nothing(cloud, "platform.yaml", tmp_path) == snapshot
