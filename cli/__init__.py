"""The command line `modelplane`: one command a file, output formats and exit codes, and no logic of its own.

Data goes to standard output; progress, warnings and errors go to standard error. A problem its reader can fix is
printed once, with its code, place and hint, and decides the exit code; anything else is a bug, keeps its traceback
and ends with 255.

What a command needs is imported when it runs: `modelplane --help` loads neither the engine nor the documents' models.
"""

import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from cli import (
    capacity,
    describe,
    destroy,
    doctor,
    drain,
    drift,
    env,
    explain,
    get,
    graph,
    history,
    init,
    kube_token,
    local,
    logs,
    outputs,
    plan,
    preview,
    rbac,
    reconcile,
    scale,
    schema,
    stacks,
    status,
    unlock,
    up,
    validate,
    version,
)

BUG = 255

__all__ = ["app", "main"]


_UsageError: type[Any] = next(found for found in typer.BadParameter.__mro__ if found.__name__ == "UsageError")


class Commands(TyperGroup):
    """The group of all commands; what is typed wrong, and a stop by the user, are errors of ours like any other."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Take the words apart that come before the command's name."""
        with _told_as_ours():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            with _told_as_ours():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            from api.errors import Cancelled

            raise Cancelled("stopped", hint="run the same command again, it goes on from where things are") from None


@contextmanager
def _told_as_ours() -> Iterator[None]:
    """Tell of an option, a command or a value that there is not as of every other error."""
    try:
        yield
    except _UsageError as error:
        context = getattr(error, "ctx", None)
        if context is None or type(error).__name__ == "NoArgsIsHelpError":
            raise
        from api.errors import InvocationError

        message = error.format_message().replace(": Value error, ", ": ").rstrip(".")
        hint = f"{context.command_path} --help tells what there is"
        raise InvocationError(message[:1].lower() + message[1:], hint=hint) from None


app = typer.Typer(
    cls=Commands,
    name="modelplane",
    help="Place models on a fleet of GPU clusters and put one URL in front of them.",
    epilog="Exit codes and error codes: docs/exit-codes.md.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for command in (
    init,
    validate,
    plan,
    preview,
    up,
    reconcile,
    drift,
    drain,
    scale,
    unlock,
    get,
    describe,
    status,
    explain,
    capacity,
    graph,
    destroy,
    stacks,
    outputs,
    history,
    logs,
    doctor,
    env,
    schema,
    rbac,
    version,
    kube_token,
):
    command.add_to(app)
app.add_typer(local.app, name="local")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code (design, section 5)."""
    try:
        with _terminable():
            app(arguments, prog_name="modelplane")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except Exception as error:  # noqa: BLE001 - the last place that can tell a bug from a fault
        return _report(error)
    return 0


@contextmanager
def _terminable() -> Iterator[None]:
    """Take SIGTERM as a stop by the user, too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _report(error: Exception) -> int:
    from api.errors import ModelplaneError
    from cli.printing import print_error

    if isinstance(error, ModelplaneError):
        print_error(error)
        return error.exit_code
    traceback.print_exception(error)
    sys.stderr.write("\nThis is a bug of Modelplane; please report it with the lines above.\n")
    return BUG
