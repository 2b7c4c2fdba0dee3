"""Network interfaces and routes of Linux, over netlink (rtnetlink(7)): what `ip link`, `ip address` and `ip route` do.

This module imports the standard library alone, as do those that enter namespaces with it.
"""

import fcntl
import os
import socket
import struct
from pathlib import Path

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_RTM_NEWLINK, _RTM_NEWADDR, _RTM_NEWROUTE = 16, 20, 24
_REQUEST, _ACK, _REPLACE, _EXCLUSIVE, _CREATE = 0x1, 0x4, 0x100, 0x200, 0x400
_IFLA_IFNAME, _IFLA_LINKINFO, _IFLA_NET_NS_FD = 3, 18, 28
_INFO_KIND, _INFO_DATA, _PEER = 1, 2, 1
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_RTA_DST, _RTA_OIF, _RTA_PREFSRC = 1, 4, 7
_TABLE_MAIN, _TABLE_LOCAL, _BOOT = 254, 255, 3
_SCOPE_LINK, _SCOPE_HOST = 253, 254
_UNICAST, _LOCAL = 1, 2
_ERROR = 2


def set_up(interface: str) -> None:
    """`ip link set INTERFACE up`; raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh22x", interface.encode(), 0)
        flags = struct.unpack_from("16sh", fcntl.ioctl(handle, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack("16sh22x", interface.encode(), flags | _IFF_UP))


def make_pair(name: str, peer: str, peer_namespace: int) -> None:
    """A veth pair: `name` here, `peer` in the network namespace of that open file; raises OSError."""
    link = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, 0, 0, 0)
    there = link + _text(_IFLA_IFNAME, peer) + _attribute(_IFLA_NET_NS_FD, struct.pack("=I", peer_namespace))
    info = _text(_INFO_KIND, "veth") + _attribute(_INFO_DATA, _attribute(_PEER, there))
    body = link + _text(_IFLA_IFNAME, name) + _attribute(_IFLA_LINKINFO, info)
    _request(_RTM_NEWLINK, _CREATE | _EXCLUSIVE, body, f"interfaces {name} and {peer}")


def add_address(interface: str, address: str) -> None:
    """`ip address add ADDRESS/32 dev INTERFACE`; raises OSError."""
    packed = socket.inet_aton(address)
    body = struct.pack("=BBBBI", socket.AF_INET, 32, 0, 0, socket.if_nametoindex(interface))
    body += _attribute(_IFA_LOCAL, packed) + _attribute(_IFA_ADDRESS, packed)
    _request(_RTM_NEWADDR, _CREATE | _REPLACE, body, f"address {address}")


def add_local_route(network: str, bits: int) -> None:
    """`ip route add local NETWORK/BITS dev lo`: every address of the network is this host's; raises OSError."""
    kind = (_TABLE_LOCAL, _BOOT, _SCOPE_HOST, _LOCAL)
    _route(network, bits, kind, "lo")


def add_host_route(address: str, interface: str, source: str) -> None:
    """`ip route replace ADDRESS/32 dev INTERFACE src SOURCE table local`: one address of a local network is elsewhere.

    It goes into the table of local routes, which is looked at first. Raises OSError.
    """
    kind = (_TABLE_LOCAL, _BOOT, _SCOPE_LINK, _UNICAST)
    _route(address, 32, kind, interface, source)


def add_default_route(interface: str) -> None:
    """`ip route add default dev INTERFACE`: every other address is asked for on this interface; raises OSError."""
    kind = (_TABLE_MAIN, _BOOT, _SCOPE_LINK, _UNICAST)
    _route("0.0.0.0", 0, kind, interface)  # noqa: S104  a route, nothing is bound


def forward(interface: str) -> None:
    """Pass packets on between interfaces, and answer on this one for addresses that lie behind others (proxy ARP)."""
    for name, setting in (("all", "forwarding"), (interface, "forwarding"), (interface, "proxy_arp")):
        Path(f"/proc/sys/net/ipv4/conf/{name}/{setting}").write_text("1")


def _route(network: str, bits: int, kind: tuple[int, int, int, int], interface: str, source: str = "") -> None:
    """`kind` is the route's table, protocol, scope and type."""
    body = struct.pack("=BBBBBBBBI", socket.AF_INET, bits, 0, 0, *kind, 0)
    if bits:
        body += _attribute(_RTA_DST, socket.inet_aton(network))
    body += _attribute(_RTA_OIF, struct.pack("=I", socket.if_nametoindex(interface)))
    if source:
        body += _attribute(_RTA_PREFSRC, socket.inet_aton(source))
    _request(_RTM_NEWROUTE, _CREATE | _REPLACE, body, f"route to {network}/{bits}")


def _request(kind: int, flags: int, body: bytes, what: str) -> None:
    header = struct.pack("=IHHII", 16 + len(body), kind, _REQUEST | _ACK | flags, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.bind((0, 0))
        netlink.send(header + body)
        answer = netlink.recv(4096)
    code = -struct.unpack_from("=i", answer, 16)[0] if struct.unpack_from("=IH", answer)[1] == _ERROR else 0
    if code:
        raise OSError(code, f"{what}: {os.strerror(code)}")


def _text(kind: int, text: str) -> bytes:
    return _attribute(kind, text.encode() + b"\0")


def _attribute(kind: int, value: bytes) -> bytes:
    padding = b"\0" * (-len(value) % 4)
    return struct.pack("=HH", 4 + len(value), kind) + value + padding
