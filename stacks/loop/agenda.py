"""What the loop starts next. A pure function of what is known and of the time; it runs nothing and looks at no clock.

A stack is due when what its program would do differs from what it did last, when its last look at live objects is
older than the drift interval, or when it failed and its pause is over. Two lanes do not wait for each other:
infrastructure (gateway, clusters, what serves on them) and traffic (placement, workloads, routing). A cluster that
takes twenty minutes to make delays no withdrawal.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from api.names import StackName

INFRASTRUCTURE = ("gateway", "cluster", "serving")
FIRST_PAUSE = 5.0
"""Seconds after a first failure; each further one in a row doubles it."""
LONGEST_PAUSE = 300.0
MOST_DOUBLINGS = 10
ASTRAY_PAUSE = 30.0
"""Seconds until a stack is brought up again when its last run has not put right what it was started for."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a stack's program would do now, as a digest; `edited` is that of the documents alone."""

    digest: str
    edited: str = ""
    astray: frozenset[str] = frozenset()
    """What a look at live objects shows that is not as the stack last exported it."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """The last run of a stack: what it did, when it ended (seconds), and how many in a row failed."""

    asked: Asked
    at: float
    failures: int = 0


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything that is decided from."""

    asked: Mapping[StackName, Asked]
    """Stacks that can be brought up at all."""
    done: Mapping[StackName, Done] = field(default_factory=dict)
    running: frozenset[StackName] = frozenset()
    endpoints: frozenset[str] = frozenset()
    """Endpoints that routing would list now."""
    leaving: Mapping[StackName, frozenset[str]] = field(default_factory=dict)
    """Replicas that a run of a workloads stack would take away; of one that runs, those that it does."""
    withdrawn_at: float = -math.inf
    """When endpoints were last taken out of rotation."""
    looks: bool = True
    """Whether stacks may be started for a look alone; in a large fleet one is always due, and nothing ever settles."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much runs side by side, and how often; times in seconds."""

    parallel: int = 3
    drift_interval: float = 600.0
    drain: float = 5.0
    """Between taking endpoints out of rotation and ending what is behind them."""
    only: frozenset[str] = frozenset()
    """Names of the only stacks to bring up; all where it is empty."""
    shard: tuple[int, int] = (1, 1)
    """Which part of so many, counted from 1, this loop brings up; the first has what belongs to no cluster."""
    left_out: frozenset[str] = frozenset()
    """Clusters whose stacks are not brought up."""


def to_start(facts: Facts, limits: Limits, now: float) -> tuple[StackName, ...]:
    """Stacks to start now, those first whose lane has most depend on them."""
    due = [
        stack
        for stack in sorted(facts.asked, key=_order)
        if _due_at(stack, facts, limits) <= now and (facts.looks or not only_looks(stack, facts))
    ]
    started: list[StackName] = []
    for stack in due:
        running = facts.running.union(started)
        if stack not in running and _has_room(stack, running, limits) and not _waits(stack, facts, running, due):
            if stack.kind == "workloads" and _still_drains(stack, facts, limits, now):
                continue
            started.append(stack)
    return tuple(started)


def wakes_at(facts: Facts, limits: Limits, now: float) -> float:
    """When something becomes due that is not yet; infinite where only an event can make it so."""
    times = [_due_at(stack, facts, limits) for stack in facts.asked if stack not in facts.running]
    times += [facts.withdrawn_at + limits.drain]
    return min((time for time in times if time > now), default=math.inf)


def is_settled(facts: Facts, limits: Limits) -> bool:
    """Whether every stack did what is asked of it, or failed at that."""
    return not facts.running and all(
        stack in facts.done and (facts.done[stack].failures > 0 or _is_done(asked, facts.done[stack].asked))
        for stack, asked in facts.asked.items()
        if _is_meant(stack, limits)
    )


