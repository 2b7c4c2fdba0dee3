"""What `pulumi up` runs: the stack's name picks the program, configuration or the environment the fleet directory."""

import os
from pathlib import Path

import pulumi

from api import names
from api.errors import InvocationError
from api.loader import load
from programs import Context, edge, run


def fleet_directory() -> Path:
    """The directory of `modelplane:fleet`, else of `MODELPLANE_FLEET`.

    Raises:
        InvocationError: neither is set.

    """
    named = pulumi.Config("modelplane").get("fleet") or os.environ.get("MODELPLANE_FLEET")
    if not named:
        raise InvocationError(
            "no fleet directory is named",
            hint='pulumi config set modelplane:fleet DIR, or eval "$(modelplane env -f DIR)"',
            code="MP134",
        )
    return Path(named)


def main() -> None:
    """Run the program of the selected stack."""
    with edge():
        documents = load(fleet_directory())
        stack = names.parse_stack_name(pulumi.get_stack())
        context = Context(
            documents=documents, kind=stack.kind, cluster=stack.cluster, preview=pulumi.runtime.is_dry_run()
        )
    run(context)


main()
