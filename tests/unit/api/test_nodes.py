"""Texts as trees: what a plain scalar stands for, where a node is, and both parsers giving the same answers."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from api import nodes
from api.codes import Code
from api.reading import read_file

SCALARS: dict[str, Any] = {
    "None": "None",
    "none": "none",
    "no": "no",
    "Yes": "Yes",
    "on": "on",
    "y": "y",
    "NO": "NO",
    "2026-11-29": "2026-11-29",
    "12:30:45": "12:30:45",
    "1.35": 1.35,
    "1.36.1": "1.36.1",
    "v1.36.1+3": "v1.36.1+3",
    "1e3": 1000.0,
    ".5": 0.5,
    ".": ".",
    ".inf": float("inf"),
    "0": 0,
    "-7": -7,
    "0o17": 15,
    "0x1F": 31,
    "0b11": 3,
    "1_000": 1000,
    "81559Mi": "81559Mi",
    "true": True,
    "False": False,
    "~": None,
    "null": None,
    '"null"': "null",
    "'1'": "1",
    "!!str 1": "1",
    '!!int "7"': 7,
    "=": "=",
    '"\\ud83d\\ude00"': "😀",
    "\\ud83d": "\\ud83d",
}


def value_of(text: str, directory: Path) -> Any:
    file = directory / "a.yaml"
    file.write_text(f"a: {text}\n")
    reading = read_file(file)
    assert reading.problems == []
    (document,) = reading.documents
    assert isinstance(document.value, dict)
    return document.value["a"]


@pytest.mark.parametrize("text", SCALARS)
def test_a_scalar_means_what_yaml_1_2_says(text: str, tmp_path: Path) -> None:
    found = value_of(text, tmp_path)
    assert (found, type(found)) == (SCALARS[text], type(SCALARS[text]))


@pytest.mark.parametrize(
    ("text", "told"),
    {"0777": "0777 is 511 to kubectl and 777 to YAML 1.2", "-010": "8 to kubectl", "089": "089 is 89 to YAML"}.items(),
)
def test_a_number_with_a_leading_zero_is_refused(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"a: {text}\n")
    (problem,) = read_file(tmp_path / "a.yaml").problems
    assert told in problem.message
    assert "quotes" in problem.hint


DEEP = {
    "lists in one line": "[" * 1_000_000,
    "mappings in one line": '{"a":' * 1_000_000,
    "lists in lists": "- " * 1_000_000,
    "keys of keys": "? " * 1_000_000,
    "ever further in": "".join(f"{' ' * depth}a:\n" for depth in range(2_000)),
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_nesting_fails_fast(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(text)
    began = time.process_time()
    (problem,) = read_file(tmp_path / "a.yaml").problems
    assert problem.code == Code.TOO_LARGE
    assert time.process_time() - began < 5


def test_a_list_of_documents_is_its_items(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: List\nitems:\n- kind: A\n- kind: B\n  x: 1\n")
    documents = read_file(tmp_path / "a.yaml").documents
    assert [(document.value, document.line(), document.line(("x",))) for document in documents] == [
        ({"kind": "A"}, 4, 4),
        ({"kind": "B", "x": 1}, 5, 6),
    ]


def test_a_list_without_items_stays_a_document(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: List\nitems: 7\n")
    assert len(read_file(tmp_path / "a.yaml").documents) == 1


def test_a_place_is_found_through_lists_maps_and_merges(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: &a\n  b: 1\nc:\n  - <<: *a\n    d: 2\n")
    (document,) = read_file(tmp_path / "a.yaml").documents
    paths: list[tuple[str | int, ...]] = [("a", "b"), ("c", 0), ("c", 0, "b"), ("c", 0, "d"), ("c", 3), ("c", 0, "e")]
    assert [document.line(path) for path in paths] == [2, 4, 2, 5, 3, 4]


def tree(text: str) -> Any:
    """The trees of a text as plain data, or the line where it stops to be YAML."""

    def plain(node: nodes.Node) -> Any:
        if node.shape == "scalar":
            return (node.tag, node.value) if not node.value else (node.tag, node.value, node.line, node.column)
        inner = [tuple(map(plain, item)) if isinstance(item, tuple) else plain(item) for item in node.value]
        return (node.tag, inner, node.line, node.column)

    try:
        return [plain(root) for root in nodes.documents(text)]
    except nodes.UnusableText as error:
        return error.line


FRAGMENTS = st.lists(
    st.sampled_from(
        [
            "a: ",
            "b",
            "- ",
            "\n",
            "\n  ",
            "\n    ",
            "'x y'",
            '"z"',
            "{",
            "}",
            "[",
            "]",
            ", ",
            "7",
            "1.5",
            "no",
            "~",
            "#c",
            "|\n",
            "k: v",
        ]
    ),
    max_size=20,
).map("".join)


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="there is one parser only")
@settings(max_examples=300, deadline=None)
@given(FRAGMENTS)
@example("a: b\n---\nc: [1, {d: e}]\n")
@example("a:\n- 1\n-  - 2\n")
def test_both_parsers_give_the_same_tree(text: str) -> None:
    fast = tree(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nodes, "_FASTEST", yaml.SafeLoader)
        slow = tree(text)
    if isinstance(fast, list) and isinstance(slow, list):
        assert fast == slow
    else:
        assert isinstance(fast, int) == isinstance(slow, int)
