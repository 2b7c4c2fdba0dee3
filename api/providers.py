"""The provider configurations of upstream's users, read for the project they name and nothing else."""

from typing import Any, ClassVar, Literal

from pydantic import ConfigDict

from api.base import Kind

CLOUDS = {f"{cloud}.m.upbound.io/v1beta1": cloud for cloud in ("aws", "azure", "gcp", "nebius", "vultr")}
"""The clouds by the apiVersion of their provider configurations."""


class ProviderConfig(Kind):
    """A ProviderConfig or ClusterProviderConfig; its credentials are not used, those of Fleet.spec are."""

    model_config = ConfigDict(extra="ignore")
    namespaced: ClassVar[bool] = False

    api_version: str
    """Version of the cloud's provider."""
    kind: Literal["ProviderConfig", "ClusterProviderConfig"]
    """Kind of the configuration."""
    spec: dict[str, Any]
    """Settings of the provider; projectID is read, the rest is ignored."""

    @property
    def cloud(self) -> str:
        """The cloud, as Fleet.spec.credentials names it."""
        return CLOUDS[self.api_version]

    @property
    def project(self) -> str | None:
        """The project that the cloud's resources belong to, where the document names one."""
        project = self.spec.get("projectID")
        return project if isinstance(project, str) else None