def seen_right(done: Done, asked: Asked | None) -> Done:
    """The last run, without what was astray when it began and is not any more: should it come again, that is new."""
    left = done.asked.astray & asked.astray if asked else frozenset()
    return done if left == done.asked.astray else replace(done, asked=replace(done.asked, astray=left))


def pause(stack: StackName, failures: int) -> float:
    """Seconds between a failure and the next try: doubling, bounded, up to a quarter off so that few try at once."""
    whole = min(LONGEST_PAUSE, FIRST_PAUSE * float(2 ** min(failures - 1, MOST_DOUBLINGS)))
    return whole * (1 - _spread(f"{stack.cluster or stack.kind}/{failures}") / 4)


def only_looks(stack: StackName, facts: Facts) -> bool:
    """Whether the stack did what is asked of it, as far as anybody knows."""
    asked, done = facts.asked[stack], facts.done.get(stack)
    return done is not None and not done.failures and not asked.astray and _is_done(asked, done.asked)


def _due_at(stack: StackName, facts: Facts, limits: Limits) -> float:
    asked, done = facts.asked[stack], facts.done.get(stack)
    if not _is_meant(stack, limits):
        return math.inf
    if done is None or (done.failures and asked.edited != done.asked.edited):
        return -math.inf
    if done.failures:
        return done.at + pause(stack, done.failures)
    if not _is_done(asked, done.asked):
        return -math.inf
    return done.at + (ASTRAY_PAUSE if asked.astray else _look_again(stack, limits))


def _look_again(stack: StackName, limits: Limits) -> float:
    """Seconds until live objects are looked at again though nothing is known to have changed; placement has none."""
    return math.inf if stack.kind == "placement" else limits.drift_interval * (1 - _spread(str(stack)) / 4)


def _is_done(asked: Asked, done: Asked) -> bool:
    return asked.digest == done.digest and asked.astray <= done.astray


def _is_meant(stack: StackName, limits: Limits) -> bool:
    part, parts = limits.shard
    own = 1 if stack.cluster is None else int(_spread(stack.cluster) * parts) + 1
    return stack.cluster not in limits.left_out and own == part and (not limits.only or str(stack) in limits.only)


def _has_room(stack: StackName, running: Iterable[StackName], limits: Limits) -> bool:
    """Placement and routing never wait for a place: they are what takes sick endpoints out."""
    if stack.kind in INFRASTRUCTURE:
        return sum(other.kind in INFRASTRUCTURE for other in running) < limits.parallel
    if stack.kind == "workloads":
        return sum(other.kind == "workloads" for other in running) < limits.parallel
    return True


def _waits(stack: StackName, facts: Facts, running: Iterable[StackName], due: Iterable[StackName]) -> bool:
    """Whether a stack has to wait for another one that is under way or about to be."""
    under_way = set(running)
    if stack.kind == "serving":
        own = StackName(stack.fleet, "cluster", stack.cluster)
        return own in under_way or own in due
    if stack.kind == "routing":
        # What is being taken away must not come back into rotation meanwhile.
        taken = [facts.leaving.get(other, frozenset()) for other in under_way if other.kind == "workloads"]
        return any(facts.endpoints & keys for keys in taken)
    if stack.kind not in {"placement", "workloads"}:
        return False
    # Sick endpoints leave first, alone where processors are few; all else can wait the few seconds.
    routing = StackName(stack.fleet, "routing")
    return routing in under_way or (routing in due and not _waits(routing, facts, under_way, due))


def _still_drains(stack: StackName, facts: Facts, limits: Limits, now: float) -> bool:
    return bool(facts.leaving.get(stack)) and now < facts.withdrawn_at + limits.drain


def _order(stack: StackName) -> tuple[int, str]:
    kinds = ("routing", "placement", "workloads", *INFRASTRUCTURE)
    return (kinds.index(stack.kind), str(stack))


def _spread(text: str) -> float:
    """A number from 0 to 1 that is the same for the same text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32
