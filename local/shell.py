"""What a shell on the local fleet needs: the environment for a cluster, and the way into the private network."""

import os
from collections.abc import Mapping
from pathlib import Path

from api.errors import LocalFleetError
from local import namespace, traffic
from local import state as remembered
from local.plan import HUB, home
from local.toolbox import find


def environment(directory: Path, cluster: str) -> dict[str, str]:
    """The caller's environment with KUBECONFIG of a cluster, and PATH so that `kubectl` is found.

    Raises LocalFleetError (MP514) where no such cluster is up, naming those that are.
    """
    folder = home(directory)
    state = remembered.load(folder)
    made = [name for name, found in state.clusters.items() if found.created] if state else []
    known = sorted(made, key=lambda name: (name != HUB, name))
    if cluster not in known:
        hint = f"there are {', '.join(known)}" if known else "`modelplane local up` starts the fleet"
        raise LocalFleetError(
            f"no cluster {cluster} of this fleet is up", where=str(directory), code="MP514", hint=hint
        )
    kubectl = find()["kubectl"].parent
    return {
        **os.environ,
        "KUBECONFIG": str(folder / cluster / "kubeconfig"),
        "PATH": f"{os.environ.get('PATH', os.defpath)}{os.pathsep}{kubectl}",
        "MODELPLANE_FLEET": str(directory.resolve()),
    }


def enter_traffic(directory: Path) -> None:
    """Put this process into the private network namespace of the fleet.

    Raises LocalFleetError (MP503) where there is none, or where it cannot be entered.
    """
    folder = home(directory)
    state = remembered.load(folder)
    living = traffic.member(folder, state) if state else None
    hint = "`modelplane local up` starts the fleet"
    if living is None:
        raise LocalFleetError("no traffic plane is up", where=str(directory), code="MP503", hint=hint)
    try:
        namespace.join(living.pid, living.inode)
    except OSError as error:
        message = f"the network namespace cannot be entered: {error.strerror}"
        raise LocalFleetError(
            message, where=str(directory), code="MP503", hint="use the account that started it"
        ) from error


def command(variables: Mapping[str, str], text: str) -> list[str]:
    """The command line of the user's shell, interactive or for one command."""
    program = variables.get("SHELL") or "/bin/sh"
    return [program, "-c", text] if text else [program]
