"""Documents as text, for tests of files and lines, and what the loader says of a directory of them."""

from pathlib import Path

from api.errors import InvalidFleet, Problem, Severity
from api.loader import load

CLASS = """\
apiVersion: modelplane.ai/v1alpha1
kind: InferenceClass
metadata:
  name: h100x8
spec:
  devices:
    - name: gpu
      driver: gpu.nvidia.com
      deviceClassName: gpu.nvidia.com
      count: 8
"""
CLUSTER = """\
apiVersion: modelplane.ai/v1alpha1
kind: InferenceCluster
metadata:
  name: us
spec:
  cluster:
    source: Existing
    existing:
      secretRef:
        name: us-kubeconfig
  nodePools:
    - name: gpu
      className: h100x8
"""
DEPLOYMENT = """\
apiVersion: modelplane.ai/v1alpha1
kind: ModelDeployment
metadata:
  name: qwen
  namespace: ml-team
spec:
  replicas: 1
  template:
    spec:
      engines:
        - name: main
          members:
            - nodeSelector:
                devices:
                  - name: gpu
                    selectors:
                      - cel: device.driver ==
              template:
                spec:
                  containers:
                    - name: engine
                      image: registry.example/engine:1
"""
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: us-kubeconfig, namespace: modelplane-system}
stringData: {kubeconfig: text}
"""
FLEET = """\
apiVersion: modelplane.ai/v1alpha1
kind: Fleet
metadata: {name: prod}
"""


def write(directory: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())


def problems(directory: Path) -> tuple[Problem, ...]:
    try:
        return load(directory, check_cel=lambda text: None if text.endswith("true") else "unexpected end").warnings
    except InvalidFleet as refusal:
        return refusal.problems


def places(directory: Path, severity: Severity) -> list[tuple[str, str, int, str]]:
    return [
        (problem.code, str(Path(problem.file).relative_to(directory)), problem.line, problem.path)
        for problem in problems(directory)
        if problem.severity is severity
    ]
