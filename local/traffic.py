"""The traffic plane: the private network namespace, the relay, the engines, the node of real pods, the hub's gateway.

Each is one process. It is started when it is missing, and anew when it would be started differently today; so the parts
of a fleet that got another cluster change and all others stay.
"""

import errno
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.errors import LocalFleetError
from local import namespace, network, processes
from local.clusters import CALLS, Site, port_in_use
from local.plan import HUB
from local.processes import Member, StartRefused
from local.state import TRAFFIC, Part, State
from local.toolbox import POD_PROGRAMS, Toolbox

ENGINE_PORT = 8000
"""Where engines listen (workloads.md §4.1: every engine's API)."""

HUB_GATEWAY_PORT = 8000
"""The port of the hub's Gateway's listener (routing.md §2.2)."""

NODE_PORT = 10250
"""Where the node that runs pods tells of them, as a kubelet does."""

SHARED = ("namespace", "relay", "engine", "node")
"""The parts that serve all clusters."""

_POLL_SECONDS = 0.05

Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Program:
    """One part of the traffic plane: how it is started and where it then listens inside the namespace.

    `argv` is given a living member of the namespace; `digest` changes when the part has to be started anew.
    """

    name: str
    argv: Callable[[Member], Sequence[str]]
    digest: str
    variables: Mapping[str, str]
    listens: tuple[tuple[str, int], ...]
    address: str
    inside: bool = True


def programs(home: Path, sites: Sequence[Site], toolbox: Toolbox, endpoint: tuple[str, int]) -> list[Program]:
    """Every part but the namespace's holder, in the order they start."""
    return [
        _relay(home, sites, endpoint),
        _engine(sites),
        _node(home, sites, toolbox),
        *(_gateway(site, home / site.name / "kubeconfig", toolbox) for site in sites if site.name == HUB),
    ]


def member(home: Path, state: State) -> Member | None:
    """A living process of the fleet that is in its namespace."""
    if not state.namespace:
        return None
    for identity in sorted(processes.marked(home)):
        if namespace.inode(identity.pid) == state.namespace:
            return Member(pid=identity.pid, inode=state.namespace)
    return None


def ensure_namespace(home: Path, state: State, save: Callable[[], None], progress: Progress) -> None:
    """Make the namespace, or a new holder for the one that others still live in; raises LocalFleetError (MP503)."""
    name = f"{TRAFFIC}/namespace"
    if name in state.parts and state.parts[name].identity.is_alive:
        return
    log = home / "logs" / "namespace.log"
    living = member(home, state)
    try:
        holder = processes.start(
            ["/usr/bin/env", "sleep", "infinity"],
            log=log,
            environment=processes.environment(home),
            namespace=living,
            alone=living is None,
        )
    except StartRefused as error:
        message = f"a private network namespace cannot be made: {error}"
        raise LocalFleetError(message, where=name, code="MP503", hint=_namespace_hint(error.number)) from error
    state.namespace = namespace.inode(holder.pid) or 0
    state.parts[name] = Part(pid=holder.pid, started=holder.started, log=str(log))
    save()
    progress(f"{name}: started")


def ensure(
    program: Program, home: Path, state: State, save: Callable[[], None], deadline: float, progress: Progress
) -> None:
    """Start a part unless it runs as it should; returns once it listens.

    Raises LocalFleetError when it does not start (MP505) or does not listen by `deadline` (MP506).
    """
    part = state.parts.get(program.name)
    if part and part.identity.is_alive and part.digest == program.digest:
        return
    if part:
        processes.end([part.identity])
    living = member(home, state)
    if living is None:
        raise LocalFleetError(
            "the network namespace is gone", where=program.name, code="MP503", hint="`modelplane local up` makes it"
        )
    log = home / "logs" / f"{program.name.replace('/', '-')}.log"
    environment = processes.environment(home, program.variables)
    try:
        identity = processes.start(
            program.argv(living), log=log, environment=environment, namespace=living if program.inside else None
        )
    except StartRefused as error:
        raise LocalFleetError(f"it cannot be started: {error}", where=program.name, code="MP505") from error
    part = Part(
        pid=identity.pid, started=identity.started, address=program.address, log=str(log), digest=program.digest
    )
    state.parts[program.name] = part
    save()
    _wait_until_it_listens(program, part, living, deadline)
    progress(f"{program.name}: started, {program.address}")


def check_endpoint(state: State, endpoint: tuple[str, int]) -> None:
    """Refuse to start where the hub's port belongs to somebody else (MP504)."""
    relay = state.parts.get(f"{TRAFFIC}/relay")
    is_ours = relay and relay.identity.is_alive and relay.address == f"{endpoint[0]}:{endpoint[1]}"
    if not is_ours and not network.becomes_free(*endpoint):
        hint = "stop it, or write another loopback port into spec.gateway.address of the Fleet"
        raise port_in_use(*endpoint, "the hub's address", hint)


