"""ModelCache: weights that are staged once on every cluster that may need them."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from api.base import API_VERSION, Fault, Kind, Model
from api.grammar import Integer, Text, is_match
from api.terms import LabelSelector, selector_faults

_REPO_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"


class AuthSecret(Model):
    """A Secret of the cache's namespace that holds a token."""

    name: Text
    """Name of the Secret."""
    key: Text = "HF_TOKEN"
    """Key of the Secret under which the token lies."""


class HuggingFace(Model):
    """A repository of the Hugging Face hub, and the size of the volume its files need in GiB."""

    repo: Text
    """Repository as the hub writes it, org/name; cannot change once the cache exists."""
    revision: str | None = None
    """Branch, tag or commit; the default branch where absent. A change stages the new revision."""
    auth_secret: AuthSecret | None = None
    """Secret of the cache's namespace with a token, for repositories that ask for one."""
    size_gib: Annotated[Integer, Field(alias="sizeGiB", ge=1, le=100_000)]
    """Size of the volume on each cluster in GiB; cannot become smaller."""

    def faults(self) -> Iterator[Fault]:
        """MC-N1 and MC-N2: both reach a program that holds the token."""
        if not is_match(rf"{_REPO_PART}(/{_REPO_PART})?", self.repo):
            yield Fault("MC-N1", ("repo",), f"{self.repo!r} is not a repository id", "write org/name as on the hub")
        revision = self.revision
        if revision is not None and (".." in revision or not is_match(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,254}", revision)):
            hint = "name a branch, a tag or a commit; leave it out for the default branch"
            yield Fault("MC-N2", ("revision",), f"{revision!r} is not a branch, tag or commit", hint)


class ModelCacheSpec(Model):
    """Origin of the weights and the clusters that stage them; no selector means all."""

    source: Literal["HuggingFace"]
    """Kind of origin; its block has to be there. Cannot change once the cache exists."""
    hugging_face: HuggingFace | None = None
    """Where on the Hugging Face hub the weights are."""
    cluster_selector: LabelSelector | None = None
    """Clusters that stage the weights; all where absent. Replicas that use the cache go to these only."""

    def faults(self) -> Iterator[Fault]:
        """MC-V1 and MC-N6."""
        if self.hugging_face is None:
            yield Fault("MC-V1", ("huggingFace",), "source HuggingFace needs this block", "add repo and sizeGiB")
        yield from selector_faults(self.cluster_selector, "MC-N6", ("clusterSelector",))


class ModelCache(Kind):
    """Weights of a model, staged once on every cluster that may need them."""

    api_version: Literal["modelplane.ai/v1alpha1"] = API_VERSION
    """Group and version of the kind."""
    kind: Literal["ModelCache"] = "ModelCache"
    """The kind of the document."""
    spec: ModelCacheSpec
    """The weights to stage."""
