#ifndef WRITE_RECORDER_H
#define WRITE_RECORDER_H

#include <stdint.h>

// Wraps the system calls that change files (Linux). A program that this library is linked into, and the program's
// shared libraries, call these functions instead of the C library's. The functions write the calls on files of one
// folder, and the syncs of all folders, to a trace. They count the calls on data files, sorted runs and folders, and
// can make a counted call fail, or kill the process at it.
//
// A trace is a sequence of entries: kind 1 | file 1 | durable 1 | 0 | length 4 | offset 8 | bytes of a write,
// numbers in the machine's byte order.

enum {
    RECORDER_WRITE = 1,     // bytes at an offset; durable is 1 if the file is open with O_DSYNC
    RECORDER_SYNC = 2,      // fsync, fdatasync
    RECORDER_TRUNCATE = 3,  // ftruncate; offset is the new length
    RECORDER_NAME = 4,      // rename of a file to data.mdb
    RECORDER_MARK = 5       // recorder_mark; offset is its number
};

// Kinds of files: data.mdb, a sorted run, a folder, another file.
enum { RECORDER_DATA = 1, RECORDER_SORT = 2, RECORDER_FOLDER = 3, RECORDER_OTHER = 4 };

enum {
    RECORDER_FAIL = 1,        // the call fails without doing anything
    RECORDER_FAIL_HALF = 2,   // half of the bytes are written, and all later calls fail
    RECORDER_FAIL_LATE = 3,   // the call is done, but reports a failure
    RECORDER_FAIL_ON = 4,     // this call and all later ones fail without doing anything
    RECORDER_DIE = 5,         // the process is killed before the call
    RECORDER_DIE_HALF = 6     // the process is killed after half of the bytes are written
};

/// Begins to count the calls on files below a folder. `trace` is the descriptor of the trace file; -1 for no trace.
void recorder_begin(const char *folder, int trace);

/// After `after` more calls, the next call has the given fate: it fails with the code `error`, or the process is killed.
/// Calls on RECORDER_OTHER files don't count.
void recorder_arm(int fate, long after, int error);
/// Ends the effect of `recorder_arm`.
void recorder_disarm(void);

/// The number of calls since the recorder was armed that had a fate.
long recorder_met(void);
/// The kind of the file of the last of these calls.
int recorder_met_file(void);

/// The number of counted calls so far.
long recorder_calls(void);

/// Writes an entry RECORDER_MARK with a number to the trace.
void recorder_mark(uint64_t number);

#endif
