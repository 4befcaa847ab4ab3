"""The part of the SDK that needs torch."""
