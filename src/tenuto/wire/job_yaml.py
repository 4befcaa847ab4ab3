"""A job as its file would say it."""

from __future__ import annotations

import yaml


def as_yaml(spec: object) -> str:
    """A spec as YAML: JSON's sizes in quotes and whole numbers with a point are written plainly."""
    return str(yaml.safe_dump(_plain(spec), allow_unicode=True, sort_keys=False, width=110))


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {
            int(key) if key.isascii() and key.isdigit() else key: _plain(one) for key, one in value.items()
        }
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
