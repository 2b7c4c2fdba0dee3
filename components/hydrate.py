"""The program that a hydration Job runs: stage one repository of a Hugging Face hub on a volume.

It is handed over as text, so it uses the standard library only and imports nothing of this project. Files come in the
layout of a hub cache (`models--<org>--<name>/{blobs,refs,snapshots}`), and links at the volume's root lead to the
snapshot's files. A download that was cut off goes on where it stopped; the marker, written last, holds what is staged.
A fault that trying again cannot cure has an exit code of its own; its reason is written as JSON for the pod's status.
"""

import argparse
import concurrent.futures
import contextlib
import errno
import hashlib
import http.client
import json
import os
import shutil
import sys
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

MARKER = ".modelplane-hydrated"
LAYOUT = "hub-1"
HUB = "https://huggingface.co"
EXITS = {"Refused": 10, "NotFound": 11, "OutOfSpace": 12, "BadVolume": 13, "BadRepository": 14}
RETRY = 1
CHUNK = 1 << 20
WORKERS = 4
TIMEOUT_SECONDS = 60


class Fault(Exception):
    """A fault that trying again cannot cure."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Wanted:
    """What to stage, and where."""

    hub: str
    repo: str
    revision: str
    root: Path
    token: str = ""

    @property
    def folder(self) -> Path:
        """The repository's part of the cache."""
        return self.root / f"models--{self.repo.replace('/', '--')}"

    def marker(self, commit: str = "") -> dict[str, str]:
        """What the marker says once this is staged."""
        return {"repo": self.repo, "revision": self.revision, "layout": LAYOUT, "commit": commit}


@dataclass(frozen=True)
class File:
    """One file of a snapshot: its path, its blob's name and its size in bytes."""

    path: str
    blob: str
    size: int
    is_checked: bool
    """The blob's name is the SHA-256 of its content."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """The token is for the hub: the store that it redirects to does not get it."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]
        """Follow, without the token where the host is another."""
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following is not None and urllib.parse.urlsplit(newurl).netloc != urllib.parse.urlsplit(req.full_url).netloc:
            following.remove_header("Authorization")
        return following


_OPENER = urllib.request.build_opener(_Redirects)


def stage(wanted: Wanted) -> str:
    """Stage what is wanted and return its commit; what is staged already is left alone."""
    marker = wanted.root / MARKER
    if (commit := staged(marker, wanted)) is not None:
        return commit
    with contextlib.suppress(FileNotFoundError):
        marker.unlink()
    commit, files = listing(wanted)
    make_room(wanted, files)
    blobs = wanted.folder / "blobs"
    blobs.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for done in [
            pool.submit(download, wanted, commit, file) for file in {each.blob: each for each in files}.values()
        ]:
            done.result()
    link(wanted, commit, files)
    write(marker, json.dumps(wanted.marker(commit)))
    return commit


def staged(marker: Path, wanted: Wanted) -> str | None:
    """The commit that the volume holds, where that is what is wanted."""
    try:
        found = json.loads(marker.read_text())
        commit = found.pop("commit")
    except (OSError, ValueError, KeyError, AttributeError):
        return None
    expected = wanted.marker()
    expected.pop("commit")
    return str(commit) if found == expected else None


def listing(wanted: Wanted) -> tuple[str, list[File]]:
    """The commit behind the revision, and its files."""
    revision = urllib.parse.quote(wanted.revision, safe="")
    with request(wanted, f"/api/models/{wanted.repo}/revision/{revision}?blobs=true") as answer:
        found = json.load(answer)
    commit = str(found.get("sha") or "")
    if len(commit) != 40 or not commit.isalnum():
        raise Fault("BadRepository", f"the hub names no commit for {wanted.repo} at {wanted.revision}")
    files = []
    for each in found.get("siblings") or []:
        lfs = each.get("lfs") or {}
        path, blob = str(each["rfilename"]), str(lfs.get("sha256") or each.get("blobId") or "")
        parts = PurePosixPath(path).parts
        if not blob.isalnum() or not parts or path.startswith("/") or ".." in parts:
            raise Fault("BadRepository", f"{wanted.repo} lists a file that cannot be staged: {path!r}")
        files.append(File(path, blob, int(lfs.get("size") or each.get("size") or 0), is_checked=bool(lfs)))
    if not files:
        raise Fault("BadRepository", f"{wanted.repo} has no files at {wanted.revision}")
    return commit, files


def make_room(wanted: Wanted, files: list[File]) -> None:
    """Make sure that what is missing fits; where it does not, what no file of the new snapshot needs is removed."""
    blobs = wanted.folder / "blobs"
    needed = sum(_missing(blobs, file) for file in {each.blob: each for each in files}.values())
    if needed > shutil.disk_usage(wanted.root).free and blobs.is_dir():
        kept = {file.blob for file in files}
        for blob in blobs.iterdir():
            if blob.name.removesuffix(".incomplete") not in kept:
                blob.unlink()
    usage = shutil.disk_usage(wanted.root)
    if needed > usage.free:
        text = f"{wanted.repo} needs {_gib(needed)} more, the volume has {_gib(usage.free)} of {_gib(usage.total)} free"
        raise Fault("OutOfSpace", text)


