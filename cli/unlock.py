"""`modelplane unlock`: who holds which lock, and breaking those whose run is over."""

from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import FleetPaths, Output, OutputFormat, Yes

if TYPE_CHECKING:
    from api.names import StackName
    from stacks.engine import Engine
    from stacks.lock import Owner

HELD = 24
PASS = "pass"  # noqa: S105 - the lock of a pass


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("unlock")(unlock)


def unlock(
    stacks: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STACK]...", help="Break these stacks' locks; needed where the backend is no folder."),
    ] = None,
    fleet: FleetPaths = None,
    output: OutputFormat = Output.TABLE,
    yes: Yes = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """Show who holds locks and since when, and break them if asked.

    They are broken once that is confirmed. A lock whose process still lives on this machine is never broken: stop
    the process instead.

    Example: modelplane unlock -f examples/local --yes
    """
    from cli.asking import ask, refuse_silence
    from cli.fleet import fleet_of, load_leniently, place_of
    from cli.printing import counted, data, print_plain, say, table
    from stacks import state
    from stacks.engine import Engine
    from stacks.environment import environment_of
    from stacks.lock import break_pass_lock, pass_holder

    place = place_of(fleet)
    documents = load_leniently(place)
    name = fleet_of(documents).name
    environment = environment_of(place.directory)
    engine = Engine(environment, documents, say=say) if state.has_state(environment) else None
    held = _held(engine, name, stacks or [])
    holder = pass_holder(environment.folder)
    rows = [(PASS, _owner(holder), _state(holder))] if holder else []
    rows += [(str(stack), _owner(owner), _state(owner)) for stack, owner in held]
    if output is Output.TABLE:
        data(table(("LOCK", "HELD BY", "STATE"), rows) if rows else "")
    else:
        print_plain({"locks": [dict(zip(("lock", "heldBy", "state"), row, strict=True)) for row in rows]}, output)
    if not rows:
        say(f"{name}: nothing is locked")
        return
    alive = [row[0] for row in rows if row[2] == "running"]
    if alive:
        say(f"not broken, a process of this machine works: {', '.join(alive)}; wait for it, or stop it with kill -INT")
        raise typer.Exit(HELD)
    if not yes:
        question = f"Break {counted(len(rows), 'lock')}? Work of a run that still goes on can be lost."
        refuse_silence("unlock", yes=yes)
        ask(question, "nothing was broken")
    if holder:
        break_pass_lock(environment.folder)
    for stack in sorted({stack for stack, _ in held}, key=str):
        if engine is not None:
            engine.unlock(stack)
    say(f"{name}: {counted(len(rows), 'lock')} broken")


def _held(engine: "Engine | None", fleet: str, named: list[str]) -> "list[tuple[StackName, Owner | None]]":
    """Locked stacks with their owners; those that were named whoever has them, where the backend does not tell."""
    from api.errors import InvocationError
    from stacks.environment import BACKEND
    from stacks.lock import stack_owners

    if engine is None:
        return []
    known = sorted((stack for stack in engine.stacks() if stack.fleet == fleet), key=str)
    wanted = {each if each.startswith(f"{fleet}.") else f"{fleet}.{each}" for each in named}
    unknown = sorted(wanted - set(map(str, known)))
    if unknown:
        raise InvocationError(f"there is no stack {unknown[0]}", hint="`modelplane stacks` lists them", code="MP201")
    found: list[tuple[StackName, Owner | None]] = []
    for stack in known:
        owners = stack_owners(engine.environment.variables[BACKEND], stack)
        if owners is None:
            found += [(stack, None)] if str(stack) in wanted else []
        elif not wanted or str(stack) in wanted:
            found += [(stack, owner) for owner in owners]
    return found


def _owner(owner: "Owner | None") -> str:
    return str(owner) if owner else "the backend does not tell"


def _state(owner: "Owner | None") -> str:
    if owner is None:
        return "unknown"
    if not owner.is_here:
        return "of another machine or user"
    return "its process is gone" if owner.is_dead else "running"
