"""Faults of files: each is one error with its place and what to do. And which files are read at all."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from unit.api.texts import CLASS, CLUSTER, FLEET, places, problems, write

from api.codes import Code
from api.errors import InvalidFleet, Severity
from api.loader import load
from api.reading import LARGEST_FILE

FILES: dict[str, tuple[dict[str, str | bytes], tuple[str, str, int, str]]] = {
    "not YAML": ({"a.yaml": "a: 1\nb: c: d\n"}, (Code.NOT_YAML, "a.yaml", 2, "")),
    "not JSON": ({"a.json": '{\n"a": [1,\n}'}, (Code.NOT_YAML, "a.json", 3, "")),
    "an unclosed quote": ({"a.yaml": 'a: "b\n'}, (Code.NOT_YAML, "a.yaml", 1, "")),
    "a control character": ({"a.yaml": "a: b\nc: \x07\n"}, (Code.NOT_YAML, "a.yaml", 2, "")),
    "an unknown tag": ({"a.yaml": "a: b\nc: !vault x\n"}, (Code.NOT_YAML, "a.yaml", 2, "")),
    "an object of Python": ({"a.yaml": "a: !!python/object/apply:os.getcwd []\n"}, (Code.NOT_YAML, "a.yaml", 1, "")),
    "an undefined alias": ({"a.yaml": "a: *b\n"}, (Code.NOT_YAML, "a.yaml", 1, "")),
    "a number beyond reason": ({"a.yaml": f"a: {'9' * 5000}\n"}, (Code.NOT_YAML, "a.yaml", 1, "")),
    "half a surrogate pair": ({"a.json": '{"a": "\\ud83d"}'}, (Code.NOT_YAML, "a.json", 1, "")),
    "an alias of itself": ({"a.yaml": "a: &x\n  b: [*x]\n"}, (Code.NOT_YAML, "a.yaml", 1, "")),
    "a list as a key": ({"a.yaml": "? [a]\n: b\n"}, (Code.NOT_YAML, "a.yaml", 1, "")),
    "empty": ({"a.yaml": ""}, (Code.EMPTY_FILE, "a.yaml", 1, "")),
    "blank": ({"a.yaml": "\n  \n"}, (Code.EMPTY_FILE, "a.yaml", 1, "")),
    "binary": ({"a.yaml": b"a: b\n\x00\x01"}, (Code.NOT_TEXT, "a.yaml", 2, "")),
    "another encoding": ({"a.yaml": "a: ä\n".encode("utf-16")}, (Code.NOT_TEXT, "a.yaml", 1, "")),
    "Latin-1": ({"a.yaml": "a: b\nc: ä\n".encode("latin-1")}, (Code.NOT_TEXT, "a.yaml", 2, "")),
    "too large": ({"a.yaml": b"#" * (LARGEST_FILE + 1)}, (Code.TOO_LARGE, "a.yaml", 1, "")),
    "too deep": ({"a.yaml": "[" * 100_000}, (Code.TOO_LARGE, "a.yaml", 1, "")),
    "a duplicate key": (
        {"a.yaml": CLASS.replace("kind:", "kind: Fleet\nkind:")},
        (Code.DUPLICATE_KEY, "a.yaml", 3, ""),
    ),
    "a list": ({"a.yaml": "- a\n- b\n"}, (Code.NOT_A_DOCUMENT, "a.yaml", 1, "")),
    "a text": ({"a.yaml": "text\n"}, (Code.NOT_A_DOCUMENT, "a.yaml", 1, "")),
    "another program's settings": ({"a.yaml": "services: {}\n"}, (Code.NOT_A_DOCUMENT, "a.yaml", 1, "")),
    "no kind": ({"a.yaml": CLASS.replace("kind: InferenceClass\n", "")}, (Code.MISSING_FIELD, "a.yaml", 1, "kind")),
    "a kind that is a number": (
        {"a.yaml": CLASS.replace("InferenceClass", "7")},
        (Code.WRONG_TYPE, "a.yaml", 2, "kind"),
    ),
    "no name": (
        {"a.yaml": CLASS.replace("  name: h", "  labels: {}\n  #")},
        (Code.MISSING_FIELD, "a.yaml", 3, "metadata.name"),
    ),
    "a null name": ({"a.yaml": CLASS.replace("h100x8", "")}, (Code.MISSING_FIELD, "a.yaml", 4, "metadata.name")),
    "an unknown kind": ({"a.yaml": CLASS.replace("Class\n", "Clas\n")}, (Code.UNKNOWN_KIND, "a.yaml", 2, "kind")),
    "a replica by hand": (
        {"a.yaml": CLASS.replace("InferenceClass", "ModelReplica")},
        (Code.UNKNOWN_KIND, "a.yaml", 2, "kind"),
    ),
    "a pod": ({"a.yaml": "apiVersion: v1\nkind: Pod\n"}, (Code.UNKNOWN_KIND, "a.yaml", 2, "kind")),
    "a later version": (
        {"a.yaml": CLASS.replace("v1alpha1", "v1")},
        (Code.UNKNOWN_API_VERSION, "a.yaml", 1, "apiVersion"),
    ),
    "another system": (
        {"a.yaml": "apiVersion: apps/v1\nkind: Deployment\n"},
        (Code.UNKNOWN_API_VERSION, "a.yaml", 1, "apiVersion"),
    ),
    "no documents": ({"notes.txt": "text"}, (Code.NO_DOCUMENTS, ".", 0, "")),
}


@pytest.mark.parametrize(("files", "expected"), FILES.values(), ids=FILES)
def test_a_fault_of_a_file_is_one_error(
    files: dict[str, str | bytes], expected: tuple[str, str, int, str], tmp_path: Path
) -> None:
    write(tmp_path, files)
    assert places(tmp_path, Severity.ERROR) == [expected]
    assert all(problem.hint for problem in problems(tmp_path))


def test_what_is_read_and_what_is_not(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    directory = tmp_path / "fleet"
    write(
        directory,
        {
            "a.yaml": CLASS,
            "deep/er/b.yml": CLASS.replace("h100x8", "b"),
            "c.json": '{"apiVersion": "modelplane.ai/v1alpha1", "kind": "Fleet", "metadata": {"name": "p\\u0072od"}}',
            "many.yaml": f"{CLASS.replace('h100x8', 'd')}---\n{CLASS.replace('h100x8', 'e')}",
            ".hidden/f.yaml": "not: [yaml",
            ".g.yaml": "not: [yaml",
            "Pulumi.yaml": "name: fleet\nruntime: python\n",
            "Pulumi.prod.yaml": "config: {}\n",
            "notes.md": "not: [yaml",
        },
    )
    write(outside, {"h.yaml": CLASS.replace("h100x8", "h"), "i": CLASS.replace("h100x8", "i")})
    (directory / "linked").symlink_to(outside, target_is_directory=True)
    (directory / "around").symlink_to(directory, target_is_directory=True)
    documents = load(directory, [outside / "i", directory / "a.yaml"])
    assert sorted(documents.classes) == ["b", "d", "e", "h", "h100x8", "i"]
    assert documents.fleet is not None
    assert documents.fleet.name == "prod"
    assert documents.where(documents.classes["e"]) == f"{directory}/many.yaml:12"
    assert documents.where(documents.classes["e"], ("spec", "devices", 0, "count")) == f"{directory}/many.yaml:21"


def _make_fifo(path: Path) -> None:
    os.mkfifo(path)


UNREADABLE: dict[str, Callable[[Path], None]] = {
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a pipe": _make_fifo,
}


@pytest.mark.parametrize("make", UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_an_error(make: Callable[[Path], None], tmp_path: Path) -> None:
    write(tmp_path, {"b.yaml": CLUSTER})
    make(tmp_path / "a.yaml")
    assert places(tmp_path, Severity.ERROR) == [(Code.UNREADABLE, "a.yaml", 1, "")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_without_permission_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": CLASS, "b.yaml": CLUSTER})
    (tmp_path / "a.yaml").chmod(0)
    assert places(tmp_path, Severity.ERROR) == [(Code.UNREADABLE, "a.yaml", 1, "")]


def test_a_directory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidFleet, match="cannot be listed") as refusal:
        load(tmp_path / "nowhere")
    assert [problem.code for problem in refusal.value.problems] == [Code.UNREADABLE]


def test_a_file_that_brings_a_value_is_no_document(tmp_path: Path) -> None:
    source = "spec:\n  secrets:\n    - name: s\n      keys: {k: {fromFile: ../keys/k.yaml}}\n"
    write(tmp_path, {"fleet/f.yaml": FLEET + source, "keys/k.yaml": "not: [yaml", "fleet/c.yaml": CLASS})
    assert places(tmp_path, Severity.ERROR) == []


def test_a_few_aliases_are_fine_and_a_bomb_is_refused(tmp_path: Path) -> None:
    shared = CLASS.replace("    - name: gpu", "    - &gpu\n      name: gpu") + "    - <<: *gpu\n      name: second\n"
    write(tmp_path, {"a.yaml": shared})
    assert load(tmp_path).classes["h100x8"].spec.devices[1].count == 8
    levels = "".join(f"l{n + 1}: &l{n + 1} [{', '.join([f'*l{n}'] * 10)}]\n" for n in range(12))
    write(tmp_path, {"b.yaml": f"l0: &l0 [a, a, a]\n{levels}"})
    assert places(tmp_path, Severity.ERROR) == [(Code.TOO_LARGE, "b.yaml", 1, "")]
