"""What `drain`, `undrain` and `scale` have in common: foresee, show, edit the document, bring the fleet up."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from api.base import Kind
from api.documents import FleetDocuments
from api.errors import InvalidFleet, InvocationError, LockHeld
from cli.fleet import Place, fleet_of, load_checked, load_documents, place_of
from cli.options import Output
from cli.printing import data, print_plain, say, table
from cli.progress import Clock, Progress
from cli.summary import closing, print_failures, summary
from programs.context import Permissions
from scheduler.snapshot import DeploymentKey
from stacks import state
from stacks.converge import Options, Pass
from stacks.day_two import Foreseen, foresee
from stacks.edits import Subject, difference
from stacks.engine import Engine
from stacks.environment import Environment, environment_of
from stacks.interrupt import interruptible
from stacks.lock import pass_lock
from stacks.plan import fleet_stacks
from stacks.skipping import Notes
from stacks.status import FleetOutputs

SHORT = 20
LOCK_SECONDS = 300.0
"""How long another run, such as the loop's, is waited for."""
POLL_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """An edit: of which document, in the documents at hand and in its text."""

    subject: Subject
    change: Callable[[FleetDocuments], FleetDocuments]
    edit: Callable[[str], str]
    is_so: Callable[[FleetDocuments], bool]
    emptied: str = ""
    """A cluster that is to be emptied."""
    force: bool = False
    """Write it even where something finds no place."""


@dataclass(frozen=True, kw_only=True)
class Doing:
    """How it is done; `wait` in seconds."""

    output: Output
    dry_run: bool
    parallel: int
    wait: float | None
    debug: bool


def carry_out(paths: Sequence[Path] | None, wanted: Wanted, doing: Doing) -> int:
    """Foresee what the edit comes to, write it, and bring the fleet up; the exit code.

    Raises:
        InvocationError: there is no such document, or it cannot be written; what to write is printed then.
        InvalidFleet: documents cannot be used, before or after the edit.
        LockHeld: another run works on the fleet and does not end.

    """
    place = place_of(paths)
    documents = load_documents(place) if doing.dry_run else load_checked(place)
    name = fleet_of(documents).name
    document = _document(documents, wanted.subject)
    environment = environment_of(place.directory)
    if doing.dry_run:
        return _plan(documents, document, wanted, doing, _outputs(environment, documents))[0]
    with _patient_lock(environment.folder):
        engine = Engine(environment, documents, debug=say if doing.debug else None, say=say)
        code, foreseen = _plan(documents, document, wanted, doing, _outputs(environment, documents))
        if code == SHORT:
            return code
        if not wanted.is_so(documents):
            documents = _written(place, documents, document, wanted)
            engine.documents = documents
        permissions = Permissions(deletions=frozenset({foreseen.digest}))
        return _up(engine, documents, permissions, doing, name)


def documented_deployment(paths: Sequence[Path] | None, what: str, namespace: str | None) -> DeploymentKey:
    """The deployment that `deployment/NAME` means, among the documents.

    Raises:
        InvocationError: there is none, or several.

    """
    kind, _, name = what.partition("/")
    if kind.lower() not in {"deployment", "deployments", "modeldeployment"} or not name or "/" in name:
        hint = "write deployment/NAME, with -n NAMESPACE where several are called so"
        raise InvocationError(f"{what} is no deployment", hint=hint)
    known = sorted(load_documents(place_of(paths)).deployments)
    found = [key for key in known if key[1] == name and namespace in {None, key[0]}]
    if len(found) == 1:
        return found[0]
    shown = ", ".join("/".join(key) for key in found or known)
    problem = f"several deployments are called {name}" if found else f"there is no deployment {name}"
    raise InvocationError(problem, hint=f"name one with -n: {shown}" if found else f"there are {shown}", code="MP201")


def _document(documents: FleetDocuments, subject: Subject) -> Kind:
    if subject.kind == "ModelDeployment":
        return documents.deployments[subject.namespace, subject.name]
    found = documents.clusters.get(subject.name)
    if found is None:
        hint = f"there are {', '.join(sorted(documents.clusters))}"
        raise InvocationError(f"there is no cluster {subject.name} among the documents", hint=hint, code="MP201")
    return found


def _outputs(environment: Environment, documents: FleetDocuments) -> FleetOutputs:
    """What the stacks last exported.

    Raises:
        UnreadableStack: one is there and cannot be read.

    """
    if not state.has_state(environment):
        return FleetOutputs()
    outputs, problems = state.observe(environment, fleet_of(documents).name)
    if problems:
        raise problems[0]
    return outputs


