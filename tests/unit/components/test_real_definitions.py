"""The definitions that are applied are in the projects' files, and come out of them without what the server owns."""

from pathlib import Path

import pytest
import yaml

from api.versions import GATEWAY_API, INFERENCE_EXTENSION, MODEL_EXPRESS, ManifestSource
from components.definitions import DEFINITIONS, cleaned

FILES = Path(__file__).resolve().parents[4] / "shared" / "crds"
SOURCES = {source.name: source for source in (GATEWAY_API, INFERENCE_EXTENSION, MODEL_EXPRESS)}


@pytest.mark.skipif(not FILES.is_dir(), reason=f"no definitions of the projects in {FILES}")
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_each_is_in_its_file(source: ManifestSource) -> None:
    text = (FILES / f"{source.name}.yaml").read_text()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = cleaned(yaml.load_all(text, Loader=loader), DEFINITIONS[source.name])
    assert tuple(sorted(found)) == tuple(sorted(DEFINITIONS[source.name]))
    for definition in found.values():
        assert "status" not in definition
        assert "creationTimestamp" not in definition["metadata"]


def test_every_source_of_definitions_is_one_that_is_read() -> None:
    assert set(SOURCES) == set(DEFINITIONS)
