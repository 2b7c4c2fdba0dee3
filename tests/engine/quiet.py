"""Runs a command where no server answers, and counts who calls one: `quiet.py PORTS FILE COMMAND…`.

The command gets a network namespace of its own, with a listener on the loopback in the place of each server. It takes
connections and ends them; how many there were is written to FILE.
"""

import socket
import subprocess
import sys
import threading
from pathlib import Path

from local import namespace


def main(ports: list[int], file: Path, command: list[str]) -> int:
    """Run the command; its exit code."""
    namespace.create()  # before there is any thread
    calls: list[int] = []
    for port in ports:
        listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=_count, args=(listener, calls), daemon=True).start()
    code = subprocess.run(command, check=False).returncode
    file.write_text(str(len(calls)))
    return code


def _count(listener: socket.socket, calls: list[int]) -> None:
    while True:
        connection, _ = listener.accept()
        calls.append(1)
        connection.close()


if __name__ == "__main__":
    sys.exit(main([int(port) for port in sys.argv[1].split(",")], Path(sys.argv[2]), sys.argv[3:]))