def _plan(
    documents: FleetDocuments, document: Kind, wanted: Wanted, doing: Doing, outputs: FleetOutputs
) -> tuple[int, Foreseen]:
    """Show what the edit comes to; with a dry run the edit itself besides."""
    foreseen = foresee(documents, wanted.change(documents), outputs, wanted.emptied)
    stops = bool(foreseen.homeless) and not wanted.force
    edit = _difference(documents, document, wanted) if doing.dry_run and not stops else ""
    if doing.output is Output.TABLE:
        data(_told(foreseen, wanted) + edit)
    elif doing.dry_run or stops:
        print_plain({**foreseen.plain(), "edit": edit}, doing.output)
    if stops:
        say("nothing was written; --force writes it all the same, and what has no place ends")
    return (SHORT if foreseen.homeless and (stops or doing.dry_run) else 0), foreseen


def _told(foreseen: Foreseen, wanted: Wanted) -> str:
    rows = [(move.deployment, move.replica, move.before or "-", move.after or "-", move.why) for move in foreseen.moves]
    text = table(("DEPLOYMENT", "REPLICA", "FROM", "TO", "WHY"), rows) if rows else "nothing moves\n"
    for key, clusters in foreseen.homeless.items():
        text += f"{key} would be short, nothing else has room for it:\n"
        text += "".join(f"  {name}: {'; '.join(why)}\n" for name, why in sorted(clusters.items()))
    if foreseen.staying:
        text += f"stays on {wanted.emptied}, its deployment tolerates the taint: {', '.join(foreseen.staying)}\n"
    return text


def _difference(documents: FleetDocuments, document: Kind, wanted: Wanted) -> str:
    file = documents.file(document)
    if file is None or wanted.is_so(documents):
        return ""
    text = file.read_text(encoding="utf-8")
    return difference(text, wanted.edit(text), str(file))


def _written(place: Place, documents: FleetDocuments, document: Kind, wanted: Wanted) -> FleetDocuments:
    """Write the edit, whole or not at all, and read the documents again; what makes them unusable is taken back."""
    file = documents.file(document)
    if file is None or not file.is_file():
        raise InvocationError(f"{document.subject} was not read from a file", hint="edit it where it comes from")
    before = file.read_text(encoding="utf-8")
    after = wanted.edit(before)
    shown = difference(before, after, str(file))
    try:
        _replace(file, after)
    except OSError as problem:
        data(shown)
        hint = "make this edit where the documents come from"
        raise InvocationError(f"cannot be written: {problem.strerror}", where=str(file), hint=hint) from None
    try:
        found = load_checked(place)
    except InvalidFleet:
        _replace(file, before)
        raise
    say(shown.rstrip("\n"))
    return found


def _replace(file: Path, text: str) -> None:
    other = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        other.write_text(text, encoding="utf-8")
        shutil.copymode(file, other)
        other.replace(file.resolve())
    finally:
        other.unlink(missing_ok=True)


def _up(engine: Engine, documents: FleetDocuments, permissions: Permissions, doing: Doing, name: str) -> int:
    took = Clock()
    given = Options(parallel=doing.parallel, permissions=permissions)
    if doing.wait is not None:
        given = replace(given, wait=doing.wait, wait_given=True)
    stacks = [str(stack) for stack in fleet_stacks(name, documents.clusters)]
    with Progress(f"{name}: up", stacks, engine.under_way.now) as progress, interruptible(engine, progress.on_note):
        notes = Notes(engine.environment, documents, permissions=permissions)
        report = Pass(documents, engine, given, progress.on_operation, progress.on_note, notes).run()
    if doing.output is Output.TABLE:
        data(summary(report))
    else:
        print_plain(report.plain(), doing.output)
    print_failures(report)
    say(closing(report, name, took))
    return report.exit_code


@contextmanager
def _patient_lock(folder: Path) -> Iterator[None]:
    """The pass lock; a run that has it is waited for, and that is said.

    Raises:
        LockHeld: it does not end in time.

    """
    deadline = time.monotonic() + LOCK_SECONDS
    lock: Any = None
    told = ""
    while lock is None:
        attempt = pass_lock(folder, say)
        try:
            attempt.__enter__()
        except LockHeld as error:
            if time.monotonic() > deadline:
                raise
            if error.message != told:
                told = error.message
                say(f"waiting: {error.message}")
            time.sleep(POLL_SECONDS)
            continue
        lock = attempt
    try:
        yield
    finally:
        lock.__exit__(None, None, None)
