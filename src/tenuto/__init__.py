"""Elastic deep-learning training that holds its deadlines."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenuto.client.asynchronous import AsyncClient as AsyncClient
    from tenuto.client.sync import Client as Client
    from tenuto.sdk.run import Run as Run
    from tenuto.sdk.run import init as init

__version__ = "0.1.0"
_PLACES = {
    "init": "tenuto.sdk.run",
    "Run": "tenuto.sdk.run",
    "Client": "tenuto.client.sync",
    "AsyncClient": "tenuto.client.asynchronous",
}


def __getattr__(name: str) -> object:
    """Load what is asked for when it is: training scripts need the SDK only, and the command line neither."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)
