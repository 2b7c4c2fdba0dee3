"""How Services lead to the pods that run here: what kube-proxy would do, connection by connection."""

import asyncio
import itertools
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from local import forwarding
from local.node.pods import RealPod

Plain = Mapping[str, Any]
Address = tuple[str, int]
Ways = Mapping[Address, tuple[Address, ...]]


@dataclass(frozen=True, kw_only=True)
class Service:
    """One Service: its name, its ClusterIP, what it selects and its ports with where they lead."""

    namespace: str
    name: str
    address: str
    selector: Mapping[str, str]
    ports: tuple[tuple[int, int | str], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What it is called in its cluster's DNS."""
        short = f"{self.name}.{self.namespace}"
        return (short, f"{short}.svc", f"{short}.svc.cluster.local", f"{short}.svc.cluster.local.")


def read_service(document: Plain) -> Service | None:
    """The Service; None for one without an address of its own."""
    metadata, spec = document["metadata"], document["spec"]
    address = spec.get("clusterIP")
    if not address or address == "None":
        return None
    return Service(
        namespace=metadata["namespace"],
        name=metadata["name"],
        address=address,
        selector=spec.get("selector") or {},
        ports=tuple((port["port"], port.get("targetPort", port["port"])) for port in spec.get("ports") or []),
    )


def ways(services: Iterable[Service], pods: Iterable[RealPod]) -> dict[Address, tuple[Address, ...]]:
    """Where each port of each Service leads among these pods; one that selects none of them is left out."""
    running = list(pods)
    found = {}
    for service in services:
        selected = [
            pod
            for pod in running
            if service.selector
            and pod.namespace == service.namespace
            and service.selector.items() <= pod.labels.items()
        ]
        for port, target in service.ports:
            numbers = [
                (pod.address, pod.ports.get(target, 0) if isinstance(target, str) else target) for pod in selected
            ]
            if backends := tuple((address, number) for address, number in numbers if number):
                found[service.address, port] = backends
    return found


def hosts(services: Iterable[Service]) -> str:
    """The Services of a cluster as a hosts file."""
    lines = [f"{service.address} {' '.join(service.names)}" for service in services]
    return "\n".join(["127.0.0.1 localhost", *sorted(lines)]) + "\n"


class Proxy:
    """The listening sockets of all Services that lead to pods that run here."""

    def __init__(self) -> None:
        self._ways: dict[Address, tuple[Address, ...]] = {}
        self._servers: dict[Address, asyncio.Server] = {}
        self._turns = itertools.count()

    async def update(self, wanted: Ways) -> None:
        """Listen on exactly these addresses; connections that are open stay."""
        self._ways = dict(wanted)
        for address in set(self._servers) - set(wanted):
            self._servers.pop(address).close()
        for address in set(wanted) - set(self._servers):
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # The engines listen on one port of every address; the kernel prefers the more specific socket.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listener.bind(address)
            self._servers[address] = await forwarding.serve(listener, partial(self._connect, address))

    async def _connect(self, address: Address) -> forwarding.Streams:
        """A connection to the next backend that takes one; raises OSError where none does."""
        backends = self._ways.get(address, ())
        first = next(self._turns)
        for turn in range(len(backends)):
            with suppress(OSError):
                return await asyncio.open_connection(*backends[(first + turn) % len(backends)])
        raise ConnectionRefusedError(f"{address[0]}:{address[1]}")
