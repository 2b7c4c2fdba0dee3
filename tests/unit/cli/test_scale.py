"""`modelplane scale` on documents that cannot be written: the edit is printed, for where they come from."""

import os
from pathlib import Path

from unit.cli.running import Run


def test_documents_that_cannot_be_written_keep_what_they_say_and_the_edit_is_printed(run: Run, fleet: Path) -> None:
    (fleet / f".mock-demo.yaml.{os.getpid()}").mkdir()  # where the new text would be written first
    before = {file: file.read_text() for file in fleet.glob("*.yaml")}
    done = run("scale", "deployment/mock-demo", "--replicas", "1", "-f", str(fleet))
    assert done.code == 2, done.err
    assert "-  replicas: 2" in done.out
    assert "+  replicas: 1" in done.out
    assert "cannot be written: Is a directory" in done.err
    assert "hint: make this edit where the documents come from" in done.err
    assert {file: file.read_text() for file in fleet.glob("*.yaml")} == before
