"""Which program of the tool cache runs where a pod asks for an image."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Program:
    """What runs in place of an image: the tool's name, what it is given besides, and whether it needs libraries.

    `renamed` are flags that the tool's version calls otherwise.
    """

    tool: str
    arguments: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    is_dynamic: bool = False

    def argument(self, word: str) -> str:
        """A word of the container's command line as the tool knows it."""
        name, equals, value = word.partition("=")
        return f"{self.renamed.get(name, name)}{equals}{value}"


PROGRAMS: Mapping[str, Program] = {
    "envoyproxy/gateway": Program(tool="envoy-gateway"),
    # Two threads for a few requests a second are enough, and nothing is ever handed over to a newer process.
    "envoyproxy/envoy": Program(
        tool="envoy", arguments=("--concurrency", "1", "--disable-hot-restart"), is_dynamic=True
    ),
    "lws/lws": Program(tool="lws-manager"),
    "envoyproxy/ai-gateway-controller": Program(tool="inference-pools"),
    "llm-d/llm-d-router-endpoint-picker": Program(tool="endpoint-picker"),
    "llm-d/llm-d-router-disagg-sidecar": Program(tool="pd-sidecar", renamed={"--kv-connector": "--connector"}),
}
"""By the last two parts of the image's name, whatever its registry and tag."""

PATTERN = "(^|/)(" + "|".join(PROGRAMS) + ")(:|@|$)"
"""A regular expression that finds those images."""

PASSED_OVER = frozenset({"shutdown-manager"})
"""Containers that do nothing here: Envoy's connections end with its pod."""


def program_for(image: str) -> Program | None:
    """The program for an image; None where the pod is left to KWOK."""
    name = image.partition("@")[0]
    head, _, last = name.rpartition("/")
    return PROGRAMS.get(f"{head.rpartition('/')[2]}/{last.partition(':')[0]}")
