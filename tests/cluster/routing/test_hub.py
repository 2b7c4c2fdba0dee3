"""The hub's objects before a real Traefik: weights over more backends than a rule takes, names, TLS, nothing behind."""

import json
import os
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster.routing.certificates import certificate
from engine.bare import Bare, bare_cluster

from api import names
from api.routing import endpoint_address
from components.gateway_manifests import endpoint_service, endpoint_slice, endpoint_tls, gateway
from components.shares import Share, service_objects
from components.weights import spread
from local import network, toolbox
from local.kube import ApiServer

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

Plain = dict[str, Any]
SECONDS = 60.0
NAMESPACE = "ml-team"
NAME = "models.example.com"
PLURALS = {
    "BackendTLSPolicy": "backendtlspolicies",
    "EndpointSlice": "endpointslices",
    "Gateway": "gateways",
    "GatewayClass": "gatewayclasses",
    "HTTPRoute": "httproutes",
    "Namespace": "namespaces",
    "Service": "services",
}


def own_address() -> str:
    """An address of this machine that an EndpointSlice may hold, which no loopback one is."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as found:
        try:
            found.connect(("192.0.2.254", 9))
        except OSError:
            pytest.skip("this machine has no address but its loopback")
        return str(found.getsockname()[0])


def until(what: Callable[[], Any], text: str) -> Any:
    deadline = time.monotonic() + SECONDS
    while not (found := what()):
        assert time.monotonic() < deadline, text
        time.sleep(0.1)
    return found


class _Handler(BaseHTTPRequestHandler):
    """Answers with what it was asked, and by whom it took itself to be asked."""

    def do_GET(self) -> None:  # named by its base
        body = json.dumps({"path": self.path, "host": self.headers["Host"]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[int]:
    """A backend on all addresses of this machine; its port."""
    server = ThreadingHTTPServer(("0.0.0.0", 0), _Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Hub:
    """A cluster, Traefik beside it, and backends."""

    cluster: Bare
    address: str
    port: int
    api: int
    plain: int
    """Port of a backend without TLS; `trusted` and `misnamed` have certificates for NAME and for another name."""
    trusted: int
    misnamed: int
    applied: list[Plain] = field(default_factory=list)

    def apply(self, *manifests: Plain | None) -> None:
        for manifest in manifests:
            if manifest is not None:
                metadata, version = manifest["metadata"], manifest["apiVersion"]
                root = f"/apis/{version}" if "/" in version else f"/api/{version}"
                inside = f"/namespaces/{metadata['namespace']}" if metadata.get("namespace") else ""
                answer = self.cluster._client.patch(
                    f"{root}{inside}/{PLURALS[manifest['kind']]}/{metadata['name']}",
                    params={"fieldManager": "test", "force": "true", "fieldValidation": "Strict"},
                    content=yaml.safe_dump(manifest),
                    headers={"content-type": "application/apply-patch+yaml"},
                )
                assert answer.is_success, f"{manifest['kind']}: {answer.text}"

    def endpoint(self, name: str, url: str, *, here: bool = False) -> int:
        """Make an endpoint; its port. `here` leads its name to this machine, as no name server does."""
        address = endpoint_address(url)
        reached = replace(address, host=self.address, family="IPv4") if here else address
        self.apply(
            endpoint_service(NAMESPACE, name, address, {}),
            endpoint_slice(NAMESPACE, name, reached, {}),
            endpoint_tls(NAMESPACE, name, address, {}),
        )
        return address.port

    def service(self, name: str, *shares: Share) -> None:
        door = endpoint_address(f"http://{self.address}:{self.port}")
        objects = service_objects(NAMESPACE, name, shares, door, {})
        self.apply(*objects.parts.values(), objects.route)

    def get(self, path: str) -> tuple[int, Plain]:
        """Status and body of the answer to a client."""
        try:
            with urllib.request.urlopen(f"http://{self.address}:{self.port}/{NAMESPACE}/{path}", timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, {}

    def servers(self) -> dict[str, list[str]]:
        """The servers behind each of Traefik's own services."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.api}/api/http/services", timeout=20) as answer:
            services = json.load(answer)
        return {
            each["name"]: [server["url"] for server in each.get("loadBalancer", {}).get("servers") or []]
            for each in services
        }


