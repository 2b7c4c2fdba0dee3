"""Starts one process of the local fleet, detached: `python -m local.launch`, a request on stdin, an answer on stdout.

The process is a grandchild, so it belongs to nobody who could wait for it or take it along, in a session of its own.
It may start in a new network namespace or in that of a living process. The answer comes once its program runs, or says
why it does not. This module imports the standard library alone.

Request: {"argv", "log", "environment", "namespace": null | "new" | {"pid", "inode"}}
Answer: {"pid"} or {"error", "errno"}
"""

import json
import os
import sys
from typing import Any

from local import namespace


def main() -> None:
    """Fork the process, wait for its exec to succeed or fail, and answer."""
    request: dict[str, Any] = json.load(sys.stdin)
    failure, report = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(failure)
        _become(request, report)
    os.close(report)
    with os.fdopen(failure, "rb") as pipe:
        problem = pipe.read()
    sys.stdout.write(problem.decode() if problem else json.dumps({"pid": pid}))


def _become(request: dict[str, Any], report: int) -> None:
    """Turn this process into the requested program; never returns. `report` closes by itself when that works."""
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(nothing, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir("/")
        where = request["namespace"]
        if where == "new":
            namespace.create()
        elif where:
            namespace.join(where["pid"], where["inode"])
        os.execve(request["argv"][0], request["argv"], request["environment"])  # noqa: S606  no shell is wanted
    except OSError as error:
        os.write(report, json.dumps({"error": error.strerror or str(error), "errno": error.errno}).encode())
    finally:
        os._exit(127)


if __name__ == "__main__":
    main()
