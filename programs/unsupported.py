"""What this release does not do yet, said before anything is touched."""

from collections.abc import Iterable, Mapping
from typing import Any

from api.errors import InvocationError


def refuse_charts(where: str, path: str, wanted: Iterable[str], settings: Mapping[str, Any] | None) -> None:
    """Refuse a fleet that asks for charts: this release uses what a cluster already has.

    Raises:
        InvocationError: a wanted chart is not switched off.

    """
    missing = [name for name in wanted if name not in (settings or {}) or (settings or {})[name].enabled is not False]
    if missing:
        raise InvocationError(
            f"{path}: this release installs no charts, and {', '.join(missing)} would have to be",
            where=where,
            hint=f"where the cluster already has it, write {path}.{missing[0]}: {{enabled: false}}",
            code="MP114",
        )
