"""Simulated clusters: created and started by kwokctl's binary runtime, each in a folder of its own.

Nothing supervises the processes afterwards. What died is started again by kwokctl, after the pid files that no longer
mean one of this cluster's processes have been taken away, because kwokctl believes any pid that exists. Nothing is ever
stopped by kwokctl for the same reason.
"""

import base64
import json
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from api.errors import Cancelled, LocalFleetError
from local import network, processes
from local.plan import Ranges, fleet_directory
from local.processes import Identity
from local.toolbox import Toolbox

COMPONENTS = {
    "etcd": "etcdPort",
    "kube-apiserver": "kubeApiserverPort",
    "kube-controller-manager": "kubeControllerManagerPort",
    "kube-scheduler": "kubeSchedulerPort",
    "kwok-controller": "kwokControllerPort",
}
"""The processes of one cluster, in the order they start, with the name of their port in KWOK's options."""

PORTS = (*COMPONENTS.values(), "etcdPeerPort")

CALLS = "calls.sock"
"""The relay's Unix socket in the fleet's folder."""

UNUSABLE = frozenset(',"\n')
"""Characters that a path may not have, because KWOK reads paths as lists."""

_POLL_SECONDS = 0.05


@dataclass(frozen=True, kw_only=True)
class Site:
    """One cluster's place in the fleet's folder."""

    home: Path
    name: str
    ranges: Ranges
    ports: Mapping[str, int]

    @property
    def folder(self) -> Path:
        """KWOK's own folder of the cluster."""
        return self.home / ".kwok" / "clusters" / self.name

    @property
    def pki(self) -> Path:
        """The cluster's certificates: ca.crt, admin.crt, admin.key."""
        return self.folder / "pki"

    @property
    def api_port(self) -> int:
        """The API server's port on the host's loopback."""
        return self.ports["kubeApiserverPort"]

    @property
    def egress(self) -> Path:
        """How the API server reaches webhooks: its EgressSelectorConfiguration."""
        return self.home / self.name / "egress.json"

    def log(self, component: str) -> Path:
        """A component's log."""
        return self.folder / "logs" / f"{component}.log"


def configuration(site: Site, toolbox: Toolbox) -> dict[str, Any]:
    """KWOK's configuration of a cluster: all on the loopback, at the ports and in the address ranges it was given."""

    def extra(component: str, **arguments: str) -> dict[str, Any]:
        values = [{"key": key.replace("_", "-"), "value": value} for key, value in arguments.items()]
        return {"name": component, "extraArgs": values}

    ranges = site.ranges
    return {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokctlConfiguration",
        "options": {
            "runtime": "binary",
            "bindAddress": "127.0.0.1",
            "enableCRDs": ["Stage"],
            "etcdBinary": str(toolbox["etcd"]),
            "kubeApiserverBinary": str(toolbox["kube-apiserver"]),
            "kubeControllerManagerBinary": str(toolbox["kube-controller-manager"]),
            "kubeSchedulerBinary": str(toolbox["kube-scheduler"]),
            "kwokControllerBinary": str(toolbox["kwok"]),
            **site.ports,
        },
        "componentsPatches": [
            # Data survives the end of a process all the same, only not that of the machine.
            extra("etcd", unsafe_no_fsync="true"),
            # A machine without a default route would leave the API server without an address to advertise.
            extra(
                "kube-apiserver",
                advertise_address=ranges.gateway,
                service_cluster_ip_range=ranges.services,
                egress_selector_config_file=str(site.egress),
            ),
            # With one instance there is nobody to elect, and a lease lost in an outage would end the process.
            extra("kube-controller-manager", leader_elect="false"),
            extra("kube-scheduler", leader_elect="false"),
            extra("kwok-controller", cidr=ranges.pods, node_ip=ranges.node),
        ],
    }


def egress_configuration() -> dict[str, Any]:
    """Calls into the cluster go through the relay, because addresses of pods and Services exist in its network only.

    The socket's path is told from KWOK's folder of the cluster, where the API server runs.
    """
    transport = {"uds": {"udsName": f"../../../{CALLS}"}}
    return {
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [
            {"name": "cluster", "connection": {"proxyProtocol": "HTTPConnect", "transport": transport}}
        ],
    }


def create(site: Site, toolbox: Toolbox, deadline: float, cancelled: Event) -> None:
    """Make the cluster's folder and start it; `deadline` is a time of `time.monotonic`.

    Raises LocalFleetError when a component does not start (MP505) or does not answer in time (MP506).
    """
    file = site.home / site.name / "kwok.json"
    file.write_text(json.dumps(configuration(site, toolbox), indent=1))
    site.egress.write_text(json.dumps(egress_configuration(), indent=1))
    arguments = ["--config", str(file), "--kubeconfig", str(site.home / site.name / "kwok-kubeconfig")]
    _run("create", site, toolbox, arguments, deadline, cancelled)


