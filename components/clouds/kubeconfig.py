"""Kubeconfigs that hold no token: whoever uses one runs `modelplane kube-token`, which asks the cloud for a fresh one.

The command is told which variables of its own environment hold the account's credentials; their values are in no state.
"""

import json
from collections.abc import Sequence
from typing import Any

from components.cloud_tokens import COMMAND, EXEC_API
from components.clouds.site import CloudSite


def token_arguments(site: CloudSite, cloud: str, *asked: str) -> list[str]:
    """Arguments of the command that prints a token of one cluster; `asked` names the cluster as its cloud does."""
    account = site.credential
    profile = ["--profile", account.profile] if account.profile else []
    variables = [word for name, ours in sorted(account.env.items()) for word in ("--env", f"{name}={ours}")]
    return ["kube-token", cloud, *asked, *profile, *variables]


def kubeconfig(name: str, server: str, authority: str, arguments: Sequence[str]) -> str:
    """A kubeconfig as JSON, which is YAML as well. `authority` is the certificate in base64."""
    run = {"apiVersion": EXEC_API, "command": COMMAND, "args": list(arguments), "interactiveMode": "Never"}
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": authority}}],
        "users": [{"name": name, "user": {"exec": run}}],
    }
    return json.dumps(config, sort_keys=True)
