"""Every rule of the API by its id: which kind it is about, what it asks for, and the code of a problem that breaks it.

Ids are those of the contract with upstream's users: `V` were rules of upstream's schemas, `F` checks that upstream
made when it was too late, `N` our additions. `X` rules are ours as well and not in that contract. Where a field's own
type carries a rule (`FIELD_RULES`), pydantic finds the fault and this table names it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from api import shape
from api.base import Path
from api.codes import Code
from api.errors import Severity

_E, _W = Severity.ERROR, Severity.WARNING


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule. `severity` is the worst that a fault of it is, `code` the code of its problem then."""

    id: str
    kind: str
    meaning: str
    code: Code
    severity: Severity


_Row = tuple[str, str, Code, Severity]


def _rules(kind: str, *rows: _Row) -> dict[str, Rule]:
    return {
        id_: Rule(id=id_, kind=kind, meaning=meaning, code=code, severity=severity)
        for id_, meaning, code, severity in rows
    }


def _block(id_: str, of: str) -> _Row:
    return (id_, f"{of} has its own block", Code.BROKEN_RULE, _E)


RULES: Final[Mapping[str, Rule]] = {
    **_rules(
        "InferenceGateway",
        ("IG-V1", "backend Traefik has its settings block", Code.BROKEN_RULE, _E),
        ("IG-V2", "loadBalancer MetalLB has an address pool", Code.BROKEN_RULE, _E),
        ("IG-N1", "the gateway is called default", Code.BROKEN_RULE, _E),
        ("IG-N2", "an address pool is first-last or a CIDR", Code.BROKEN_RULE, _E),
        ("IG-N3", "a metallb block is there only with loadBalancer MetalLB", Code.BROKEN_RULE, _E),
        ("IG-N4", "the version of the Traefik chart is not empty", Code.OUT_OF_RANGE, _E),
    ),
    **_rules(
        "InferenceClass",
        _block("ICL-V1", "provider GKE"),
        _block("ICL-V2", "provider EKS"),
        _block("ICL-V3", "provider AKS"),
        _block("ICL-V4", "provider Nebius"),
        _block("ICL-V5", "provider Vultr"),
        ("ICL-V6", "a device claimed through DRA names its DeviceClass", Code.BROKEN_RULE, _E),
        ("ICL-V7", "an attribute has one value of one type", Code.BROKEN_RULE, _E),
        ("ICL-N1", "only the provider's own block is there", Code.BROKEN_RULE, _E),
        ("ICL-N2", "a device's name is a DNS label", Code.WRONG_FORM, _E),
        ("ICL-N3", "driver and DeviceClass are DNS subdomains", Code.WRONG_FORM, _E),
        ("ICL-N4", "a capacity is a quantity that is not negative", Code.BROKEN_RULE, _E),
        ("ICL-N5", "a version is a semantic version", Code.BROKEN_RULE, _E),
        ("ICL-N6", "a key is an identifier or domain/identifier", Code.BROKEN_RULE, _E),
        ("ICL-N7", "some device can be claimed", Code.CAUTION, _W),
        ("ICL-N8", "GPU memory is what the driver reports, not what is printed on the box", Code.CAUTION, _W),
        ("ICL-N9", "the recipe's accelerators are the class's GPUs", Code.CAUTION, _W),
        ("ICL-X1", "the hourly cost of a class is a decimal number", Code.BROKEN_RULE, _E),
    ),
    **_rules(
        "InferenceCluster",
        _block("IC-V1", "source Existing"),
        _block("IC-V2", "source GKE"),
        _block("IC-V3", "source EKS"),
        _block("IC-V4", "source AKS"),
        _block("IC-V5", "source Nebius"),
        _block("IC-V6", "source Vultr"),
        ("IC-V7", "an InfiniBand pool on Nebius names its fabric", Code.BROKEN_RULE, _E),
        ("IC-V8", "an infiniband block is there only with type InfiniBand", Code.BROKEN_RULE, _E),
        ("IC-V9", "the serving stack of a cluster does not change", Code.IMMUTABLE, _E),
        ("IC-F1", "the class of a pool is among the documents", Code.MISSING_CLASS, _E),
        ("IC-F2", "the class of a pool has a recipe where the source needs one", Code.UNFIT_CLASS, _E),
        ("IC-N1", "only the source's own block is there", Code.BROKEN_RULE, _E),
        ("IC-N2", "a cluster that is made has a pool", Code.BROKEN_RULE, _E),
        ("IC-N3", "a pool's name fits its source and is not the system pool's", Code.BROKEN_RULE, _E),
        ("IC-N4", "minNodeCount <= nodeCount <= maxNodeCount <= 1000", Code.BROKEN_RULE, _E),
        ("IC-N5", "zones are as many and as named as the source has them", Code.BROKEN_RULE, _E),
        ("IC-N6", "the source offers the fabric", Code.BROKEN_RULE, _E),
        ("IC-N7", "a Capacity Block is there only on EKS", Code.BROKEN_RULE, _E),
        ("IC-N8", "the class's recipe is of the cluster's source", Code.UNFIT_CLASS, _E),
        ("IC-N9", "the Kubernetes version is one of the source's and has device claims", Code.BROKEN_RULE, _E),
        ("IC-N10", "taints are in the form of labels", Code.BROKEN_RULE, _E),
        ("IC-N11", "source, region, credentials and control plane of a cluster do not change", Code.IMMUTABLE, _E),
        ("IC-N12", "a pool that cannot be started from zero keeps a node", Code.CAUTION, _W),
        ("IC-N13", "a cluster that a cache would stage on has storage for it", Code.CAUTION, _W),
        ("IC-X1", "the Secrets of a cluster can be had", Code.MISSING_KEY, _W),
        ("IC-X2", "credentials that are named are in the Fleet or a ProviderConfig", Code.MISSING_KEY, _W),
        ("IC-X4", "the identity of a cluster that was handed over can be used", Code.CAUTION, _W),
        ("IC-X3", "a Capacity Block lies in one zone and does not grow", Code.BROKEN_RULE, _E),
    ),
    **_rules(
        "ModelDeployment",
        ("MD-V1", "labels of the template are not under modelplane.ai/", Code.BROKEN_RULE, _E),
        ("MD-V2", "keys of the template's labels are label keys", Code.BROKEN_RULE, _E),
        ("MD-V3", "prefixes of the template's labels have at most 253 characters", Code.BROKEN_RULE, _E),
        ("MD-V4", "values of the template's labels are label values", Code.BROKEN_RULE, _E),
        ("MD-V5", "PrefillDecode has two engines", Code.BROKEN_RULE, _E),
        ("MD-V6", "one engine of PrefillDecode has phase Prefill", Code.BROKEN_RULE, _E),
        ("MD-V7", "one engine of PrefillDecode has phase Decode", Code.BROKEN_RULE, _E),
        ("MD-V8", "a phase is there only with PrefillDecode", Code.BROKEN_RULE, _E),
        ("MD-V9", "a toleration with Equal has a key", Code.BROKEN_RULE, _E),
        ("MD-V10", "a toleration with Exists has no value", Code.BROKEN_RULE, _E),
        ("MD-V11", "an engine is one Standalone, or one Leader and one Worker", Code.BROKEN_RULE, _E),
        ("MD-V12", "some member of an engine asks for devices", Code.BROKEN_RULE, _E),
        ("MD-V13", "only a Worker has worker settings", Code.BROKEN_RULE, _E),
        ("MD-V14", "labels of pods are not under modelplane.ai/", Code.BROKEN_RULE, _E),
        ("MD-V15", "keys of pod labels are label keys", Code.BROKEN_RULE, _E),
        ("MD-V16", "prefixes of pod labels have at most 253 characters", Code.BROKEN_RULE, _E),
        ("MD-V17", "values of pod labels are label values", Code.BROKEN_RULE, _E),
        ("MD-V18", "keys of pod annotations are annotation keys", Code.BROKEN_RULE, _E),
        ("MD-V19", "prefixes of pod annotations have at most 253 characters", Code.BROKEN_RULE, _E),
        ("MD-V20", "the one container is called engine", Code.BROKEN_RULE, _E),
        ("MD-F1", "device selectors compile", Code.BAD_CEL, _E),
        ("MD-F2", "some class of a pool has what each engine asks for, to be claimed", Code.NO_MATCH, _W),
        ("MD-F3", "the cache is among the documents", Code.MISSING_CACHE, _W),
        ("MD-N1", "engines and device requests are named with DNS labels", Code.WRONG_FORM, _E),
        ("MD-N2", "every member has a pod spec", Code.MISSING_FIELD, _E),
        ("MD-N3", "a variable has one name and one source of its value", Code.BROKEN_RULE, _E),
        ("MD-N4", "variables that Modelplane sets are left to it", Code.BROKEN_RULE, _E),
        ("MD-N5", "the cluster selector is in the form of labels", Code.BROKEN_RULE, _E),
        ("MD-N6", "the name has at most 63 characters", Code.BROKEN_RULE, _E),
        ("MD-N7", "labels that prefill/decode routing sets are left to it", Code.BROKEN_RULE, _E),
        ("MD-N8", "a gang has a model cache", Code.CAUTION, _W),
        ("MD-N9", "an engine that reads its rank may only go to Standard clusters", Code.CAUTION, _W),
        ("MD-N10", "an engine with a cache names the model and the revision of its cache", Code.BROKEN_RULE, _E),
        ("MD-N11", "a decode engine leaves port 8000 to the routing sidecar", Code.BROKEN_RULE, _E),
        ("MD-X1", "annotations of pods are not under modelplane.ai/", Code.BROKEN_RULE, _E),
        ("MD-X2", "a flag and its value are two arguments, or joined by =", Code.CAUTION, _W),
        ("MD-X3", "a prefill engine serves on the port that decode reaches", Code.BROKEN_RULE, _E),
        ("MD-X4", "an engine serves on the port that routes reach", Code.CAUTION, _W),
        ("MD-X5", "an engine with a cache names the repository and not the mount", Code.CAUTION, _W),
        ("MD-X6", "an engine serves the repository of its cache", Code.CAUTION, _W),
        ("MD-X7", "Secrets and ConfigMaps of the engines can be had", Code.MISSING_KEY, _W),
        ("MD-X8", "the cluster selector matches a cluster", Code.NO_MATCH, _W),
        ("MD-X9", "some cluster is selected by the deployment and by its cache", Code.NO_MATCH, _W),
        ("MD-X10", "replicas are within the fleet's limit", Code.OUT_OF_RANGE, _E),
    ),
    **_rules(
        "ModelReplica",
        ("MR-V1", "as MD-V5", Code.BROKEN_RULE, _E),
        ("MR-V2", "as MD-V6", Code.BROKEN_RULE, _E),
        ("MR-V3", "as MD-V7", Code.BROKEN_RULE, _E),
        ("MR-V4", "as MD-V8", Code.BROKEN_RULE, _E),
        ("MR-V5", "as MD-V11", Code.BROKEN_RULE, _E),
        ("MR-V6", "some member of an engine has deviceRequests", Code.BROKEN_RULE, _E),
        ("MR-V7", "as MD-V13", Code.BROKEN_RULE, _E),
        ("MR-V8", "as MD-V14", Code.BROKEN_RULE, _E),
        ("MR-V9", "as MD-V15", Code.BROKEN_RULE, _E),
        ("MR-V10", "as MD-V16", Code.BROKEN_RULE, _E),
        ("MR-V11", "as MD-V17", Code.BROKEN_RULE, _E),
        ("MR-V12", "as MD-V18", Code.BROKEN_RULE, _E),
        ("MR-V13", "as MD-V19", Code.BROKEN_RULE, _E),
        ("MR-V14", "as MD-V20", Code.BROKEN_RULE, _E),
        ("MR-F2", "every member has a pod spec", Code.MISSING_FIELD, _E),
        ("MR-N1", "a replica does not move to another cluster", Code.IMMUTABLE, _E),
        ("MR-N2", "the cluster has the pool that a member is pinned to", Code.BROKEN_RULE, _E),
    ),
    **_rules(
        "ModelCache",
        ("MC-V1", "source HuggingFace has its block", Code.BROKEN_RULE, _E),
        ("MC-F1", "the Secret with the token can be had", Code.MISSING_KEY, _W),
        ("MC-F2", "every selected cluster has storage that caches can use", Code.CAUTION, _W),
        ("MC-N1", "repo is a repository id", Code.BROKEN_RULE, _E),
        ("MC-N2", "revision is a branch, tag or commit", Code.BROKEN_RULE, _E),
        ("MC-N3", "source and repository of a cache do not change", Code.IMMUTABLE, _E),
        ("MC-N4", "the volume of a cache does not become smaller", Code.IMMUTABLE, _E),
        ("MC-N5", "the key of the token is not empty", Code.OUT_OF_RANGE, _E),
        ("MC-N6", "the cluster selector is in the form of labels", Code.BROKEN_RULE, _E),
        ("MC-X1", "the cluster selector matches a cluster", Code.NO_MATCH, _W),
    ),
    **_rules(
        "ModelService",
        ("MS-F1", "every entry matches an endpoint", Code.NO_MATCH, _W),
        ("MS-N1", "a selector is not empty", Code.BROKEN_RULE, _E),
        ("MS-N2", "a selector is in the form of labels", Code.BROKEN_RULE, _E),
        ("MS-N3", "a service has at most 256 endpoints", Code.CAUTION, _W),
        ("MS-X1", "an endpoint is matched by one entry only", Code.CAUTION, _W),
    ),
    **_rules(
        "ModelEndpoint",
        ("ME-F1", "the url has a host and a port that can be reached", Code.BROKEN_RULE, _E),
        ("ME-N1", "the url is http(s)://host[:port][/path]", Code.BROKEN_RULE, _E),
        ("ME-N2", "rewritePath begins and ends with a slash", Code.BROKEN_RULE, _E),
        ("ME-N3", "a path of the url agrees with rewritePath", Code.CAUTION, _W),
        ("ME-N4", "labels of endpoints that Modelplane makes are left to it", Code.BROKEN_RULE, _E),
        ("ME-X2", "a certificate can be checked by a name", Code.CAUTION, _W),
        ("ME-X1", "rewritePath does not repeat the version that clients ask for", Code.CAUTION, _W),
    ),
    **_rules(
        "Fleet",
        ("FL-X1", "the name leaves room for the names of stacks", Code.BROKEN_RULE, _E),
        ("FL-X2", "the gateway's address is host[:port]", Code.BROKEN_RULE, _E),
        ("FL-X3", "a key of a Secret has one source", Code.BROKEN_RULE, _E),
        ("FL-X4", "a Secret is listed once", Code.BROKEN_RULE, _E),
        ("FL-X5", "charts are called as Modelplane calls them", Code.BROKEN_RULE, _E),
        ("FL-X6", "credentials have fields that their cloud knows", Code.BROKEN_RULE, _E),
        ("FL-X7", "the hub is none of the serving clusters", Code.BROKEN_RULE, _E),
        ("FL-X8", "settings are of clusters that are among the documents", Code.UNUSED_SETTING, _W),
        ("FL-X9", "a version is said in one place", Code.BROKEN_RULE, _E),
        ("FL-X10", "the Secret of the hub can be had", Code.MISSING_KEY, _W),
        ("FL-X11", "a component makes the control plane only of clusters on EKS", Code.UNUSED_SETTING, _W),
    ),
    **_rules("ConfigMap", ("CM-X1", "keys are keys of a ConfigMap, each once", Code.BROKEN_RULE, _E)),
    **_rules(
        "Secret",
        ("SEC-X1", "keys are keys of a Secret", Code.BROKEN_RULE, _E),
        ("SEC-X2", "data is base64", Code.BROKEN_RULE, _E),
    ),
    **_rules(
        "every kind",
        ("META-X1", "labels and annotations are such as an API server takes", Code.BROKEN_RULE, _E),
        ("META-X2", "a kind of the whole fleet has no namespace", Code.UNUSED_SETTING, _W),
        ("META-X3", "kind, namespace and name belong to one document", Code.DUPLICATE_DOCUMENT, _E),
        ("META-X4", "a document is of a kind that is known here", Code.UNKNOWN_KIND, _E),
        ("META-X5", "a document says what is wanted, and not what a cluster wrote", Code.EXPORTED, _W),
    ),
}

