"""What a cloud's module gives back: how the cluster is reached, and what there is for model caches."""

from collections.abc import Sequence
from dataclasses import dataclass

from pulumi import Input, Output, Resource


@dataclass(frozen=True, kw_only=True)
class Made:
    """One cluster as it was registered.

    `kubeconfig` holds no token that expires. `resources` is what has to be there before the cluster counts as ready;
    GPU pools are not among them, so that one the cloud cannot give holds up no other.
    """

    kubeconfig: Output[str]
    storage_class: str | None
    identity: Output[str] | None = None
    """Key of the account that was made to reach the cluster with, where one was; a secret."""
    resources: Sequence[Resource] = ()
    pools: dict[str, Input[str]]
    """Name of each GPU pool with the id that the cloud gave it."""
