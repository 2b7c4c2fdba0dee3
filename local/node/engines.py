"""Engines beside a sidecar: they listen in the pod's own network, where the fleet's shared engine is not reached."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from local import namespace
from local.engine.pods import Directory, Pod
from local.engine.server import Engines

_BACKLOG = 128


class OnlyPod(Directory):
    """A directory of one pod, whichever of its addresses is called."""

    def __init__(self) -> None:
        super().__init__()
        self.pod: Pod | None = None

    def find(self, address: str) -> Pod | None:  # noqa: ARG002  every address is this pod's
        """The pod."""
        return self.pod


@asynccontextmanager
async def serving(directory: OnlyPod, ports: tuple[int, ...], network: int) -> AsyncIterator[None]:
    """Answer on these ports of a pod's network namespace (an open file) as an engine of the pod does."""
    engines = Engines(directory)
    async with AsyncExitStack() as stack:
        for port in ports:
            listener = namespace.listening(network, port)
            await stack.enter_async_context(
                await asyncio.start_server(engines.converse, sock=listener, backlog=_BACKLOG)
            )
        yield
