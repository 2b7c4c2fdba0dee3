"""Which of many labelled things a selector takes, without asking each of them for each selector."""

from collections.abc import Iterable, Mapping

from api.terms import LabelSelector


class LabelIndex:
    """Things by their labels; a selector costs about as much as its rarest label has things."""

    def __init__(self, things: Iterable[tuple[str, Mapping[str, str]]]) -> None:
        self.all: frozenset[str] = frozenset()
        self._by_label: dict[tuple[str, str], set[str]] = {}
        names = set()
        for name, labels in things:
            names.add(name)
            for label in labels.items():
                self._by_label.setdefault(label, set()).add(name)
        self.all = frozenset(names)
        self._known: dict[frozenset[tuple[str, str]], frozenset[str]] = {}

    def selected(self, selector: LabelSelector | None) -> frozenset[str]:
        """The things that a selector takes; all where there is none."""
        return self.carrying(selector.match_labels if selector else {})

    def carrying(self, labels: Mapping[str, str]) -> frozenset[str]:
        """The things that carry all of these labels."""
        key = frozenset(labels.items())
        if key not in self._known:
            sets = sorted((self._by_label.get(label, set()) for label in key), key=len)
            self._known[key] = frozenset(sets[0].intersection(*sets[1:])) if sets else self.all
        return self._known[key]

    def unknown(self, labels: Mapping[str, str]) -> tuple[str, str, tuple[str, ...]] | None:
        """The first label that nothing carries, and the values that its key has elsewhere; None where each is known."""
        for key, value in labels.items():
            if (key, value) not in self._by_label:
                values = tuple(sorted({other for known, other in self._by_label if known == key}))
                return key, value, values
        return None
