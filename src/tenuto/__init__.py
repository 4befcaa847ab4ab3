"""Elastic deep-learning training that holds its deadlines."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenuto.sdk.run import Run as Run
    from tenuto.sdk.run import init as init

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Load the SDK when a training script asks for it: the command line shall not wait for it."""
    if name not in ("init", "Run"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tenuto.sdk import run

    return getattr(run, name)
