"""`modelplane explain deployment/NAME`: why a deployment's replicas are where they are, and what would change that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from api.errors import InvocationError
from cli.options import Output

if TYPE_CHECKING:
    from scheduler import DeploymentKey, Plan, Snapshot

KINDS = frozenset({"md", "deployment", "deployments", "modeldeployment", "modeldeployments"})


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked about a deployment beside where it is."""

    namespace: str | None = None
    why_not: str | None = None
    what_if: tuple[str, ...] = ()
    observed: Path | None = None


def explain_placement(
    what: str, fleet: Sequence[Path] | None, output: Output, question: Question | None = None
) -> None:
    """Print the placement of a deployment, and the answer to a question about it.

    Raises:
        InvocationError: `what` names no deployment, or the question something that is not there.
        ModelplaneError: the fleet cannot be read.

    """
    from cli.observed import observed_fleet, say_assumed
    from cli.printing import data, print_plain
    from scheduler import schedule
    from scheduler.what_if import apply, parse

    asked = question or Question()
    _without_kind(what)
    edits = [edit for text in asked.what_if for edit in parse(text)]
    observation = observed_fleet(fleet, asked.observed)
    before = observation.snapshot
    key = deployment_named(before, what, asked.namespace)
    after = apply(before, edits)
    plan = schedule(after)
    if key not in plan.deployments:
        raise InvocationError(f"with these edits there is no {'/'.join(key)}", hint="leave its drop out", code="MP201")
    answer = _Answer(after, key, plan, asked.why_not)
    shown: dict[str, Any] = answer.plain()
    text = answer.text()
    if asked.what_if:
        was = schedule(before)
        changes = list(_changes(was, plan))
        shown["whatIf"] = {
            "edits": list(asked.what_if),
            "changes": [dict(zip(_KEYS, row, strict=True)) for row in changes],
        }
        text = _what_if_text(asked.what_if, changes) + text
    if output is Output.TABLE:
        data(text)
    else:
        print_plain(shown, output)
    say_assumed(observation)


def deployment_named(snapshot: "Snapshot", what: str, namespace: str | None) -> "DeploymentKey":
    """The deployment that `[deployment/][NAMESPACE/]NAME` means; its namespace may be given apart from it.

    Raises:
        InvocationError: there is none or there are several, another kind is named, or the namespaces differ.

    """
    from scheduler.what_if import deployment_key

    written = _without_kind(what)
    inside, slash, name = written.rpartition("/")
    if slash and namespace and inside != namespace:
        raise InvocationError(f"{what} is not in namespace {namespace}", hint="name its namespace in one place")
    return deployment_key(snapshot, f"{inside or namespace}/{name}" if inside or namespace else name)


def _without_kind(what: str) -> str:
    first, slash, rest = what.partition("/")
    if slash and first.lower() in KINDS:
        what = rest
    elif slash:
        what = ""
    if not all(what.split("/")) or what.count("/") > 1:
        hint = "write deployment/NAME, or deployment/NAMESPACE/NAME where several are called so"
        raise InvocationError(f"{first}{slash}{rest} is no deployment", hint=hint)
    return what


class _Answer:
    """Everything that is said of one deployment."""

    def __init__(self, snapshot: "Snapshot", key: "DeploymentKey", plan: "Plan", why_not: str | None) -> None:
        from scheduler.fixes import fixes
        from scheduler.headroom import headroom

        self._key = key
        self._plan = plan.deployments[key]
        self._room = headroom(snapshot, key, plan)
        self._fixes = fixes(snapshot, key)
        self._why_not = _WhyNot(snapshot, key, plan, why_not) if why_not is not None else None

    def text(self) -> str:
        """In words."""
        from cli import placement_words as words
        from cli.printing import table

        parts = [f"{words.named(self._key)}: {self._plan.condition.message}\n"]
        rows = list(words.replica_rows(self._plan))
        if rows:
            parts.append(table(words.REPLICA_HEAD, rows))
        parts.append(table(words.CLUSTER_HEAD, words.cluster_rows(self._room, self._plan)))
        if self._fixes:
            head, *others = self._fixes
            lines = [f"fix: {words.told(head)}\n  --what-if '{head}'\n"]
            lines += [f"or: {words.told(other)}\n" for other in others]
            parts.append("".join(lines))
        if self._why_not:
            parts.append(self._why_not.text())
        return "\n".join(parts)

    def plain(self) -> dict[str, Any]:
        """For programs."""
        from cli import placement_words as words

        shown = words.deployment_plain(self._key, self._plan, self._fixes[0] if self._fixes else None)
        shown["capacity"] = words.headroom_plain(self._room)["clusters"]
        shown["fixes"] = [words.fix_plain(fix) for fix in self._fixes]
        return shown | ({"whyNot": self._why_not.plain()} if self._why_not else {})


class _WhyNot:
    """Why one cluster has no replica more."""

    def __init__(self, snapshot: "Snapshot", key: "DeploymentKey", plan: "Plan", cluster: str) -> None:
        from scheduler import schedule
        from scheduler.fixes import fixes
        from scheduler.headroom import only_on
        from scheduler.what_if import cluster_of

        self._cluster = cluster_of(snapshot, cluster).name
        there = only_on(snapshot, key, cluster, plan)
        tried = schedule(there).deployments[key]
        self._verdict = next((verdict for verdict in tried.verdicts if verdict.cluster == cluster), None)
        self._fixes = fixes(there, key, cluster) if self._verdict else ()
        self._invalid = tried.invalid_selector

    def text(self) -> str:
        """In words."""
        from cli import placement_words as words

        if self._invalid:
            return f"{self._cluster}: nothing is placed while a selector cannot be used\n"
        if self._verdict is None:
            return (
                f"{self._cluster} would take one more. A replica goes to the cluster that has the fewest of its"
                " deployment, then to the first by name.\n"
            )
        fix = f"\n  for one there: {words.told(self._fixes[0])}" if self._fixes else ""
        return f"{self._cluster} takes none: {words.why(self._verdict)}{fix}\n"

    def plain(self) -> dict[str, Any]:
        """For programs."""
        from cli import placement_words as words

        return {
            "cluster": self._cluster,
            "takesOne": self._verdict is None and not self._invalid,
            "reasons": words.verdict_plain(self._verdict),
            "fixes": [words.fix_plain(fix) for fix in self._fixes],
        }


_KEYS = ("deployment", "before", "after")


def _changes(before: "Plan", after: "Plan") -> Iterator[tuple[str, str, str]]:
    """Deployments with replicas elsewhere than before: each with its replicas by cluster."""
    for key in sorted({*before.deployments, *after.deployments}):
        was, now = _places(before, key), _places(after, key)
        if was != now:
            yield "/".join(key), was, now


def _places(plan: "Plan", key: "DeploymentKey") -> str:
    if key not in plan.deployments:
        return "-"
    each = plan.deployments[key]
    clusters = [placement.key.cluster for placement in each.placements]
    counts = ", ".join(f"{name} {clusters.count(name)}" for name in sorted(set(clusters)))
    return f"{len(clusters)}/{each.wanted}" + (f": {counts}" if counts else "")


def _what_if_text(edits: Sequence[str], changes: Sequence[tuple[str, str, str]]) -> str:
    from cli.printing import table

    head = f"what if {'; '.join(edits)}:"
    if not changes:
        return f"{head} no replica moves\n\n"
    return f"{head}\n" + table(("DEPLOYMENT", "BEFORE", "AFTER"), changes) + "\n"
