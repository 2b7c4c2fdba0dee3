"""Options that several commands share, and what their texts mean."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Output(StrEnum):
    """How data is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def duration(text: str) -> float:
    """Seconds of a duration such as 90s, 10m or 1h30m; a number is taken as it is.

    Raises:
        typer.BadParameter: it is none.

    """
    if isinstance(text, float | int):  # the default of an option comes through here as well
        return float(text)
    from api.grammar import DURATION, is_match, seconds

    if not text or not is_match(DURATION, text):
        raise typer.BadParameter("write a duration such as 90s, 10m or 1h30m")
    return float(seconds(text))


FleetPaths = Annotated[
    list[Path] | None,
    typer.Option(
        "--fleet",
        "-f",
        metavar="DIR|FILE|-",
        help="The fleet directory, and files or - to read besides; may be repeated.",
        show_default="$MODELPLANE_FLEET, else here",
    ),
]
Observed = Annotated[
    Path | None,
    typer.Option("--observed", metavar="FILE", help="Ask a saved fleet instead; no document or stack is read."),
]
Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", metavar="NAMESPACE", help="The namespace of the deployment.")
]
IgnoreUnknown = Annotated[
    bool,
    typer.Option(
        "--ignore-unknown",
        envvar="MODELPLANE_IGNORE_UNKNOWN",
        help="Skip documents of other systems, each with a warning.",
    ),
]
Recursive = Annotated[
    bool,
    typer.Option(
        "--recursive", "-R", help="Check every folder below as a fleet of its own; one with a Fleet with all below it."
    ),
]
AgainstState = Annotated[
    bool, typer.Option("--against-state", help="Compare with what was deployed, too: some fields cannot change.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit 2 on warnings, too; on skipped documents not.")]
OutputFormat = Annotated[Output, typer.Option("--output", "-o", help="How data is printed.")]
Debug = Annotated[bool, typer.Option("--debug", help="Print what the engine and its providers say.")]
Parallel = Annotated[int, typer.Option("--parallel", metavar="N", min=1, max=64, help="How many stacks run at a time.")]
Wait = Annotated[
    float | None,
    typer.Option(
        "--wait",
        metavar="DURATION",
        parser=duration,
        help="How long to wait for replicas that start; when given and not enough, the exit code is 9.",
        show_default="10m",
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--selector",
        "-l",
        metavar="LABELS",
        help="Bring up clusters with these labels alone, as in region=us,tier!=test; and what belongs to no cluster.",
    ),
]
ChangedOnly = Annotated[
    bool, typer.Option("--changed-only", help="Skip stacks that would do what the last run did, by its notes.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan and the edit, and do nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Allow = Annotated[
    list[str] | None, typer.Option("--allow", metavar="DIGEST", help="Permit the deletions that a refusal showed.")
]
DeleteCluster = Annotated[
    list[str] | None,
    typer.Option("--delete-cluster", metavar="CLUSTER", help="Drain and destroy a cluster without a document."),
]
Forget = Annotated[
    list[str] | None,
    typer.Option("--forget", metavar="CLUSTER", help="Drop an unreachable cluster's stacks without calling it."),
]
RebuildLedger = Annotated[
    bool, typer.Option("--rebuild-ledger", help="Take a lost ledger from what the clusters hold.")
]
