"""Whatever lies in a file, the answer is a fleet or a list of problems, never a traceback."""

import json
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from unit.api.mutations import FLEETS
from unit.api.texts import problems

from api.loader import KINDS

TEXTS = st.text(max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)
DOCUMENTS = st.fixed_dictionaries(
    {
        "apiVersion": st.sampled_from(sorted({version for version, _ in KINDS})) | VALUES,
        "kind": st.sampled_from(sorted({kind for _, kind in KINDS})) | VALUES,
        "metadata": st.fixed_dictionaries({"name": st.just("a") | VALUES}, optional={"labels": VALUES}) | VALUES,
        "spec": VALUES,
    },
    optional={"data": VALUES, "stringData": VALUES},
)
EXAMPLE = (FLEETS / "models" / "deployment.yaml").read_bytes()
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def loads_or_refuses(directory: Path, content: bytes) -> None:
    (directory / "a.yaml").write_bytes(content)
    found = problems(directory)
    assert all(problem.hint and problem.file and problem.code.startswith("MP1") for problem in found)
    assert all(str(problem) for problem in found)


@QUICK
@given(st.binary(max_size=200))
@example(b"? ? a\n: b\n")
@example(b"&a [*a]")
@example(b"- &a\n- *a\n---\n*a")
@example(b"%YAML 1.1\n---\nyes: on\n")
@example(b"<<: [1]\n")
@example(b"? |\n  a\n: !!int x\n")
def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    loads_or_refuses(tmp_path, content)


@QUICK
@given(DOCUMENTS)
def test_any_document(tmp_path: Path, document: object) -> None:
    loads_or_refuses(tmp_path, json.dumps(document).encode())


@QUICK
@given(st.integers(0, len(EXAMPLE)), st.integers(0, 40), st.binary(max_size=8))
def test_any_slip_of_the_hand(tmp_path: Path, at: int, removed: int, added: bytes) -> None:
    loads_or_refuses(tmp_path, EXAMPLE[:at] + added + EXAMPLE[at + removed :])
