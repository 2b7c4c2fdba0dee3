"""The ledger keeps all that a replica needs to go on, each template and each set of device facts once."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from builders import a_deployment, a_device, a_fleet, a_gang, a_member, an_engine
from hypothesis import given, settings
from hypothesis import strategies as st
from states import a_claim, a_ledger, a_template, an_engine_entry, an_entry, retiring, some_facts

from api import ModelReplica, names
from api.deployments import ModelDeployment
from api.fleets import FleetSpec
from api.pods import PodTemplate
from api.terms import Phase, Role
from programs.ledger import LedgerBuilder, content_hash, document, placed, replica_key, template_hash
from programs.outputs import Ledger, LedgerEngine, LedgerMember, LedgerReplica
from programs.reading import whole_numbers
from scheduler import Cluster, PlacedEngine, PlacedMember, PlacedReplica, Pool, ReplicaKey, Snapshot, schedule

STEADY = settings(deadline=None, derandomize=True, max_examples=50)
OTHER_FACTS = some_facts(a_device(memory="141Gi"))


def built(deployment: ModelDeployment, *, nodes: int = 12, fleet: FleetSpec | None = None) -> Ledger:
    """The ledger of a deployment that the scheduler placed on one large cluster."""
    pool = Pool(name="gpu", nodes=nodes, devices=some_facts())
    cluster = Cluster(name="us", ready=True, gateway_address="10.0.0.1", pools=(pool,))
    plan = schedule(Snapshot(clusters=(cluster,), deployments=(deployment,)))
    builder = LedgerBuilder(fleet)
    for placement in plan.deployments[deployment.namespace, deployment.name].placements:
        builder.add(builder.entry(placement, deployment))
    return builder.build()


def test_ten_replicas_cost_one_template_and_one_set_of_facts() -> None:
    ledger = built(a_deployment(replicas=10))
    assert len(ledger.replicas) == 10
    assert list(ledger.templates.values()) == [a_template()]
    assert list(ledger.facts.values()) == [some_facts()]
    assert [entry.index for entry in ledger.replicas] == list(range(10))


def test_a_placed_replica_carries_everything_of_its_deployment() -> None:
    engines = [a_gang("wide", nodes=2, copies=2), an_engine("narrow")]
    deployment = a_deployment(engines=engines, labels={"tier": "gold"}, serving={"mode": "Unified"})
    (entry,) = built(deployment).replicas
    assert entry.name == names.replica_name("qwen", "us", 0)
    assert entry.labels == {
        "tier": "gold",
        "modelplane.ai/deployment": "qwen",
        "modelplane.ai/cluster": "us",
        "modelplane.ai/replica-index": "0",
    }
    shape = [
        (engine.name, engine.copies, [(member.role, member.nodes, member.node_pool_name) for member in engine.members])
        for engine in entry.engines
    ]
    assert shape == [
        ("wide", 2, [("Leader", 1, "gpu"), ("Worker", 2, "gpu")]),
        ("narrow", 1, [("Standalone", 1, "gpu")]),
    ]
    assert entry.state == "active"
    assert entry.serving_mode == "Unified"


def test_members_with_templates_of_their_own_keep_them() -> None:
    other = {"spec": {"containers": [{"name": "engine", "image": "registry.example/worker:2"}]}}
    members = [a_member("Leader"), a_member("Worker", nodes=1, template=other)]
    ledger = built(a_deployment(engines=[an_engine(members=members)]))
    (entry,) = ledger.replicas
    images = [ledger.templates[member.template].spec.engine.image for member in entry.engines[0].members]
    assert images == ["registry.example/engine:1", "registry.example/worker:2"]


def test_a_kept_entry_brings_its_template_and_facts_along() -> None:
    source = a_ledger(an_entry("old"), an_entry("gone"))
    builder = LedgerBuilder()
    builder.keep(source.replicas[0], source)
    assert builder.build() == a_ledger(an_entry("old"))


def test_the_order_of_entries_does_not_depend_on_when_they_came() -> None:
    entries = [an_entry("b", "us"), an_entry("a", "us", 1), an_entry("a", "us"), an_entry("a", "eu")]
    source = a_ledger(*entries)
    ledgers = []
    for order in (entries, entries[::-1]):
        builder = LedgerBuilder()
        for entry in order:
            builder.keep(entry, source)
        ledgers.append(builder.build())
    assert ledgers[0] == ledgers[1]
    keys = [(entry.deployment, entry.cluster, entry.index) for entry in ledgers[0].replicas]
    assert keys == [("a", "eu", 0), ("a", "us", 0), ("a", "us", 1), ("b", "us", 0)]


def test_a_replica_is_one_entry_however_often_it_is_added() -> None:
    source = a_ledger(an_entry())
    builder = LedgerBuilder()
    builder.keep(retiring(source.replicas[0]), source)
    builder.keep(source.replicas[0], source)
    assert builder.build() == source


def test_the_scheduler_sees_pins_requests_and_the_facts_of_the_placement() -> None:
    entry = an_entry("qwen", "us", 3, pool="big")
    assert placed(entry, a_ledger(entry), applied=False) == PlacedReplica(
        key=ReplicaKey(namespace="ml-team", deployment="qwen", cluster="us", index=3),
        name=names.replica_name("qwen", "us", 3),
        applied=False,
        engines=(
            PlacedEngine(
                name="main",
                copies=1,
                phase=None,
                members=(
                    PlacedMember(role="Standalone", pool="big", nodes=1, requests=(a_claim(),), facts=some_facts()),
                ),
            ),
        ),
    )


def test_the_document_of_a_gang() -> None:
    ledger = built(a_deployment(engines=[a_gang(nodes=3)]))
    (entry,) = ledger.replicas
    leader, worker = document(entry, ledger).spec.engines[0].members
    assert (leader.role, leader.worker) == ("Leader", None)
    assert (worker.role, worker.nodes) == ("Worker", 3)


def test_the_document_of_prefill_and_decode() -> None:
    engines = [an_engine("prefill", phase="Prefill"), an_engine("decode", phase="Decode")]
    ledger = built(a_deployment(engines=engines, serving={"mode": "PrefillDecode"}))
    (entry,) = ledger.replicas
    spec = document(entry, ledger).spec
    assert spec.serving is not None
    assert spec.serving.mode == "PrefillDecode"
    assert [engine.phase for engine in spec.engines] == ["Prefill", "Decode"]


CHANGES: dict[str, Callable[[LedgerReplica], LedgerReplica]] = {
    "another template": lambda entry: _with_engine(entry, an_engine_entry(template="0123456789ab")),
    "another pool": lambda entry: _with_engine(entry, an_engine_entry(pool="big")),
    "more copies": lambda entry: _with_engine(entry, an_engine_entry(copies=2)),
}
NO_CHANGES: dict[str, Callable[[LedgerReplica], LedgerReplica]] = {
    "it retires": lambda entry: retiring(entry, an_entry("qwen", "eu")),
    "it waits for another": lambda entry: entry.model_copy(update={"waits_for": ("ml-team/x",)}),
    "its endpoint's labels": lambda entry: entry.model_copy(update={"labels": {**entry.labels, "tier": "gold"}}),
    "facts of its pool are written differently": lambda entry: _with_engine(entry, _with_facts(entry, "0123456789ab")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_rolls_pods_changes_the_hash(change: Callable[[LedgerReplica], LedgerReplica]) -> None:
    assert template_hash(change(an_entry())) != template_hash(an_entry())


@pytest.mark.parametrize("change", NO_CHANGES.values(), ids=NO_CHANGES)
def test_what_rolls_nothing_does_not(change: Callable[[LedgerReplica], LedgerReplica]) -> None:
    assert change(an_entry()) != an_entry()
    assert template_hash(change(an_entry())) == template_hash(an_entry())


def test_keys_are_named_the_same_on_both_sides() -> None:
    key = ReplicaKey(namespace="ml-team", deployment="qwen", cluster="us", index=2)
    assert replica_key(key) == an_entry("qwen", "us", 2).key


def test_the_hash_of_content_does_not_depend_on_the_order_of_keys() -> None:
    assert content_hash({"a": 1, "b": [1, 2]}) == content_hash({"b": [1, 2], "a": 1})
    assert content_hash([1, 2]) != content_hash([2, 1])


NAMES = st.sampled_from(["qwen", "mock-demo", "a", "llama-4"])
IMAGES = st.sampled_from(["registry.example/a:1", "registry.example/b:2"])
VALUES = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@st.composite
def templates(draw: st.DrawFn) -> PodTemplate:
    variables = draw(st.dictionaries(st.sampled_from(["A", "B", "C"]), VALUES, max_size=3))
    env = [{"name": name, "value": value} for name, value in variables.items()]
    return a_template(draw(IMAGES), args=draw(st.lists(VALUES, max_size=3)), env=env)


@st.composite
def engines(draw: st.DrawFn, builder: LedgerBuilder, name: str) -> LedgerEngine:
    def member(role: Role, nodes: int = 1, *, claims: bool = True) -> LedgerMember:
        return LedgerMember(
            role=role,
            node_pool_name=draw(st.sampled_from(["gpu", "big"])),
            nodes=nodes,
            device_requests=(a_claim(count=draw(st.integers(1, 8))),) if claims else (),
            template=builder.template(draw(templates())),
            facts=builder.facts(draw(st.sampled_from([some_facts(), OTHER_FACTS]))),
        )

    phase: Phase | None = None
    copies = draw(st.integers(1, 4))
    if draw(st.booleans()):
        return LedgerEngine(name=name, copies=copies, phase=phase, members=(member("Standalone"),))
    claims = draw(st.booleans())
    gang = (member("Leader", claims=claims), member("Worker", draw(st.integers(1, 7))))
    return LedgerEngine(name=name, copies=copies, phase=phase, members=gang)


@st.composite
def ledgers(draw: st.DrawFn) -> Ledger:
    builder = LedgerBuilder()
    entries: dict[str, LedgerReplica] = {}
    for _ in range(draw(st.integers(0, 5))):
        count = draw(st.integers(1, 2))
        entry = an_entry(
            draw(NAMES),
            draw(st.sampled_from(["us", "eu"])),
            draw(st.integers(0, 3)),
            namespace=draw(st.sampled_from(["ml-team", "other"])),
            labels=draw(st.dictionaries(st.sampled_from(["tier", "team"]), st.sampled_from(["x", "y"]))),
            engines=tuple(draw(engines(builder, f"engine-{number}")) for number in range(count)),
            model_cache_ref=draw(st.sampled_from([None, "weights"])),
        )
        if draw(st.booleans()):
            entry = retiring(entry, draw(st.sampled_from([None, *entries.values()])))
        elif entries:
            entry = entry.model_copy(update={"waits_for": tuple(draw(st.sets(st.sampled_from(sorted(entries)))))})
        entries[entry.key] = entry
    for entry in entries.values():
        builder.add(entry)
    return builder.build().model_copy(update={"replicas": tuple(entries.values())})


@STEADY
@given(ledgers())
def test_a_ledger_comes_back_from_the_state_as_it_was(ledger: Ledger) -> None:
    stored = json.loads(json.dumps(ledger.plain()), parse_int=float)
    assert Ledger.model_validate(whole_numbers(stored)) == ledger


@STEADY
@given(ledgers())
def test_documents_hold_all_that_the_ledger_knows_of_its_replicas(ledger: Ledger) -> None:
    """From documents alone the entries can be made again, but for the facts and what only the ledger decides."""
    for entry in ledger.replicas:
        written = ModelReplica.parse(json.loads(json.dumps(document(entry, ledger).plain())))
        decided = {"state": "active", "waits_for": (), "successor": None, "reason": ""}
        assert _entry_of(written) == _without_facts(entry.model_copy(update=decided))


@STEADY
@given(ledgers())
def test_an_earlier_ledger_can_be_kept_whole(ledger: Ledger) -> None:
    builder = LedgerBuilder()
    for entry in ledger.replicas:
        builder.keep(entry, ledger)
    kept = builder.build()
    assert sorted(kept.replicas, key=lambda entry: entry.key) == sorted(ledger.replicas, key=lambda entry: entry.key)
    for entry in kept.replicas:
        assert document(entry, kept) == document(entry, ledger)
        assert placed(entry, kept, applied=True) == placed(entry, ledger, applied=True)


def _with_engine(entry: LedgerReplica, engine: LedgerEngine) -> LedgerReplica:
    return entry.model_copy(update={"engines": (engine,)})


def _with_facts(entry: LedgerReplica, facts: str) -> LedgerEngine:
    engine = entry.engines[0]
    members = tuple(member.model_copy(update={"facts": facts}) for member in engine.members)
    return engine.model_copy(update={"members": members})


def _without_facts(entry: LedgerReplica) -> LedgerReplica:
    plain: dict[str, Any] = entry.model_dump()
    for engine in plain["engines"]:
        for member in engine["members"]:
            member["facts"] = ""
    return LedgerReplica.model_validate(plain)


def _entry_of(replica: ModelReplica) -> LedgerReplica:
    builder = LedgerBuilder()
    labels = replica.metadata.labels
    spec = replica.spec
    return LedgerReplica(
        namespace=replica.namespace,
        deployment=labels[names.LABEL_DEPLOYMENT],
        cluster=spec.cluster_name,
        index=int(labels[names.LABEL_REPLICA_INDEX]),
        name=replica.name,
        labels=labels,
        model_cache_ref=spec.model_cache_ref.name if spec.model_cache_ref else None,
        serving_mode=spec.serving.mode if spec.serving else "Unified",
        engines=tuple(
            LedgerEngine(
                name=engine.name,
                copies=engine.copies,
                phase=engine.phase,
                members=tuple(
                    LedgerMember(
                        role=member.role,
                        node_pool_name=member.node_pool_name,
                        nodes=member.nodes,
                        device_requests=member.device_requests or (),
                        template=builder.template(member.template),
                        facts="",
                    )
                    for member in engine.members
                ),
            )
            for engine in spec.engines
        ),
    )


@pytest.mark.parametrize(
    ("waits", "said", "early"),
    [
        (None, None, None),
        (False, None, True),
        (False, "true", None),
        (None, "false", True),
        (None, "sometimes", None),
    ],
)
def test_replicas_wait_for_their_cache_unless_the_fleet_or_their_deployment_says_not(
    waits: bool | None, said: str | None, early: bool | None
) -> None:
    fleet = a_fleet(caches={} if waits is None else {"waitUntilReady": waits})
    deployment = a_deployment()
    annotations = {} if said is None else {"modelplane.ai/wait-for-cache": said}
    metadata = deployment.metadata.model_copy(update={"annotations": annotations})
    deployment = deployment.model_copy(update={"metadata": metadata})
    (entry,) = built(deployment, fleet=fleet.spec).replicas
    assert entry.starts_early is early
