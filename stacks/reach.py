"""How the API servers of a fleet are reached: by what stacks export, else by what documents name."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from api import names
from api.documents import FleetDocuments
from api.errors import ModelplaneError
from api.names import StackName
from api.secrets import secret_values
from programs.probe import Answer, probe
from stacks.engine import Engine
from stacks.state import PARALLEL

HUB = "hub"


def kubeconfigs_of(engine: Engine, fleet: str, known: Mapping[StackName, int]) -> dict[str, str]:
    """Kubeconfigs that the stacks export, by cluster and HUB, in clear; stacks that cannot be read have none."""
    found = {}
    for stack in known:
        if stack.fleet != fleet or stack.kind not in ("gateway", "cluster"):
            continue
        try:
            kubeconfig = (engine.outputs(stack) or {}).get("kubeconfig")
        except ModelplaneError:
            continue  # whoever needs it reads it again, and is told
        if isinstance(kubeconfig, str) and kubeconfig:
            found[stack.cluster or HUB] = kubeconfig
    return found


def named_kubeconfig(documents: FleetDocuments, name: str) -> str | None:
    """The kubeconfig that documents name for a cluster or HUB, where it can be had here."""
    existing = documents.clusters[name].spec.cluster.existing if name != HUB else None
    settings = documents.fleet.spec.gateway if documents.fleet else None
    hub = settings.kubeconfig_secret_ref if settings and name == HUB else None
    reference = existing.secret_ref if existing else hub
    if reference is None:
        return None
    try:
        return secret_values(documents, names.SYSTEM_NAMESPACE, reference.name).get(reference.key)
    except ModelplaneError:
        return None


def ask(kubeconfigs: Mapping[str, str], fleet: str, *, pools: bool) -> dict[str, Answer]:
    """What API servers answer, side by side; with `pools` what nodes they have."""
    with ThreadPoolExecutor(PARALLEL) as pool:
        answers = pool.map(lambda text: probe(text, fleet=fleet, namespaces=(), pools=pools), kubeconfigs.values())
        return dict(zip(kubeconfigs, answers, strict=True))
