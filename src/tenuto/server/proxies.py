"""Addresses of clients and of the proxies in front of the server."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network

UNIX_SOCKET = "a Unix socket"
"""The client address of requests that came over the Unix socket and name no other."""
_CLIENT_PREFIX_BITS = 64
"""One subscriber of IPv6 commands at least so large a network, so its addresses are counted together."""


def proxy_networks(text: str) -> tuple[Network, ...]:
    """Read the setting `serving.proxies`; raises ValueError with the part that is neither address nor network."""
    return tuple(ip_network(part) for part in text.split())


def is_proxy(host: str, proxies: Sequence[Network]) -> bool:
    """Whether an address is that of a configured proxy; the Unix socket always is."""
    if host == UNIX_SOCKET:
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return any(address in network for network in proxies)


def address_group(host: str) -> str:
    """The key under which connections of an address are counted: an IPv4 address or an IPv6 network of 64 bits."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ip_network((int(address), _CLIENT_PREFIX_BITS), strict=False))
    return host
