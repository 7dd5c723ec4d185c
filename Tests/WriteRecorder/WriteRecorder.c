#if defined(__linux__)
#define _GNU_SOURCE
#include "WriteRecorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

// Files are recognized by their paths. All work is done by raw system calls, so that no wrapper calls itself.

static struct {
    pthread_mutex_t mutex;
    volatile int is_on;
    char folder[4096];
    size_t folder_length;
    int trace;
    long calls;
    int fate;
    long countdown;
    int error;
    long met;
    int met_file;
} recorder = {.mutex = PTHREAD_MUTEX_INITIALIZER, .trace = -1};

void recorder_begin(const char *folder, int trace) {
    pthread_mutex_lock(&recorder.mutex);
    recorder.folder_length = strnlen(folder, sizeof recorder.folder - 1);
    memcpy(recorder.folder, folder, recorder.folder_length);
    recorder.trace = trace;
    recorder.is_on = 1;
    pthread_mutex_unlock(&recorder.mutex);
}

void recorder_arm(int fate, long after, int error) {
    pthread_mutex_lock(&recorder.mutex);
    recorder.fate = fate;
    recorder.countdown = after;
    recorder.error = error;
    recorder.met = 0;
    recorder.met_file = 0;
    pthread_mutex_unlock(&recorder.mutex);
}

void recorder_disarm(void) {
    pthread_mutex_lock(&recorder.mutex);
    recorder.fate = 0;
    pthread_mutex_unlock(&recorder.mutex);
}

long recorder_met(void) { return recorder.met; }
int recorder_met_file(void) { return recorder.met_file; }
long recorder_calls(void) { return recorder.calls; }

/// The kind of a file in the recorded folder, by its path; 0 for other paths.
static int kind_of_path(const char *path) {
    if (strncmp(path, recorder.folder, recorder.folder_length) != 0) return 0;
    const char *name = strrchr(path, '/');
    if (!name) return 0;
    if (strcmp(name, "/data.mdb") == 0 || strcmp(name, "/data.mdb (deleted)") == 0) return RECORDER_DATA;
    if (strncmp(name, "/sort-", 6) == 0) return RECORDER_SORT;
    return RECORDER_OTHER;
}

static int kind_of(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return kind_of_path(path);
}

/// Counts a call on a file of a kind. Returns the fate of the call; 0 if it's an ordinary call.
static int fate_of(int kind) {
    if (kind == RECORDER_OTHER) return 0;
    recorder.calls += 1;
    if (!recorder.fate || recorder.countdown-- > 0) return 0;
    int fate = recorder.fate;
    recorder.met += 1;
    recorder.met_file = kind;
    switch (fate) {
    case RECORDER_FAIL_HALF: recorder.fate = RECORDER_FAIL_ON; break;
    case RECORDER_FAIL_ON: break;
    default: recorder.fate = 0; break;
    }
    return fate;
}

static void put(const void *bytes, size_t count) {
    const char *next = bytes;
    while (count > 0) {
        long written = syscall(SYS_write, recorder.trace, next, count);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        next += written;
        count -= written;
    }
}

static void trace(int kind, int file_kind, int file, const void *bytes, size_t length, uint64_t offset) {
    if (recorder.trace < 0) return;
    struct {
        uint8_t kind, file, durable, zero;
        uint32_t length;
        uint64_t offset;
    } entry = {kind, file_kind, 0, 0, (uint32_t)length, offset};
    if (kind == RECORDER_WRITE) entry.durable = (syscall(SYS_fcntl, file, F_GETFL) & O_DSYNC) != 0;
    put(&entry, sizeof entry);
    if (bytes) put(bytes, length);
}

void recorder_mark(uint64_t number) {
    pthread_mutex_lock(&recorder.mutex);
    trace(RECORDER_MARK, 0, -1, NULL, 0, number);
    pthread_mutex_unlock(&recorder.mutex);
}

static void die(void) { syscall(SYS_kill, syscall(SYS_getpid), SIGKILL); }

static ssize_t raw_write_at(int file, const void *bytes, size_t count, off_t offset) {
    return syscall(SYS_pwrite64, file, bytes, count, offset);
}

