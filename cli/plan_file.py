"""The file of `preview --save-plan` and `up --plan`: written beside a preview, and held against what is now."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from api.errors import InvocationError
from cli.observed import write
from cli.printing import say
from programs.context import Permissions

if TYPE_CHECKING:
    from api.documents import FleetDocuments
    from stacks.engine import Engine
    from stacks.environment import Environment
    from stacks.preview_report import PreviewReport
    from stacks.saved_plan import SavedPlan


def seen(environment: "Environment", documents: "FleetDocuments") -> "SavedPlan":
    """What a preview that begins now is made of.

    Raises:
        UnreadableStack: the backend, or the state of a stack, cannot be read.

    """
    from stacks.engine import Engine
    from stacks.plan_sight import look

    return look(Engine(environment, documents), documents)


def save(file: Path, before: "SavedPlan", report: "PreviewReport", permissions: Permissions) -> None:
    """Write what a preview was made of; where it has errors there is no plan to keep.

    Raises:
        InvocationError: MP204, the file cannot be written.

    """
    from cli.preview_tables import sentence
    from stacks.saved_plan import permissions_plain

    if report.errors:
        say(f"{file}: no plan is kept, for the preview has errors")
        return
    silent = sorted(name for name, cluster in before.clusters.items() if not cluster.reachable)
    if silent:
        say(f"warning: {', '.join(silent)} did not answer; the plan holds while that is so")
    write(replace(before, permissions=permissions_plain(permissions), summary=sentence(report)).text(), file)
    file.chmod(0o600)
    say(f"{file}: `modelplane up --plan {file}` does this, and nothing where something has moved")


def read(file: Path, given: Permissions, *, whole: bool) -> "SavedPlan":
    """Read a plan. What it was permitted it brings with it.

    Raises:
        InvocationError: it cannot be read, permissions are given besides, or only a part of the fleet is meant.

    """
    from stacks.saved_plan import from_text

    if not whole:
        raise InvocationError("a plan is of the whole fleet, and -l chooses clusters", hint="leave out one of them")
    if given != Permissions():
        hint = "give them to `preview --save-plan`; the plan brings them with it"
        raise InvocationError("a plan has its permissions, and others are given besides", hint=hint)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        hint = "name a file that `modelplane preview --save-plan FILE` wrote"
        reason = problem.strerror if isinstance(problem, OSError) else "it is no text"
        raise InvocationError(f"cannot be read: {reason}", where=str(file), hint=hint, code="MP203") from None
    return from_text(text, str(file))


def refuse_other(plan: "SavedPlan", file: Path, engine: "Engine", documents: "FleetDocuments") -> None:
    """Stop where something has moved since the plan was made; no stack has been touched.

    Raises:
        PlanMoved: naming what.
        UnreadableStack: the backend, or the state of a stack, cannot be read.

    """
    from stacks.plan_sight import look
    from stacks.saved_plan import refuse_moved

    refuse_moved(plan, look(engine, documents), str(file))
    say(f"{file}: documents, state and nodes are those of the plan: {plan.summary}")
