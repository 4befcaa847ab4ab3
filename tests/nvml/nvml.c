/* A driver's library that is none: it tells of the GPUs that the file named by TEST_GPUS describes, as they are there
 * at the moment of each call. `tests/nvml/gpus.py` writes the file and says what its lines mean.
 *
 * A handle stays with its uuid, whatever becomes of the others, as the driver's do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, UNSUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, LOST = 15, UNKNOWN = 999 };
enum { UTILISATION, USED, TOTAL, POWER, LIMIT, TEMPERATURE, FAN, VALUES };
enum { MOST_GPUS = 64, MOST_PROCESSES = 256, MOST_HANDLES = 1024, TEXT = 96 };

static const char *const KEYS[VALUES] = {"utilisation", "memory_used", "memory_total", "power", "power_limit", "temperature", "fan"};
static const unsigned long long NOT_TOLD = ~0ULL;

typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } process_t;
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2_t;
typedef struct { unsigned gpu, memory; } utilisation_t;
typedef struct { unsigned version; unsigned sensor; int temperature; } temperature_t;
typedef struct { process_t all[MOST_PROCESSES]; unsigned count; } processes_t;
typedef struct {
    char name[TEXT], uuid[TEXT];
    int lost, told[VALUES], hides_processes;
    unsigned long long values[VALUES];
    processes_t compute, graphics;
} gpu_t;

static struct { gpu_t gpus[MOST_GPUS]; unsigned count; int refuses_to_start, fails, hangs, session; char driver[TEXT]; } now;
static struct { struct timespec changed; ino_t file; off_t size; } seen;
static char handles[MOST_HANDLES][TEXT];
static unsigned handle_count;
static int open_sessions, session;

static void add_process(processes_t *to, const char *text) {
    long long used = -1;
    process_t *one = &to->all[to->count];
    if (to->count == MOST_PROCESSES || sscanf(text, "%u %lld", &one->pid, &used) < 1) return;
    one->used = used < 0 ? NOT_TOLD : (unsigned long long)used;
    one->gpu_instance = one->compute_instance = ~0U;
    to->count++;
}

static void read_of_gpu(gpu_t *gpu, const char *key, const char *text) {
    if (!strcmp(key, "uuid")) snprintf(gpu->uuid, TEXT, "%s", text);
    else if (!strcmp(key, "lost")) gpu->lost = 1;
    else if (!strcmp(key, "hides_processes")) gpu->hides_processes = 1;
    else if (!strcmp(key, "compute")) add_process(&gpu->compute, text);
    else if (!strcmp(key, "graphics")) add_process(&gpu->graphics, text);
    else for (int i = 0; i < VALUES; i++) if (!strcmp(key, KEYS[i])) {
        gpu->values[i] = strtoull(text, NULL, 10);
        gpu->told[i] = 1;
    }
}

static void read_line(char *line) {
    line[strcspn(line, "\n")] = 0;
    char *text = strchr(line, ' ');
    if (text) *text++ = 0; else text = line + strlen(line);
    if (!strcmp(line, "gpu") && now.count < MOST_GPUS) snprintf(now.gpus[now.count++].name, TEXT, "%s", text);
    else if (!strcmp(line, "driver")) snprintf(now.driver, TEXT, "%s", text);
    else if (!strcmp(line, "refuses_to_start")) now.refuses_to_start = atoi(text);
    else if (!strcmp(line, "fails")) now.fails = atoi(text);
    else if (!strcmp(line, "hangs")) now.hangs = 1;
    else if (!strcmp(line, "crashes")) abort();
    else if (!strcmp(line, "session")) now.session = atoi(text);
    else if (now.count) read_of_gpu(&now.gpus[now.count - 1], line, text);
}

/* Have what the file says now. Whoever replaces the file gives it a later time of change, so that reading it again can
 * be spared while it is the same. */
static int look(void) {
    const char *path = getenv("TEST_GPUS");
    struct stat found;
    if (!path || stat(path, &found)) return UNKNOWN;
    if (seen.file == found.st_ino && seen.size == found.st_size && !memcmp(&seen.changed, &found.st_mtim, sizeof seen.changed))
        return OK;
    FILE *file = fopen(path, "r");
    if (!file) return UNKNOWN;
    char line[512];
    memset(&now, 0, sizeof now);
    while (fgets(line, sizeof line, file)) read_line(line);
    fclose(file);
    seen.changed = found.st_mtim, seen.file = found.st_ino, seen.size = found.st_size;
    return OK;
}

