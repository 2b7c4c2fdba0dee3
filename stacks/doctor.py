"""Whether everything is at hand that bringing a fleet up needs, each failure with its fix.

Asked are the machine, the programs that are started, the documents and the values they name, the backend and what its
secrets are encrypted with, credentials of clouds, and every API server. Nothing is written, and no value is shown.
"""

import os
from collections.abc import Iterator, Mapping

from api.documents import FleetDocuments
from api.errors import ModelplaneError
from api.names import StackName
from api.secrets import unresolved
from stacks.engine import Engine
from stacks.environment import BACKEND, PASSPHRASE, PASSPHRASE_FILE, Environment
from stacks.reach import HUB, ask, kubeconfigs_of, named_kubeconfig
from stacks.state import has_state
from tools.doctor import Check
from tools.locate import ToolMissing, look_up

PROGRAMS = ("pulumi", "pulumi-language-python", "pulumi-resource-kubernetes")
_REFUSED = {
    "BadCredentials": "the kubeconfig is refused or cannot be used: write a new one, or renew its token",
    "RightsMissing": "grant the rights that `modelplane rbac` prints",
}
_UNREACHABLE = "check its address in the kubeconfig, the network between, and that the cluster is up"


def check_programs() -> Iterator[Check]:
    """The programs that the engine consists of, with their versions."""
    for name in PROGRAMS:
        try:
            found = look_up(name)
            yield Check(subject=name, found=f"{found.version} ({found.origin}: {found.path})")
        except ToolMissing as missing:
            yield Check(subject=name, found=missing.message, fix=missing.hint)


def check_values(documents: FleetDocuments) -> Iterator[Check]:
    """Values of Secrets that come from files and the environment, and variables that credentials of clouds name."""
    missing = unresolved(documents)
    for problem in missing:
        yield Check(subject="Secrets", found=f"{problem.where}: {problem.message}", fix=problem.hint)
    fleet = documents.fleet
    if fleet is None:
        return
    if not missing and fleet.spec.secrets:
        yield Check(subject="Secrets", found=f"{len(fleet.spec.secrets)} can be had")
    for name, credential in sorted(fleet.spec.credentials.items()):
        for cloud, settings in credential:
            absent = sorted({each for each in settings.env.values() if not os.environ.get(each)}) if settings else []
            fix = f"export {' '.join(absent)}" if absent else ""
            if settings and (settings.env or absent):
                found = f"not set: {', '.join(absent)}" if absent else f"{len(settings.env)} variables are set"
                yield Check(subject=f"Credentials {name} ({cloud})", found=found, fix=fix)


def check_backend(engine: Engine, fleet: str, known: Mapping[StackName, int]) -> Iterator[Check]:
    """The backend, and that secrets in it can be decrypted; `known` are its stacks with the entries of each."""
    backend = engine.environment.variables[BACKEND].partition("?")[0]
    own = sorted((stack for stack in known if stack.fleet == fleet), key=str)
    yield Check(subject="Backend", found=f"{backend}: {len(own)} stacks of this fleet")
    holding = [stack for stack in own if known[stack]]
    if not holding:
        return
    try:
        engine.outputs(holding[0])
    except ModelplaneError as error:
        fix = f"set {PASSPHRASE} or {PASSPHRASE_FILE} to what the stacks were made with"
        yield Check(subject="Secrets of the state", found=error.message, fix=fix)
    else:
        yield Check(subject="Secrets of the state", found="can be decrypted")


def check_clusters(documents: FleetDocuments, kubeconfigs: Mapping[str, str]) -> Iterator[Check]:
    """Each API server, asked with the kubeconfig that was last used or is named; the hub among them."""
    fleet = documents.fleet.name if documents.fleet else ""
    wanted = [*([HUB] if documents.fleet else []), *sorted(documents.clusters)]
    having = {name: text for name in wanted if (text := kubeconfigs.get(name) or named_kubeconfig(documents, name))}
    answers = ask(having, fleet, pools=False)
    for name in wanted:
        subject = "Hub" if name == HUB else f"Cluster {name}"
        if name not in answers:
            yield _without(documents, name, subject)
        elif answers[name].reachable:
            yield Check(subject=subject, found="its API server answers")
        else:
            reason = answers[name].reason
            yield Check(subject=subject, found=reason, fix=_REFUSED.get(reason.partition(":")[0], _UNREACHABLE))


def examine(documents: FleetDocuments, environment: Environment) -> Iterator[Check]:
    """Everything about a fleet, in the order in which a reader would fix it."""
    yield from check_values(documents)
    if documents.fleet is None:
        yield Check(subject="Fleet", found="no document is of kind Fleet", fix="`modelplane init` writes one")
        return
    fleet = documents.fleet.name
    kubeconfigs: dict[str, str] = {}
    try:
        engine = Engine(environment, documents)
        known = engine.stacks() if has_state(environment) else {}
        yield from check_backend(engine, fleet, known)
        kubeconfigs = kubeconfigs_of(engine, fleet, known)
    except ModelplaneError as error:
        fix = error.hint or f"check {BACKEND} and its credentials"
        yield Check(subject="Backend", found=error.message, fix=fix)
    yield from check_clusters(documents, kubeconfigs)


def _without(documents: FleetDocuments, name: str, subject: str) -> Check:
    """What is said of a cluster that there is no kubeconfig of: one that is made has none until then."""
    is_made = name != HUB and documents.clusters[name].spec.cluster.existing is None
    if is_made:
        return Check(subject=subject, found="not made yet")
    return Check(subject=subject, found="its kubeconfig cannot be had here", fix="bring it with Fleet.spec.secrets")
