"""What `-l` asks of labels."""

import pytest

from api.errors import InvocationError
from api.label_queries import label_query

LABELS = {"region": "us-east", "tier": "prod", "example.com/gpu": "h100", "empty": ""}


@pytest.mark.parametrize(
    "text",
    [
        "region=us-east",
        "region==us-east",
        "region = us-east",
        "region!=eu",
        "zone!=a",
        "region in (us-east,us-west)",
        "region in (us-east, us-west),tier=prod",
        "region notin (eu)",
        "zone notin (a,b)",
        "example.com/gpu",
        "!zone",
        "empty=",
        "tier=prod,!zone,region!=eu",
    ],
)
def test_labels_meet(text: str) -> None:
    assert label_query(text).matches(LABELS)


@pytest.mark.parametrize(
    "text",
    ["region=eu", "zone=a", "region!=us-east", "region in (eu)", "zone", "!tier", "tier=", "tier=prod,region=eu"],
)
def test_labels_do_not_meet(text: str) -> None:
    assert not label_query(text).matches(LABELS)


@pytest.mark.parametrize("text", ["", "region=us,", "=us", "region=a b", "region in us", "a=b=c", "region in (a"])
def test_what_asks_nothing_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvocationError) as refused:
        label_query(text)
    assert "kubectl get -l" in refused.value.hint
