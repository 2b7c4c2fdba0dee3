"""Setting back what others changed inside Helm releases.

Helm looks at live objects only when a chart's version or values change. Until then whatever others scale, edit or
delete inside a release would stay so. The manifest that Helm keeps of the release is applied to those objects again,
as text, so that the API server reads it as it has read it from Helm. Nothing else is touched, and the release gets no
new revision.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx2
import pulumi

from api.errors import ModelplaneError
from components.charts import HelmRelease
from programs.live_objects import changed_by_others
from programs.releases import Plain, connected, live_object, newest_objects, path_of, resources

MANAGER = "helm-modelplane"
"""Under which name fields are taken back: one that counts as Helm's."""
SCALERS = ("kube-controller-manager",)
"""What sets copies for an autoscaler, which somebody has asked for."""
WRITTEN_BY_CONTROLLERS = frozenset(
    {"Secret", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService"}
    | {"CustomResourceDefinition"}
)
"""Kinds that charts leave for their own controllers to fill in, with certificates most of all."""
ONCE = frozenset({"Job", "Pod"})
"""Kinds that may be gone because they are done."""
SIDE_BY_SIDE = 8
APPLY = {"Content-Type": "application/apply-patch+yaml"}


@dataclass(frozen=True, kw_only=True)
class Change:
    """What others did to one object."""

    path: str | None
    """What they changed; None where the object is gone."""
    manager: str = ""
    """Who set it last, as the API server has noted it; empty where it was not noted."""

    def __str__(self) -> str:
        """`spec.replicas, last set by kubectl`."""
        what = self.path or "was gone"
        return f"{what}, last set by {self.manager}" if self.manager else what


def to_put_back(manifest: Plain, live: Plain | None) -> Change | None:
    """The change because of which an object of a release is applied again; None where it is left as it is."""
    kind = manifest["kind"]
    if kind in ONCE:
        return None
    if live is None:
        return Change(path=None)
    if kind in WRITTEN_BY_CONTROLLERS:
        return None
    found = ((path, by) for path, by in changed_by_others(manifest, live) if by not in SCALERS)
    return next((Change(path=path, manager=by) for path, by in found), None)


def put_back(kubeconfig: str, releases: Iterable[HelmRelease]) -> None:
    """Set back what others changed inside these releases, and warn of each; what cannot be set back is told as well.

    A cluster that does not answer is left alone, and so is a release that Helm has not brought up as a whole.
    """
    try:
        for note in _put_back(kubeconfig, releases):
            pulumi.log.warn(note)
    except (httpx2.HTTPError, OSError, ValueError, ModelplaneError):
        return  # the provider meets the same, and says so


def _put_back(kubeconfig: str, releases: Iterable[HelmRelease]) -> Iterator[str]:
    with connected(kubeconfig) as client, ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        known = resources(client)

        def of(release: HelmRelease, manifest: Plain, text: str) -> str:
            path = path_of(manifest, release.namespace, known)
            if path is None:
                return ""  # its definition went with the cluster's
            change = to_put_back(manifest, live_object(client, path))
            if change is None:
                return ""
            where = "/".join(filter(None, (manifest["metadata"].get("namespace"), manifest["metadata"]["name"])))
            what = f"release {release.name}: {manifest['kind']} {where}: {change}"
            query = {"fieldManager": MANAGER, "force": "true"}
            answer = client.patch(path, params=query, headers=APPLY, content=text.encode())
            if answer.is_success:
                return f"{what}; set back"
            return f"{what}; the cluster refuses to set it back ({answer.status_code})"

        for release in releases:
            found = newest_objects(client, release.namespace, release.name, "deployed")
            yield from filter(None, pool.map(lambda each, of=of, release=release: of(release, *each), found))
