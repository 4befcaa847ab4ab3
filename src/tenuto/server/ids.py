"""Ids of jobs: ten characters without those that look alike, from chance, so that nobody can guess or count them."""

from __future__ import annotations

import secrets

from tenuto.store.base import Tx

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32."""
LENGTH = 10


def new_id(tx: Tx) -> str:
    """An id that no job has, and no name that looks like one."""
    while True:
        id_ = "".join(ALPHABET[byte % len(ALPHABET)] for byte in secrets.token_bytes(LENGTH))
        if tx.job(id_) is None:
            return id_
