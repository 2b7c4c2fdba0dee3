import json
from collections.abc import Iterator
from typing import Any

import pytest

from local.engine import answers
from local.engine.answers import Call, NotUnderstood
from local.engine.pods import Pod

POD = Pod(
    cluster="east", namespace="ml-team", name="qwen-0", address="10.67.0.1", deployment="qwen", replica="r", model="m"
)
HELLO = {"messages": [{"role": "user", "content": "hello there"}]}
SAID = "east ml-team/qwen-0 (qwen): hello there"


def call(body: dict[str, Any]) -> Call:
    return Call(pod=POD, body=body, number=7, created=1_700_000_000)


def events(stream: object) -> list[str]:
    assert isinstance(stream, Iterator)
    return list(stream)


def data(event: str) -> Any:
    return json.loads(event.split("data: ", 1)[1])


def test_chat_says_who_answers_and_repeats_the_question() -> None:
    assert answers.chat(call(HELLO)) == {
        "id": "chatcmpl-7",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": SAID}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 2, "completion_tokens": 5, "total_tokens": 7},
    }


def test_the_model_in_the_answer_is_the_one_asked_for() -> None:
    assert answers.chat(call(HELLO | {"model": "other"}))["model"] == "other"  # type: ignore[index]


def test_a_chat_stream_adds_up_to_the_whole_and_ends_with_done() -> None:
    stream = events(answers.chat(call(HELLO | {"stream": True, "stream_options": {"include_usage": True}})))
    assert stream[-1] == "data: [DONE]\n\n"
    chunks = [data(event) for event in stream[:-1]]
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"]) == SAID
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["usage"]["total_tokens"] == 7
    assert {chunk["id"] for chunk in chunks} == {"chatcmpl-7"}


def test_a_limit_cuts_the_answer() -> None:
    body = answers.chat(call(HELLO | {"max_tokens": 2}))
    assert body["choices"][0]["message"]["content"] == "east ml-team/qwen-0"  # type: ignore[index]
    assert body["choices"][0]["finish_reason"] == "length"  # type: ignore[index]


def test_content_in_parts_is_read() -> None:
    parts = {"messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}, {"type": "image_url"}]}]}
    assert answers.chat(call(parts))["choices"][0]["message"]["content"].endswith(": hello")  # type: ignore[index]


def test_completions_answer_whole_and_in_pieces() -> None:
    whole = answers.completions(call({"prompt": "hello there"}))
    assert whole["choices"][0]["text"] == SAID  # type: ignore[index]
    stream = events(answers.completions(call({"prompt": "hello there", "stream": True})))
    assert "".join(data(event)["choices"][0]["text"] for event in stream[:-1]) == SAID
    assert stream[-1] == "data: [DONE]\n\n"


def test_embeddings_are_the_same_for_the_same_text() -> None:
    body = answers.embeddings(call({"input": ["a", "b", "a"]}))
    vectors = [entry["embedding"] for entry in body["data"]]
    assert vectors[0] == vectors[2] != vectors[1]
    assert all(-1 <= value <= 1 for vector in vectors for value in vector)


def test_anthropic_messages_answer_whole_and_in_pieces() -> None:
    whole = answers.messages(call(HELLO))
    assert whole["content"] == [{"type": "text", "text": SAID}]  # type: ignore[index]
    assert whole["usage"] == {"input_tokens": 2, "output_tokens": 5}  # type: ignore[index]
    stream = events(answers.messages(call(HELLO | {"stream": True})))
    kinds = [data(event)["type"] for event in stream]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert [event.split("\n")[0] for event in stream] == [f"event: {kind}" for kind in kinds]
    deltas = [data(event) for event in stream if data(event)["type"] == "content_block_delta"]
    assert "".join(delta["delta"]["text"] for delta in deltas) == SAID


def test_tokens_are_counted() -> None:
    assert answers.count_tokens(call(HELLO)) == {"input_tokens": 2}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {}),
        ("/v1/chat/completions", {"messages": []}),
        ("/v1/chat/completions", {"messages": ["hello"]}),
        ("/v1/completions", {}),
        ("/v1/embeddings", {}),
        ("/v1/messages", {"messages": "hello"}),
    ],
)
def test_a_body_the_api_does_not_allow_is_refused(path: str, body: dict[str, Any]) -> None:
    with pytest.raises(NotUnderstood):
        answers.POST[path](call(body))


def test_metrics_have_the_names_that_pickers_read() -> None:
    text = answers.metrics(POD, running=3, served=9)
    assert 'vllm:num_requests_running{model_name="m"} 3' in text
    assert 'vllm:request_success_total{model_name="m"} 9' in text
    for name in ("num_requests_waiting", "kv_cache_usage_perc", "cache_config_info"):
        assert f"vllm:{name}{{" in text