def download(wanted: Wanted, commit: str, file: File) -> None:
    """Fetch one blob, from where an earlier try stopped."""
    target = wanted.folder / "blobs" / file.blob
    if target.is_file() and target.stat().st_size == file.size:
        return
    partial = target.with_name(f"{target.name}.incomplete")
    have = partial.stat().st_size if partial.exists() else 0
    if have > file.size:
        partial.unlink()
        have = 0
    if have < file.size or not have:
        path = urllib.parse.quote(file.path)
        headers = {"Range": f"bytes={have}-"} if have else {}
        with request(wanted, f"/{wanted.repo}/resolve/{commit}/{path}", headers) as answer:
            is_rest = answer.status == http.HTTPStatus.PARTIAL_CONTENT
            with partial.open("ab" if is_rest else "wb") as out:
                shutil.copyfileobj(answer, out, CHUNK)
    size = partial.stat().st_size
    if size != file.size or (file.is_checked and _sha256(partial) != file.blob):
        if size >= file.size:
            partial.unlink()
        raise OSError(errno.EIO, f"{file.path} came as {size} of {file.size} bytes, or with another content")
    partial.replace(target)


def link(wanted: Wanted, commit: str, files: list[File]) -> None:
    """Lay out the snapshot, its reference, and the links at the volume's root."""
    snapshot = wanted.folder / "snapshots" / commit
    for file in files:
        place = snapshot / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        point(place, os.path.relpath(wanted.folder / "blobs" / file.blob, place.parent))
    if wanted.revision != commit:
        reference = wanted.folder / "refs" / wanted.revision
        reference.parent.mkdir(parents=True, exist_ok=True)
        write(reference, commit)
    entries = {PurePosixPath(file.path).parts[0] for file in files}
    for old in list(wanted.root.iterdir()):
        if old.is_symlink() and str(old.readlink()).startswith("models--") and old.name not in entries:
            old.unlink()
    for name in sorted(entries):
        place = wanted.root / name
        if place.is_symlink() or not place.exists():
            point(place, os.path.relpath(snapshot / name, wanted.root))


def point(place: Path, target: str) -> None:
    """Make a link, or let one that is there lead elsewhere, at once."""
    new = place.with_name(f".{place.name}.new")
    with contextlib.suppress(FileNotFoundError):
        new.unlink()
    try:
        new.symlink_to(target)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
            raise Fault("BadVolume", "the volume holds no symbolic links, which a hub cache is made of") from error
        raise
    new.replace(place)


def write(place: Path, text: str) -> None:
    """Write a file at once."""
    new = place.with_name(f".{place.name}.new")
    new.write_text(text)
    new.replace(place)


def hub_address() -> str:
    """The hub's own address, or the one that HF_ENDPOINT names."""
    hub = os.environ.get("HF_ENDPOINT", HUB).rstrip("/")
    if urllib.parse.urlsplit(hub).scheme not in ("http", "https"):
        raise Fault("NotFound", f"HF_ENDPOINT is no http address: {hub}")
    return hub


def request(wanted: Wanted, path: str, headers: dict[str, str] | None = None) -> http.client.HTTPResponse:
    """Ask the hub."""
    asked = urllib.request.Request(f"{wanted.hub}{path}", headers=headers or {})  # noqa: S310 - its scheme is checked
    if wanted.token:
        asked.add_header("Authorization", f"Bearer {wanted.token}")
    try:
        answer: http.client.HTTPResponse = _OPENER.open(asked, timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        what = f"{wanted.repo} at {wanted.revision}"
        if error.code in (http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN):
            with_what = "with this token" if wanted.token else "without a token"
            raise Fault("Refused", f"the hub refuses {what} {with_what} (HTTP {error.code})") from None
        if error.code == http.HTTPStatus.NOT_FOUND:
            raise Fault("NotFound", f"the hub has no {what}, or nothing at {path.partition('?')[0]}") from None
        raise
    return answer


def report(reason: str, message: str, place: Path) -> None:
    """Tell the pod's status, where there is one, and the log."""
    sys.stderr.write(f"{reason}: {message}\n")
    with contextlib.suppress(OSError):
        place.write_text(json.dumps({"reason": reason, "message": message}))


def main(arguments: list[str] | None = None) -> int:
    """Stage what the arguments ask for; 0 once it is there, 1 where trying again may help."""
    parser = argparse.ArgumentParser(description="Stage a model on a volume.")
    parser.add_argument("--repo", required=True)
    parser.add_argument("--revision", default="main")
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--token-file", type=Path)
    parser.add_argument("--report", type=Path, default=Path("/dev/termination-log"))
    given = parser.parse_args(arguments)
    try:
        hub = hub_address()
        token = given.token_file.read_text().strip() if given.token_file else ""
        commit = stage(Wanted(hub, given.repo, given.revision, given.directory, token))
    except Fault as fault:
        report(fault.reason, str(fault), given.report)
        return EXITS[fault.reason]
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            report("OutOfSpace", f"the volume is full: {given.repo} does not fit on it", given.report)
            return EXITS["OutOfSpace"]
        report("Interrupted", f"{type(error).__name__}: {error}", given.report)
        return RETRY
    sys.stdout.write(f"{given.repo} at {given.revision} is staged: {commit}\n")
    return 0


def _missing(blobs: Path, file: File) -> int:
    for name in (file.blob, f"{file.blob}.incomplete"):
        with contextlib.suppress(OSError):
            return max(0, file.size - (blobs / name).stat().st_size)
    return file.size


def _sha256(place: Path) -> str:
    with place.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"


if __name__ == "__main__":
    sys.exit(main())
