"""Running one pod: its network namespace, its volumes, its containers, for as long as it is wanted."""

import asyncio
import http.client
import itertools
import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local import controls, namespace, netlink, processes
from local.kube import ApiServer, Refused
from local.node import engines, sandbox, volumes
from local.node.engines import OnlyPod
from local.node.pods import Container, RealPod

NODE_ADDRESS = "10.64.255.1"
"""By this address the fleet's private network is seen from a pod's."""

_INTERFACE = "eth0"
_TOKEN_SECONDS = 366 * 24 * 3600
_GRACE_SECONDS = 3.0
_SOON, _LATER = 0.5, 10.0
_FRESH_SECONDS = 30.0
_LONGEST_PAUSE = 10.0
_PROBE_SECONDS = 2.0
_FAILURES = 3
_LIVENESS_SECONDS = 5.0
_PATIENCE_SECONDS = 40.0

_numbers = itertools.count(1)


@dataclass(kw_only=True)
class Place:
    """Where the pods of one cluster are run: its API server, a folder, its hosts file, the tools by name."""

    server: ApiServer
    folder: Path
    logs: Path
    tools: Mapping[str, str]
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def hosts(self) -> Path:
        """The hosts file of all pods."""
        return self.folder / "hosts"


async def run(pod: RealPod, place: Place, running: Callable[[str, int | None], None], engine: OnlyPod) -> None:
    """Run the pod until cancelled, or until it has ended where it is a Job's; `running` is told each container's pid.

    A container that ends is started again, later each time, as a kubelet does it. While all of them are ready, and when
    a Job's have ended well, the pod is annotated as started, which makes it ready.
    """
    with ExitStack() as stack:
        network = _network(pod, stack)
        folder = place.folder / f"{pod.namespace}_{pod.name}_{pod.uid}"
        async with engines.serving(engine, pod.engine_ports, network), asyncio.TaskGroup() as group:
            filling = group.create_task(_keep_filled(pod, place, folder, ready := asyncio.Event()))
            await ready.wait()
            containers = [
                group.create_task(_run_container(pod, container, place, folder, network, running))
                for container in pod.containers
            ]
            watching = group.create_task(_keep_told(pod, place))
            await asyncio.gather(*containers)
            for task in (filling, watching):
                task.cancel()
        await _tell(pod, place, is_started=True)


def _network(pod: RealPod, stack: ExitStack) -> int:
    """A network namespace with the pod's address, reached from this process's; an open file of it."""
    name = f"pod{os.getpid() % 10000}-{next(_numbers)}"
    here = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    stack.callback(os.close, here)

    def furnish() -> None:
        netlink.make_pair(_INTERFACE, name, here)
        netlink.add_address(_INTERFACE, pod.address)
        netlink.set_up(_INTERFACE)
        netlink.add_default_route(_INTERFACE)

    network = namespace.beside(furnish)
    stack.callback(os.close, network)
    netlink.set_up(name)
    with suppress(OSError):
        # Where /proc/sys cannot be written, pods that run here reach everything but each other.
        netlink.forward(name)
    netlink.add_host_route(pod.address, name, NODE_ADDRESS)
    return network


async def _keep_filled(pod: RealPod, place: Place, folder: Path, ready: asyncio.Event) -> None:
    """Write the pod's volumes, and again whenever what they show has changed: soon at first, then now and then."""
    token = ""

    def read(kind: str, name: str) -> Mapping[str, Any] | None:
        try:
            found: Mapping[str, Any] = place.server.get(f"/api/v1/namespaces/{pod.namespace}/{kind}/{name}")
        except Refused as error:
            if error.status == http.client.NOT_FOUND:
                return None
            raise
        return found

    def issue() -> str:
        nonlocal token
        if not token:
            path = f"/api/v1/namespaces/{pod.namespace}/serviceaccounts/{pod.account}/token"
            request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
            answer = place.server.post(path, {**request, "spec": {"expirationSeconds": _TOKEN_SECONDS}})
            token = answer["status"]["token"]
        return token

    def fill() -> None:
        for volume in pod.volumes:
            files = volumes.contents(pod, volume, read, issue)
            target = folder / "volumes" / volume["name"]
            target.mkdir(parents=True, exist_ok=True)
            volumes.write(target, files)

    began = time.monotonic()
    while True:
        with suppress(volumes.NotThere, Refused, OSError, http.client.HTTPException):
            async with place.asking:
                await asyncio.to_thread(fill)
            ready.set()
        fresh = not ready.is_set() or time.monotonic() - began < _FRESH_SECONDS
        await asyncio.sleep(_SOON if fresh else _LATER)


