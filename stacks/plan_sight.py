"""Looking at what a plan is made of: documents, states of all stacks, and the nodes that clusters have just now."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from api.documents import FleetDocuments
from programs.probe import Answer
from stacks.engine import Engine
from stacks.environment import BACKEND
from stacks.reach import ask, kubeconfigs_of, named_kubeconfig
from stacks.saved_plan import ClusterSeen, SavedPlan, digest_of, document_digests, state_digest
from stacks.state import PARALLEL, has_state


def look(engine: Engine, documents: FleetDocuments) -> SavedPlan:
    """What is now. API servers are asked for their nodes; nothing is written.

    Raises:
        UnreadableStack: the backend, or the state of a stack, cannot be read.

    """
    if documents.fleet is None:
        raise AssertionError("a plan is made of a fleet that has its Fleet document")
    fleet = documents.fleet.name
    known = engine.stacks() if has_state(engine.environment) else {}
    own = sorted((stack for stack in known if stack.fleet == fleet), key=str)
    with ThreadPoolExecutor(PARALLEL) as pool:
        states = dict(zip(own, pool.map(engine.exported, own), strict=True))
    exported = kubeconfigs_of(engine, fleet, known)
    wanted = {name: exported.get(name) or named_kubeconfig(documents, name) for name in sorted(documents.clusters)}
    kubeconfigs = {name: text for name, text in wanted.items() if text}
    return SavedPlan(
        fleet=fleet,
        backend=digest_of(engine.environment.variables[BACKEND].partition("?")[0]),
        documents=document_digests(documents),
        stacks={str(stack): state_digest(stack.kind, state) for stack, state in states.items()},
        clusters=seen_of(ask(kubeconfigs, fleet, pools=True)),
    )


def seen_of(answers: Mapping[str, Answer]) -> dict[str, ClusterSeen]:
    """Answers as a plan keeps them."""
    return {
        name: ClusterSeen(
            reachable=answer.reachable,
            nodes=dict(answer.nodes or {}),
            devices={
                pool: digest_of(str([each.plain() for each in observed]))
                for pool, observed in (answer.observed or {}).items()
            },
        )
        for name, answer in answers.items()
    }