def restart(site: Site, toolbox: Toolbox, deadline: float, cancelled: Event) -> None:
    """Start the components that do not run; raises like `create`, and MP504 for a port that somebody else took."""
    _forget_strangers(site)
    running = components(site)
    for component, option in COMPONENTS.items():
        if component not in running and not network.becomes_free("127.0.0.1", site.ports[option]):
            raise port_in_use("127.0.0.1", site.ports[option], f"{site.name}/{component}", "stop it, then try again")
    _run("start", site, toolbox, ["--config", str(site.home / site.name / "kwok.json")], deadline, cancelled)


def components(site: Site) -> dict[str, Identity]:
    """The cluster's own processes that live, by component."""
    found = {component: _component(site, component, _pid(site, component)) for component in COMPONENTS}
    return {component: identity for component, identity in found.items() if identity}


def kubeconfig(site: Site) -> str:
    """What a client needs to reach the cluster, certificates included."""

    def embedded(name: str) -> str:
        return base64.b64encode((site.pki / name).read_bytes()).decode()

    return f"""\
apiVersion: v1
kind: Config
current-context: {site.name}
clusters:
- name: {site.name}
  cluster:
    server: https://127.0.0.1:{site.api_port}
    certificate-authority-data: {embedded("ca.crt")}
users:
- name: {site.name}
  user:
    client-certificate-data: {embedded("admin.crt")}
    client-key-data: {embedded("admin.key")}
contexts:
- name: {site.name}
  context:
    cluster: {site.name}
    user: {site.name}
"""


def port_in_use(host: str, port: int, part: str, hint: str) -> LocalFleetError:
    """Name a port that a part needs and somebody else has (MP504)."""
    message, found = f"{host}:{port} is in use", network.owner(host, port)
    if found is not None:
        name, pid = found
        folder = processes.fleet_of(pid)
        if folder is not None:
            message = f"{message} by the local fleet of {fleet_directory(folder)}"
            hint = f"end that one: modelplane local down -f {fleet_directory(folder)}"
        else:
            message = f"{message} by {name} ({pid})"
    return LocalFleetError(message, where=part, code="MP504", hint=hint)


def _run(action: str, site: Site, toolbox: Toolbox, arguments: list[str], deadline: float, cancelled: Event) -> None:
    """Let kwokctl start components, and end it as soon as one of them has ended."""
    log = site.home / "logs" / f"kwokctl-{site.name}.log"
    variables = {
        # KWOK keeps its clusters below the home folder; its own variable for that ends at a blank.
        "HOME": str(site.home),
        "KWOK_KUBE_VERSION": toolbox.kubernetes,
        "PATH": f"{toolbox['kubectl'].parent}:/usr/bin:/bin",
    }
    command = [str(toolbox["kwokctl"]), action, "cluster", "--name", site.name, *arguments]
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=processes.environment(site.home, variables),
            start_new_session=True,
        )
    with process:
        try:
            while process.poll() is None:
                _check(site, deadline, cancelled)
                time.sleep(_POLL_SECONDS)
        finally:
            process.kill()
    _check(site, deadline, cancelled)
    if process.returncode != 0 or len(components(site)) != len(COMPONENTS):
        message = f"kwokctl {action} cluster failed\n{processes.tail(log)}"
        raise LocalFleetError(message, where=site.name, code="MP505", hint="`modelplane local up` tries again")


def _check(site: Site, deadline: float, cancelled: Event) -> None:
    if cancelled.is_set():
        raise Cancelled("stopped while the local fleet was starting", hint="`modelplane local up` goes on from here")
    for component in COMPONENTS:
        pid = _pid(site, component)
        if pid and not _component(site, component, pid):
            message = f"{component} did not start; the last lines of {site.log(component)}:"
            text = f"{message}\n{processes.tail(site.log(component))}"
            raise LocalFleetError(text, where=site.name, code="MP505", hint="`modelplane local up` tries again")
    if time.monotonic() > deadline:
        message = f"the cluster did not start in time; the last lines of {site.log('kube-apiserver')}:"
        text = f"{message}\n{processes.tail(site.log('kube-apiserver'))}"
        raise LocalFleetError(text, where=site.name, code="MP506", hint="give it longer with --wait")


def _pid(site: Site, component: str) -> int | None:
    try:
        return int((site.folder / "pids" / f"{component}.pid").read_text())
    except (OSError, ValueError):
        return None


def _component(site: Site, component: str, pid: int | None) -> Identity | None:
    """The living process with this pid, if it runs this cluster's own link to the component's program."""
    identity = processes.identify(pid) if pid else None
    try:
        program = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        return None
    return identity if program == str(site.folder / "bin" / component).encode() else None


def _forget_strangers(site: Site) -> None:
    """Remove the pid files of components that do not run, whatever has their pid now."""
    running = components(site)
    for component in COMPONENTS:
        if component not in running:
            with suppress(FileNotFoundError):
                (site.folder / "pids" / f"{component}.pid").unlink()
