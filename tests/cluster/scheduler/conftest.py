"""One simulated cluster for all questions to the real scheduler: up once, and gone afterwards whatever happens."""

import shutil
from collections.abc import Iterator

import pytest
from cluster.local.running import Running, free_port
from cluster.scheduler.real import CLUSTER, Real
from cluster.scheduler.worlds import local_pools

from local import fleet
from local.plan import HUB, LocalCluster, LocalPlan, home


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    running = Running(tmp_path_factory.mktemp("scheduler"), free_port())
    folder = home(running.directory)
    plan = LocalPlan(
        directory=running.directory,
        hub=LocalCluster(name=HUB, kubeconfig=folder / HUB / "kubeconfig"),
        clusters=(LocalCluster(name=CLUSTER, kubeconfig=folder / CLUSTER / "kubeconfig", pools=local_pools()),),
        host="127.0.0.1",
        port=running.port,
    )
    try:
        fleet.up(plan, progress=running.said.append)
        with Real.of(running) as cluster:
            yield cluster
    finally:
        running.down()
        shutil.rmtree(running.directory)
