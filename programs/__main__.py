"""What `pulumi up` runs: the stack's name picks the program, configuration or the environment the fleet directory."""

import os
import sys
from pathlib import Path

import pulumi

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from api import names
from api.documents import FleetDocuments
from api.errors import InvalidFleet, InvocationError, Severity
from api.loader import ignores_unknown, load
from api.names import StackName
from programs.context import Context, configured_permissions, edge
from programs.registry import run
from scheduler.cel import compile_error


def fleet_directory() -> Path:
    """The directory of `modelplane:fleet`, else of `MODELPLANE_FLEET`; a relative one lies below the project's.

    Raises:
        InvocationError: neither is set.

    """
    named = pulumi.Config("modelplane").get("fleet") or os.environ.get("MODELPLANE_FLEET")
    if not named:
        raise InvocationError(
            "no fleet directory is named",
            hint='eval "$(modelplane env -f DIR)", or pulumi config set modelplane:fleet DIR',
            code="MP134",
        )
    return Path(pulumi.get_root_directory() or ".", named)


def documents_of(directory: Path) -> FleetDocuments:
    """The documents that the driver would work with, too.

    Raises:
        InvalidFleet: what is wrong with them, without the warnings.

    """
    try:
        return load(directory, check_cel=compile_error, ignore_unknown=ignores_unknown(os.environ))
    except InvalidFleet as error:
        problems = [problem for problem in error.problems if problem.severity is Severity.ERROR]
        raise InvalidFleet(problems) from None


def stack_of(name: str) -> StackName:
    """The stack that is run.

    Raises:
        InvocationError: no stack of ours is called like that.

    """
    try:
        return names.parse_stack_name(name)
    except ValueError:
        raise InvocationError(
            "stacks are called FLEET.KIND or FLEET.KIND.CLUSTER",
            where=f"stack {name}",
            hint="`modelplane stacks` lists those of a fleet",
            code="MP133",
        ) from None


def context_of(stack: StackName) -> Context:
    """What the stack's program is given.

    Raises:
        InvalidFleet: the documents have errors.
        InvocationError: no directory is named, or the documents are those of another fleet.

    """
    context = Context(
        documents=documents_of(fleet_directory()),
        kind=stack.kind,
        cluster=stack.cluster,
        preview=pulumi.runtime.is_dry_run(),
        permissions=configured_permissions(),
    )
    if context.fleet.name != stack.fleet:
        raise InvocationError(
            f"the documents in {context.documents.directory} are those of fleet {context.fleet.name}",
            where=f"stack {stack}",
            hint='eval "$(modelplane env -f DIR)" with the directory of the fleet that is meant',
            code="MP136",
        )
    return context


def main() -> None:
    """Run the program of the selected stack."""
    with edge():
        context = context_of(stack_of(pulumi.get_stack()))
    run(context)


if __name__ == "__main__":
    main()
