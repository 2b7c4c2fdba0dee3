"""ModelCache: the weights of one cache on one cluster, as a volume and the Job that fills it."""

from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions

from components.cache_manifests import CacheSetting, hydration_job, token_secret, volume_claim
from components.kubernetes_objects import register


@dataclass(frozen=True, kw_only=True)
class ModelCacheArgs:
    """A cache; `hydrates` is false where the volume holds it already, or its token is not to be had."""

    setting: CacheSetting
    hydrates: bool
    token: Output[str] | None = None


class ModelCache(ComponentResource):
    """One cache on one cluster. `claim` and `job` are what the API server says of them; without a Job it is None."""

    claim: Output[Any]
    claim_uid: Output[str | None]
    job: Output[Any]

    def __init__(self, name: str, args: ModelCacheArgs, opts: ResourceOptions | None = None) -> None:
        setting = args.setting
        super().__init__("modelplane:index:ModelCache", name, {"repository": setting.source.repo}, opts)
        # A volume claim can grow and nothing else: another class is no reason to lose what it holds.
        keep = ResourceOptions(parent=self, ignore_changes=["spec.storageClassName"])
        claim = register(volume_claim(setting), f"{name}/volume", keep)
        self.claim = Output.from_input(pulumi.get(claim, "status"))
        self.claim_uid = Output.from_input(pulumi.get(claim, "metadata")).apply(lambda found: found.get("uid"))
        self.job = Output.from_input(None)
        if args.hydrates:
            self.job = Output.from_input(pulumi.get(self._job(name, args, claim), "status"))
        self.register_outputs({})

    def _job(self, name: str, args: ModelCacheArgs, claim: pulumi.Resource) -> pulumi.Resource:
        needs = [claim]
        auth = args.setting.source.auth_secret
        if auth is not None and args.token is not None:
            secret = token_secret(args.setting, auth, args.token)
            needs.append(register(secret, f"{name}/token", ResourceOptions(parent=self)))
        # A Job's template cannot change: what it is to stage next is another Job.
        opts = ResourceOptions(parent=self, depends_on=needs, replace_on_changes=["spec"], delete_before_replace=True)
        return register(hydration_job(args.setting), f"{name}/hydration", opts)
