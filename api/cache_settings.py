"""What a fleet says about all its model caches: how they are staged, and what replicas wait for."""

from typing import Annotated, Literal

from pydantic import Field

from api.base import Model
from api.grammar import HTTP_ADDRESS, Boolean, Text

PullPolicy = Literal["Always", "IfNotPresent", "Never"]


class Hydration(Model):
    """The Job that stages a cache on a cluster."""

    image: Text | None = None
    """Image in place of the built-in one; it needs python3 of 3.11 or newer as command, and nothing besides."""
    image_pull_policy: PullPolicy | None = None
    """When nodes pull the image; Kubernetes' own rule where absent."""
    hub: Annotated[str, Field(pattern=HTTP_ADDRESS)] | None = None
    """Address of a mirror of the Hugging Face hub; the hub itself where absent."""


class CacheSettings(Model):
    """How caches are staged, and what replicas wait for."""

    hydration: Hydration = Hydration()
    """The Job that stages a cache."""
    wait_until_ready: Boolean = True
    """Replicas start once their cache is Ready on their cluster; false starts them at once, whatever is staged."""
