"""Which variables of a supervisor's environment its workers inherit. Pure.

A worker runs the code of users, while the environment of whoever started the platform may hold passwords and keys: only
names that programs need in order to run at all are passed on, and those that the setting `workers.inherit` adds. What a
job or the setting `workers.env` sets comes on top and is not restricted.

`VIRTUAL_ENV`, `CONDA_*` and `PYTHON*` are passed on, since PATH is: they name the interpreter that is found first there
and its modules, and hold no secrets.
"""

from __future__ import annotations

from collections.abc import Mapping

INHERITED = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "VIRTUAL_ENV",
    "CONDA_*",
    "PYTHON*",
    "CUDA_*",
    "NVIDIA_*",
    "NCCL_*",
    "GLOO_*",
    "OMP_*",
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "TENUTO_HOME",
)
"""Names, and beginnings of names with a `*`. TENUTO_HOME lets commands of tenuto in a job find this platform."""
SECRETS = frozenset({"TENUTO_TOKEN", "TENUTO_STORE", "TENUTO_STORE_URL", "TENUTO_INFLUX_URL"})
"""Variables of tenuto itself that no setting passes on."""


def worker_variables(variables: Mapping[str, str], inherit: str = "") -> dict[str, str]:
    """The variables that workers get; `inherit` names more, with blanks between them, as `INHERITED` does."""
    patterns = (*INHERITED, *inherit.split())
    exact = {pattern for pattern in patterns if not pattern.endswith("*")}
    beginnings = tuple(pattern[:-1] for pattern in patterns if pattern.endswith("*"))
    return {
        name: value
        for name, value in variables.items()
        if (name in exact or name.startswith(beginnings)) and name not in SECRETS
    }


def without_secrets(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables for programs of tenuto itself, such as the sampler."""
    return {name: value for name, value in variables.items() if name not in SECRETS}