/* What every call but the first and the last begins with. */
static int begin(void) {
    int problem = look();
    while (!problem && now.hangs) { usleep(2000); problem = look(); }
    if (problem) return problem;
    if (!open_sessions || session != now.session) return UNINITIALIZED;
    return now.fails;
}

static int find(const char *handle, gpu_t **gpu) {
    int problem = begin();
    if (problem) return problem;
    if (!handle) return INVALID;
    for (unsigned i = 0; i < now.count; i++) if (!strcmp(now.gpus[i].uuid, handle)) {
        *gpu = &now.gpus[i];
        return now.gpus[i].lost ? LOST : OK;
    }
    return LOST;
}

static int value_of(const char *handle, int which, unsigned *value) {
    gpu_t *gpu;
    int problem = find(handle, &gpu);
    if (problem) return problem;
    if (!gpu->told[which]) return UNSUPPORTED;
    *value = (unsigned)gpu->values[which];
    return OK;
}

static int text_of(const char *text, char *into, unsigned size) {
    if (strlen(text) >= size) return TOO_SMALL;
    strcpy(into, text);
    return OK;
}

static int handle_of(const gpu_t *gpu, char **handle) {
    if (gpu->lost) return LOST;
    for (unsigned i = 0; i < handle_count; i++) if (!strcmp(handles[i], gpu->uuid)) { *handle = handles[i]; return OK; }
    if (handle_count == MOST_HANDLES) return UNKNOWN;
    *handle = strcpy(handles[handle_count++], gpu->uuid);
    return OK;
}

static int processes_of(const char *handle, int graphics, unsigned *count, process_t *into) {
    gpu_t *gpu;
    int problem = find(handle, &gpu);
    if (problem) return problem;
    if (gpu->hides_processes) return UNSUPPORTED;
    processes_t *found = graphics ? &gpu->graphics : &gpu->compute;
    unsigned room = *count;
    *count = found->count;
    if (found->count > room) return TOO_SMALL;
    if (found->count) memcpy(into, found->all, found->count * sizeof *into);
    return OK;
}

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    int problem = look();
    while (!problem && now.hangs) { usleep(2000); problem = look(); }
    if (problem || now.refuses_to_start) return problem ? problem : now.refuses_to_start;
    if (!open_sessions++) session = now.session;
    return OK;
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

int nvmlShutdown(void) {
    if (!open_sessions) return UNINITIALIZED;
    open_sessions--;
    return OK;
}

const char *nvmlErrorString(int code) {
    switch (code) {
    case OK: return "Success";
    case UNINITIALIZED: return "Uninitialized";
    case INVALID: return "Invalid Argument";
    case UNSUPPORTED: return "Not Supported";
    case NOT_FOUND: return "Not Found";
    case TOO_SMALL: return "Insufficient Size";
    case 9: return "Driver Not Loaded";
    case LOST: return "GPU is lost";
    case 18: return "Driver/library version mismatch";
    default: return "Unknown Error";
    }
}

int nvmlSystemGetDriverVersion(char *into, unsigned size) {
    int problem = begin();
    return problem ? problem : text_of(now.driver, into, size);
}

int nvmlSystemGetNVMLVersion(char *into, unsigned size) { return text_of("13.0", into, size); }

int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return OK; }

int nvmlDeviceGetCount_v2(unsigned *count) {
    int problem = begin();
    *count = now.count;
    return problem;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, char **handle) {
    int problem = begin();
    if (problem) return problem;
    return index < now.count ? handle_of(&now.gpus[index], handle) : INVALID;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, char **handle) {
    int problem = begin();
    if (problem) return problem;
    for (unsigned i = 0; i < now.count; i++) if (!strcmp(now.gpus[i].uuid, uuid)) return handle_of(&now.gpus[i], handle);
    return NOT_FOUND;
}

