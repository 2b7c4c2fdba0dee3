"""Asking before something is done that cannot be undone."""

import sys


def refuse_silence(command: str, *, yes: bool) -> None:
    """Refuse to go on where somebody has to be asked and there is nobody.

    Raises:
        InvocationError: there is no terminal.

    """
    from api.errors import InvocationError

    if not yes and not is_terminal():
        raise InvocationError(f"{command} asks first, and here is no terminal to ask on", hint="give --yes")


def ask(question: str, refused: str) -> None:
    """Ask on the terminal.

    Raises:
        Cancelled: the answer is anything but yes.

    """
    from api.errors import Cancelled

    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Cancelled(refused)


def is_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()
