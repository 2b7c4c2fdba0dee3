import asyncio
from typing import Any

import pytest

from local.engine.pods import Directory, Pod, duration, read_pod


def a_pod_document(**parts: Any) -> dict[str, Any]:
    document: dict[str, Any] = {
        "metadata": {"name": "qwen-x-1", "namespace": "ml-team", "uid": "u1"},
        "spec": {"containers": [{"name": "engine", "args": ["--model", "org/qwen", "--port=8000"]}]},
        "status": {"phase": "Running", "podIP": "10.67.1.2"},
    }
    return document | parts


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250ms", 0.25), ("6s", 6.0), ("1m30s", 90.0), ("1.5s", 1.5), ("", 0.0), ("soon", 0.0), ("6", 0.0), ("-6s", 0.0)],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds


def test_a_modelplane_pod_knows_its_replica_and_deployment() -> None:
    labels = {"modelplane.ai/serving": "mock-demo-be445"}
    pod = read_pod("east", a_pod_document(metadata={"name": "p", "namespace": "ml-team", "uid": "u", "labels": labels}))
    assert pod == Pod(
        cluster="east",
        namespace="ml-team",
        name="p",
        address="10.67.1.2",
        replica="mock-demo-be445",
        deployment="mock-demo",
        model="org/qwen",
    )


def test_any_other_pod_is_told_by_its_owner() -> None:
    owned = {"name": "p", "namespace": "n", "uid": "u", "ownerReferences": [{"kind": "ReplicaSet", "name": "web-5d4f"}]}
    pod = read_pod("east", a_pod_document(metadata=owned))
    assert pod is not None
    assert (pod.replica, pod.deployment) == ("", "web")


@pytest.mark.parametrize(
    ("words", "model"),
    [
        (["--model=a"], "a"),
        (["--model", "a", "--served-model-name", "b"], "b"),
        (["serve", "a"], "a"),
        (["--model-path", "a"], "a"),
        (["serve", "--port=1"], "qwen-x-1"),
        ([], "qwen-x-1"),
    ],
)
def test_the_model_is_the_one_on_the_command_line(words: list[str], model: str) -> None:
    pod = read_pod("east", a_pod_document(spec={"containers": [{"name": "engine", "args": words}]}))
    assert pod is not None
    assert pod.model == model


@pytest.mark.parametrize("status", [{}, {"phase": "Pending"}, {"phase": "Succeeded", "podIP": "10.67.1.2"}])
def test_a_pod_without_an_address_or_that_has_ended_answers_nothing(status: dict[str, str]) -> None:
    assert read_pod("east", a_pod_document(status=status)) is None


def test_a_listing_replaces_what_one_cluster_said_and_no_other() -> None:
    east, west = read_pod("east", a_pod_document()), read_pod("west", a_pod_document(status={"podIP": "10.69.0.1"}))
    assert east
    assert west

    async def play() -> None:
        directory = Directory()
        directory.replace("east", {"u1": east})
        directory.set("west", "u1", west)
        directory.replace("east", {})
        assert directory.find(east.address) is None
        assert directory.find(west.address) == west
        directory.set("west", "u1", None)
        assert directory.find(west.address) is None

    asyncio.run(play())


def test_news_that_are_on_their_way_are_waited_for() -> None:
    pod = read_pod("east", a_pod_document())
    assert pod

    async def play() -> None:
        directory = Directory()
        waiting = asyncio.create_task(directory.wait_for(pod.address, 30))
        await asyncio.sleep(0)
        directory.set("east", "other", None)
        await asyncio.sleep(0)
        directory.set("east", "u1", pod)
        assert await waiting == pod
        assert await directory.wait_for("10.67.9.9", 0.01) is None

    asyncio.run(play())
