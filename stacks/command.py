"""Running the Pulumi CLI: each command in a session of its own, and nothing of it left when it has ended.

The terminal sends its Ctrl-C to the run alone, so a first one lets engines finish. What an operation says goes to
files without a name rather than pipes: an engine whose run was killed could not write to those, and would end in the
middle of a step.
"""

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

from pulumi import automation
from pulumi.automation import errors as engine_errors

from api.errors import Cancelled
from stacks.processes import MARK, Process, in_session, marked, send, this_run

OPERATIONS = frozenset({"up", "destroy", "refresh", "preview"})
"""Commands that start an engine. Others read the state, and are over in a moment."""

OnOutput = Callable[[str], Any]


class EngineKilled(engine_errors.CommandError):
    """The CLI was ended by a signal: it could neither record what it was doing nor give up its lock."""

    def __init__(self, result: automation.CommandResult) -> None:
        super().__init__(result)
        self.signal = signal.Signals(-result.code)
        self.args = (f"the Pulumi CLI was ended by {self.signal.name}",)


class RunningEngines:
    """Commands of this run that are under way, and how to end them; from any thread."""

    def __init__(self) -> None:
        self.run = this_run()
        self._lock = threading.Lock()
        self._operations: list[subprocess.Popen[str]] = []
        self._cancelled = False

    def execute(self, command: Sequence[str], cwd: str, variables: Mapping[str, str]) -> automation.CommandResult:
        """Run one command to its end, and end what it left.

        Raises:
            Cancelled: it would start an engine, and engines are to end.

        """
        operation = not OPERATIONS.isdisjoint(command[1:4])
        with ExitStack() as stack:
            out, err = (
                stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace"))
                if operation
                else None
                for _ in range(2)
            )
            process = self._start(command, cwd, variables, out, err)
            try:
                said, complained = process.communicate()
            finally:
                with self._lock, suppress(ValueError):
                    self._operations.remove(process)
                send(in_session(process.pid, self.run.mark), signal.SIGKILL)
            said, complained = _text(out, said), _text(err, complained)
        return automation.CommandResult(said, complained, process.returncode)

    @property
    def cancelled(self) -> bool:
        """Whether engines were asked to end."""
        return self._cancelled

    def cancel(self) -> int:
        """Ask engines to end as soon as they can, and start no other; how many were asked."""
        with self._lock:
            self._cancelled = True
            for process in self._operations:
                process.send_signal(signal.SIGINT)
            return len(self._operations)

    def kill(self) -> list[Process]:
        """End at once everything this run has started; what that was."""
        left = marked(self.run.mark)
        send(left, signal.SIGKILL)
        return left

    def _start(
        self,
        command: Sequence[str],
        cwd: str,
        variables: Mapping[str, str],
        out: IO[str] | None,
        err: IO[str] | None,
    ) -> "subprocess.Popen[str]":
        with self._lock:
            if out and self._cancelled:
                raise Cancelled("not begun, the run is being cancelled")
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env={**variables, MARK: self.run.mark},
                stdin=subprocess.DEVNULL,
                stdout=out or subprocess.PIPE,
                stderr=err or subprocess.PIPE,
                encoding="utf-8",
                start_new_session=True,
            )
            if out:
                self._operations.append(process)
        return process


class EngineCommand(automation.PulumiCommand):
    """The CLI as the Automation API calls it, run as this module runs it."""

    def __init__(self, root: Path, running: RunningEngines) -> None:
        super().__init__(root=str(root), skip_version_check=False)
        self._running = running

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: OnOutput | None = None,
        on_error: OnOutput | None = None,
    ) -> automation.CommandResult:
        """Run one command; what it said is handed on when it has ended.

        Raises:
            CommandError: it failed; EngineKilled when it was ended by a signal.

        """
        variables = {**os.environ, **additional_env, "PULUMI_AUTOMATION_API": "true"}
        variables["PATH"] = f"{Path(self.command).parent}{os.pathsep}{variables.get('PATH', '')}"
        result = self._running.execute([self.command, "--non-interactive", *args], cwd, variables)
        for heard, text in ((on_output, result.stdout), (on_error, result.stderr)):
            if heard is not None:
                for line in text.splitlines():
                    heard(line)
        if result.code < 0:
            raise EngineKilled(result)
        if result.code:
            raise engine_errors.create_command_error(result)
        return result


def _text(file: IO[str] | None, piped: str) -> str:
    if file is None:
        return piped.rstrip("\n")
    file.seek(0)
    return file.read().rstrip("\n")