@contextmanager
def traefik(home: Path, address: str, kubeconfig: str, variables: dict[str, str]) -> Iterator[tuple[int, int]]:
    """The real gateway; its port for clients and that of its own API."""
    web, api = network.choose_ports(2, set())
    file = home / "kubeconfig"
    file.write_text(kubeconfig)
    argv = [
        str(toolbox.find()["traefik"]),
        f"--entrypoints.web.address=:{web}",
        f"--entrypoints.traefik.address=127.0.0.1:{api}",
        "--api.insecure=true",
        "--providers.kubernetesgateway=true",
        f"--providers.kubernetesgateway.statusaddress.ip={address}",
        "--providers.providersthrottleduration=200ms",
        "--log.level=INFO",
        "--global.checknewversion=false",
        "--global.sendanonymoususage=false",
    ]
    environment = {"PATH": os.environ["PATH"], "KUBECONFIG": str(file), **variables}
    with (home / "traefik.log").open("wb") as log:
        process = subprocess.Popen(argv, env=environment, stdout=log, stderr=log)
        try:
            yield web, api
        finally:
            process.terminate()
            process.wait(20)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    home, address = tmp_path_factory.mktemp("hub"), own_address()
    trusted, misnamed = certificate(home, NAME), certificate(home, "elsewhere.example")
    with ExitStack() as stack:
        bare = stack.enter_context(bare_cluster(home, "hub", 0, set()))
        with ApiServer("hub", bare.site.api_port, bare.site.pki) as server:
            server.apply_definitions(toolbox.find().definitions, time.monotonic() + SECONDS)
        variables = {"SSL_CERT_FILE": str(trusted.bundle(misnamed))}
        web, api = stack.enter_context(traefik(home, address, bare.kubeconfig, variables))
        found = Hub(
            cluster=bare,
            address=address,
            port=web,
            api=api,
            plain=stack.enter_context(serving()),
            trusted=stack.enter_context(serving(trusted.context())),
            misnamed=stack.enter_context(serving(misnamed.context())),
        )
        for name in (NAMESPACE, names.SYSTEM_NAMESPACE):
            found.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        found.apply(
            {
                "apiVersion": "gateway.networking.k8s.io/v1",
                "kind": "GatewayClass",
                "metadata": {"name": "traefik"},
                "spec": {"controllerName": "traefik.io/gateway-controller"},
            },
            gateway(names.HUB_GATEWAY, "traefik", [{"name": "web", "protocol": "HTTP", "port": web}], {}),
        )
        yield found


def test_a_service_without_endpoints_answers_503(hub: Hub) -> None:
    hub.service("empty")
    until(lambda: hub.get("empty/v1/models")[0] == 503, "the route is not taken in")


def test_an_endpoint_by_a_name_is_asked_for_by_that_name_and_keeps_the_rest_of_the_path(hub: Hub) -> None:
    port = hub.endpoint("named", f"http://{NAME}:{hub.plain}/", here=True)
    hub.service("named", Share(service="named", port=port, weight=1, rewrite_path="/openai/", host=NAME))
    until(lambda: hub.get("named/v1/models")[0] == 200, "the route is not taken in")
    assert hub.get("named/v1/models?x=1") == (200, {"path": "/openai/v1/models?x=1", "host": NAME})


def test_tls_is_spoken_on_any_port_and_the_name_is_checked(hub: Hub) -> None:
    for name, listens in (("tls", hub.trusted), ("wrong", hub.misnamed)):
        port = hub.endpoint(name, f"https://{NAME}:{listens}", here=True)
        hub.service(name, Share(service=name, port=port, weight=1, rewrite_path="/", host=NAME))
    until(lambda: hub.get("tls/v1/models")[0] == 200, "the endpoint is not reached")
    assert hub.get("tls/v1/models") == (200, {"path": "/v1/models", "host": NAME})
    until(lambda: hub.get("wrong/v1/models")[0] not in (404, 503), "the route is not taken in")
    assert hub.get("wrong/v1/models")[0] in (500, 502)


@pytest.mark.parametrize(
    ("name", "url"),
    [("six", "http://[2001:db8::1]:8080"), ("far", "http://far.example.com:8080"), ("safe", f"https://{NAME}:8443")],
)
def test_addresses_and_names_are_taken_in_as_they_are(hub: Hub, name: str, url: str) -> None:
    port = hub.endpoint(name, url)
    hub.service(name, Share(service=name, port=port, weight=1, rewrite_path="/"))
    until(lambda: [url] in hub.servers().values(), "the endpoint is not taken in")


def test_more_backends_than_a_rule_takes_keep_their_weights(hub: Hub) -> None:
    groups = [[f"a-{number:02}" for number in range(18)], ["b-0", "b-1"]]
    port = hub.endpoint("all", f"http://{hub.address}:{hub.plain}")
    weights = spread([(3, 18), (1, 2)])
    shares = [
        Share(service="all", port=port, weight=weight, rewrite_path=f"/{name}/")
        for group, of_group in zip(groups, weights, strict=True)
        for name, weight in zip(group, of_group, strict=True)
    ]
    hub.service("many", *shares)
    until(lambda: hub.get("many/v1/models")[0] == 200, "the route is not taken in")
    until(
        lambda: len([name for name in hub.servers() if "many-part" in name and "-svc-" in name]) == 20,
        "the parts are not taken in",
    )
    found: Counter[str] = Counter()
    for _ in range(240):
        status, body = hub.get("many/v1/models")
        assert status == 200
        found[body["path"].removesuffix("v1/models").strip("/")] += 1
    assert sum(found[name] for name in groups[0]) == 180
    assert {name: found[name] for name in groups[1]} == {"b-0": 30, "b-1": 30}
    assert max(found[name] for name in groups[0]) - min(found[name] for name in groups[0]) <= 1
