"""The fleet directory while the loop runs: edits are taken up once they are whole; till then the last good ones stay.

An edit is whole when the directory has been quiet for a while, was the same before and after it was read, and every
document in it can be used. Anything else is told, once for each kind of trouble, and changes nothing.
"""

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import watchfiles

from api.documents import FleetDocuments, Key
from api.errors import ModelplaneError
from api.secrets import secret_values

SETTLE_SECONDS = 1.0
RETRY_SECONDS = 2.0

Load = Callable[[], FleetDocuments]
"""Reads and checks the documents.

Raises:
    ModelplaneError: they cannot be used.

"""


class OtherFleet(ModelplaneError):
    """The documents are those of another fleet than the one the loop was started for."""

    code = "MP137"


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What a reading of the directory came to: other documents, or trouble; neither where nothing is new."""

    documents: FleetDocuments | None = None
    trouble: ModelplaneError | None = None


class Directory:
    """Watches a fleet directory and reads it again when it has changed; times in seconds on `clock`."""

    def __init__(
        self,
        directory: Path,
        load: Load,
        documents: FleetDocuments,
        on_change: Callable[[], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._directory = directory
        self._load = load
        self._on_change = on_change
        self._clock = clock
        self._documents = documents
        self._changed_at: float | None = None
        self._seen = fingerprint(directory)
        self._stop = threading.Event()

    def start(self) -> None:
        """Begin to watch."""
        threading.Thread(target=self._watch, name="directory", daemon=True).start()

    def close(self) -> None:
        """Watch no more."""
        self._stop.set()

    @property
    def due(self) -> float | None:
        """When to call `take`; None where nothing has changed."""
        return None if self._changed_at is None else self._changed_at + SETTLE_SECONDS

    def look(self) -> None:
        """See whether something has changed that no event told of, as on a disk of another machine."""
        found = fingerprint(self._directory)
        if found != self._seen:
            self._seen = found
            self._changed_at = self._clock()

    def take(self) -> Taken:
        """What the directory holds by now; nothing where it is still being written, or is as it was."""
        self.look()
        if self._changed_at is None or self._clock() < self._changed_at + SETTLE_SECONDS:
            return Taken()
        before = self._seen
        self._changed_at = None
        try:
            documents = self._checked()
        except ModelplaneError as error:
            return Taken(trouble=error)
        if fingerprint(self._directory) != before:
            self.look()
            return Taken()
        self._documents = documents
        return Taken(documents=documents)

    def again(self) -> None:
        """Read it again although nothing in it has changed: what kept it from being used may lie elsewhere."""
        self._changed_at = self._clock()

    def _counts(self, _: watchfiles.Change, path: str) -> bool:
        parts = Path(os.path.relpath(path, self._directory.resolve())).parts
        return not any(part.startswith(".") for part in parts)

    def _checked(self) -> FleetDocuments:
        documents = self._load()
        was, now = self._documents.fleet, documents.fleet
        if was and now and was.name != now.name:
            hint = f"call it {was.name} again, or start the loop anew for the other fleet"
            raise OtherFleet(f"the Fleet is called {now.name} by now, and the loop brings up {was.name}", hint=hint)
        return documents

    def _watch(self) -> None:
        while not self._stop.is_set():
            try:
                for _ in watchfiles.watch(self._directory, watch_filter=self._counts, stop_event=self._stop):
                    self._changed_at = self._clock()
                    self._on_change()
            except OSError:  # it is not there, or there are too many to watch: `look` finds changes, too
                self._stop.wait(RETRY_SECONDS)


def fingerprint(directory: Path) -> str:
    """Names, sizes and times of all that is written in a directory; hidden folders do not count."""
    found: list[str] = []
    for folder, folders, files in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            try:
                status = Path(folder, name).stat()
                found.append(f"{folder}/{name} {status.st_size} {status.st_mtime_ns} {status.st_ino} {status.st_mode}")
            except OSError as error:
                found.append(f"{folder}/{name} {error.errno}")
    found.append(str(os.access(directory, os.R_OK | os.X_OK)))
    return hashlib.sha256("\n".join(found).encode()).hexdigest()


def value_digests(documents: FleetDocuments) -> Mapping[Key, str]:
    """Digests of the values of all Secrets, as far as they can be had here: a rotated kubeconfig is a change."""
    fleet = documents.fleet
    keys = {*documents.secrets, *((each.namespace, each.name) for each in (fleet.spec.secrets if fleet else ()))}
    found = {}
    for namespace, name in sorted(keys):
        try:
            values = secret_values(documents, namespace, name)
        except ModelplaneError as error:
            found[namespace, name] = error.error_code
            continue
        text = "\0".join(f"{key}\0{value}" for key, value in sorted(values.items()))
        found[namespace, name] = hashlib.sha256(text.encode()).hexdigest()
    return found
