"""`modelplane up`: bring the whole fleet to what its documents say."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cli.options import (
    Allow,
    ChangedOnly,
    Debug,
    DeleteCluster,
    FleetPaths,
    Forget,
    IgnoreUnknown,
    Labels,
    Parallel,
    RebuildLedger,
    Wait,
)
from cli.report.writing import ReportFiles, ReportFormat, ReportOutput


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("up")(up)


def up(
    fleet: FleetPaths = None,
    ignore_unknown: IgnoreUnknown = False,  # noqa: FBT002 - a flag of the command line
    output: ReportFormat = ReportOutput.TABLE,
    report_files: ReportFiles = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan",
            metavar="FILE",
            help="Only if documents, state and nodes are those of a preview --save-plan; else exit 25.",
        ),
    ] = None,
    parallel: Parallel = 3,
    wait: Wait = None,
    changed_only: ChangedOnly = False,  # noqa: FBT002 - a flag of the command line
    labels: Labels = None,
    allow: Allow = None,
    delete_cluster: DeleteCluster = None,
    forget: Forget = None,
    rebuild_ledger: RebuildLedger = False,  # noqa: FBT002 - a flag of the command line
    debug: Debug = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """Bring the fleet to what its documents say.

    Clusters and gateway first, then replicas, then the URLs in front of them. Refused on any error in the
    documents, before a stack is touched. Run it again whenever documents change: what is right is left alone.

    Example: modelplane up -f examples/local --wait 2m
    """
    from api.label_queries import label_query
    from cli import plan_file
    from cli.fleet import fleet_of, load_checked, place_of, refuse_documented
    from cli.printing import data, print_problems, say
    from cli.progress import Clock, Progress
    from cli.report.from_pass import pass_page
    from cli.report.writing import beside, formats_of, render, write_reports
    from cli.summary import closing, print_failures, summary
    from programs.context import Permissions
    from stacks.converge import Options, Pass
    from stacks.engine import Engine
    from stacks.environment import environment_of
    from stacks.interrupt import interruptible
    from stacks.lock import pass_lock
    from stacks.plan import fleet_stacks, left_out
    from stacks.saved_plan import permissions_of
    from stacks.skipping import Notes

    took = Clock()
    files = formats_of(report_files or ())
    place = place_of(fleet, ignore_unknown=ignore_unknown)
    documents = load_checked(place)
    print_problems(documents.warnings)
    name = fleet_of(documents).name
    environment = environment_of(place.directory)
    engine = Engine(environment, documents, debug=say if debug else None, say=say)
    permissions = Permissions(
        deletions=frozenset(allow or ()),
        delete_clusters=frozenset(delete_cluster or ()),
        forget=frozenset(forget or ()),
        rebuild_ledger=rebuild_ledger,
    )
    saved = plan_file.read(plan, permissions, whole=labels is None) if plan is not None else None
    permissions = permissions_of(saved) if saved is not None else permissions
    refuse_documented(permissions.delete_clusters, documents)
    without = left_out(documents, label_query(labels) if labels is not None else None)
    given = Options(parallel=parallel, permissions=permissions, left_out=without)
    if wait is not None:
        given = replace(given, wait=wait, wait_given=True)
    stacks = [str(stack) for stack in fleet_stacks(name, set(documents.clusters) - without)]
    with (
        pass_lock(environment.folder, say),
        Progress(f"{name}: up", stacks, engine.under_way.now) as progress,
        interruptible(engine, progress.on_note),
    ):
        if saved is not None and plan is not None:
            plan_file.refuse_other(saved, plan, engine, documents)
        notes = Notes(environment, documents, permissions=permissions, skip=changed_only)
        report = Pass(documents, engine, given, progress.on_operation, progress.on_note, notes).run()
    if output is not ReportOutput.TABLE or files:
        page = pass_page(report, name, beside(documents, environment), took)
        write_reports(page, files)
    if report.not_done:
        say("stopped; until then the stacks that are done told this:")
    data(summary(report) if output is ReportOutput.TABLE else render(page, output))
    print_failures(report)
    say(closing(report, name, took))
    raise typer.Exit(report.exit_code)
