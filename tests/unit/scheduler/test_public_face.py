"""What `scheduler` offers to those who import it, in a process in which nothing else was imported before."""

import subprocess
import sys
from pathlib import Path

import pytest

import scheduler

ROOT = Path(__file__).parents[3]

FACE = """
import sys
{first}
import scheduler
from api.classes import Device
device = Device.model_validate({{"name": "gpu", "driver": "g.example.com", "deviceClassName": "gpu"}})
assert scheduler.match("device.driver == 'g.example.com'", device) == scheduler.Match(matched=True)
assert scheduler.match("device.driver == 'x'", device) == scheduler.Match(matched=False)
assert "no such key" in scheduler.match("device.attributes['d'].x == 1", device).problem
assert scheduler.match("device.", device).problem == scheduler.compile_error("device.") != None
assert scheduler.schedule(scheduler.Snapshot(clusters=(), deployments=())).deployments == {{}}
assert not [name for name in scheduler.__all__ if type(getattr(scheduler, name)).__name__ == "module"]
assert not {{"pulumi", "lightkube", "typer", "rich"}} & set(sys.modules)
print("fine")
"""
FIRST = ["", "import scheduler.decide", "from scheduler import matcher, schedule", "import scheduler.cel"]


@pytest.mark.parametrize("first", FIRST)
def test_the_public_face_works_in_a_fresh_process(first: str) -> None:
    done = subprocess.run(  # this interpreter, on a text of this test
        [sys.executable, "-c", FACE.format(first=first)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


def test_every_name_of_the_public_face_says_what_it_is() -> None:
    values = {name: getattr(scheduler, name) for name in scheduler.__all__}
    assert sorted(scheduler.__all__) == scheduler.__all__
    assert [name for name, value in values.items() if callable(value) and not value.__doc__] == []
