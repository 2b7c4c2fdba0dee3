"""The clouds that clusters are made on: one module each, with the same functions, and nothing here that loads an SDK.

A module is imported when a cluster of its cloud is wanted. The SDKs load their parts lazily and not safely from several
threads: `prepare` loads what is used, one thread at a time, and comes before anything else of a cloud's module.
"""

from collections.abc import Iterable
from importlib import import_module
from threading import Lock
from typing import Any, Protocol, cast

from pulumi import ComponentResource, ProviderResource

from api.errors import ModelplaneError
from components.clouds.outputs import Made
from components.clouds.site import CloudSite

MODULES = {
    "EKS": "components.clouds.eks",
    "GKE": "components.clouds.gke",
    "AKS": "components.clouds.aks",
    "Nebius": "components.clouds.nebius",
    "Vultr": "components.clouds.vultr",
}
"""By source."""
EXTRAS = {"Nebius": "nebius", "Vultr": "vultr"}
"""Sources whose SDK is an extra of this package."""


class Cloud(Protocol):
    """What each cloud's module offers."""

    def touch(self) -> None:
        """Load every part of the SDK that is used."""

    def provider(self, name: str, site: CloudSite) -> ProviderResource:
        """The provider that all of the cluster's resources come from."""

    def build(self, parent: ComponentResource, name: str, site: CloudSite) -> Made:
        """Register every resource of the cluster below `parent`."""


class MissingCloudSdk(ModelplaneError):
    """A cluster is wanted on a cloud whose SDK is not installed."""

    code = "MP333"


def is_known(source: str) -> bool:
    """Whether clusters of this source can be made."""
    return source in MODULES


def cloud(source: str) -> Cloud:
    """The module of one cloud.

    Raises:
        MissingCloudSdk: the cloud's SDK is not installed.

    """
    return cast("Cloud", _loaded(MODULES[source], f"clusters on {source}", EXTRAS.get(source)))


def component_of_eks() -> Any:
    """The module that makes control planes by the component of pulumi_eks, loaded by one thread at a time.

    Raises:
        MissingCloudSdk: pulumi_eks is not installed.

    """
    with _LOADING:
        module = _loaded("components.clouds.eks.component", "control planes by a component", "eks")
        module.touch()
    return module


def _loaded(module: str, what: str, extra: str | None) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(("components", "api")):
            raise
        wanted = f'"modelplane[{extra}]"' if extra else "modelplane"
        raise MissingCloudSdk(
            f"{what} need the Python package {error.name}, which is not installed",
            hint=f"pip install {wanted}, or uv sync --extra {extra}" if extra else f"pip install {wanted}",
        ) from error


_LOADING = Lock()


def prepare(sources: Iterable[str]) -> None:
    """Load the SDKs of the clouds among `sources`; Existing needs none.

    Raises:
        MissingCloudSdk: the SDK of one is not installed.

    """
    with _LOADING:
        for source in sorted(set(sources) & set(MODULES)):
            cloud(source).touch()
