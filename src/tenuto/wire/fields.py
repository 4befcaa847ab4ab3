"""The kinds of values that stand in requests, each with its bounds and the sentence for who oversteps them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from tenuto.model.curve import MAX_RATE, MIN_RATE, is_usable_rate
from tenuto.model.job import Condition
from tenuto.suggest import did_you_mean
from tenuto.wire import env, quantities
from tenuto.wire.json_limits import FORM, check_json, check_text
from tenuto.wire.quantities import Unusable

LONGEST_ARGUMENT = 131_071
"""Bytes; Linux starts no program with a longer one."""
MAX_UNKNOWN_KEYS = 100
"""Unknown keys of a mapping that are reported one by one; a mapping with more is refused as a whole."""
MOST_LABELS = 64
MOST_VARIABLES = 1000
MOST_NUMBER = 1e15
_LONGEST_NAME = 100

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}", re.ASCII)
_LABEL = re.compile(r"[^\W_](?:[\w./-]{0,61}[^\W_])?")
_DIGITS = re.compile(r"[0-9]{1,9}")
_ROLE = re.compile(r"[a-z](?:[a-z0-9_-]{0,29})", re.ASCII)
_NODE = re.compile(r"\w[\w.-]{0,99}")


class Request(BaseModel):
    """What somebody sends: nothing is guessed, and a key that is not known is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _bound_keys(cls, given: object) -> object:
        """Refuse a flood of unknown keys at once: pydantic would build an error for each."""
        known = cls.model_fields
        if isinstance(given, Mapping) and len(given) > len(known) + MAX_UNKNOWN_KEYS:
            raise Unusable(
                f"has {len(given)} keys, but only {len(known)} are known", f"Known are {', '.join(known)}"
            )
        return given


def at_most(count: int) -> BeforeValidator:
    """Refuse a longer mapping before its values are validated: pydantic checks `max_length` of mappings afterwards."""

    def check(given: object) -> object:
        if isinstance(given, Mapping) and len(given) > count:
            raise Unusable(f"has {len(given)} keys", f"Use at most {count}")
        return given

    return BeforeValidator(check)


def job_name(text: str) -> str:
    """Check the name of a job; its accents are kept as one character each (NFC), however they were typed."""
    text = unicodedata.normalize("NFC", text)
    beginning, end = text[:1], text[-1:]
    proper = _is_letter(beginning) and not end.isspace() and len(text) <= _LONGEST_NAME
    if not proper or not all(character in " ._-" or _is_letter(character) for character in text):
        raise Unusable(
            f"{text[:120]!r} is no name",
            "Use up to 100 letters, digits, spaces and . _ - with a letter or digit at the beginning",
        )
    return text


def _is_letter(character: str) -> bool:
    """Whether this is a letter, a digit, or a mark upon one, in any script."""
    return unicodedata.category(character)[0] in "LNM" if character else False


def node_name(text: str) -> str:
    """Check the name of a node."""
    if not _NODE.fullmatch(text):
        raise Unusable(f"{text[:120]!r} is no name of a node", "See tenuto node ls for the nodes")
    return text


def one_argument(text: str) -> str:
    """Check one argument of a command, or one command line."""
    if len(check_text(text).encode()) > LONGEST_ARGUMENT:
        raise Unusable("the text is too long", f"Linux takes at most {LONGEST_ARGUMENT} bytes; use a file")
    return text


def _texts(values: Mapping[str, object], what: str) -> dict[str, str]:
    """Values as text; numbers may be written plainly."""
    texts = {}
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise Unusable(f"the value of {what} {name} is no text", f'Write it in quotes: {name}: "..."')
        texts[name] = value if isinstance(value, str) else str(value)
    return texts


def as_variables(values: object) -> object:
    """Let the environment's numbers be written without quotes."""
    return _texts(values, "variable") if isinstance(values, Mapping) else values


def variables(values: dict[str, str]) -> dict[str, str]:
    """Check environment variables."""
    if len(values) > MOST_VARIABLES:
        raise Unusable(f"{len(values)} variables are too many", f"Give at most {MOST_VARIABLES}")
    for name, value in values.items():
        if not _VARIABLE.fullmatch(name):
            raise Unusable(f"{name[:80]!r} is no name of a variable", "Use letters, digits and _")
        if name.startswith("TENUTO_") and name != env.LOG_DIR:
            raise Unusable(f"{name[:80]} belongs to tenuto", "Choose a name without TENUTO_ before it")
        one_argument(f"{name}={value}")
    return values


def as_labels(values: object) -> object:
    """Let numbers in labels be written without quotes."""
    return _texts(values, "label") if isinstance(values, Mapping) else values


