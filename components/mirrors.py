"""Where charts, definitions and images come from in an installation without the internet, as plain functions.

A chart mirror is a folder, an http(s) repository or an oci registry that holds every chart by its name; definitions lie
beside them as `crds/<name>-<version>.yaml`. An image mirror takes the place of an image's registry: what stands behind
it stays as it is.
"""

from dataclasses import dataclass
from pathlib import Path

from api.versions import ManifestSource

DEFAULT_REGISTRY = "docker.io"


@dataclass(frozen=True, kw_only=True)
class ChartLocation:
    """What Helm is given: a name, path or oci address, the repository that lists it, the version where one is asked."""

    chart: str
    repository: str | None = None
    version: str | None = None


def chart_location(chart: str, repository: str, version: str, mirror: str | None, base: Path) -> ChartLocation:
    """Where a chart is found; a mirror takes the place of every repository. Relative folders lie below `base`.

    A folder holds `<chart>-<version>.tgz`, or the chart unpacked as `<chart>-<version>` or `<chart>`.
    """
    source = (mirror or repository).rstrip("/")
    if source.startswith("oci://"):
        return ChartLocation(chart=f"{source}/{chart}", version=version)
    if source.startswith(("http://", "https://")):
        return ChartLocation(chart=chart, repository=source, version=version)
    folder = (base / source).resolve()
    candidates = [folder / f"{chart}-{version}.tgz", folder / f"{chart}-{version}", folder / chart]
    return ChartLocation(chart=str(next((path for path in candidates if path.exists()), candidates[0])))


def definitions_location(source: ManifestSource, mirror: str | None, base: Path) -> str:
    """Where a file of definitions is found: a URL or a path. An oci mirror holds charts only: they come from afar."""
    if mirror is None or mirror.startswith("oci://"):
        return source.address
    file = f"crds/{source.name}-{source.version}.yaml"
    if mirror.startswith(("http://", "https://")):
        return f"{mirror.rstrip('/')}/{file}"
    return str((base / mirror / file).resolve())


def mirrored_image(image: str, mirror: str | None) -> str:
    """The image with the mirror in place of its registry; Docker Hub's short names in full."""
    if mirror is None:
        return image
    first, slash, rest = image.partition("/")
    is_registry = bool(slash) and ("." in first or ":" in first or first == "localhost")
    path = rest if is_registry else image
    if (not is_registry or first == DEFAULT_REGISTRY) and "/" not in path:
        path = f"library/{path}"
    return f"{mirror.rstrip('/')}/{path}"
