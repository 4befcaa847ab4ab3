"""Every family of numbers that `/metrics` tells: one table, and a test compares the documentation with it.

Names end in their unit, units are base units (seconds, bytes, ratios from 0 to 1). No label has values without end
that clients could make up: jobs are told one by one only as far as there is room, routes are templates, never paths.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What Prometheus calls its types."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Family:
    """A name with everything that belongs to it."""

    kind: Kind
    name: str
    help: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    buckets: tuple[float, ...] = ()


UNITS = ("seconds", "bytes", "ratio", "watts", "celsius", "bytes_per_second")


def _unit(name: str) -> str:
    plain = name.removesuffix("_total")
    found = [unit for unit in UNITS if plain.endswith("_" + unit)]
    return max(found, key=len, default="")


def _counter(name: str, help_: str, *labels: str) -> Family:
    return Family(Kind.COUNTER, name, help_, labels, _unit(name))


def _gauge(name: str, help_: str, *labels: str) -> Family:
    return Family(Kind.GAUGE, name, help_, labels, _unit(name))


def _histogram(name: str, help_: str, buckets: tuple[float, ...], *labels: str) -> Family:
    return Family(Kind.HISTOGRAM, name, help_, labels, _unit(name), buckets)


_REQUEST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_ROUND = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_RESCALE = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_WAIT = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 4 * 3600.0, 12 * 3600.0, 86400.0, 7 * 86400.0)
_RATIO = (0.25, 0.5, 0.75, 0.9, 0.95, 1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 4.0)

# jobs and promises

JOBS = _gauge("tenuto_jobs", "Jobs in the store by state, ended ones too.", "state")
JOBS_SUBMITTED = _counter("tenuto_jobs_submitted_total", "Jobs that were submitted.")
JOBS_ENDED = _counter("tenuto_jobs_ended_total", "Jobs that have ended, by how.", "state")
PROMISES = _gauge(
    "tenuto_promises", "Promises of jobs that have not ended: hold, at risk or broken.", "state"
)
PROMISES_CLOSED = _counter(
    "tenuto_promises_closed_total",
    "What has become of all promises ever: kept, broken or withdrawn by their owners.",
    "outcome",
)
ETA_ERROR = _histogram(
    "tenuto_eta_error_ratio",
    "Time that jobs took in parts of the time that was foretold, by the moment of the forecast; 1 is exact.",
    _RATIO,
    "moment",
)
IDLE_JOBS = _gauge("tenuto_idle_jobs", "Jobs that hold GPUs and do not use them.")
IDLE_SLOTS = _gauge("tenuto_idle_slots", "Slots that these jobs hold.")
QUEUE = _gauge("tenuto_queue_jobs", "Jobs that wait for an answer or for slots.")
QUEUE_OLDEST = _gauge(
    "tenuto_queue_oldest_wait_seconds", "For how long the job has waited that came first of those who wait."
)
QUEUE_WAIT = _histogram(
    "tenuto_queue_wait_seconds", "From the submission of jobs to their first slots.", _WAIT
)

# the controller

CONTROLLER_STATE = _gauge("tenuto_controller_state", "1 for what the controller does now.", "state")
LAST_TICK = _gauge(
    "tenuto_controller_last_tick_timestamp_seconds", "When the controller last looked at everything."
)
TICKS = _counter(
    "tenuto_controller_ticks_total",
    "Looks at everything, by what came of them: done, again (something changed meanwhile), standby, store (it took "
    "no writes) or failed.",
    "outcome",
)
TICK_DURATION = _histogram(
    "tenuto_controller_tick_duration_seconds", "What a look takes, with its round and its commit.", _ROUND
)
ROUND_DURATION = _histogram("tenuto_round_duration_seconds", "What a round of the policy takes.", _ROUND)
POLICY_FAILURES = _counter("tenuto_policy_failures_total", "Rounds that the policy could not do.")
VERDICTS = _counter("tenuto_verdicts_total", "Answers to submissions and to changed deadlines.", "reply")
ALLOCATIONS = _counter(
    "tenuto_allocation_changes_total",
    "Decisions about slots: start, grow, shrink, move, or preempt (all slots went to others).",
    "change",
)
RESCALE_PHASES = _histogram(
    "tenuto_rescale_phase_duration_seconds",
    "Rescales in place by phase: warm_up (newcomers, beside the training), agree, form, transfer, first_step; and "
    "pause, for which training stood still.",
    _RESCALE,
    "phase",
)
WORKERS_LOST = _counter("tenuto_workers_lost_total", "Workers of jobs in place that were lost.")
WORKERS_HUNG = _counter("tenuto_workers_hung_total", "Workers that stood still for too long.")
CHECKPOINTS = _counter("tenuto_checkpoints_total", "Checkpoints, written or failed.", "outcome")

# slots and nodes

SLOTS = _gauge("tenuto_slots", "Slots by the state of their node, used or free.", "node_state", "use")
NODES = _gauge("tenuto_nodes", "Nodes by state.", "state")
NODE_LOSSES = _counter("tenuto_node_losses_total", "How often a node was not heard of for too long.")
NODE_UP = _gauge("tenuto_node_up", "1 if the node is heard of, 0 if it is offline.", "node")
NODE_DRAINING = _gauge("tenuto_node_draining", "1 if the node is being drained.", "node")
NODE_SLOTS = _gauge("tenuto_node_slots", "Slots of a node, used or free.", "node", "use")
SAMPLED_AT = _gauge(
    "tenuto_node_sample_timestamp_seconds", "When the newest sample of a node was taken.", "node"
)
SAMPLE_PERIOD = _gauge(
    "tenuto_sample_period_seconds", "Seconds between two samples as set; 0 if nodes are not sampled."
)
NODE_CPU = _gauge("tenuto_node_cpu_ratio", "Use of all cores together.", "node")
NODE_CORES = _gauge("tenuto_node_cpu_cores", "Cores of a node.", "node")
NODE_LOAD = _gauge("tenuto_node_load1", "Processes that run or want to, mean of the last minute.", "node")
NODE_RAM = _gauge("tenuto_node_memory_bytes", "Memory of a node.", "node")
NODE_RAM_USED = _gauge("tenuto_node_memory_used_bytes", "Memory in use.", "node")
NODE_SWAP = _gauge("tenuto_node_swap_bytes", "Swap space of a node.", "node")
NODE_SWAP_USED = _gauge("tenuto_node_swap_used_bytes", "Swap space in use.", "node")
DISK = _gauge("tenuto_node_disk_bytes", "Size of a file system.", "node", "path")
DISK_USED = _gauge("tenuto_node_disk_used_bytes", "Space in use on a file system.", "node", "path")
DISK_READ = _gauge("tenuto_node_disk_read_bytes_per_second", "Reads from its disk.", "node", "path")
DISK_WRITTEN = _gauge("tenuto_node_disk_written_bytes_per_second", "Writes to its disk.", "node", "path")
NET_RECEIVED = _gauge(
    "tenuto_node_network_received_bytes_per_second", "What comes in at an interface.", "node", "interface"
)
NET_SENT = _gauge(
    "tenuto_node_network_sent_bytes_per_second", "What goes out at an interface.", "node", "interface"
)

# GPUs

GPU_INFO = _gauge("tenuto_gpu_info", "1 for each GPU that is known.", "node", "gpu", "uuid", "name", "driver")
GPU_HELD = _gauge("tenuto_gpu_held", "1 if a job is on the GPU, 0 if nobody is.", "node", "gpu")
GPU_JOB = _gauge("tenuto_gpu_job", "1 for the job that holds a GPU.", "node", "gpu", "job_id")
GPU_LOST = _gauge("tenuto_gpu_lost", "1 if the driver does not find the GPU any more.", "node", "gpu")
GPU_USE = _gauge("tenuto_gpu_utilisation_ratio", "Part of the time in which the GPU worked.", "node", "gpu")
GPU_MEMORY = _gauge("tenuto_gpu_memory_bytes", "Memory of a GPU.", "node", "gpu")
GPU_MEMORY_USED = _gauge("tenuto_gpu_memory_used_bytes", "Memory of a GPU in use.", "node", "gpu")
GPU_POWER = _gauge("tenuto_gpu_power_watts", "Power that a GPU draws.", "node", "gpu")
GPU_POWER_LIMIT = _gauge("tenuto_gpu_power_limit_watts", "Power that it may draw.", "node", "gpu")
GPU_TEMPERATURE = _gauge("tenuto_gpu_temperature_celsius", "Temperature of a GPU.", "node", "gpu")
GPU_FAN = _gauge("tenuto_gpu_fan_ratio", "Speed of its fan in parts of the highest.", "node", "gpu")

# jobs one by one, as far as there is room

JOB_INFO = _gauge(
    "tenuto_job_info", "1 for each job that is told by itself.", "job_id", "job_name", "owner", "state"
)
JOB_PROMISE = _gauge("tenuto_job_promise", "1 for the present state of a job's promise.", "job_id", "state")
JOB_WORKERS = _gauge("tenuto_job_workers", "Workers that a job has.", "job_id")
JOB_IDLE = _gauge("tenuto_job_idle", "1 if the job holds GPUs and does not use them.", "job_id")
JOB_STEP = _gauge("tenuto_job_step", "The newest step that a job has reported.", "job_id")
JOB_LEFT = _gauge("tenuto_job_steps_left", "Steps that a job still has to do.", "job_id")
JOB_SAMPLES = _counter(
    "tenuto_job_samples_total", "Training samples that a job has really processed.", "job_id"
)
JOB_PACE = _gauge("tenuto_job_samples_per_second", "How fast a job trains, as it last told.", "job_id")
JOB_LOSS = _gauge("tenuto_job_loss", "The newest value that a job reported under the name loss.", "job_id")
JOB_DEADLINE = _gauge("tenuto_job_deadline_timestamp_seconds", "The deadline that was asked for.", "job_id")
JOB_PROMISED = _gauge(
    "tenuto_job_promised_timestamp_seconds", "When the job is promised to be done.", "job_id"
)
JOB_FINISH = _gauge(
    "tenuto_job_expected_finish_timestamp_seconds",
    "When the job will be done as it was last foreseen; as likely earlier as later.",
    "job_id",
)
LEFT_OUT = _gauge(
    "tenuto_series_left_out",
    "What is not told one by one for want of room: jobs, gpus, disks, interfaces.",
    "kind",
)

# the server

REQUESTS = _counter(
    "tenuto_http_requests_total", "Requests by method, route and answer.", "method", "route", "code"
)
REQUEST_DURATION = _histogram(
    "tenuto_http_request_duration_seconds",
    "From a request to the beginning of its answer; not of requests that ask to wait for something.",
    _REQUEST,
    "method",
    "route",
)
LISTENERS = _gauge("tenuto_event_listeners", "Clients that hear the event stream.")
STORE_UP = _gauge("tenuto_store_up", "1 if the store answers; else nothing that it knows is told.")
COMMIT_DURATION = _histogram(
    "tenuto_store_commit_duration_seconds", "What a commit of the store takes, shared by its acts.", _REQUEST
)
READ_DURATION = _gauge(
    "tenuto_store_read_duration_seconds", "What it took to read from the store for these very numbers."
)
HISTORY_POINTS = _counter("tenuto_history_points_total", "Points that the history of numbers has taken in.")
HISTORY_DROPPED = _counter("tenuto_history_dropped_points_total", "Points that the history has lost.")
HISTORY_WAITING = _gauge("tenuto_history_waiting_points", "Points that are not durable yet.")
HISTORY_UP = _gauge("tenuto_history_up", "1 if the history of numbers can be written.")
LOG_BYTES = _gauge("tenuto_logs_bytes", "Bytes of what workers printed that are kept.")
LOG_QUOTA = _gauge("tenuto_logs_quota_bytes", "The most bytes of logs that are kept; 0 for no limit.")
RECORD_BYTES = _gauge("tenuto_records_bytes", "Bytes of what workers reported of their steps that are kept.")
RECORD_QUOTA = _gauge(
    "tenuto_records_quota_bytes", "The most bytes of records that are kept; 0 for no limit."
)
EVENTS_KEPT = _gauge("tenuto_events", "Events that are kept.")
EVENT_QUOTA = _gauge("tenuto_events_quota", "The most events that are kept; 0 for no limit.")
INFLUX_WRITTEN = _counter("tenuto_influx_points_total", "Points that the InfluxDB has taken.")
INFLUX_DROPPED = _counter("tenuto_influx_dropped_points_total", "Points for it that were given up.")
INFLUX_BUFFERED = _gauge("tenuto_influx_buffered_bytes", "What waits for it.")
INFLUX_FAILURES = _counter("tenuto_influx_failures_total", "Attempts to write to it that failed.")
INFLUX_UP = _gauge("tenuto_influx_up", "1 if the InfluxDB that is set takes points.")
BUILD = _gauge("tenuto_build_info", "1, with the versions of tenuto and Python.", "version", "python")

# of every process, told by prometheus-client itself

PROCESS_CPU = _counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.")
PROCESS_MEMORY = _gauge("process_resident_memory_bytes", "Resident memory size in bytes.")
PROCESS_VIRTUAL = _gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.")
PROCESS_START = _gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.")
PROCESS_FDS = _gauge("process_open_fds", "Number of open file descriptors.")
PROCESS_MAX_FDS = _gauge("process_max_fds", "Maximum number of open file descriptors.")

FAMILIES: tuple[Family, ...] = tuple(one for one in list(globals().values()) if isinstance(one, Family))
"""All of them, in the order above."""
