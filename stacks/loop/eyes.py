"""Looking at clusters while the loop runs: who answers, and which of the fleet's objects are ready.

Each cluster has a thread that lists, at once when a watch tells of a change and every few seconds besides. What is seen
decides which stacks are refreshed, and takes endpoints of engines that do not serve out of rotation; nothing here
decides what is desired.
"""

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from lightkube import ApiError, Client

from api import names
from components.readiness import readiness_of
from programs.kubernetes_access import connect
from stacks.live import Unreadable, is_accepted, resource_of
from stacks.loop.sight import ROUTE, Seen, Sight

LOOK_SECONDS = 10.0
"""Between two looks where nothing is told; a watch that broke unnoticed costs no more than that."""
WATCH_SECONDS = 240
"""After which the API server ends a watch, and it is begun again."""
SILENT_LOOKS = 2
"""Looks in a row without an answer before a cluster counts as one that does not answer."""

_SERVING = {"PodCliqueSet": "availableReplicas"}
"""Where a kind's status counts copies that serve, unless it is called `readyReplicas`."""

OnChange = Callable[[], None]


class Eyes:
    """One pair for each cluster that is to be looked at."""

    def __init__(self, fleet: str, on_change: OnChange, *, every: float = LOOK_SECONDS) -> None:
        self._fleet = fleet
        self._on_change = on_change
        self._every = every
        self._open: dict[str, _Eye] = {}

    def look_at(self, clusters: Mapping[str, tuple[str, frozenset[str]]]) -> None:
        """Look at these clusters from now on, and at no others: kubeconfig and kinds of objects by cluster."""
        for name in [name for name in self._open if name not in clusters]:
            self._open.pop(name).close()
        for name, (kubeconfig, kinds) in clusters.items():
            key = _key(kubeconfig, kinds)
            known = self._open.get(name)
            if known is not None and known.key == key:
                continue
            if known is not None:
                known.close()
            self._open[name] = _Eye(key, kubeconfig, kinds, self)

    def sights(self) -> dict[str, Sight]:
        """What is seen now, by cluster."""
        return {name: eye.sight for name, eye in self._open.items()}

    def close(self) -> None:
        """Look no more."""
        for eye in self._open.values():
            eye.close()
        self._open.clear()

    @property
    def labels(self) -> dict[str, str]:
        """What the fleet's own objects carry."""
        return {names.LABEL_FLEET: self._fleet}

    @property
    def every(self) -> float:
        """Seconds between two looks."""
        return self._every

    def changed(self) -> None:
        """Tell that something is seen that was not."""
        self._on_change()


class _Eye:
    def __init__(self, key: str, kubeconfig: str, kinds: Iterable[str], eyes: Eyes) -> None:
        self.key = key
        self.sight = Sight()
        self._kubeconfig = kubeconfig
        self._kinds = sorted(kinds)
        self._eyes = eyes
        self._look_now = threading.Event()
        self._closed = threading.Event()
        self._silent = 0
        jobs = [self._look, *(lambda kind=kind: self._watch(kind) for kind in self._kinds)]
        for job in jobs:
            threading.Thread(target=job, name="eye", daemon=True).start()

    def close(self) -> None:
        """End; a watch that is open ends with the server's next word, as a daemon."""
        self._closed.set()
        self._look_now.set()

    def _look(self) -> None:
        while not self._closed.is_set():
            self._look_now.clear()
            seen = self._see()
            if seen != self.sight and not self._closed.is_set():
                self.sight = seen
                self._eyes.changed()
            self._look_now.wait(self._eyes.every)

    def _see(self) -> Sight:
        try:
            with connect(self._kubeconfig) as client:
                objects: dict[str, Seen] = {}
                for kind in self._kinds:
                    objects |= objects_of(client, kind, self._eyes.labels)
        except Unreadable:
            self._silent += 1
            answers = False if self._silent >= SILENT_LOOKS else self.sight.answers
            return Sight(answers=answers, objects=self.sight.objects)
        self._silent = 0
        return Sight(answers=True, objects=objects)

    def _watch(self, kind: str) -> None:
        while not self._closed.is_set():
            with suppress(*Unreadable), connect(self._kubeconfig) as client:
                labels: Any = self._eyes.labels
                for _ in client.watch(resource_of(kind), namespace="*", labels=labels, server_timeout=WATCH_SECONDS):
                    self._look_now.set()
                    if self._closed.is_set():
                        return
            self._closed.wait(self._eyes.every)


def objects_of(client: Client, kind: str, labels: Mapping[str, str]) -> dict[str, Seen]:
    """Objects of a kind by `<Kind>/<namespace>/<name>`; none where the cluster does not know the kind.

    Raises:
        ApiError: the API server refuses.
        httpx2.HTTPError: it does not answer.

    """
    wanted: Any = dict(labels)
    try:
        found = [_plain(each) for each in client.list(resource_of(kind), namespace="*", labels=wanted)]
    except ApiError as error:
        if error.status.code == 404:
            return {}
        raise
    return {
        f"{kind}/{each['metadata'].get('namespace')}/{each['metadata']['name']}": _seen(kind, each) for each in found
    }


def _seen(kind: str, plain: Mapping[str, Any]) -> Seen:
    spec, metadata, status = (plain.get(part) or {} for part in ("spec", "metadata", "status"))
    if kind != ROUTE:
        copies = spec.get("replicas")
        return Seen(
            ready=readiness_of(kind, spec, metadata, status).ready,
            copies=1 if copies is None else int(copies),
            serving=int(status.get(_SERVING.get(kind, "readyReplicas")) or 0) if status else None,
        )
    references = [each for rule in spec.get("rules") or () for each in rule.get("backendRefs") or ()]
    weights = frozenset((each["name"], int(each.get("weight", 1))) for each in references)
    return Seen(ready=is_accepted(status), weights=weights)


def _plain(found: Any) -> dict[str, Any]:
    plain: dict[str, Any] = found if isinstance(found, dict) else found.to_dict()
    return plain


def _key(kubeconfig: str, kinds: Iterable[str]) -> str:
    return hashlib.sha256("\0".join([kubeconfig, *sorted(kinds)]).encode()).hexdigest()
