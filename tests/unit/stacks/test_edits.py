"""Edits of documents: one value changes, every other character stays."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from api.terms import Taint
from stacks.edits import NoEdit, Subject, difference, with_replicas, with_taint, without_taint

DEPLOYMENT = Subject(kind="ModelDeployment", name="chat", namespace="ml-team")
CLUSTER = Subject(kind="InferenceCluster", name="us")
TAINT = Taint(key="modelplane.ai/drain", effect="NoExecute")
ITEM = "- {key: modelplane.ai/drain, effect: NoExecute}"

FILE = """\
# What the team serves.
apiVersion: modelplane.ai/v1alpha1
kind: ModelDeployment
metadata:
  name: chat   # the name in the URL
  namespace: "ml-team"
spec:
    # Two, so that one may go.
    replicas: 2          # not fewer
    template: {spec: {engines: []}}
---
apiVersion: modelplane.ai/v1alpha1
kind: InferenceCluster
metadata: {name: us}
spec:

  nodePools:   # one is enough
  - name:   gpu
    nodeCount: 3
"""


def changed(before: str, after: str) -> list[str]:
    """Lines that went and came."""
    lines = difference(before, after, "f").splitlines()[2:]
    return [line for line in lines if line[0] in "+-"]


def test_a_number_of_replicas_changes_in_its_place() -> None:
    assert changed(FILE, with_replicas(FILE, DEPLOYMENT, 5)) == [
        "-    replicas: 2          # not fewer",
        "+    replicas: 5          # not fewer",
    ]


def test_one_that_is_not_written_is_added() -> None:
    text = FILE.replace("    replicas: 2          # not fewer\n", "")
    assert changed(text, with_replicas(text, DEPLOYMENT, 0)) == ["+    replicas: 0"]


def test_a_cluster_gets_its_first_taint_and_loses_it_again() -> None:
    tainted = with_taint(FILE, CLUSTER, TAINT)
    assert changed(FILE, tainted) == ["+  taints:", f"+  {ITEM}"]
    assert without_taint(tainted, CLUSTER, TAINT.key) == FILE


OTHER = """\
  taints:
    # they have paid for it
    - key: team
      value: a
      effect: NoSchedule  # only new ones
"""


def test_a_taint_comes_first_and_leaves_the_others_alone() -> None:
    text = FILE + OTHER
    tainted = with_taint(text, CLUSTER, TAINT)
    assert changed(text, tainted) == [f"+    {ITEM}"]
    assert without_taint(tainted, CLUSTER, TAINT.key) == text
    assert changed(text, without_taint(text, CLUSTER, "team")) == [
        f"-{line}" for line in OTHER.splitlines() if "paid" not in line
    ], "comments stay, whatever goes"


@pytest.mark.parametrize(
    "text",
    [
        '{"apiVersion": "v", "kind": "InferenceCluster", "metadata": {"name": "us"}, "spec": {"nodePools": []}}',
        '{"kind": "InferenceCluster", "metadata": {"name": "us"}, "spec": {"taints": [], "nodePools": []}}\n',
        "kind: InferenceCluster\nmetadata: {name: us}\nspec: {nodePools: []} # one line\n",
        "kind: InferenceCluster\nmetadata: {name: us}\nspec:\n  taints: [{key: a, effect: NoSchedule}] # b\n",
        "kind: InferenceCluster\nmetadata: {name: us}\nspec: {}\n",
        "kind: InferenceCluster\nmetadata: {name: us}\nspec:\n  taints:\n  nodePools: []\n",
        "kind: InferenceCluster\nmetadata: {name: us}\nspec:\n  taints: [\n    {key: a,\n     effect: NoSchedule}]\n",
    ],
)
def test_every_layout_gets_the_taint_and_loses_it(text: str) -> None:
    before, tainted = parsed(text)[0], with_taint(text, CLUSTER, TAINT)
    old = before["spec"].get("taints") or []
    assert parsed(tainted)[0]["spec"]["taints"] == [{"key": TAINT.key, "effect": "NoExecute"}, *old]
    assert parsed(without_taint(tainted, CLUSTER, TAINT.key))[0]["spec"].get("taints", []) == old
    assert ("#" in tainted) is ("#" in text)


def test_json_stays_json() -> None:
    text = json.dumps({"kind": "InferenceCluster", "metadata": {"name": "us"}, "spec": {"nodePools": []}}, indent=2)
    assert json.loads(with_taint(text, CLUSTER, TAINT))["spec"]["taints"][0]["key"] == TAINT.key


@pytest.mark.parametrize(
    "subject", [Subject(kind="ModelDeployment", name="other"), Subject(kind="ModelDeployment", name="chat")]
)
def test_a_document_that_is_not_there_is_not_made(subject: Subject) -> None:
    with pytest.raises(NoEdit):
        with_replicas(FILE, subject, 1)


def parsed(text: str) -> list[Any]:
    return list(YAML(typ="safe", pure=True).load_all(text))


names = st.sampled_from(["chat", "other", "Chat"])
indents = st.integers(1, 6)
comments = st.sampled_from(["", "  # a: comment", " #"])


@given(
    st.lists(
        st.tuples(names, indents, comments, st.integers(0, 9), st.booleans()),
        min_size=1,
        max_size=4,
        unique_by=lambda row: row[0],
    ),
    st.integers(0, 99),
)
def test_whatever_is_around_it_one_value_changes(rows: list[tuple[str, int, str, int, bool]], replicas: int) -> None:
    text = "---\n".join(
        f"kind: ModelDeployment{comment}\nmetadata:\n{' ' * indent}name: {name}\nspec:{comment}\n"
        + (f"{' ' * indent}replicas: {count}{comment}\n" if written else "")
        + f"{' ' * indent}template: {{a: 'b: c'}}{comment}\n"
        for name, indent, comment, count, written in rows
    )
    subject = Subject(kind="ModelDeployment", name=rows[0][0])
    after = with_replicas(text, subject, replicas)
    meant = parsed(text)
    meant[0]["spec"]["replicas"] = replicas
    assert parsed(after) == meant
    assert len(changed(text, after)) <= 2
    assert after.count("#") == text.count("#")
