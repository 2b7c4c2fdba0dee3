"""The Automation API with fewer starts of the CLI, and the CLI it starts."""

from datetime import UTC, datetime
from pathlib import Path

from pulumi import automation

from api.errors import MissingTool
from stacks.command import EngineCommand, RunningEngines
from stacks.quiet import hush
from tools.locate import ToolMissing, locate


class LeanStack(automation.Stack):
    """An existing stack; its operations neither select it nor read outputs after: four starts of the CLI saved."""

    def __init__(self, name: str, workspace: automation.Workspace) -> None:
        self.name = name
        self.workspace = workspace

    def outputs(self) -> automation.OutputMap:
        """Nothing: the caller reads outputs when it needs them."""
        return {}

    def info(self, show_secrets: bool | None = None) -> automation.UpdateSummary:  # noqa: ARG002, FBT001
        """An empty summary: the caller has watched the operation's events."""
        return automation.UpdateSummary(
            kind="update", start_time=datetime.now(UTC), message="", environment={}, config={}, result="succeeded"
        )


def pulumi_command(running: RunningEngines) -> automation.PulumiCommand:
    """The Pulumi CLI of this machine, or the one that was built.

    Raises:
        MissingTool: there is none.

    """
    try:
        path = locate("pulumi")
    except ToolMissing as error:
        raise MissingTool(error.message, hint=error.hint) from None
    hush()
    return EngineCommand(Path(path).parent.parent, running)
