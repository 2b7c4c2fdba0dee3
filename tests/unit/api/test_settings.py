"""What a fleet's settings mean: which of them apply to a cluster, shares, durations; and where an endpoint is."""

import pytest
from builders import a_fleet

from api.fleets import ServingStackSettings, serving_stack_for
from api.routing import Address, endpoint_address


def test_without_a_fleet_the_defaults_apply() -> None:
    settings = serving_stack_for(None, "us")
    assert settings == ServingStackSettings()
    assert (settings.crds.enabled, settings.dra.enabled, settings.inference_pools) == (True, True, True)
    assert settings.gateway_class_name == "envoy"


def test_a_clusters_settings_lie_on_top_of_the_fleets_field_by_field() -> None:
    fleet = a_fleet(
        servingStack={
            "inferencePools": False,
            "gatewayClassName": "traefik",
            "crds": {"enabled": False},
            "charts": {
                "prometheus": {"version": "1", "values": {"grafana": {"enabled": True, "size": 1}, "list": [1, 2]}},
                "cert-manager": {"enabled": False},
            },
        },
        clusters={
            "us": {
                "servingStack": {
                    "inferencePools": True,
                    "charts": {
                        "prometheus": {"enabled": False, "values": {"grafana": {"size": 2}, "list": [3]}},
                        "grove": {"version": "2"},
                    },
                }
            },
            "eu": {},
        },
    )
    assert serving_stack_for(fleet, "eu") == serving_stack_for(fleet, "elsewhere") == fleet.spec.serving_stack
    merged = serving_stack_for(fleet, "us")
    assert merged.inference_pools is True
    assert merged.gateway_class_name == "traefik"
    assert merged.crds.enabled is False
    assert merged.dra.enabled is True
    assert {name: (chart.enabled, chart.version) for name, chart in merged.charts.items()} == {
        "prometheus": (False, "1"),
        "cert-manager": (False, None),
        "grove": (True, "2"),
    }
    assert merged.charts["prometheus"].values == {"grafana": {"enabled": True, "size": 2}, "list": [3]}


def test_a_pin_of_upstreams_is_the_version_of_its_chart_wherever_it_is_written() -> None:
    fleet = a_fleet(
        servingStack={"standard": {"leaderWorkerSet": "v0.8.0"}, "versions": {"nvidiaDraDriver": "0.4.0"}},
        clusters={"us": {"servingStack": {"versions": {"leaderWorkerSet": "v0.8.1"}}}},
    )
    for cluster, version in (("eu", "v0.8.0"), ("us", "v0.8.1")):
        charts = serving_stack_for(fleet, cluster).charts
        assert {name: (chart.version, chart.enabled) for name, chart in charts.items()} == {
            "leader-worker-set": (version, True),
            "dra-driver": ("0.4.0", True),
        }


def test_shares_and_durations_are_numbers() -> None:
    fleet = a_fleet(deletion={"maxShare": "30%"}, unreachable={"withdrawAfter": "1h30m10s"})
    assert fleet.spec.deletion.share == pytest.approx(0.3)
    assert fleet.spec.unreachable.withdraw_after_seconds == 5410
    assert a_fleet().spec.deletion.share == pytest.approx(0.2)
    assert a_fleet().spec.unreachable.withdraw_after_seconds is None
    assert a_fleet().spec.limits.replicas == 10


ADDRESSES = {
    "http://10.0.0.9": Address("http", "10.0.0.9", 80, "IPv4"),
    "http://10.0.0.9:8000/a/b/v1": Address("http", "10.0.0.9", 8000, "IPv4"),
    "https://api.example.com/": Address("https", "api.example.com", 443, "FQDN"),
    "https://API.example.com:8443": Address("https", "api.example.com", 8443, "FQDN"),
    "http://[fd00::1]": Address("http", "fd00::1", 80, "IPv6"),
    "https://[fd00::1]:8443/v1": Address("https", "fd00::1", 8443, "IPv6"),
}


@pytest.mark.parametrize(("url", "address"), ADDRESSES.items(), ids=ADDRESSES)
def test_an_endpoint_is_where_its_url_says(url: str, address: Address) -> None:
    assert endpoint_address(url) == address
