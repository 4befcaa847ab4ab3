"""The models that traces name, as small stand-ins of the same kind: any trace can be trained live, on CPU slots."""
