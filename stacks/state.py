"""What a fleet's stacks hold, asked without touching anything: for `status`, `stacks` and the end of a local fleet."""

# ruff: noqa: PLC0415  where there is no state, no engine is needed and none is loaded

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from api.documents import FleetDocuments
from api.errors import MissingTool, ModelplaneError
from api.loader import load
from api.names import StackName
from stacks.environment import BACKEND, Environment, environment_of

if TYPE_CHECKING:
    from stacks.engine import Engine
    from stacks.status import FleetOutputs

PARALLEL = 4


def is_embedded(environment: Environment) -> bool:
    """Whether the state lies beside the fleet, because no other backend is named."""
    return environment.variables[BACKEND] == f"file://{state_folder(environment)}"


def state_folder(environment: Environment) -> Path:
    """Where the state lies when no other backend is named."""
    return environment.folder / "state"


def has_state(environment: Environment) -> bool:
    """Whether there may be stacks; a backend that somebody named may always have some."""
    return not is_embedded(environment) or (state_folder(environment) / ".pulumi" / "stacks").is_dir()


def held(engine: "Engine", fleet: str) -> dict[StackName, int]:
    """Resources of each stack of the fleet beyond the stack's own entry.

    Raises:
        UnreadableStack: the backend cannot be read.

    """
    found = {stack: max(count - 1, 0) for stack, count in engine.stacks().items() if stack.fleet == fleet}
    return dict(sorted(found.items(), key=lambda item: str(item[0])))


def held_resources(directory: Path) -> dict[str, int]:
    """Resources that the stacks of a directory's fleet hold, by stack; empty where there are none.

    Beside the fleet lies the state of this directory alone, so there every stack counts, under whatever fleet name;
    in a backend that was named, those of the fleet do. Nothing is written where there is no state.

    Raises:
        UnreadableStack: the backend cannot be read.
        MissingTool: there is state, and no Pulumi CLI to read it.
        InvalidFleet: a backend was named, and the documents do not tell the fleet's name.

    """
    environment = environment_of(directory)
    if not has_state(environment):
        return {}
    from stacks.engine import Engine

    fleet = None if is_embedded(environment) else _fleet_name(directory)
    counts = Engine(environment, FleetDocuments(directory=directory)).stacks()
    mine = {stack: count - 1 for stack, count in counts.items() if fleet is None or stack.fleet == fleet}
    return {str(stack): count for stack, count in sorted(mine.items(), key=lambda item: str(item[0])) if count > 0}


def discard(directory: Path) -> None:
    """Forget the stacks of a directory's fleet, and leave what they hold as it is.

    Raises:
        ModelplaneError: a stack of a backend that was named could not be removed from it.

    """
    environment = environment_of(directory)
    if is_embedded(environment):
        for folder in (state_folder(environment), environment.work_dir):
            shutil.rmtree(folder, ignore_errors=True)
        return
    from pulumi import automation
    from pulumi.automation import errors as engine_errors

    from stacks.engine import Engine, first_line
    from tools.locate import ToolMissing, locate

    engine = Engine(environment, FleetDocuments(directory=directory))
    stacks = held(engine, _fleet_name(directory))
    try:
        command = automation.PulumiCommand(root=str(locate("pulumi").parent.parent))
    except ToolMissing as error:
        raise MissingTool(error.message, hint=error.hint) from None
    for stack in stacks:
        try:
            command.run(
                ["stack", "rm", "--force", "--yes", "--stack", str(stack)],
                str(environment.work_dir),
                dict(environment.variables),
            )
        except engine_errors.CommandError as error:
            hint = f"pulumi stack rm --force --stack {stack}"
            raise ModelplaneError(first_line(str(error)), where=f"stack {stack}", hint=hint, code="MP344") from None


def observe(engine: "Engine", fleet: str) -> "tuple[FleetOutputs, list[ModelplaneError]]":
    """Last outputs of all stacks of a fleet, and why some of them cannot be read."""
    from programs.outputs import (
        ClusterOutputs,
        GatewayOutputs,
        PlacementOutputs,
        RoutingOutputs,
        ServingOutputs,
        WorkloadsOutputs,
    )
    from stacks.status import FleetOutputs
    from stacks.view import View

    view = View(engine, fleet)

    def renew(stack: StackName) -> ModelplaneError | None:
        try:
            view.renew(stack)
        except ModelplaneError as error:
            return error
        return None

    stacks = [stack for stack in engine.stacks() if stack.fleet == fleet]
    with ThreadPoolExecutor(PARALLEL) as pool:
        problems = [problem for problem in pool.map(renew, stacks) if problem]
    outputs = FleetOutputs(
        gateway=view.get(GatewayOutputs, "gateway"),
        clusters=view.by_cluster(ClusterOutputs, "cluster"),
        serving=view.by_cluster(ServingOutputs, "serving"),
        placement=view.get(PlacementOutputs, "placement"),
        workloads=view.by_cluster(WorkloadsOutputs, "workloads"),
        routing=view.get(RoutingOutputs, "routing"),
    )
    return outputs, problems


def _fleet_name(directory: Path) -> str:
    fleet = load(directory).fleet
    if fleet is None:
        hint = "add the Fleet document again; its name tells which stacks of the backend are meant"
        raise ModelplaneError("no document is of kind Fleet", where=str(directory), hint=hint, code="MP345")
    return fleet.name
