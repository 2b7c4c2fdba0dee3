"""Every question that a fleet which is up answers: what is typed, and what its answer has to say of the story's canary.

The fleet is that of `examples/local` after its canary: `mock-demo` on one cluster, `mock-demo-v2` on the other, a tenth
of the requests to the latter, and no node left.
"""

import json
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from engine.fleets import Done, Scratch

EAST, WEST = "gpu-us-east", "gpu-eu-west"
OLD, NEW = "mock-demo-be445", "mock-demo-v2-5ef67"
FULL = r"pool h100 has 0 of 1 nodes free, needs 1"

ANSWERS: Mapping[str, tuple[str, ...]] = {
    "get md,mr,ms,ic -o wide": (
        r"modeldeployment\.modelplane\.ai/mock-demo +1 +1 +1 +True +Available",
        r"modeldeployment\.modelplane\.ai/mock-demo-v2 +1 +1 +1 +True +Available",
        rf"modelreplica\.modelplane\.ai/{OLD} +{WEST} +h100 +True",
        rf"modelreplica\.modelplane\.ai/{NEW} +{EAST} +h100 +True",
        rf"modelservice\.modelplane\.ai/mock +\S+/ml-team/mock +{OLD} 9,{NEW} 1 +True",
        rf"inferencecluster\.modelplane\.ai/{EAST} +Existing +[\d.]+ +\S+ +h100 1/1 +True",
    ),
    "get mr -o name --sort-by .spec.clusterName": (
        rf"\Amodelreplica\.modelplane\.ai/{OLD}\nmodelreplica\.modelplane\.ai/{NEW}\n\Z",
    ),
    "describe md mock-demo-v2": (
        r"ReplicasScheduled +True +ReplicasCreated +\d+[smh] +Scheduled 1 of 1 replicas",
        rf"ml-team +{NEW} +{EAST} +h100 +True",
    ),
    "describe secret hub-token": (r"token: +29 bytes",),
    "explain deployment/mock-demo": (
        rf"ml-team/{OLD} +keep +{WEST} +h100",
        rf"{WEST} +1 +0 +{FULL}",
        rf"{EAST} +0 +0 +{FULL}",
    ),
    "outputs cluster.gpu-us-east": (r"kubeconfig +\[secret\]", r"reachable +true"),
    "outputs demo.routing endpoints": (rf'"ml-team/{OLD}"', rf'"ml-team/{NEW}"'),
    "history routing": (r"demo\.routing .* update +succeeded +\d+ create", r"demo\.routing .* \d+ delete"),
    "logs routing --last 5": (
        rf"create +ModelEndpoint ml-team/{NEW}",
        r"delete +\w+ ml-team/mock-demo-49b71",
    ),
    "doctor": (
        r"ok +pulumi: \d+\.",
        r"ok +Backend: file://\S+: 9 stacks of this fleet",
        r"ok +Secrets of the state: can be decrypted",
        r"ok +Hub: its API server answers",
        rf"ok +Cluster {EAST}: its API server answers",
    ),
    "capacity": (r"ml-team/mock-demo +1 +1 +0 +-", r"ml-team/mock-demo-v2 +1 +1 +0 +-"),
    "plan": (
        rf"ml-team/{OLD} +keep +{WEST} +h100",
        rf"ml-team/{NEW} +keep +{EAST} +h100",
    ),
    "status -l modelplane.ai/cluster=gpu-us-east": (rf"\AREPLICA.*\nml-team/{NEW} +{EAST} +h100 +Ready +\d+[smh]\n\Z",),
    "status -n ml-team --sort-by .spec.clusterName": (
        rf"ml-team/{OLD} +{WEST} +h100 +Ready.*\nml-team/{NEW} +{EAST} ",
        rf"ml-team/mock +Ready +\S+ +{OLD} 9, {NEW} 1",
    ),
}
"""Regular expressions that the answer to each line has to match; all of them end with exit code 0."""


def ask(fleet: Scratch) -> dict[str, Done]:
    """The answers; two questions are asked at a time, as they only look."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(ANSWERS, pool.map(lambda line: fleet.run(*line.split()), ANSWERS), strict=True))


def wrong(answers: Mapping[str, Done]) -> dict[str, str]:
    """Questions whose answer does not say what it has to, with all that was said."""
    return {
        line: f"{pattern}\n{done.out}{done.err}"
        for line, done in answers.items()
        for pattern in ANSWERS[line]
        if done.code != 0 or not re.search(pattern, done.out)
    }


def draw(fleet: Scratch, folder: Path) -> tuple[str, str, list[Done]]:
    """The fleet's page, the page of what its next `up` would do, and all that was printed and written."""
    texts, told = [], []
    for name, options in {"now": (), "planned": ("--plan",)}.items():
        file = folder / f"{name}.html"
        told.append(fleet.run("graph", "-o", "html", *options, "--file", str(file)))
        texts.append(file.read_text())
    return texts[0], texts[1], [*told, *(Done(0, text, "") for text in texts)]


def drawn(page: str) -> tuple[dict[str, list[Any]], dict[tuple[str, str], str]]:
    """Things on a page by their names, and what is written on the ways between them."""
    found = re.search(r'<script type="application/json" id="graph">(.*?)</script>', page)
    assert found, "the page holds no graph"
    graph = json.loads(found[1])
    names = [f"{graph['columns'][node[0]][0]} {node[1]}" for node in graph["nodes"]]
    ways = {(names[source], names[target]): label for source, target, label, _ in graph["edges"]}
    return dict(zip(names, graph["nodes"], strict=True)), ways
