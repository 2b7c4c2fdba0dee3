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
    key: Text = "HF_TOKEN"


class HuggingFace(Model):
    """A repository of the Hugging Face hub, and the size of the volume its files need in GiB."""

    repo: Text
    revision: str | None = None
    auth_secret: AuthSecret | None = None
    size_gib: Annotated[Integer, Field(alias="sizeGiB", ge=1, le=100_000)]

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
    hugging_face: HuggingFace | None = None
    cluster_selector: LabelSelector | None = None

    def faults(self) -> Iterator[Fault]:
        """MC-V1 and MC-N6."""
        if self.hugging_face is None:
            yield Fault("MC-V1", ("huggingFace",), "source HuggingFace needs this block", "add repo and sizeGiB")
        yield from selector_faults(self.cluster_selector, "MC-N6", ("clusterSelector",))


class ModelCache(Kind):
    """A document of kind ModelCache."""

    api_version: Literal["modelplane.ai/v1alpha1"] = API_VERSION
    kind: Literal["ModelCache"] = "ModelCache"
    spec: ModelCacheSpec
