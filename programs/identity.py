"""A cloud identity in place of whatever a handed-over kubeconfig has for credentials.

The kubeconfig then runs `modelplane kube-token`, with the credential in a variable of that command alone. A kubeconfig
is a Pulumi secret from where it is read, so the credential is in no state, log or argument in clear.
"""

import json
from typing import Any

from api import names
from api.errors import ModelplaneError
from api.sources import ExistingCluster, IdentitySecretRef
from components.cloud_tokens import COMMAND, EXEC_API, GOOGLE_KEY, NEBIUS_KEY
from programs.context import Context
from programs.kubernetes_access import BadKubeconfig, parse_kubeconfig
from programs.outputs import UNKNOWN
from programs.secret_values import secret_value

USER = "modelplane-identity"
CLOUDS = {
    "GoogleApplicationCredentials": ("gke", GOOGLE_KEY),
    "NebiusServiceAccountCredentials": ("nebius", NEBIUS_KEY),
}
"""Of each type that can be used: what `kube-token` calls its cloud, and the variable that holds the credential."""


class BadIdentity(ModelplaneError):
    """The credential of an identity is none; it is never shown."""

    code = "MP336"


def kubeconfig_of(context: Context, existing: ExistingCluster) -> str:
    """The kubeconfig of a cluster that was handed over, with its identity where one is named and can be used.

    Raises:
        MissingSecret: nothing provides one of the two.
        BadKubeconfig: the kubeconfig cannot be given an identity.
        BadIdentity: the credential is none of its type.

    """
    kubeconfig = secret_value(context, existing.secret_ref.name, existing.secret_ref.key, names.SYSTEM_NAMESPACE)
    reference = existing.identity_secret_ref
    if reference is None or reference.type not in CLOUDS:
        return kubeconfig
    credential = secret_value(context, reference.name, reference.key, names.SYSTEM_NAMESPACE)
    return (
        UNKNOWN.value if UNKNOWN.value in (kubeconfig, credential) else with_identity(kubeconfig, reference, credential)
    )


def with_identity(kubeconfig: str, reference: IdentitySecretRef, credential: str) -> str:
    """The kubeconfig's current context with this identity as its user, as JSON; nothing else of it is kept.

    Raises:
        BadKubeconfig: it has no current context.
        BadIdentity: the credential is no JSON object.

    """
    where = f"Secret {names.SYSTEM_NAMESPACE}/{reference.name} key {reference.key}"
    try:
        found: Any = json.loads(credential)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not found:
        hint = "put the key file of the service account into it, as the cloud hands it out"
        raise BadIdentity(f"{where} holds no credential of type {reference.type}", hint=hint)
    cloud, variable = CLOUDS[reference.type]
    config = parse_kubeconfig(kubeconfig)
    contexts = {entry.get("name"): entry.get("context") or {} for entry in config.get("contexts") or ()}
    name = config.get("current-context") or next(iter(contexts), None)
    cluster = contexts.get(name, {}).get("cluster")
    kept = [entry for entry in config["clusters"] if entry.get("name") == cluster]
    if not kept:
        raise BadKubeconfig("the kubeconfig has no current context", hint="set current-context in it")
    run = {
        "apiVersion": EXEC_API,
        "command": COMMAND,
        "args": ["kube-token", cloud],
        "env": [{"name": variable, "value": json.dumps(found)}],
        "interactiveMode": "Never",
    }
    whole = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": cluster, "user": USER}}],
        "clusters": kept,
        "users": [{"name": USER, "user": {"exec": run}}],
    }
    return json.dumps(whole, sort_keys=True)
