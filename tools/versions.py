"""Versions of programs: reading one out of what a program prints, and comparing two."""

import re
from dataclasses import dataclass

_VERSION = re.compile(r"(?<![\w.])v?(\d+)\.(\d+)(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?")
_PRERELEASE = re.compile(r"^(alpha|beta|rc|dev|pre)\b|^(alpha|beta|rc)\d")


@dataclass(frozen=True, order=True)
class Version:
    """Three numbers, and whether it is a release (a pre-release sorts before its release).

    A suffix that a distributor adds (`v1.34.2-eks-1a2b`) does not make a pre-release.
    """

    major: int
    minor: int
    patch: int = 0
    released: bool = True

    def __str__(self) -> str:
        """`3.274.1`, a pre-release with a mark after it."""
        return f"{self.major}.{self.minor}.{self.patch}" + ("" if self.released else "-pre")


def find_version(text: str) -> Version | None:
    """The first version in `text`, or None where there is none."""
    match = _VERSION.search(text)
    if match is None:
        return None
    major, minor, patch, suffix = match.groups()
    return Version(int(major), int(minor), int(patch or 0), not _PRERELEASE.match(suffix or ""))


def parse(text: str) -> Version:
    """The version that `text` is; ValueError where it is none."""
    version = find_version(text)
    if version is None:
        raise ValueError(f"not a version: {text!r}")
    return version


def is_recent_enough(found: Version, minimum: Version) -> bool:
    """Whether `found` can stand in where `minimum` is asked for: same major version, not older."""
    return found.major == minimum.major and found >= minimum
