"""What a training script uses. The standard library suffices; torch stays in `tenuto.sdk.pytorch`."""
