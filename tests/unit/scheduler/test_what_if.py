"""What if: the words, what they change, and one clear error for what they cannot mean."""

import pytest
from unit.scheduler.worlds import cluster, deployment, identity, placed, pool, snapshot

from api.errors import InvocationError
from scheduler import Snapshot, schedule
from scheduler.what_if import FORMS, apply, parse


def world() -> Snapshot:
    fleet = [
        cluster("alpha", pool("l4", 1), labels={"tier": "prod"}),
        cluster("bravo", pool("l4", 1), taints=["k=v:NoSchedule"]),
        cluster("charlie", pool("l4", 1), ready=False),
    ]
    return snapshot(fleet, deployment(2), deployment(0, "other"), replicas=[placed(deployment(2), "alpha0")])


def places(*edits: str, name: str = "d") -> list[str]:
    after = apply(world(), [edit for text in edits for edit in parse(text)])
    plan = schedule(after).deployments.get(("ml-team", name))
    return [identity(each.key) for each in plan.placements] if plan else []


EDITS = {
    "nothing": ([], ["alpha0"]),
    "pool alpha/l4 +1": (["pool alpha/l4 +1"], ["alpha0", "alpha1"]),
    "pool alpha/l4 =3": (["pool alpha/l4 =3"], ["alpha0", "alpha1"]),
    "fewer than none is none": (["pool alpha/l4 -5"], ["alpha0"]),
    "drop cluster": (["drop cluster alpha"], []),
    "drop pool": (["drop pool alpha/l4"], []),
    "drop deployment": (["drop deployment d"], []),
    "taint evicts": (["taint alpha k=v:NoExecute"], []),
    "taint without a value": (["taint alpha k:NoSchedule"], ["alpha0"]),
    "untaint": (["untaint bravo k"], ["alpha0", "bravo0"]),
    "tolerate exactly": (["tolerate d k=v:NoSchedule"], ["alpha0", "bravo0"]),
    "tolerate a key": (["tolerate ml-team/d k"], ["alpha0", "bravo0"]),
    "tolerate another value": (["tolerate d k=w"], ["alpha0"]),
    "ready": (["ready charlie"], ["alpha0", "charlie0"]),
    "unready": (["pool alpha/l4 +1", "unready alpha"], ["alpha0"]),
    "scale": (["scale d 1; pool alpha/l4 +5"], ["alpha0"]),
    "several at once": ([" pool alpha/l4 =0 ;untaint bravo k; "], ["alpha0", "bravo0"]),
}


@pytest.mark.parametrize(("edits", "want"), EDITS.values(), ids=EDITS)
def test_an_edit_changes_where_replicas_are(edits: list[str], want: list[str]) -> None:
    assert places(*edits) == want


def test_labels_open_and_close_clusters() -> None:
    asks = deployment(1, cluster_selector={"tier": "prod"})
    view = snapshot([cluster("alpha", 1)], asks)

    def count(text: str) -> int:
        return len(schedule(apply(view, parse(text))).deployments["ml-team", "d"].placements)

    assert count("label alpha tier=dev") == 0
    assert count("label alpha tier=prod") == 1
    assert count("label alpha tier=prod; unlabel alpha tier") == 0


def test_an_edit_is_written_as_it_is_read() -> None:
    text = "pool alpha/l4 +2; tolerate ml-team/d k=v:NoSchedule"
    assert "; ".join(str(edit) for edit in parse(text)) == text


NOT_UNDERSTOOD = [
    "",
    ";",
    "pool",
    "pool alpha/l4 two",
    "pool alpha/l4 2",
    "pool alpha/l4 =1001",
    "pool alpha/l4 +999999",
    "scale d 1001",
    "pools alpha/l4 +2",
    "drop node alpha",
    "drop alpha",
    "taint alpha k=v",
    "taint alpha k=v:Never",
    "taint alpha/l4 k=v:NoExecute",
    "label alpha tier",
    "scale d -1",
    "scale d many",
    "tolerate d =v",
    "ready alpha now",
]


@pytest.mark.parametrize("text", NOT_UNDERSTOOD)
def test_what_cannot_be_understood_is_told_with_all_forms(text: str) -> None:
    with pytest.raises(InvocationError) as caught:
        apply(world(), parse(text))
    assert caught.value.error_code == "MP200"
    assert all(form in caught.value.hint for form in FORMS)
    assert caught.value.message.startswith("what if")


ABSENT = {
    "pool alpha/nope +1": "there is no pool alpha/nope\nhint: there are alpha/l4",
    "drop cluster nope": "there is no cluster nope\nhint: there are alpha, bravo, charlie",
    "scale nope 2": "there is no deployment nope\nhint: there are ml-team/d, ml-team/other",
    "untaint alpha k": "there is no taint k on alpha\nhint: there is no taint on alpha at all",
    "unlabel alpha zone": "there is no label zone on alpha\nhint: there are tier",
}


@pytest.mark.parametrize(("text", "want"), ABSENT.items())
def test_what_is_not_there_is_told_with_what_is(text: str, want: str) -> None:
    with pytest.raises(InvocationError) as caught:
        apply(world(), parse(text))
    assert (caught.value.error_code, str(caught.value)) == ("MP201", want)


def test_a_name_in_two_namespaces_needs_its_namespace() -> None:
    view = snapshot([cluster("alpha", 1)], deployment(1), deployment(1, namespace="other"))
    with pytest.raises(InvocationError, match="several deployments are called d"):
        apply(view, parse("scale d 2"))
    assert apply(view, parse("scale other/d 2")).deployments[1].spec.replicas == 2
