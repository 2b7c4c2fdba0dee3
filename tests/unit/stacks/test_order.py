"""The script for plain Pulumi, run by a real shell with a `pulumi` that writes down what it is told.

Outputs are files: `<stack>.<output>` holds what `pulumi stack output` prints, and a file `<stack>.after` what an `up`
of the stack does to them.
"""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from stacks.order import script

PULUMI = r"""#!/bin/sh
cd "$OUTPUTS"
case "$1 $2" in
"stack select") ;;
"stack output") [ -e "$6.$3" ] && cat "$6.$3" ;;
up*)
  shift 4
  name=$3; shift 3
  echo "up $name $*" >> calls
  [ ! -e "$name.fails" ]  || exit 255
  [ ! -e "$name.after" ] || . "./$name.after" ;;
*) echo "unexpected: $*" >> calls; exit 1 ;;
esac
"""


@dataclass(frozen=True)
class Shell:
    """A folder for the outputs of stacks, and a shell that runs a script on them."""

    folder: Path

    def write(self, **outputs: str) -> None:
        for name, text in outputs.items():
            (self.folder / name.replace("__", ".")).write_text(text + "\n")

    def run(self, clusters: Sequence[str] = ("east", "west")) -> "subprocess.CompletedProcess[str]":
        text = script("demo", clusters, ["printf", "%s\\n", "export FROM_ENV='a b'"])
        environment = {**os.environ, "PATH": f"{self.folder}/bin:/usr/bin:/bin", "OUTPUTS": str(self.folder)}
        return subprocess.run(
            ["sh"], input=text, env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    @property
    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().splitlines()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Two clusters that answer, and stacks that are what they should be; sleeping takes no time."""
    (tmp_path / "bin").mkdir()
    for name, body in {"pulumi": PULUMI, "sleep": '#!/bin/sh\necho slept >> "$OUTPUTS/calls"\n'}.items():
        (tmp_path / "bin" / name).write_text(body)
        (tmp_path / "bin" / name).chmod(0o755)
    made = Shell(tmp_path)
    for cluster in ("east", "west"):
        made.write(**{f"demo__cluster__{cluster}__reachable": "true"})
    made.write(demo__placement__ledger='{"replicas": []}')
    return made


ROUND = [
    "up demo.placement ",
    "up demo.routing ",
    "up demo.workloads.east --continue-on-error",
    "up demo.workloads.west --continue-on-error",
]
INFRASTRUCTURE = [
    "up demo.gateway ",
    "up demo.cluster.east --continue-on-error",
    "up demo.serving.east ",
    "up demo.cluster.west --continue-on-error",
    "up demo.serving.west ",
]


def test_a_fleet_that_is_right_is_seen_through_twice(shell: Shell) -> None:
    done = shell.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert shell.calls == INFRASTRUCTURE + 2 * ROUND


def test_a_round_that_changed_something_is_followed_by_another(shell: Shell) -> None:
    moved = "[ -e moved ] && echo '{\"a\": 1}' > demo.routing.endpoints; : > moved"
    shell.write(demo__routing__after=moved)
    assert shell.run().returncode == 0
    assert shell.calls == INFRASTRUCTURE + 3 * ROUND


def test_what_never_settles_ends(shell: Shell) -> None:
    shell.write(demo__routing__after="echo more >> demo.routing.endpoints")
    assert shell.run().returncode == 0
    assert shell.calls == INFRASTRUCTURE + 30 * ROUND


def test_replicas_that_start_are_waited_for(shell: Shell) -> None:
    ready = (
        'if [ -e asked ]; then echo \'{"x": {"ready": true}}\'; else echo \'{"x": {"ready": false}}\'; : > asked; fi'
    )
    shell.write(demo__workloads__east__after=f"{{ {ready}; }} > demo.workloads.east.replicas")
    assert shell.run().returncode == 0
    waited = ["slept", "up demo.workloads.east --continue-on-error"]
    assert shell.calls == INFRASTRUCTURE + ROUND + waited + ROUND


def test_a_cluster_that_does_not_answer_is_left_alone(shell: Shell) -> None:
    shell.write(demo__cluster__west__reachable="false")
    assert shell.run().returncode == 0
    assert [call for call in shell.calls if "west" in call] == ["up demo.cluster.west --continue-on-error"]
    assert shell.calls.count("up demo.workloads.east --continue-on-error") == 2


@pytest.mark.parametrize("stack", ["gateway", "serving.east", "routing", "workloads.west"])
def test_a_stack_that_fails_stops_no_other_and_is_told_in_the_end(shell: Shell, stack: str) -> None:
    (shell.folder / f"demo.{stack}.fails").touch()
    done = shell.run()
    assert done.returncode == 1
    assert done.stderr.endswith("some stacks failed, their errors are above\n")
    assert shell.calls == INFRASTRUCTURE + 2 * ROUND


def test_without_a_ledger_nothing_behind_it_is_touched(shell: Shell) -> None:
    """Placement fails when the guard stops it: what would follow from the old ledger waits."""
    (shell.folder / "demo.placement.fails").touch()
    done = shell.run()
    assert done.returncode == 255
    assert shell.calls == [*INFRASTRUCTURE, "up demo.placement "]


def test_an_environment_that_cannot_be_had_ends_it(shell: Shell) -> None:
    text = script("demo", [], ["sh", "-c", "exit 7"])
    done = subprocess.run(["sh"], input=text, env={"PATH": f"{shell.folder}/bin:/usr/bin:/bin"}, text=True, check=False)
    assert done.returncode == 7
    assert not (shell.folder / "calls").exists()


def test_a_fleet_without_clusters_has_a_gateway(shell: Shell) -> None:
    assert shell.run([]).returncode == 0
    assert shell.calls == ["up demo.gateway ", *2 * ["up demo.placement ", "up demo.routing "]]


def test_what_the_provider_leaves_goes_with_the_script(shell: Shell, tmp_path: Path) -> None:
    shell.write(demo__gateway__after='echo "$TMPDIR" > used; echo "$FROM_ENV" > from_env; : > "$TMPDIR/kubeconfig"')
    assert shell.run().returncode == 0
    assert not Path((shell.folder / "used").read_text().strip()).exists()
    assert (shell.folder / "from_env").read_text() == "a b\n"


def test_any_shell_will_do() -> None:
    text = script("demo", ["east"], ["/it's here/modelplane", "env", "-f", "/a fleet"])
    assert "environment=$('/it'\"'\"'s here/modelplane' env -f '/a fleet')\n" in text
    for name in ("sh", "bash", "dash"):
        try:
            done = subprocess.run([name, "-n"], input=text, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            continue
        assert (done.returncode, done.stderr) == (0, "")


def test_every_part_says_what_it_is_for() -> None:
    blocks = script("demo", ["east"], ["true"]).split("\n\n")
    silent = [block for block in blocks if not block.startswith(("#", "clusters=", "if [ "))]
    assert silent == []
