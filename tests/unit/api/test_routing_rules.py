"""Rules of services, endpoints, Fleet and Secret: the smallest document that breaks each, and the field."""

import pytest
from builders import Plain, a_service, an_endpoint, document
from unit.api.rules import Broken, broken

from api import ModelEndpoint, ModelService
from api.base import Kind
from api.fleets import Fleet, Secret


def served(labels: Plain) -> Plain:
    return document("ModelService", "s", {"endpoints": [{"selector": {"matchLabels": labels}}]})


def reached(url: str, rewrite: str = "/") -> Plain:
    return document("ModelEndpoint", "e", {"url": url, "rewritePath": rewrite})


ROUTING: dict[str, tuple[type[Kind], Plain, list[Broken]]] = {
    "MS-N1": (ModelService, served({}), [("MS-N1", "spec.endpoints[0].selector.matchLabels")]),
    "MS-N2": (ModelService, served({"a": "b c"}), [("MS-N2", "spec.endpoints[0].selector.matchLabels.a")]),
    "a service": (ModelService, a_service().plain(), []),
    "an endpoint": (ModelEndpoint, an_endpoint().plain(), []),
    **{
        f"ME-F1 {url}": (ModelEndpoint, reached(url), [("ME-F1", "spec.url")])
        for url in (
            "example.com",
            "http://",
            "http://:80",
            "http://host",
            "http://example.com:99999",
            "http://example.com:http",
            "http://exa_mple.com",
            "http://exa mple.com",
        )
    },
    **{
        f"ME-N1 {url}": (ModelEndpoint, reached(url), [("ME-N1", "spec.url")])
        for url in (
            "ftp://example.com",
            "http://[10.0.0.1]",
            "http://user:pass@example.com",
            "http://example.com?x=1",
            "http://example.com/#x",
            "http://example.com:0",
            "http://example.com:",
            "http://fd00::1",
            "http://[fd00::1",
        )
    },
    **{
        f"ME-N2 {path}": (ModelEndpoint, reached("http://a.example", path), [("ME-N2", "spec.rewritePath")])
        for path in ("v1", "/v1", "v1/", "")
    },
}


@pytest.mark.parametrize(("kind", "plain", "expected"), ROUTING.values(), ids=ROUTING)
def test_routing(kind: type[Kind], plain: Plain, expected: list[Broken]) -> None:
    assert broken(kind, plain) == expected


SETTINGS: dict[str, tuple[type[Kind], Plain, list[Broken]]] = {
    "a long name": (Fleet, document("Fleet", "a" * 27, {}), [("FL-X1", "metadata.name")]),
    "an address with a scheme": (
        Fleet,
        document("Fleet", "f", {"gateway": {"address": "http://a"}}),
        [("FL-X2", "spec.gateway.address")],
    ),
    "no source": (
        Fleet,
        document("Fleet", "f", {"secrets": [{"name": "s", "keys": {"k": {}}}]}),
        [("FL-X3", "spec.secrets[0].keys.k")],
    ),
    "two sources": (
        Fleet,
        document("Fleet", "f", {"secrets": [{"name": "s", "keys": {"k": {"fromEnv": "A", "fromFile": "b"}}}]}),
        [("FL-X3", "spec.secrets[0].keys.k")],
    ),
    "a Secret twice": (
        Fleet,
        document("Fleet", "f", {"secrets": [{"name": "s", "keys": {"k": {"fromEnv": "A"}}}] * 2}),
        [("FL-X4", "spec.secrets[1]")],
    ),
    "a chart by another name": (
        Fleet,
        document("Fleet", "f", {"servingStack": {"charts": {"cert_manager": {}}}}),
        [("FL-X5", "spec.servingStack.charts.cert_manager")],
    ),
    "a project of AWS": (
        Fleet,
        document("Fleet", "f", {"credentials": {"default": {"aws": {"project": "p"}}}}),
        [("FL-X6", "spec.credentials.default.aws.project")],
    ),
    "no base64": (
        Secret,
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a.b"}, "data": {"k": "{}"}},
        [("SEC-X2", "data.k")],
    ),
    "no key": (
        Secret,
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a/b": ""}},
        [("SEC-X1", "stringData[a/b]")],
    ),
}


@pytest.mark.parametrize(("kind", "plain", "expected"), SETTINGS.values(), ids=SETTINGS)
def test_settings(kind: type[Kind], plain: Plain, expected: list[Broken]) -> None:
    assert broken(kind, plain) == expected
