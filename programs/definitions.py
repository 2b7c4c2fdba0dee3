"""Reading files of CustomResourceDefinitions: from the projects' releases, or from the fleet's mirror.

A release file does not change once it is published, so it is fetched once and kept beside the fleet. Files of a mirror
are read each time.
"""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import httpx2
import yaml

from api.errors import ModelplaneError
from api.versions import ManifestSource
from components.definitions import DEFINITIONS, Plain, cleaned
from components.mirrors import definitions_location
from programs.context import Context

FETCH_SECONDS = 60.0
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class UnreadableDefinitions(ModelplaneError):
    """Definitions that cannot be had; nothing may be decided from their absence."""

    code = "MP350"


def definitions(context: Context, sources: Iterable[ManifestSource]) -> dict[str, dict[str, Plain]]:
    """Definitions by the name of their source and their own.

    Raises:
        UnreadableDefinitions: a file cannot be read, or lacks a definition.

    """
    mirror, base = context.fleet.spec.chart_mirror, context.documents.directory
    return {source.name: _read(source, definitions_location(source, mirror, base), base) for source in sources}


def _read(source: ManifestSource, location: str, base: Path) -> dict[str, Plain]:
    names = DEFINITIONS[source.name]
    try:
        found = cleaned(yaml.load_all(_text(source, location, base), Loader=_LOADER), names)
    except yaml.YAMLError:
        raise _unreadable(source, location, "it is not YAML") from None
    missing = [name for name in names if name not in found]
    if missing:
        raise _unreadable(source, location, f"it lacks {', '.join(missing)}")
    return found


def _text(source: ManifestSource, location: str, base: Path) -> str:
    kept = base / ".modelplane" / "definitions" / f"{source.name}-{source.version}.yaml"
    try:
        if not location.startswith(("http://", "https://")):
            return Path(location).read_text(encoding="utf-8")
        if location == source.address and kept.is_file():
            return kept.read_text(encoding="utf-8")
        answer = httpx2.get(location, timeout=FETCH_SECONDS, follow_redirects=True)
        answer.raise_for_status()
    except (httpx2.HTTPError, OSError, UnicodeDecodeError) as error:
        raise _unreadable(source, location, _reason(error)) from None
    if location == source.address:
        _keep(kept, answer.text)
    return answer.text


def _keep(file: Path, text: str) -> None:
    """Keep a file whole or not at all; a folder that cannot be written costs a fetch each time."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        part.replace(file)


def _reason(error: Exception) -> str:
    if isinstance(error, httpx2.HTTPStatusError):
        return f"the server answers {error.response.status_code}"
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__


def _unreadable(source: ManifestSource, location: str, reason: str) -> UnreadableDefinitions:
    return UnreadableDefinitions(
        f"the definitions of {source.name} {source.version} cannot be read: {reason}",
        where=location,
        hint=f"put the file into the chart mirror as crds/{source.name}-{source.version}.yaml, "
        "or set crds: {enabled: false} where the cluster has them",
    )
