import pytest

from api.aws import efa_cards

CARDS = {
    "p5.48xlarge": 32,
    "p5e.48xlarge": 32,
    "p5en.48xlarge": 16,
    "p4d.24xlarge": 4,
    "p4de.24xlarge": 4,
    "g6.8xlarge": 1,
    "p5.4xlarge": 1,
    "g6.xlarge": None,
    "g6e.4xlarge": None,
    "m6i.large": None,
    "c5n.metal": 1,
    "nonsense": None,
}


@pytest.mark.parametrize(("machine", "want"), CARDS.items(), ids=CARDS)
def test_network_cards_with_efa(machine: str, want: int | None) -> None:
    assert efa_cards(machine) == want
