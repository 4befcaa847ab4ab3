"""Addresses of clients and of the proxies in front of the server."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network

UNIX_SOCKET = "a Unix socket"
"""The client address of requests that came over the Unix socket and name no other."""


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