/// Writes at an offset, subject to the fate of the call.
static ssize_t write_at(int kind, int file, const void *bytes, size_t count, off_t offset) {
    ssize_t result = -1;
    pthread_mutex_lock(&recorder.mutex);
    int fate = fate_of(kind);
    if (fate == RECORDER_DIE) die();
    if (fate == RECORDER_DIE_HALF) {
        raw_write_at(file, bytes, count / 2, offset);
        die();
    }
    if (fate == RECORDER_FAIL_HALF && count > 1) count /= 2;
    int fails = fate && !(fate == RECORDER_FAIL_HALF && count > 1);
    if (!fails || fate == RECORDER_FAIL_LATE) {
        result = raw_write_at(file, bytes, count, offset);
        int code = errno;
        if (result > 0) trace(RECORDER_WRITE, kind, file, bytes, result, offset);
        errno = code;
    }
    if (fails) {
        result = -1;
        errno = recorder.error;
    }
    pthread_mutex_unlock(&recorder.mutex);
    return result;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    int kind = recorder.is_on ? kind_of(file) : 0;
    return kind ? write_at(kind, file, bytes, count, offset) : raw_write_at(file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off_t offset) { return pwrite(file, bytes, count, offset); }

ssize_t write(int file, const void *bytes, size_t count) {
    int kind = recorder.is_on ? kind_of(file) : 0;
    if (!kind) return syscall(SYS_write, file, bytes, count);
    off_t offset = syscall(SYS_lseek, file, 0, SEEK_CUR);
    ssize_t result = write_at(kind, file, bytes, count, offset);
    int code = errno;
    if (result > 0) syscall(SYS_lseek, file, offset + result, SEEK_SET);
    errno = code;
    return result;
}

/// Writes each part by a call of its own. If a part after the first fails, the result is an ordinary short write.
static ssize_t write_parts(int kind, int file, const struct iovec *parts, int count, off_t offset) {
    ssize_t sum = 0;
    for (int part = 0; part < count; part++) {
        ssize_t written = write_at(kind, file, parts[part].iov_base, parts[part].iov_len, offset + sum);
        if (written < 0) return part == 0 ? -1 : sum;
        sum += written;
        if ((size_t)written < parts[part].iov_len) break;
    }
    return sum;
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    int kind = recorder.is_on ? kind_of(file) : 0;
    if (!kind) return syscall(SYS_writev, file, parts, count);
    off_t offset = syscall(SYS_lseek, file, 0, SEEK_CUR);
    ssize_t result = write_parts(kind, file, parts, count, offset);
    int code = errno;
    if (result > 0) syscall(SYS_lseek, file, offset + result, SEEK_SET);
    errno = code;
    return result;
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) {
    int kind = recorder.is_on ? kind_of(file) : 0;
    if (!kind) return syscall(SYS_pwritev, file, parts, count, offset, 0);
    return write_parts(kind, file, parts, count, offset);
}

/// Makes a call that writes no bytes, subject to its fate.
static int call(
    int entry, int kind, int file, uint64_t offset, long number, long first, long second, long third, long fourth) {
    long result = -1;
    pthread_mutex_lock(&recorder.mutex);
    int fate = fate_of(kind);
    if (fate == RECORDER_DIE || fate == RECORDER_DIE_HALF) die();
    if (!fate || fate == RECORDER_FAIL_LATE) {
        result = syscall(number, first, second, third, fourth);
        int code = errno;
        if (result == 0) trace(entry, kind, file, NULL, 0, offset);
        errno = code;
    }
    if (fate) {
        result = -1;
        errno = recorder.error;
    }
    pthread_mutex_unlock(&recorder.mutex);
    return (int)result;
}

/// Like `kind_of`, but returns RECORDER_FOLDER for each folder, even for a folder outside the recorded one.
static int kind_of_synced(int file) {
    int kind = kind_of(file);
    if (kind != RECORDER_OTHER && kind != 0) return kind;
    char probe[64], path[4096];
    snprintf(probe, sizeof probe, "/proc/self/fd/%d/.", file);
    return syscall(SYS_readlinkat, AT_FDCWD, probe, path, sizeof path) < 0 && errno == EINVAL ? RECORDER_FOLDER : kind;
}

int fdatasync(int file) {
    int kind = recorder.is_on ? kind_of_synced(file) : 0;
    if (!kind) return (int)syscall(SYS_fdatasync, file);
    return call(RECORDER_SYNC, kind, file, 0, SYS_fdatasync, file, 0, 0, 0);
}

int fsync(int file) {
    int kind = recorder.is_on ? kind_of_synced(file) : 0;
    if (!kind) return (int)syscall(SYS_fsync, file);
    return call(RECORDER_SYNC, kind, file, 0, SYS_fsync, file, 0, 0, 0);
}

/// msync isn't recorded: LMDB calls it only if it writes through its map, which the library never lets it do.
int msync(void *start, size_t length, int flags) { return (int)syscall(SYS_msync, start, length, flags); }

int ftruncate(int file, off_t length) {
    int kind = recorder.is_on ? kind_of(file) : 0;
    if (!kind) return (int)syscall(SYS_ftruncate, file, length);
    return call(RECORDER_TRUNCATE, kind, file, length, SYS_ftruncate, file, length, 0, 0);
}

int ftruncate64(int file, off_t length) { return ftruncate(file, length); }

int rename(const char *from, const char *to) {
    int kind = recorder.is_on ? kind_of_path(to) : 0;
    if (kind != RECORDER_DATA) return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
    return call(RECORDER_NAME, kind, -1, 0, SYS_renameat, AT_FDCWD, (long)from, AT_FDCWD, (long)to);
}
#endif
