"""What a visitor may do to a node: drain it, use it again, forget it."""

from __future__ import annotations

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.acting import acted, confirmed


async def drain(ask: AsyncClient, node: str) -> bool:
    """Take a node out of use, if that is meant."""
    question = f"Drain {node}? Its workers go elsewhere, and it gets no others."
    if not await confirmed(question, "Drain"):
        return False
    return await acted(ask.drain(node), f"{node} is being drained") is not None


async def undrain(ask: AsyncClient, node: str) -> bool:
    """Take a node back into use."""
    return await acted(ask.undrain(node), f"{node} is in use again") is not None


async def remove(ask: AsyncClient, node: str) -> bool:
    """Forget a node, if that is meant."""
    question = f"Forget {node}? Its supervisor ends; to come back it has to join again."
    if not await confirmed(question, "Forget"):
        return False
    return await acted(ask.remove_node(node), f"{node} is forgotten") is not None
