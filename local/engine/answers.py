"""What an engine says: the bodies and event streams of the OpenAI and Anthropic APIs, as plain functions.

The text of every answer names the cluster, the pod and the deployment that gave it, then repeats what was asked.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from local.engine.pods import Pod

Body = Mapping[str, Any]

_DIMENSIONS = 8


class NotUnderstood(Exception):
    """A body that the API does not allow; answered with 400."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request to an engine: who is asked, what, and the number and time that mark the answer."""

    pod: Pod
    body: Body
    number: int = 0
    created: int = 0

    @property
    def model(self) -> str:
        """The model's name in the answer: the one asked for."""
        return str(self.body.get("model") or self.pod.model)

    @property
    def streams(self) -> bool:
        """Whether the answer is wanted piece by piece."""
        return self.body.get("stream") is True


def parse(content: bytes) -> Body:
    """Read a request's body; raises NotUnderstood, or ValueError for what is not JSON."""
    body = json.loads(content)
    if not isinstance(body, dict):
        raise NotUnderstood("the body is not a JSON object")
    return body


def words(call: Call, asked: str) -> tuple[list[str], bool]:
    """The pieces of an answer's text, and whether a limit cut it."""
    pod = call.pod
    place = f"{pod.cluster} {pod.namespace}/{pod.name}" + (f" ({pod.deployment})" if pod.deployment else "")
    first, *others = f"{place}: {asked}".split()
    pieces = [first, *(f" {other}" for other in others)]
    limit = call.body.get("max_completion_tokens") or call.body.get("max_tokens") or len(pieces)
    return pieces[: int(limit)], int(limit) < len(pieces)


def models(pod: Pod) -> Body:
    """GET /v1/models."""
    return {
        "object": "list",
        "data": [{"id": pod.model, "object": "model", "created": 0, "owned_by": "modelplane-local"}],
    }


def chat(call: Call) -> Body | Iterator[str]:
    """POST /v1/chat/completions: a body, or the events of a stream."""
    asked = _last_message(call.body)
    pieces, cut = words(call, asked)
    reason = "length" if cut else "stop"
    base = {"id": f"chatcmpl-{call.number}", "created": call.created, "model": call.model}
    if not call.streams:
        message = {"role": "assistant", "content": "".join(pieces)}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {**base, "object": "chat.completion", "choices": [choice], "usage": _usage(asked, pieces)}

    def chunk(delta: Body, finish: str | None = None) -> Body:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return {**base, "object": "chat.completion.chunk", "choices": choices}

    chunks = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": piece}) for piece in pieces)]
    chunks.append(chunk({}, reason))
    if _wants_usage(call.body):
        chunks.append({**base, "object": "chat.completion.chunk", "choices": [], "usage": _usage(asked, pieces)})
    return _openai_events(chunks)


def completions(call: Call) -> Body | Iterator[str]:
    """POST /v1/completions: a body, or the events of a stream."""
    prompt = call.body.get("prompt")
    if prompt is None:
        raise NotUnderstood("prompt: required")
    asked = prompt if isinstance(prompt, str) else " ".join(str(part) for part in prompt)
    pieces, cut = words(call, asked)
    reason = "length" if cut else "stop"
    base = {"id": f"cmpl-{call.number}", "object": "text_completion", "created": call.created, "model": call.model}

    def choices(text: str, finish: str | None) -> Body:
        return {**base, "choices": [{"index": 0, "text": text, "logprobs": None, "finish_reason": finish}]}

    if not call.streams:
        return {**choices("".join(pieces), reason), "usage": _usage(asked, pieces)}
    return _openai_events([*(choices(piece, None) for piece in pieces), choices("", reason)])


def embeddings(call: Call) -> Body:
    """POST /v1/embeddings: the same vector for the same text, on every engine."""
    given = call.body.get("input")
    if given is None:
        raise NotUnderstood("input: required")
    texts = given if isinstance(given, list) else [given]
    data = [
        {"object": "embedding", "index": index, "embedding": _vector(str(text))} for index, text in enumerate(texts)
    ]
    tokens = sum(len(str(text).split()) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": call.model, "usage": usage}


def messages(call: Call) -> Body | Iterator[str]:
    """POST /v1/messages (Anthropic): a body, or the events of a stream."""
    asked = _last_message(call.body)
    pieces, cut = words(call, asked)
    reason = "max_tokens" if cut else "end_turn"
    usage = {"input_tokens": len(asked.split()), "output_tokens": len(pieces)}
    message = {
        "id": f"msg_{call.number}",
        "type": "message",
        "role": "assistant",
        "model": call.model,
        "content": [{"type": "text", "text": "".join(pieces)}],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage,
    }
    if not call.streams:
        return message
    start = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 0}}
    return _anthropic_events(
        [
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
                for piece in pieces
            ),
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": reason, "stop_sequence": None},
                "usage": {"output_tokens": len(pieces)},
            },
            {"type": "message_stop"},
        ]
    )


def count_tokens(call: Call) -> Body:
    """POST /v1/messages/count_tokens (Anthropic)."""
    return {"input_tokens": len(_last_message(call.body).split())}


def metrics(pod: Pod, running: int, served: int) -> str:
    """GET /metrics: what vLLM calls the values that pickers and dashboards read."""
    label = f'{{model_name="{pod.model}"}}'
    gauges = {"vllm:num_requests_running": running, "vllm:num_requests_waiting": 0, "vllm:kv_cache_usage_perc": 0.0}
    lines = [line for name, value in gauges.items() for line in (f"# TYPE {name} gauge", f"{name}{label} {value}")]
    lines += ["# TYPE vllm:request_success_total counter", f"vllm:request_success_total{label} {served}"]
    lines += ["# TYPE vllm:cache_config_info gauge"]
    lines += [f'vllm:cache_config_info{{block_size="16",num_gpu_blocks="1024",model_name="{pod.model}"}} 1']
    return "\n".join(lines) + "\n"


def error(message: str, kind: str, status: int) -> Body:
    """The body of a refusal, in the form that clients of both APIs print."""
    return {"type": "error", "error": {"message": message, "type": kind, "code": status}}


POST: Mapping[str, Callable[[Call], Body | Iterator[str]]] = {
    "/v1/chat/completions": chat,
    "/v1/completions": completions,
    "/v1/embeddings": embeddings,
    "/v1/messages": messages,
    "/v1/messages/count_tokens": count_tokens,
}
"""The functions by path."""


def _last_message(body: Body) -> str:
    given = body.get("messages")
    if not isinstance(given, list) or not given or not all(isinstance(message, dict) for message in given):
        raise NotUnderstood("messages: a list with at least one message is required")
    content = given[-1].get("content") or ""
    if isinstance(content, str):
        return content
    return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))


def _usage(asked: str, pieces: list[str]) -> Body:
    prompt = len(asked.split())
    return {"prompt_tokens": prompt, "completion_tokens": len(pieces), "total_tokens": prompt + len(pieces)}


def _wants_usage(body: Body) -> bool:
    options = body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _vector(text: str) -> list[float]:
    return [round(byte / 127.5 - 1, 6) for byte in hashlib.sha256(text.encode()).digest()[:_DIMENSIONS]]


def _openai_events(chunks: list[Body]) -> Iterator[str]:
    yield from (f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    yield "data: [DONE]\n\n"


def _anthropic_events(events: list[Body]) -> Iterator[str]:
    yield from (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
