"""The REST interface: one thin module per resource over the store."""
