#ifndef WRITE_RECORDER_H
#define WRITE_RECORDER_H

#include <stdint.h>

// Stands between a program and the system calls that change files (Linux): a program that this is linked into calls it
// instead of the C library, and so do its shared libraries. It counts the calls on the files of one folder, writes them
// to a trace, and makes one of them fail or be the last.
//
// A trace is a sequence of entries: kind 1 | file 1 | durable 1 | 0 | length 4 | offset 8 | bytes of a write,
// numbers in the machine's byte order.

enum {
    RECORDER_WRITE = 1,     // bytes at an offset; durable says that the file is open with O_DSYNC
    RECORDER_SYNC = 2,      // fsync, fdatasync, msync
    RECORDER_TRUNCATE = 3,  // to the length in offset
    RECORDER_NAME = 4,      // the data file gets its name
    RECORDER_MARK = 5       // the program's own, with its number in offset
};

enum { RECORDER_DATA = 1, RECORDER_SORT = 2, RECORDER_FOLDER = 3, RECORDER_OTHER = 4 };

enum {
    RECORDER_FAIL = 1,        // nothing is done, and the call fails
    RECORDER_FAIL_HALF = 2,   // half of the bytes are written, and the calls after it fail
    RECORDER_FAIL_LATE = 3,   // it is done, and fails nevertheless
    RECORDER_FAIL_ON = 4,     // nothing is done, and all calls from this one on fail
    RECORDER_DIE = 5,         // the process is killed before the call
    RECORDER_DIE_HALF = 6     // the process is killed when half of the bytes are written
};

/// Begins to count the calls on files below a folder. Entries go to the file trace; -1: nowhere.
void recorder_begin(const char *folder, int trace);

/// The call after so many more meets its fate. Calls on other files than those named above do not count.
void recorder_arm(int fate, long after, int error);
void recorder_disarm(void);

/// Whether a call met its fate since the recorder was armed, and the file that it was on.
long recorder_met(void);
int recorder_met_file(void);

/// All calls so far.
long recorder_calls(void);

/// Puts a mark into the trace.
void recorder_mark(uint64_t number);

#endif
