"""Every endpoint of the REST API, written once: who inherits says how a request is made and what comes of it."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from tenuto.client.ask import FORESIGHT, Ask

R = TypeVar("R")
LONG_POLL = 20.0
"""Seconds that the server may keep a question open until there is something to say."""


class Calls(ABC, Generic[R]):
    """What can be asked of a server; `R` is what one gets for it."""

    @abstractmethod
    def _send(self, ask: Ask) -> R:
        """Make a request."""

    # jobs

    def submit(self, job: Mapping[str, Any], *, key: str = "") -> R:
        """Hand in a job; the same key never makes two jobs."""
        return self._make("/jobs", job, key)

    def jobs(self, **query: Any) -> R:
        """One page of jobs, newest first: `{items, next}`."""
        return self._get("/jobs", query)

    def job_table(self, **query: Any) -> R:
        """One page of the table of jobs, in the order of choice: `{items, of}`."""
        return self._get("/table/jobs", query)

    def job(self, ref: str, *, wait: str | None = None, timeout: float = LONG_POLL) -> R:
        """One job, at once or when `wait` (`verdict`, `end`) has come or the time is up."""
        query = {} if wait is None else {"wait": wait, "timeout": timeout}
        return self._get(f"/jobs/{_part(ref)}", query, timeout=timeout + 10)

    def change(self, ref: str, wishes: Mapping[str, Any]) -> R:
        """Change deadline, priority, after, name or labels."""
        return self._ask("PATCH", f"/jobs/{_part(ref)}", body=wishes, again=True, timeout=FORESIGHT)

    def scale(self, ref: str, wish: Mapping[str, Any]) -> R:
        """Pin a job's size, or release it; a difference is not asked for twice."""
        again = "delta" not in wish
        return self._ask("POST", f"/jobs/{_part(ref)}/scale", body=wish, again=again, timeout=FORESIGHT)

    def act(self, ref: str, verb: str) -> R:
        """`pause`, `resume` or `cancel` a job."""
        return self._ask("POST", f"/jobs/{_part(ref)}/{verb}")

    def resubmit(self, ref: str, edit: Mapping[str, Any] | None = None, *, key: str = "") -> R:
        """Hand in a job again, as it was or with some keys changed."""
        return self._make(f"/jobs/{_part(ref)}/resubmit", {} if edit is None else {"edit": edit}, key)

    def delete(self, ref: str, *, cascade: bool = False) -> R:
        """Forget a job, and with `cascade` those that wait for it."""
        return self._ask("DELETE", f"/jobs/{_part(ref)}", query={"cascade": cascade})

    def delete_logs(self, ref: str) -> R:
        """Delete what an ended job's workers printed."""
        return self._ask("DELETE", f"/jobs/{_part(ref)}/logs", again=True)

    def logs(self, ref: str, **query: Any) -> R:
        """A piece of what one worker printed."""
        return self._get(f"/jobs/{_part(ref)}/logs", query)

    def metrics(self, ref: str, **query: Any) -> R:
        """One page of what a job's workers tell of their steps, by step."""
        return self._get(f"/jobs/{_part(ref)}/metrics", query)

    def numbers(self, kind: str, **query: Any) -> R:
        """One page of numbers over time: of `node`, `job` or `cluster`, as columns."""
        return self._get("/metrics", {"kind": kind, **query})

    def subjects(self, kind: str, **query: Any) -> R:
        """One page of what is measured."""
        return self._get("/metrics/subjects", {"kind": kind, **query})

    def add_metrics(self, ref: str, told: Mapping[str, Any]) -> R:
        """Hand in records of a worker; what was handed in before is not stored again."""
        return self._ask("POST", f"/jobs/{_part(ref)}/metrics", body=told, again=True)

    def add_to_curve(self, ref: str, curve: Mapping[int, float], kind: str) -> R:
        """Have speeds remembered that were measured with a job."""
        sizes = {str(size): rate for size, rate in curve.items()}
        return self._ask("POST", f"/jobs/{_part(ref)}/curve", body={"curve": sizes, "kind": kind})

    def attempts(self, ref: str, **query: Any) -> R:
        """One page of the starts of a job's workers."""
        return self._get(f"/jobs/{_part(ref)}/attempts", query)

    def hosts(self, ref: str) -> R:
        """The job's allocation as lines `host:slots`."""
        return self._get(f"/jobs/{_part(ref)}/hosts")

    # questions: asking twice does no harm

    def plan(self, jobs: Sequence[Mapping[str, Any]]) -> R:
        """What jobs would be answered if they were submitted now."""
        return self._ask("POST", "/plan", body={"jobs": list(jobs)}, again=True, timeout=FORESIGHT)

    def whatif(self, thought: Mapping[str, Any]) -> R:
        """What changes would do to everybody."""
        return self._ask("POST", "/whatif", body=thought, again=True, timeout=FORESIGHT)

    def explain(self, ref: str) -> R:
        """Why a job is as it is, and what would help."""
        return self._ask("GET", f"/jobs/{_part(ref)}/explain", again=True, timeout=FORESIGHT)

    # everything else

    def events(self, **query: Any) -> R:
        """One page of events, oldest first."""
        return self._get("/events", query)

    def scaling(self, **query: Any) -> R:
        """One page of who changed which job's workers, newest first."""
        return self._get("/scaling", query)

    def nodes(self, **query: Any) -> R:
        """One page of nodes, in the order in which they joined; 500 if nothing is said."""
        return self._get("/nodes", query)

    def node(self, node: str) -> R:
        """One node."""
        return self._get(f"/nodes/{_part(node)}")

    def node_sample(self, node: str) -> R:
        """The newest sample of a node, whole."""
        return self._get(f"/nodes/{_part(node)}/sample")

    def drain(self, node: str) -> R:
        """Let a node keep no worker and get none."""
        return self._ask("POST", f"/nodes/{_part(node)}/drain", again=True)

    def undrain(self, node: str) -> R:
        """Let a node be used again."""
        return self._ask("POST", f"/nodes/{_part(node)}/undrain", again=True)

    def remove_node(self, node: str) -> R:
        """Forget a node; its supervisor stops everything and ends."""
        return self._ask("DELETE", f"/nodes/{_part(node)}")

    def credentials(self, **query: Any) -> R:
        """One page of the credentials of nodes, oldest first."""
        return self._get("/credentials", query)

    def approve_node(self, node: str) -> R:
        """Let a node take part that has joined and waits for approval."""
        return self._ask("POST", f"/nodes/{_part(node)}/approve", again=True)

    def rotate_node(self, node: str) -> R:
        """Have a node replace its credential."""
        return self._ask("POST", f"/nodes/{_part(node)}/rotate", again=True)

    def revoke_node(self, node: str) -> R:
        """Revoke a node's credential."""
        return self._ask("POST", f"/nodes/{_part(node)}/revoke")

    def tokens(self, **query: Any) -> R:
        """One page of tokens, oldest first."""
        return self._get("/tokens", query)

    def create_token(self, name: str = "", expires: float | None = None) -> R:
        """Create a token; the answer holds its secret, this once."""
        return self._ask("POST", "/tokens", body={"name": name, "expires": expires})

    def revoke_token(self, token: str, *, force: bool = False) -> R:
        """Revoke a token; with `force`, even the one that is used for it."""
        query = {"force": "true"} if force else {}
        return self._ask("DELETE", f"/tokens/{_part(token)}", query=query)

    def policy(self) -> R:
        """The policy in force and its settings."""
        return self._get("/policy")

    def set_policy(self, wish: Mapping[str, Any]) -> R:
        """Put another policy or other settings in force."""
        return self._ask("PUT", "/policy", body=wish, again=True, timeout=FORESIGHT)

    def shadows(self, **query: Any) -> R:
        """What policies that decide along would have done."""
        return self._get("/policy/shadows", query)

    def set_shadows(self, policies: Sequence[Mapping[str, Any]]) -> R:
        """Let these policies decide along, and no others."""
        body = {"policies": list(policies)}
        return self._ask("PUT", "/policy/shadows", body=body, again=True, timeout=FORESIGHT)

    def history(self, **query: Any) -> R:
        """One page of the past's jobs as a trace tells of them, newest first."""
        return self._get("/history", query)

    def history_cluster(self, **query: Any) -> R:
        """The nodes of a time, and by which rules rounds decide."""
        return self._get("/history/cluster", query)

    def timeline(self, **query: Any) -> R:
        """Who had how many slots when, and who will."""
        return self._ask("GET", "/timeline", query=query, again=True, timeout=FORESIGHT)

    def report(self, **query: Any) -> R:
        """What became of promises and forecasts lately."""
        return self._ask("GET", "/report", query=query, again=True, timeout=FORESIGHT)

    def curves(self) -> R:
        """The curves that runs have left behind."""
        return self._get("/curves")

    def cluster(self) -> R:
        """How the whole is doing."""
        return self._get("/cluster")

    def cluster_map(self) -> R:
        """Who is on which slot of every node."""
        return self._get("/cluster/map")

    def overview(self, **query: Any) -> R:
        """One look at the whole: numbers, and some rows of nodes, GPUs and jobs."""
        return self._get("/overview", query)

    def ready(self) -> R:
        """Whether the platform takes work. Raises what it is not ready for."""
        return self._get("/readyz")

    def check_nodes(self, nodes: Sequence[str], paths: Sequence[str] = (), timeout: float = 30.0) -> R:
        """How nodes find themselves: those that answer within `timeout` seconds."""
        body = {"nodes": list(nodes), "paths": list(paths), "timeout": timeout}
        return self._ask("POST", "/checks", body=body, again=True, timeout=timeout + 10)

    def server_log(self, **query: Any) -> R:
        """One page of the server's log: `{items, next, earlier}`."""
        return self._get("/server/log", query)

    def settings(self) -> R:
        """The settings in force, and where they come from."""
        return self._get("/server/settings")

    def page(self) -> R:
        """A path that logs a browser in, once and soon."""
        return self._ask("POST", "/page")

    def down(self) -> R:
        """Ask the platform to drain and stop."""
        return self._ask("POST", "/down", again=True)

    # how it is asked

    def _get(self, path: str, query: Mapping[str, Any] | None = None, timeout: float | None = None) -> R:
        return self._ask("GET", path, query=query or {}, timeout=timeout, again=True)

    def _make(self, path: str, body: Mapping[str, Any], key: str) -> R:
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        return self._ask("POST", path, body=body, headers=headers, again=True)

    def _ask(self, method: str, path: str, **options: Any) -> R:
        return self._send(Ask(method=method, path=path, **options))


class Asks(Calls[Ask]):
    """The requests themselves, for those who make them in their own way."""

    def _send(self, ask: Ask) -> Ask:
        return ask


def _part(text: str) -> str:
    return quote(text, safe="")
