"""How long `modelplane validate` takes, and how much memory: `python -m benchmarks.validate`.

The whole command as a user meets it, on directories of one shape in growing sizes: per 10,000 documents 1,000 clusters,
2,000 deployments, 1,000 caches, 2,000 services and 4,000 outside endpoints. Time per document should not grow. Prints
a table in Markdown; nothing is asserted, seconds belong to the machine they were measured on.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
LARGEST = 10_000
HEAD = """\
| documents | clusters | deployments | seconds | of processor | ms of processor a document | MiB |
|---|---|---|---|---|---|---|
"""
PER_FILE = 100
CLASSES = 20
MEMORY = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("{}Gi")) >= 0'

Document = dict[str, Any]


def main() -> None:
    """Measure fleets of growing size and print a row each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=LARGEST, help="size of the largest fleet")
    largest = parser.parse_args().documents
    sys.stdout.write(HEAD)
    for size in (largest // 16, largest // 8, largest // 4, largest // 2, largest):
        with tempfile.TemporaryDirectory(prefix="modelplane-benchmark-") as scratch:
            written = write_fleet(Path(scratch), size)
            seconds, busy, memory = measure(Path(scratch))
        sizes = f"| {written:,} | {size // 10:,} | {size // 5:,} "
        sys.stdout.write(f"{sizes}| {seconds:.1f} | {busy:.1f} | {busy / written * 1000:.2f} | {memory:.0f} |\n")
        sys.stdout.flush()


def measure(directory: Path) -> tuple[float, float, float]:
    """Seconds, seconds of processor time and MiB of one `validate`.

    Raises:
        subprocess.CalledProcessError: the fleet is not valid.

    """
    command = [sys.executable, "-m", "cli", "validate", "-f", str(directory)]
    began = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def write_fleet(directory: Path, size: int) -> int:
    """Write a valid fleet of about so many documents, a hundred a file; how many there are."""
    writer = YAML()
    writer.explicit_start = True  # type: ignore[assignment]  # declared without a type
    everything = list(fleet(size))
    for number, start in enumerate(range(0, len(everything), PER_FILE)):
        with (directory / f"{number:04}.yaml").open("w") as stream:
            writer.dump_all(everything[start : start + PER_FILE], stream)
    (directory / "kubeconfig").write_text("apiVersion: v1\nkind: Config\n")
    return len(everything)


def fleet(size: int) -> Iterator[Document]:
    """Every document of a fleet; about `size` of them."""
    clusters, deployments, caches = size // 10, size // 5, size // 10
    secrets = [
        {"namespace": "modelplane-system", "name": name, "keys": {"kubeconfig": {"fromFile": "kubeconfig"}}}
        for name in ("hub", *(f"cluster-{number}" for number in range(clusters)))
    ]
    gateway = {"kubeconfigSecretRef": {"name": "hub"}}
    yield _document("Fleet", "bench", {"gateway": gateway, "secrets": secrets})
    yield _document("InferenceGateway", "default", {"backend": "Traefik", "traefik": {"version": "40.2.0"}})
    for number in range(CLASSES):
        yield _document("InferenceClass", f"class-{number}", {"devices": [_device(number)]})
    for number in range(clusters):
        yield _cluster(number)
    for number in range(deployments):
        yield _deployment(number, caches)
        selector = {"matchLabels": {"model": f"model-{number}"}}
        entries = [
            {"weight": 90, "selector": selector},
            {"weight": 10, "selector": {"matchLabels": {"outside": f"o{number}"}}},
        ]
        yield _document("ModelService", f"service-{number}", {"endpoints": entries}, _team(number))
    for number in range(caches):
        spec = {"source": "HuggingFace", "huggingFace": {"repo": f"org/model-{number}", "sizeGiB": 100}}
        yield _document("ModelCache", f"cache-{number}", spec, _team(number))
    for number in range(size - clusters - 2 * deployments - caches):
        labels = {"outside": f"o{number % deployments}"}
        spec = {"url": f"https://host-{number}.example", "rewritePath": "/"}
        yield _document("ModelEndpoint", f"endpoint-{number}", spec, _team(number % deployments), labels)


def _team(number: int) -> str:
    return f"team-{number % 25}"


def _document(
    kind: str, name: str, spec: Document, namespace: str = "", labels: dict[str, str] | None = None
) -> Document:
    metadata: Document = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": "modelplane.ai/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def _device(number: int) -> Document:
    return {
        "name": "gpu",
        "driver": "gpu.nvidia.com",
        "deviceClassName": "gpu.nvidia.com",
        "count": 8,
        "attributes": {"architecture": {"string": "Hopper"}, "generation": {"int": number}},
        "capacity": {"memory": {"value": f"{81559 + number}Mi"}},
    }


def _cluster(number: int) -> Document:
    pools = [
        {"name": f"pool-{pool}", "className": f"class-{(number + pool) % CLASSES}", "nodeCount": 4} for pool in range(3)
    ]
    source = {
        "source": "Existing",
        "existing": {"secretRef": {"name": f"cluster-{number}"}, "cache": {"storageClassName": "shared"}},
    }
    labels = {"region": f"region-{number % 40}", "tier": "prod" if number % 3 else "test"}
    return _document("InferenceCluster", f"cluster-{number}", {"cluster": source, "nodePools": pools}, labels=labels)


def _deployment(number: int, caches: int) -> Document:
    selectors = [{"cel": 'device.driver == "gpu.nvidia.com"'}, {"cel": MEMORY.format(20 + number % 50)}]
    container = {
        "name": "engine",
        "image": "registry.example/engine:1",
        "args": ["--model=org/model", "--max-model-len=32768"],
        "env": [{"name": "LOG_LEVEL", "value": "info"}],
    }
    member = {
        "nodeSelector": {"devices": [{"name": "gpu", "count": 8, "selectors": selectors}]},
        "template": {"spec": {"containers": [container]}},
    }
    shape: Document = {
        "clusterSelector": {"matchLabels": {"region": f"region-{number % 40}"}},
        "engines": [{"name": "main", "members": [member]}],
    }
    if number < caches:
        shape["modelCacheRef"] = {"name": f"cache-{number}"}
        container["args"][0] = f"--model=org/model-{number}"  # type: ignore[index]  # a list in a mapping of mixed values
    template = {"metadata": {"labels": {"model": f"model-{number}"}}, "spec": shape}
    return _document(
        "ModelDeployment", f"model-{number}", {"replicas": 1 + number % 3, "template": template}, _team(number)
    )


if __name__ == "__main__":
    main()