def _relay(home: Path, sites: Sequence[Site], endpoint: tuple[str, int]) -> Program:
    hub = next(site for site in sites if site.name == HUB)
    ports = [site.api_port for site in sites]
    calls = str(home / CALLS)
    out = [{"listen": list(endpoint), "to": [hub.ranges.gateway, HUB_GATEWAY_PORT]}]

    def argv(living: Member) -> list[str]:
        whom = {"pid": living.pid, "inode": living.inode}
        return [
            *processes.python_module("local.relay"),
            json.dumps({"member": whom, "in": ports, "out": out, "calls": calls}),
        ]

    return Program(
        name=f"{TRAFFIC}/relay",
        argv=argv,
        digest=_digest(ports, out, calls),
        variables=processes.python_path(),
        listens=tuple(("127.0.0.1", port) for port in ports),
        address=f"{endpoint[0]}:{endpoint[1]}",
        inside=False,
    )


def _engine(sites: Sequence[Site]) -> Program:
    configuration = json.dumps({"port": ENGINE_PORT, "clusters": _api_servers(sites)})
    argv = [*processes.python_module("local.engine"), configuration]
    return Program(
        name=f"{TRAFFIC}/engine",
        argv=lambda _: argv,
        digest=_digest(argv),
        variables=processes.python_path(),
        listens=(("0.0.0.0", ENGINE_PORT),),  # noqa: S104  the namespace is private
        address=f"*:{ENGINE_PORT}",
    )


def _api_servers(sites: Iterable[Site]) -> list[dict[str, Any]]:
    """What a program inside the network needs to know of each cluster's API server."""
    return [{"name": site.name, "port": site.api_port, "pki": str(site.pki)} for site in sites]


def _node(home: Path, sites: Sequence[Site], toolbox: Toolbox) -> Program:
    configuration = {
        "port": NODE_PORT,
        "folder": str(home / "pods"),
        "logs": str(home / "logs"),
        "tools": {name: str(toolbox[name]) for name in POD_PROGRAMS},
        "clusters": _api_servers(site for site in sites if site.name != HUB),
    }
    argv = [*processes.python_module("local.node"), json.dumps(configuration)]
    return Program(
        name=f"{TRAFFIC}/node",
        argv=lambda _: argv,
        digest=_digest(argv),
        variables=processes.python_path(),
        listens=(("127.0.0.1", NODE_PORT),),
        address=f"127.0.0.1:{NODE_PORT}",
    )


def _gateway(site: Site, kubeconfig: Path, toolbox: Toolbox) -> Program:
    address, port = site.ranges.gateway, HUB_GATEWAY_PORT
    argv = [
        str(toolbox["traefik"]),
        f"--entrypoints.web.address={address}:{port}",
        # The engines listen on the same port of all addresses.
        "--entrypoints.web.reuseport=true",
        "--providers.kubernetesgateway=true",
        f"--providers.kubernetesgateway.statusaddress.ip={address}",
        "--providers.providersthrottleduration=200ms",
        "--global.checknewversion=false",
        "--global.sendanonymoususage=false",
        "--log.level=INFO",
        "--log.nocolor=true",
    ]
    return Program(
        name=f"{site.name}/gateway",
        argv=lambda _: argv,
        digest=_digest(argv),
        variables={"KUBECONFIG": str(kubeconfig)},
        listens=((address, port),),
        address=f"{address}:{port}",
    )


def _wait_until_it_listens(program: Program, part: Part, living: Member, deadline: float) -> None:
    host, port = program.address.rsplit(":", 1)
    while True:
        inside = all(network.is_listening(living.pid, *address) for address in program.listens)
        if inside and (program.inside or network.is_listening(os.getpid(), host, int(port))):
            return
        if not part.identity.is_alive:
            text = f"it ended at once; the last lines of {part.log}:\n{processes.tail(Path(part.log))}"
            raise LocalFleetError(text, where=program.name, code="MP505", hint="`modelplane local up` tries again")
        if time.monotonic() > deadline:
            text = f"it does not listen; the last lines of {part.log}:\n{processes.tail(Path(part.log))}"
            raise LocalFleetError(text, where=program.name, code="MP506", hint="give it longer with --wait")
        time.sleep(_POLL_SECONDS)


def _digest(*content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _namespace_hint(number: int) -> str:
    """What lets this machine make a namespace."""
    if number in {errno.ENOSPC, errno.EUSERS}:
        return "allow them: sudo sysctl user.max_user_namespaces=15000 user.max_net_namespaces=15000"
    if os.geteuid() == 0:
        return "in a container this needs CAP_SYS_ADMIN: start it with --privileged or --cap-add SYS_ADMIN"
    restriction = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    if restriction.exists() and restriction.read_text().strip() == "1":
        return "allow user namespaces: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or run as root"
    return "allow unprivileged user namespaces on this machine, or run as root"
