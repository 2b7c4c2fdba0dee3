"""`modelplane explain deployment/NAME`: why a deployment's replicas are where they are."""

from collections.abc import Sequence
from pathlib import Path

from api.errors import InvocationError
from cli.options import Output


def explain_placement(what: str, fleet: Sequence[Path] | None, output: Output) -> None:  # noqa: ARG001 - not yet used
    """Print the placement of a deployment.

    Raises:
        InvocationError: `what` names no deployment.

    """
    raise InvocationError(f"{what} cannot be explained", hint="name a kind, as in modelplane explain modeldeployment")