async def _keep_told(pod: RealPod, place: Place) -> None:
    """Ask the programs whether they are ready, and say on the pod when that has changed.

    One that was ready is not any more after as many failures as a kubelet waits for.
    """
    told = False
    failures = 0
    while not pod.is_job:
        answers = [await _is_ready(pod.address, container) for container in pod.containers]
        failures = 0 if all(answers) else failures + 1
        is_ready = failures == 0 or (told and failures < _FAILURES)
        if is_ready != told:
            with suppress(Refused, OSError, http.client.HTTPException):
                await _tell(pod, place, is_started=is_ready)
                told = is_ready
        await asyncio.sleep(_LATER / 4 if told else _SOON)


async def _is_ready(address: str, container: Container) -> bool:
    if container.probe is None:
        return await asyncio.to_thread(lambda: all(_is_open(address, port) for port in container.ports))
    return await asyncio.to_thread(_is_ok, address, *container.probe)


def _is_ok(address: str, port: int, path: str) -> bool:
    connection = http.client.HTTPConnection(address, port, timeout=_PROBE_SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


async def _wait_for_end(address: str, container: Container, process: asyncio.subprocess.Process) -> int:
    """Wait until the program has ended, or has not answered its liveness probe for too long."""
    answered = time.monotonic()
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(_LIVENESS_SECONDS):
                return await process.wait()
        if container.liveness is None or await asyncio.to_thread(_is_ok, address, *container.liveness):
            answered = time.monotonic()
        elif time.monotonic() - answered > _PATIENCE_SECONDS:
            await _end(process)
            return 1


def _is_open(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=_PROBE_SECONDS).close()
    except OSError:
        return False
    return True


async def _tell(pod: RealPod, place: Place, *, is_started: bool) -> None:
    patch = {"metadata": {"uid": pod.uid, "annotations": {controls.STARTED: "true" if is_started else None}}}
    async with place.asking:
        await asyncio.to_thread(place.server.patch, f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}", patch)


async def _run_container(
    pod: RealPod,
    container: Container,
    place: Place,
    folder: Path,
    network: int,
    running: Callable[[str, int | None], None],
) -> None:
    request = _request(container, place, folder, network)
    log = place.logs / f"{pod.cluster}-{pod.name}-{container.name}.log"
    pause = _SOON
    while True:
        began = time.monotonic()
        process = await _start(request, log, network)
        running(container.name, process.pid)
        try:
            code = await _wait_for_end(pod.address, container, process)
        finally:
            running(container.name, None)
            await _end(process)
        if pod.is_job and code == 0:
            return
        pause = _SOON if time.monotonic() - began > _FRESH_SECONDS else min(2 * pause, _LONGEST_PAUSE)
        await asyncio.sleep(pause)


def _request(container: Container, place: Place, folder: Path, network: int) -> dict[str, Any]:
    program = f"/bin/{container.program.tool}"
    mounts, links = sandbox.of_machine(is_dynamic=container.program.is_dynamic)
    mounts += [[place.tools[container.program.tool], program], [str(place.hosts), "/etc/hosts"]]
    # A mount below another one's path has to come after it.
    for mount in sorted(container.mounts, key=lambda mount: mount.path):
        mounts.append([str(folder / "volumes" / mount.volume / mount.inside), mount.path])
    return {
        "namespace": network,
        "root": str(folder / container.name),
        "mounts": mounts,
        "links": links,
        "argv": [program, *container.arguments],
        "environment": dict(container.environment),
    }


async def _start(request: Mapping[str, Any], log: Path, network: int) -> asyncio.subprocess.Process:
    root = Path(request["root"])
    root.mkdir(parents=True, exist_ok=True)
    marker = {processes.MARKER: os.environ.get(processes.MARKER, "")}
    whole = {**request, "environment": {**request["environment"], **marker}}
    with log.open("ab") as output:
        return await asyncio.create_subprocess_exec(
            *processes.python_module("local.node.sandbox"),
            json.dumps(whole),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(network,),
            start_new_session=True,
        )


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask the process to end, and insist; returns at once for one that has ended."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.terminate()
    with suppress(TimeoutError):
        async with asyncio.timeout(_GRACE_SECONDS):
            await process.wait()
            return
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()
