"""What to say of a chart that could not be installed: chart, version, release, and the first object in its way."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import httpx2

from api.errors import ModelplaneError
from components.charts import RELEASE_PREFIX
from programs.releases import first_failing_object

_SLOW = ("timeout", "timed out", "deadline exceeded")
_COUNTED = re.compile(r"\b\d+ errors? occurred: \* ")
"""How Helm introduces errors that it has collected."""

HINT = "put right what is said there and run the same command again; stacks that do not need this one have gone on"


HINT_SLOW = "the cluster was too slow, and may be well by now: run the same command again, it goes on from there"


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
    slow = any(word in message.lower() for word in _SLOW)
    return ChartFailed(message, where=where, hint=HINT_SLOW if slow else HINT)


def _seen(kubeconfig: str | None, namespace: str, name: str) -> str:
    if kubeconfig is None:
        return ""
    try:
        return first_failing_object(kubeconfig, namespace, name)
    except (httpx2.HTTPError, OSError, ValueError, KeyError, ModelplaneError):
        return ""


def _told(text: str, subject: str) -> str:
    """Helm's own words, on one line."""
    return _COUNTED.sub("", " ".join(text.removeprefix(f"{subject}: ").split()))
