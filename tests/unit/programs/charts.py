"""A release as programs install it, and a stand-in for the API server that has it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import httpx2

from components.charts import HelmRelease
from components.mirrors import ChartLocation

LWS = HelmRelease(
    key="leader-worker-set",
    chart="lws",
    version="v0.8.0",
    location=ChartLocation(chart="lws"),
    namespace="lws-system",
    values={},
)


def connecting(
    handle: Callable[[httpx2.Request], httpx2.Response],
) -> Callable[[str], AbstractContextManager[httpx2.Client]]:
    """What takes the place of `programs.releases.connected`: requests are answered by a function."""

    @contextmanager
    def connected(kubeconfig: str) -> Iterator[httpx2.Client]:
        with httpx2.Client(transport=httpx2.MockTransport(handle), base_url="https://cluster.example") as client:
            yield client

    return connected
