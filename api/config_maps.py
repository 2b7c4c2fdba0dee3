"""ConfigMap, the plain values that engines take as variables."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from api.base import Fault, Kind, Metadata
from api.grammar import DNS_SUBDOMAIN, Boolean, Text, is_object_key


class ConfigMapMetadata(Metadata):
    """Metadata of a ConfigMap, whose name may have dots."""

    name: Annotated[str, Field(max_length=253, pattern=DNS_SUBDOMAIN)]
    """Name of the ConfigMap; it may have dots."""


class ConfigMap(Kind):
    """A document of the core kind ConfigMap: it is on every cluster where pods name it."""

    namespaced: ClassVar[bool] = True

    api_version: Literal["v1"] = "v1"
    """Group and version of the kind."""
    kind: Literal["ConfigMap"] = "ConfigMap"
    """The kind of the document."""
    metadata: ConfigMapMetadata
    """Name, namespace and labels."""
    immutable: Boolean | None = None
    """Accepted and without effect."""
    data: dict[str, str] = {}
    """Values by key, as they are."""
    binary_data: dict[str, Text] = {}
    """Accepted and without effect: variables are texts, and are taken from `data`."""

    def faults(self) -> Iterator[Fault]:
        """CM-X1: keys have the form Kubernetes asks for, and a key is there once."""
        for field, entries in (("data", self.data), ("binaryData", self.binary_data)):
            for key in entries:
                if not is_object_key(key):
                    hint = "use letters, digits, '-', '_' and '.'"
                    yield Fault("CM-X1", (field, key), f"{key!r} is not a key of a ConfigMap", hint)
        for key in self.data.keys() & self.binary_data.keys():
            yield Fault("CM-X1", ("binaryData", key), f"{key} is under data too", "keep one of the two")
