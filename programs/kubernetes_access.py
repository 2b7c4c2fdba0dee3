"""Reading from a cluster's API server outside Pulumi: bounded, and never deciding what is desired."""

from typing import Any

import httpx2
from lightkube import Client, KubeConfig
from lightkube.config.kubeconfig import SingleConfig
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from api.errors import ModelplaneError
from programs.exec_credentials import NoCredentials, authenticated

TIMEOUT_SECONDS = 5.0


class BadKubeconfig(ModelplaneError):
    """A kubeconfig that cannot be used; its content is never shown."""

    code = "MP330"


def parse_kubeconfig(text: str) -> dict[str, Any]:
    """The kubeconfig as plain data.

    Raises:
        BadKubeconfig: not YAML, or no context in it.

    """
    try:
        config = YAML(typ="safe", pure=True).load(text)
    except YAMLError:
        config = None
    if not isinstance(config, dict) or not config.get("clusters"):
        raise BadKubeconfig("the kubeconfig is not one", hint="the Secret's key must hold a kubeconfig's whole text")
    return config


def single_config(kubeconfig: str) -> SingleConfig:
    """The kubeconfig's current context.

    A command in it is run, and what it hands out is put in its place.

    Raises:
        BadKubeconfig: the kubeconfig cannot be used.

    """
    config = parse_kubeconfig(kubeconfig)
    try:
        single = KubeConfig.from_dict(config).get(context_name=config.get("current-context") or None)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, its content must not be in a message
        raise BadKubeconfig(f"the kubeconfig cannot be used: {type(error).__name__}") from None
    if single is None:
        raise BadKubeconfig("the kubeconfig has no current context", hint="set current-context in it")
    if single.user is None:
        return single
    try:
        return single._replace(user=authenticated(single.user))
    except NoCredentials as error:
        raise BadKubeconfig(error.message, hint=error.hint) from None


def connect(kubeconfig: str, *, timeout: float = TIMEOUT_SECONDS) -> Client:
    """A client for the kubeconfig's current context; no call is made yet.

    Raises:
        BadKubeconfig: the kubeconfig cannot be used.

    """
    return Client(config=single_config(kubeconfig), timeout=httpx2.Timeout(timeout))
