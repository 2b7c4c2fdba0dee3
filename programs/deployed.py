"""What stands, out of the outputs of stacks, in the form in which documents are compared with it."""

from collections.abc import Iterable, Iterator, Mapping

from api import fixed
from api.base import Fault, Kind
from api.caches import ModelCacheSpec
from api.documents import FleetDocuments
from api.errors import InvocationError
from api.fixed import Deployed, DeployedCache, DeployedCluster
from api.problems import field_path
from api.rules import RULES
from programs.ledger import document
from programs.outputs import ClusterInputs, ClusterOutputs, LedgerCache, PlacementOutputs


def deployed(clusters: Mapping[str, ClusterOutputs], placement: PlacementOutputs | None) -> Deployed:
    """What the last runs of the cluster stacks and of placement left; stacks that are absent say nothing."""
    ledger = placement.ledger if placement else None
    documents = [document(entry, ledger) for entry in ledger.replicas] if ledger else []
    return Deployed(
        clusters={name: deployed_cluster(outputs.inputs) for name, outputs in clusters.items()},
        caches=dict(_caches(ledger.caches if ledger else ())),
        replicas={(replica.namespace, replica.name): replica for replica in documents},
        pools={name: frozenset(pool.name for pool in outputs.pools) for name, outputs in clusters.items()},
    )


def deployed_cluster(inputs: ClusterInputs) -> DeployedCluster:
    """What a cluster was made with."""
    return DeployedCluster(
        source=inputs.source,
        stack=inputs.stack,
        region=inputs.region,
        credentials=inputs.credentials,
        control_plane=inputs.control_plane or "",
    )


def refuse_changes(subject: Kind, faults: Iterable[Fault]) -> None:
    """Refuse what cannot change under what runs on it.

    Raises:
        InvocationError: an immutable field was edited.

    """
    for fault in faults:
        raise InvocationError(
            f"{field_path(fault.at)}: {fault.message}",
            where=subject.subject,
            hint=fault.hint,
            code=RULES[fault.rule].code,
        )


def refuse_changed_caches(documents: FleetDocuments, last: PlacementOutputs | None) -> None:
    """MC-N3 and MC-N4, for every cache that the last ledger holds.

    Raises:
        InvocationError: an immutable field was edited.

    """
    before = dict(_caches(last.ledger.caches)) if last else {}
    for key, cache in sorted(documents.caches.items()):
        if key in before:
            refuse_changes(cache, fixed.cache_changes(cache, before[key]))


def refuse_moved_replicas(last: PlacementOutputs | None, outputs: PlacementOutputs) -> None:
    """MR-N1: one name stands for one cluster, also where two names' hashes are the same.

    Raises:
        InvocationError: a replica of the new ledger is elsewhere than the one of its name was.

    """
    before = {entry.key: entry.cluster for entry in last.ledger.replicas} if last else {}
    for entry in outputs.ledger.replicas:
        if before.get(entry.key, entry.cluster) != entry.cluster:
            replica = document(entry, outputs.ledger)
            refuse_changes(replica, fixed.replica_faults(replica, deployed({}, last)))


def _caches(caches: Iterable[LedgerCache]) -> Iterator[tuple[tuple[str, str], DeployedCache]]:
    for cache in caches:
        spec = ModelCacheSpec.model_validate(cache.spec, by_alias=True, by_name=False)
        if origin := spec.hugging_face:
            yield (
                (cache.namespace, cache.name),
                DeployedCache(source=spec.source, repo=origin.repo, size_gib=origin.size_gib),
            )