int nvmlDeviceGetIndex(const char *handle, unsigned *index) {
    gpu_t *gpu;
    int problem = find(handle, &gpu);
    if (!problem) *index = (unsigned)(gpu - now.gpus);
    return problem;
}

int nvmlDeviceGetMinorNumber(const char *handle, unsigned *number) { return nvmlDeviceGetIndex(handle, number); }

int nvmlDeviceGetName(const char *handle, char *into, unsigned size) {
    gpu_t *gpu;
    int problem = find(handle, &gpu);
    return problem ? problem : text_of(gpu->name, into, size);
}

int nvmlDeviceGetUUID(const char *handle, char *into, unsigned size) {
    gpu_t *gpu;
    int problem = find(handle, &gpu);
    return problem ? problem : text_of(gpu->uuid, into, size);
}

int nvmlDeviceGetMemoryInfo(const char *handle, memory_t *memory) {
    gpu_t *gpu;
    int problem = find(handle, &gpu);
    if (problem) return problem;
    if (!gpu->told[USED] || !gpu->told[TOTAL]) return UNSUPPORTED;
    memory->total = gpu->values[TOTAL], memory->used = gpu->values[USED], memory->free = memory->total - memory->used;
    return OK;
}

int nvmlDeviceGetMemoryInfo_v2(const char *handle, memory_v2_t *memory) {
    memory_t plain;
    int problem = nvmlDeviceGetMemoryInfo(handle, &plain);
    if (problem) return problem;
    memory->total = plain.total, memory->used = plain.used, memory->free = plain.free, memory->reserved = 0;
    return OK;
}

int nvmlDeviceGetUtilizationRates(const char *handle, utilisation_t *rates) {
    rates->memory = 0;
    return value_of(handle, UTILISATION, &rates->gpu);
}

int nvmlDeviceGetEncoderUtilization(const char *handle, unsigned *share, unsigned *period) {
    gpu_t *gpu;
    *share = 0, *period = 1000000;
    return find(handle, &gpu);
}

int nvmlDeviceGetDecoderUtilization(const char *handle, unsigned *share, unsigned *period) {
    return nvmlDeviceGetEncoderUtilization(handle, share, period);
}

int nvmlDeviceGetPowerUsage(const char *handle, unsigned *milliwatts) { return value_of(handle, POWER, milliwatts); }

int nvmlDeviceGetEnforcedPowerLimit(const char *handle, unsigned *milliwatts) { return value_of(handle, LIMIT, milliwatts); }

int nvmlDeviceGetPowerManagementLimit(const char *handle, unsigned *milliwatts) { return value_of(handle, LIMIT, milliwatts); }

int nvmlDeviceGetTemperature(const char *handle, int sensor, unsigned *degrees) {
    return sensor ? INVALID : value_of(handle, TEMPERATURE, degrees);
}

int nvmlDeviceGetTemperatureV(const char *handle, temperature_t *told) {
    unsigned degrees = 0;
    int problem = told->sensor ? INVALID : value_of(handle, TEMPERATURE, &degrees);
    told->temperature = (int)degrees;
    return problem;
}

int nvmlDeviceGetFanSpeed(const char *handle, unsigned *share) { return value_of(handle, FAN, share); }

int nvmlDeviceGetFanSpeed_v2(const char *handle, unsigned fan, unsigned *share) {
    return fan ? INVALID : value_of(handle, FAN, share);
}

int nvmlDeviceGetNumFans(const char *handle, unsigned *count) {
    gpu_t *gpu;
    int problem = find(handle, &gpu);
    if (!problem) *count = gpu->told[FAN] ? 1 : 0;
    return problem;
}

int nvmlDeviceGetComputeRunningProcesses_v3(const char *handle, unsigned *count, process_t *into) {
    return processes_of(handle, 0, count, into);
}

int nvmlDeviceGetComputeRunningProcesses_v2(const char *handle, unsigned *count, process_t *into) {
    return processes_of(handle, 0, count, into);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(const char *handle, unsigned *count, process_t *into) {
    return processes_of(handle, 1, count, into);
}

int nvmlDeviceGetGraphicsRunningProcesses_v2(const char *handle, unsigned *count, process_t *into) {
    return processes_of(handle, 1, count, into);
}
