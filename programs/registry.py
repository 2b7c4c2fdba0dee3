"""The program of each kind of stack: the driver and plain Pulumi pick from the same registry."""

from collections.abc import Callable
from importlib import import_module
from threading import Lock

from api.errors import InvocationError
from components.kubernetes_objects import classes
from programs.context import Context, edge
from programs.preflight import refuse_unsupported

KINDS = ("gateway", "cluster", "serving", "placement", "workloads", "routing")

_LOADING = Lock()
"""SDKs load their parts lazily and not safely from several threads: programs are imported one after the other."""


def program_of(kind: str) -> Callable[[Context], None]:
    """The program of one kind of stack.

    Raises:
        InvocationError: no such kind.

    """
    if kind not in KINDS:
        raise InvocationError(f"{kind} is not a kind of stack", hint=f"one of {', '.join(KINDS)}", code="MP133")
    with _LOADING:
        classes()
        program: Callable[[Context], None] = import_module(f"programs.{kind}").program
    return program


def run(context: Context) -> None:
    """Run the program of the context's stack; problems its reader can fix end in one clean line."""
    with edge():
        refuse_unsupported(context.documents, context.fleet)
        program_of(context.kind)(context)
