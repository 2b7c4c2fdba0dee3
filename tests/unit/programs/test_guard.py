"""How much one run may delete, and what permits more."""

import re

import pytest

from api.errors import DeletionRefused
from programs.guard import deletion_digest, guard

TEN = [f"replica ml-team/qwen-{number}" for number in range(10)]


@pytest.mark.parametrize(
    ("going", "total", "share"),
    [(0, 0, 0.2), (0, 10, 0.2), (1, 1, 0.2), (1, 2, 0.0), (2, 10, 0.2), (10, 10, 1.0)],
)
def test_few_enough_go(going: int, total: int, share: float) -> None:
    guard("replicas", TEN[:going], total, share, ())


@pytest.mark.parametrize(("going", "total", "share"), [(2, 2, 0.2), (3, 10, 0.2), (2, 9, 0.2), (10, 10, 0.99)])
def test_too_many_are_refused_with_what_would_go(going: int, total: int, share: float) -> None:
    with pytest.raises(DeletionRefused) as refused:
        guard("replicas", TEN[:going], total, share, ())
    assert refused.value.exit_code == 26
    assert f"{going} of {total} replicas would go" in refused.value.message
    assert all(line in refused.value.message for line in TEN[:going])


def test_the_digest_in_the_refusal_permits_exactly_that_set() -> None:
    with pytest.raises(DeletionRefused) as refused:
        guard("replicas", TEN[:5], 10, 0.2, ())
    digest = re.search(r"--allow (\w+)", refused.value.hint)
    assert digest is not None
    guard("replicas", TEN[4::-1], 10, 0.2, {digest[1]})
    for other in (TEN[:4], TEN[:6], TEN[1:6]):
        with pytest.raises(DeletionRefused):
            guard("replicas", other, 10, 0.2, {digest[1]})


def test_a_long_list_is_cut_and_counted() -> None:
    many = [f"replica {number:03}" for number in range(50)]
    with pytest.raises(DeletionRefused, match="and 30 more"):
        guard("replicas", many, 50, 0.2, ())
    assert deletion_digest(many) != deletion_digest(many[:20])
