"""The engine's process: `python -m local.engine CONFIGURATION`.

Configuration (JSON): {"port", "clusters": [{"name", "port", "pki"}]}; every API server is on the namespace's loopback.
"""

import asyncio
import json
import socket
import sys
from pathlib import Path
from typing import Any

from local.engine.pods import Directory, watch
from local.engine.server import Engines


async def run(configuration: dict[str, Any]) -> None:
    """Watch every cluster's pods and answer on all addresses, for ever."""
    directory = Directory()
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # The hub's gateway listens on one address of the same port; the kernel prefers the more specific socket.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind(("0.0.0.0", configuration["port"]))  # noqa: S104  the namespace is private
    server = await asyncio.start_server(Engines(directory).converse, sock=listener, backlog=512)
    async with server, asyncio.TaskGroup() as watches:
        for cluster in configuration["clusters"]:
            watches.create_task(watch(cluster["name"], cluster["port"], Path(cluster["pki"]), directory))


def main() -> None:
    """Run until ended."""
    try:
        asyncio.run(run(json.loads(sys.argv[1])))
    except OSError as error:
        raise SystemExit(f"engine: {error}") from error


if __name__ == "__main__":
    main()
