"""Examples on clouds, previewed as in CI."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from api.documents import FleetDocuments
from api.loader import load
from stacks.environment import environment_of
from stacks.preview import Preview, PreviewOptions
from stacks.preview_engine import preview_engine

_WITHOUT_DEFINITIONS = """\
spec:
  servingStack: {crds: {enabled: false}}
  gateway:
    crds: {enabled: false}
"""
"""Their files come from the network, and are no matter of these examples."""


def previewed(
    example: Path, folder: Path, edit: Callable[[Path], object] = lambda _: None
) -> tuple[dict[str, Any], FleetDocuments]:
    """Preview a copy of an example, edited before; the report, and the documents it is of."""
    shutil.copytree(example, folder)
    (fleet,) = folder.rglob("fleet.yaml")
    fleet.write_text(fleet.read_text().replace("spec:\n  gateway:\n", _WITHOUT_DEFINITIONS))
    edit(folder)
    documents = load(folder)
    with preview_engine(environment_of(folder, {}), documents) as engine:
        return Preview(documents, engine, PreviewOptions(), lambda _: None).run().plain(), documents