ELSEWHERE: Final[Mapping[str, str]] = {
    "IC-F3": "a cluster with replicas is held, and the guard of `up` and `destroy` says so: programs/, stacks/",
    "MR-F1": "a replica of a cluster that is not ready or reachable waits: scheduler/, programs/workloads",
}
"""Rules of the contract that need a running fleet, and where they are."""

FIELD_RULES: Final[Mapping[tuple[str, str], str]] = {
    ("Traefik", "version"): "IG-N4",
    ("Device", "name"): "ICL-N2",
    ("Device", "driver"): "ICL-N3",
    ("Device", "deviceClassName"): "ICL-N3",
    ("NodePool", "name"): "IC-N3",
    ("NodePool", "nodeCount"): "IC-N4",
    ("NodePool", "minNodeCount"): "IC-N4",
    ("NodePool", "maxNodeCount"): "IC-N4",
    ("NodePool", "zones"): "IC-N5",
    ("Engine", "name"): "MD-N1",
    ("DeviceRequest", "name"): "MD-N1",
    ("PodTemplate", "spec"): "MD-N2",
    ("EnvVar", "name"): "MD-N3",
    ("AuthSecret", "key"): "MC-N5",
}
"""Rules that a field's own type carries, by model and field."""

_OF_REPLICAS: Final[Mapping[str, str]] = {
    **{f"MD-V{number}": f"MR-V{number - 4}" for number in range(5, 9)},
    "MD-V11": "MR-V5",
    "MD-V13": "MR-V7",
    **{f"MD-V{number}": f"MR-V{number - 6}" for number in range(14, 20)},
    "MD-V20": "MR-V14",
    "MD-N2": "MR-F2",
}


def of_kind(kind: str, rule: str) -> str:
    """The id that a rule has for a kind; deployments and replicas share templates and not the ids."""
    return _OF_REPLICAS.get(rule, rule) if kind == "ModelReplica" else rule


def of_field(kind: Any, path: Path, fault: str) -> str:
    """The rule that the type of a field carries; empty where it carries none. `fault` is pydantic's name of the error.

    A value of another type (a list for a text) breaks the schema and no rule.
    """
    if not path or fault.endswith(("_type", "_parsing")) or fault == "extra_forbidden":
        return ""
    for depth in range(-1, -min(2, len(path)) - 1, -1):
        for model in shape.models(shape.at(kind, path[:depth])):
            rule = FIELD_RULES.get((model.__name__, str(path[depth])), "")
            if rule and (fault != "missing" or rule == "MD-N2"):
                return of_kind(kind.__name__, rule)
    return ""
