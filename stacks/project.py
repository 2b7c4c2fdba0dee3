"""The project file of a fleet: what every engine that works on its stacks finds, the driver's and a plain `pulumi`.

It lies with the fleet and names programs and interpreter of this installation, so that a stack's settings and the stack
that is selected belong to one fleet, and a checkout works for any number of them.
"""

import json
import secrets
import sys
from pathlib import Path
from typing import Any

from tools.locate import Origin, ToolMissing, look_up

PROVIDER = "pulumi-resource-kubernetes"
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"


def project(name: str) -> dict[str, Any]:
    """The project called `name` as its Pulumi.yaml has it.

    A provider that was built is named, because no engine would look for it where it is; one that Pulumi has installed
    is found by itself.
    """
    runtime: dict[str, Any] = {"name": "python"}
    if sys.prefix != sys.base_prefix:
        runtime["options"] = {"virtualenv": sys.prefix}
    found: dict[str, Any] = {"name": name, "main": str(PROGRAMS), "runtime": runtime}
    built = built_provider()
    if built is not None:
        found["plugins"] = {"providers": [{"name": "kubernetes", "path": str(built.parent)}]}
    return found


def built_provider() -> Path | None:
    """The Kubernetes provider where it was built, None where another one is used."""
    try:
        found = look_up(PROVIDER)
    except ToolMissing:
        return None
    return found.path if found.origin is Origin.CACHE else None


def write_project(folder: Path, name: str) -> None:
    """Write the file, in JSON, which is YAML, where it names another installation; a reader sees all of it or none."""
    file = folder / "Pulumi.yaml"
    text = json.dumps(project(name), indent=2) + "\n"
    if file.exists() and file.read_text() == text:
        return
    made = file.with_name(f".{secrets.token_hex(4)}.yaml")
    made.write_text(text)
    made.replace(file)
