"""Which addresses are proxies."""

from __future__ import annotations

import pytest

from tenuto.server.proxies import UNIX_SOCKET, is_proxy, proxy_networks


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("10.1.2.3", True),
        ("10.2.0.1", False),
        ("2001:db8::7", True),
        ("127.0.0.1", False),
        (UNIX_SOCKET, True),
        ("no address", False),
    ],
)
def test_only_configured_addresses_and_the_unix_socket_are_proxies(host: str, expected: bool) -> None:
    assert is_proxy(host, proxy_networks("10.1.0.0/16 2001:db8::7")) == expected


def test_without_a_setting_no_address_is_a_proxy() -> None:
    assert not is_proxy("127.0.0.1", proxy_networks(""))


@pytest.mark.parametrize("text", ["nginx", "10.1.0.0/33", "10.1.2.3/16"])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text.partition("/")[0]):
        proxy_networks(f"127.0.0.1 {text}")
