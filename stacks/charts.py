"""What to say of a chart that could not be installed: chart, version, release, and the first object in its way."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx2

from api.errors import ModelplaneError
from components.charts import RELEASE_PREFIX
from programs.releases import first_failing_object

HINT = "put right what is said there and run the same command again; stacks that do not need this one have gone on"


class ChartFailed(ModelplaneError):
    """A chart could not be installed, upgraded or removed."""

    code = "MP351"


def chart_failure(
    releases: Sequence[Mapping[str, Any]], kubeconfigs: Mapping[str, str], errors: Sequence[str], where: str
) -> ChartFailed:
    """The failure of the first of these releases, with what its cluster shows, else with Helm's own words.

    `releases` are entries of `Watch.failed_releases`, `kubeconfigs` theirs by provider.
    """
    first = releases[0]
    inputs = first["inputs"]
    namespace, name = inputs.get("namespace", ""), inputs.get("name", "")
    title = " ".join(part for part in ("chart", name.removeprefix(RELEASE_PREFIX), inputs.get("version", "")) if part)
    subject = str(first["urn"]).rpartition("::")[2]
    said = next((text for text in errors if text.startswith(f"{subject}: ")), errors[0] if errors else "")
    reasons = [_seen(kubeconfigs.get(first.get("provider", "")), namespace, name), _told(said, subject)]
    message = f"{title}, release {namespace}/{name}: {'; '.join(reason for reason in reasons if reason)}"
    others = sorted({str(found["inputs"].get("name", "")) for found in releases[1:]} - {name})
    if others:
        message += f" (and {', '.join(others)})"
    return ChartFailed(message, where=where, hint=HINT)


def _seen(kubeconfig: str | None, namespace: str, name: str) -> str:
    if kubeconfig is None:
        return ""
    try:
        return first_failing_object(kubeconfig, namespace, name)
    except (httpx2.HTTPError, OSError, ValueError, KeyError, ModelplaneError):
        return ""


def _told(text: str, subject: str) -> str:
    """Helm's own words, on one line."""
    return " ".join(text.removeprefix(f"{subject}: ").split())
