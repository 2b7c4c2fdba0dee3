"""The guard: how much one run may delete. Pure; each stack checks its own part against its own last outputs.

A refusal names exactly what would go and gives a digest over it; `--allow DIGEST` (config `modelplane:allowDeletions`)
permits that very set and nothing else.
"""

import hashlib
from collections.abc import Collection

from api.errors import DeletionRefused

SHOWN = 20


def guard(what: str, going: Collection[str], total: int, share: float, allowed: Collection[str]) -> None:
    """Let `going` (one line each) go when they are few enough of `total`, or named by a digest.

    `share` is the part of `total` that one run may delete, between 0 and 1; one is always allowed.

    Raises:
        DeletionRefused: more would go than that, with the digest that permits it.

    """
    limit = max(1, int(total * share))
    if len(going) <= limit:
        return
    digest = deletion_digest(going)
    if digest in allowed:
        return
    lines = [f"  - {line}" for line in sorted(going)[:SHOWN]]
    if len(going) > SHOWN:
        lines.append(f"  - and {len(going) - SHOWN} more")
    raise DeletionRefused(
        f"{len(going)} of {total} {what} would go, and one run may delete {limit}:\n" + "\n".join(lines),
        hint=f"if exactly this is meant, allow it: modelplane up --allow {digest}",
    )


def deletion_digest(going: Collection[str]) -> str:
    """Ten hex digits that stand for exactly this set."""
    return hashlib.sha256("\n".join(sorted(going)).encode()).hexdigest()[:10]
