"""What one rendered replica is doing: its engines' readiness, and the worst pod's trouble while it does not serve."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from api import names
from api.terms import Stack
from components.readiness import Readiness, counted, replica_readiness
from programs.outputs import LedgerEngine, LedgerReplica, ReplicaState
from programs.pod_look import PodLook

_STARTING = frozenset({"ModelStarting", "Deploying"})


@dataclass(frozen=True, kw_only=True)
class Watched:
    """A replica with what is known besides its live workloads."""

    entry: LedgerReplica
    stack: Stack
    look: PodLook
    before: ReplicaState | None
    template_hash: str
    missing: Sequence[str] = ()
    """Secrets and ConfigMaps that it needs and nothing brings."""

    @property
    def was_ready(self) -> bool:
        """It was ready when its stack was last brought up."""
        return self.before is not None and self.before.ready is True

    @property
    def is_changed(self) -> bool:
        """Its pods are given another template in this very run."""
        return self.before is not None and self.before.template_hash != self.template_hash


def workload_name(replica: str, engine: LedgerEngine, stack: Stack) -> tuple[str, str]:
    """Kind and name of the object that runs an engine."""
    if len(engine.members) == 1:
        return "Deployment", names.engine_workload(replica, engine.name)
    if stack == "Dynamo":
        return "PodCliqueSet", names.clique_set(replica, engine.name)
    return "LeaderWorkerSet", names.gang_workload(replica, engine.name)


def told(watched: Watched, engines: Mapping[str, Readiness], picker: Readiness | None) -> Readiness:
    """Readiness of a replica with the reason of its worst pod."""
    parts = [_engine(watched, engine, engines[engine.name]) for engine in watched.entry.engines]
    found = replica_readiness(parts, picker, was_ready=watched.was_ready and not watched.is_changed)
    if found.ready or found.reason not in _STARTING:
        return found
    return _with_trouble(watched, found)


def _engine(watched: Watched, engine: LedgerEngine, found: Readiness) -> Readiness:
    kind, name = workload_name(watched.entry.name, engine, watched.stack)
    if kind == "LeaderWorkerSet" and watched.is_changed:
        # Its status says of no generation what it is about: nothing of it counts for a template given just now.
        return Readiness(ready=False, reason="Deploying", message="the cluster has not acted on it yet")
    if kind == "PodCliqueSet":
        return counted(found, watched.look.ready(watched.entry.namespace, name), engine.copies)
    return found


def _with_trouble(watched: Watched, found: Readiness) -> Readiness:
    entry = watched.entry
    workloads = [workload_name(entry.name, engine, watched.stack)[1] for engine in entry.engines]
    troubles = [each for name in workloads if (each := watched.look.trouble(entry.namespace, name)) is not None]
    if not troubles:
        return found
    worst = min(troubles)
    said = [found.message, f"{worst.reason}: {worst.message}"]
    if watched.missing:
        said.append(f"nothing brings {', '.join(watched.missing)}")
    reason = found.reason if worst.reason == "NotReady" else worst.reason
    return Readiness(ready=False, reason=reason, message="; ".join(said))
