"""What differs between the ledger and weights as they were applied and as they are planned."""

from typing import Any

import pytest
from states import a_ledger, an_engine_entry, an_entry, retiring

from programs.outputs import Ledger, LedgerCache, LedgerReplica, RoutingOutputs, ServiceBackend, ServiceState
from stacks.preview_diff import LedgerChange, WeightChange, ledger_changes, weight_changes

ENTRY, OTHER = an_entry("qwen", "us"), an_entry("qwen", "eu")


def changes(before: Ledger, after: Ledger, **retired: LedgerReplica) -> tuple[LedgerChange, ...]:
    return ledger_changes(before, after, retired)


def test_an_equal_ledger_has_no_change() -> None:
    assert changes(a_ledger(ENTRY, OTHER), a_ledger(OTHER, ENTRY)) == ()


def test_what_comes_says_where_and_what_goes_says_why_and_who_follows() -> None:
    gone = retiring(ENTRY, OTHER, "cluster us has the taint maintenance")
    found = ledger_changes(a_ledger(ENTRY), a_ledger(OTHER), {ENTRY.key: gone})
    assert sorted(found, key=lambda change: change.kind) == [
        LedgerChange(kind="place", key=OTHER.key, cluster="eu", pools=("gpu",)),
        LedgerChange(
            kind="retire",
            key=ENTRY.key,
            cluster="us",
            pools=("gpu",),
            reason="cluster us has the taint maintenance",
            successor=OTHER.key,
        ),
    ]


def test_what_was_leaving_already_still_says_why() -> None:
    (change,) = changes(a_ledger(retiring(ENTRY, None, "scaled down")), a_ledger())
    assert (change.kind, change.reason, change.successor) == ("retire", "scaled down", None)


FIELDS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "it leaves": ({"state": "retiring"}, ("state",)),
    "labels": ({"labels": {"a": "b"}}, ("labels",)),
    "a cache": ({"model_cache_ref": "qwen"}, ("cache",)),
    "another way to serve": ({"serving_mode": "PrefillDecode"}, ("serving",)),
    "who it waits for": ({"waits_for": (OTHER.key,)}, ("waitsFor",)),
    "copies": ({"engines": (an_engine_entry(copies=2),)}, ("engines",)),
    "another pool": ({"engines": (an_engine_entry(pool="other"),)}, ("pools",)),
    "another engine": ({"engines": (an_engine_entry("renamed"),)}, ("engines",)),
}


@pytest.mark.parametrize(("update", "fields"), FIELDS.values(), ids=FIELDS)
def test_what_changes_in_place_says_what(update: dict[str, Any], fields: tuple[str, ...]) -> None:
    (change,) = changes(a_ledger(ENTRY), a_ledger(ENTRY.model_copy(update=update)))
    assert (change.kind, change.key, change.fields) == ("change", ENTRY.key, fields)


def test_a_changed_template_and_changed_facts_are_told_apart() -> None:
    (engine,) = ENTRY.engines
    (member,) = engine.members
    for field, update in (("template", {"template": "other"}), ("facts", {"facts": "other"})):
        changed = engine.model_copy(update={"members": (member.model_copy(update=update),)})
        (change,) = changes(a_ledger(ENTRY), a_ledger(ENTRY.model_copy(update={"engines": (changed,)})))
        assert change.fields == (field,)


def test_every_field_of_an_entry_is_compared() -> None:
    """A field that is added to the ledger has to be told, or `--expect-no-changes` passes over it."""
    compared = {"state", "labels", "engines", "model_cache_ref", "serving_mode", "waits_for", "successor"}
    compared |= {"starts_early"}
    identity = {"namespace", "deployment", "cluster", "index", "name"}
    assert set(LedgerReplica.model_fields) - identity - {"reason"} == compared


def test_caches_are_told_cluster_by_cluster() -> None:
    def holding(spec: dict[str, Any], *clusters: str) -> Ledger:
        return Ledger(caches=(LedgerCache(namespace="ml-team", name="qwen", spec=spec, clusters=clusters),))

    found = changes(holding({"revision": "a"}, "eu", "us"), holding({"revision": "b"}, "ap", "us"))
    assert [(change.subject, change.kind, change.cluster, change.fields) for change in found] == [
        ("cache", "place", "ap", ()),
        ("cache", "retire", "eu", ()),
        ("cache", "change", "us", ("spec",)),
    ]


def routing(**services: list[tuple[str, int]]) -> RoutingOutputs:
    return RoutingOutputs(
        services={
            key: ServiceState(backends=tuple(ServiceBackend(endpoint=end, weight=weight) for end, weight in backends))
            for key, backends in services.items()
        }
    )


def test_weights_are_told_before_and_after_for_all_endpoints() -> None:
    found = weight_changes(
        routing(mock=[("a", 9), ("b", 1)], old=[("a", 1)]), routing(mock=[("a", 1), ("c", 2)], new=[])
    )
    assert found == (
        WeightChange(service="mock", endpoint="a", before=9, after=1),
        WeightChange(service="mock", endpoint="c", before=None, after=2),
        WeightChange(service="mock", endpoint="b", before=1, after=None),
        WeightChange(service="old", endpoint="a", before=1, after=None),
    )


def test_a_weight_that_stays_is_no_change() -> None:
    (weight,) = weight_changes(routing(mock=[("a", 1)]), routing(mock=[("a", 1)]))
    assert not weight.is_one