def labels(values: dict[str, str]) -> dict[str, str]:
    """Check labels."""
    if len(values) > MOST_LABELS:
        raise Unusable(f"{len(values)} labels are too many", f"Give at most {MOST_LABELS}")
    for name, value in values.items():
        if not _LABEL.fullmatch(name):
            raise Unusable(
                f"{name[:80]!r} is no name of a label",
                "Use up to 63 letters, digits and . _ / - between a letter or digit at either end",
            )
        if len(value) > 200 or not value.isprintable():
            raise Unusable(
                f"the value of label {name} cannot be used", "Use at most 200 printable characters"
            )
    return values


def as_role(name: object) -> object:
    """Check the name of a role beside the workers."""
    text = str(name)
    if text == "worker":
        raise Unusable("the role worker is the job itself", "Use run and workers for it")
    if not _ROLE.fullmatch(text):
        raise Unusable(f"{text[:80]!r} is no name of a role", "Use up to 30 small letters, digits, _ and -")
    return text


def parameters(values: dict[str, Any]) -> dict[str, Any]:
    """Check that `params` is JSON, and not too much of it."""
    check_json(values)
    return values


def job_form(values: dict[str, Any]) -> dict[str, Any]:
    """Check keys of a job whose values are read later; what stands in them must be JSON within limits."""
    check_json(values, FORM)
    return values


def curve(written: object) -> object:
    """A curve as numbers: `{1: 3.2, 2: 6.0}`; in JSON the sizes stand in quotes."""
    if not isinstance(written, Mapping):
        raise Unusable("this is no curve", "Write {1: 3.2, 2: 6.0} in steps per second, or auto")
    if len(written) > quantities.MOST_WORKERS:
        raise Unusable(f"has {len(written)} sizes", f"Give at most {quantities.MOST_WORKERS}")
    rates = {}
    for size, rate in written.items():
        if isinstance(size, bool) or not isinstance(size, int | str) or not _DIGITS.fullmatch(str(size)):
            raise Unusable(f"{_shown(size)} is no number of workers", "Write the curve as {1: 3.2, 2: 6.0}")
        if not 1 <= int(size) <= quantities.MOST_WORKERS:
            raise Unusable(f"{size} workers are out of range", f"Use 1 to {quantities.MOST_WORKERS}")
        if isinstance(rate, bool) or not isinstance(rate, int | float) or rate != rate:
            raise Unusable(
                f"the speed {_shown(rate)} at {size} workers is no number", "Give steps per second"
            )
        if not is_usable_rate(rate):
            raise Unusable(
                f"the speed {_shown(rate)} at {size} workers is out of range",
                f"Give steps per second, from {MIN_RATE:g} to {MAX_RATE:g}",
            )
        rates[int(size)] = float(rate)
    if not rates:
        raise Unusable("the curve is empty", "Give the speed at one size at least: {1: 3.2}")
    return rates


def _shown(value: object) -> str:
    """A value for a message; of an integer with thousands of digits the beginning."""
    return repr(value)[:60]


def text(check: Callable[[str], str]) -> Callable[[object], object]:
    """A check that leaves it to the field's type to refuse what is no text."""
    return lambda value: check(value) if isinstance(value, str) else value


def duration(written: object) -> object:
    """Read a duration."""
    return quantities.duration(written)


def byte_size(written: object) -> object:
    """Read a size."""
    return quantities.byte_size(written)


def condition(written: object) -> object:
    """Read on which end of the job before this one begins."""
    known = [str(one) for one in Condition]
    if written in known:
        return Condition(str(written))
    raise Unusable(
        f"{str(written)[:60]!r} is no condition",
        f"{did_you_mean(str(written), known)}Write {', '.join(known[:-1])} or {known[-1]}",
    )


Number = int | float
Name = Annotated[str, AfterValidator(job_name)]
NodeName = Annotated[str, AfterValidator(node_name)]
Line = Annotated[str, AfterValidator(one_argument)]
"""One argument, or a command line for the shell."""
Word = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(check_text)]
Path = Annotated[str, Field(max_length=4095), AfterValidator(check_text)]
Seconds = Annotated[float, BeforeValidator(duration, json_schema_input_type=Number | str)]
Bytes = Annotated[int, BeforeValidator(byte_size, json_schema_input_type=Number | str)]
Variables = Annotated[
    dict[str, str],
    BeforeValidator(as_variables, json_schema_input_type=dict[str, str | Number]),
    AfterValidator(variables),
]
Labels = Annotated[
    dict[str, str],
    BeforeValidator(as_labels, json_schema_input_type=dict[str, str | Number]),
    AfterValidator(labels),
]
Params = Annotated[dict[str, Any], AfterValidator(parameters)]
JobForm = Annotated[dict[str, Any], AfterValidator(job_form)]
PolicySettings = Annotated[dict[str, Any], Field(max_length=100), AfterValidator(parameters)]
"""Of a policy; which it has is known to the policy alone."""
Moment = Annotated[
    str, Field(max_length=60), BeforeValidator(quantities.as_written, json_schema_input_type=str)
]
EndOf = Annotated[Condition, BeforeValidator(condition, json_schema_input_type=Condition)]
Amount = Annotated[float, Field(ge=0, le=MOST_NUMBER)]
