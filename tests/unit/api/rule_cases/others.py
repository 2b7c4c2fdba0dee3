"""Cases of the rules of services, endpoints, Fleet, Secret, and of every kind."""

from builders import Plain, a_deployment, a_service, an_endpoint, document
from unit.api.rule_cases.case import Case, case, changed
from unit.api.rule_cases.platform import beside, class_of, cluster_of

SERVICE = a_service().plain()
QWEN = a_deployment().plain()
ENTRY = "spec.endpoints.0.selector.matchLabels"
AT_ENTRY = "spec.endpoints[0].selector.matchLabels"
TEAM = changed(QWEN, "spec.template.metadata.labels", {"team": "search"})
TWO = a_service(entries=[(1, {"modelplane.ai/deployment": "qwen"}), (1, {"team": "search"})]).plain()
SERVICES: dict[str, Case] = {
    "MS-F1": case(SERVICE, ENTRY, refused={"team": "other"}, accepted={"team": "search"}, beside=(TEAM,)),
    "MS-N1": case(SERVICE, ENTRY, refused={}, accepted={"team": "search"}, beside=(TEAM,)),
    "MS-N2": case(
        SERVICE, ENTRY, refused={"team": "a b"}, accepted={"team": "search"}, at=f"{AT_ENTRY}.team", beside=(TEAM,)
    ),
    "MS-N3": Case(
        refused=(SERVICE, changed(QWEN, "spec.replicas", 257), document("Fleet", "f", {"limits": {"replicas": 300}})),
        accepted=(SERVICE, changed(QWEN, "spec.replicas", 256), document("Fleet", "f", {"limits": {"replicas": 300}})),
        at="spec.endpoints",
    ),
    "MS-X1": Case(refused=(TWO, TEAM), accepted=(SERVICE, TEAM), at="spec.endpoints[1].selector.matchLabels"),
}

ENDPOINT = an_endpoint().plain()
OURS = {"modelplane.ai/cluster": "us"}
ENDPOINTS: dict[str, Case] = {
    "ME-F1": case(ENDPOINT, "spec.url", refused="api.example.com", accepted="http://api.example.com"),
    "ME-N1": case(ENDPOINT, "spec.url", refused="http://a:b@example.com", accepted="http://example.com"),
    "ME-N2": case(ENDPOINT, "spec.rewritePath", refused="/base", accepted="/base/"),
    "ME-N3": case(ENDPOINT, "spec.url", refused="https://example.com/base", accepted="https://example.com/"),
    "ME-N4": case(
        ENDPOINT,
        "metadata.labels",
        refused=OURS,
        accepted={"modelplane.ai/external-provider": "x"},
        at="metadata.labels[modelplane.ai/cluster]",
    ),
    "ME-X2": case(ENDPOINT, "spec.url", refused="https://192.0.2.1/", accepted="https://example.com/"),
    "ME-X1": case(ENDPOINT, "spec.rewritePath", refused="/v1/", accepted="/"),
}

FLEET = document("Fleet", "prod", {})
KEYS: Plain = {"name": "s", "keys": {"k": {"fromEnv": "A"}}}
PINS: Plain = {"leaderWorkerSet": "v0.8.0"}
HUB: Plain = {"kubeconfigSecretRef": {"name": "us"}}
AROUND = (cluster_of(), *beside())
FLEETS: dict[str, Case] = {
    "FL-X1": case(FLEET, "metadata.name", refused="a" * 27, accepted="a" * 26),
    "FL-X2": case(FLEET, "spec.gateway.address", refused="http://a", accepted="127.0.0.1:8080"),
    "FL-X3": case(
        FLEET, "spec.secrets", refused=[KEYS | {"keys": {"k": {}}}], accepted=[KEYS], at="spec.secrets[0].keys.k"
    ),
    "FL-X4": case(FLEET, "spec.secrets", refused=[KEYS, KEYS], accepted=[KEYS], at="spec.secrets[1]"),
    "FL-X5": case(
        FLEET,
        "spec.servingStack.charts",
        refused={"lws": {}},
        accepted={"leader-worker-set": {}},
        at="spec.servingStack.charts.lws",
    ),
    "FL-X6": case(
        FLEET,
        "spec.credentials",
        refused={"default": {"aws": {"project": "p"}}},
        accepted={"default": {"gcp": {"project": "p"}}},
        at="spec.credentials.default.aws.project",
    ),
    "FL-X7": case(
        FLEET,
        "spec.gateway",
        refused=HUB | {"kubeconfigSecretRef": {"name": "us"}},
        accepted={},
        at="spec.gateway.kubeconfigSecretRef",
        beside=AROUND,
    ),
    "FL-X8": case(
        FLEET, "spec.clusters", refused={"eu": {}}, accepted={"us": {}}, at="spec.clusters.eu", beside=AROUND
    ),
    "FL-X9": case(
        FLEET,
        "spec.servingStack",
        refused={"versions": PINS, "standard": PINS},
        accepted={"versions": PINS},
        at="spec.servingStack.standard.leaderWorkerSet",
    ),
    "FL-X11": case(
        FLEET,
        "spec.clusters.us",
        refused={"controlPlane": "Component"},
        accepted={"controlPlane": "Resources"},
        at="spec.clusters.us.controlPlane",
        beside=AROUND,
    ),
    "FL-X10": case(
        FLEET,
        "spec.gateway",
        refused={"kubeconfigSecretRef": {"name": "hub"}},
        accepted={},
        at="spec.gateway.kubeconfigSecretRef",
        beside=AROUND,
    ),
}

CONFIG_MAP: Plain = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
SECRET: Plain = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
EVERY_KIND: dict[str, Case] = {
    "CM-X1": case(CONFIG_MAP, "data", refused={"a/b": "x"}, accepted={"a.b": "x"}, at="data[a/b]"),
    "SEC-X1": case(SECRET, "stringData", refused={"a/b": "x"}, accepted={"a.b": "x"}, at="stringData[a/b]"),
    "SEC-X2": case(SECRET, "data", refused={"k": "{}"}, accepted={"k": "e30="}, at="data.k"),
    "META-X1": case(class_of(), "metadata.labels", refused={"a": "b c"}, accepted={"a": "b"}, at="metadata.labels.a"),
    "META-X2": case(class_of(), "metadata.namespace", refused="x", accepted=None),
    "META-X3": Case(
        refused=(QWEN, QWEN), accepted=(QWEN, changed(QWEN, "metadata.namespace", "b")), at="metadata.name"
    ),
    "META-X4": case(class_of(), "kind", refused="ModelReplica", accepted="InferenceClass"),
    "META-X5": case(class_of(), "status", refused={"conditions": []}, accepted=None),
}
