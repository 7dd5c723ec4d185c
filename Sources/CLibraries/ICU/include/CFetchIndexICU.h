// ICU renames its functions by version (ucol_open becomes ucol_open_72), which Swift can't follow, and its headers
// clash with those of Foundation's own ICU. The functions below give stable names to the few ICU functions that are
// used, and keep ICU's headers away from Swift.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fi_collator fi_collator;
typedef struct fi_zone fi_zone;
typedef struct fi_calendar fi_calendar;
typedef struct fi_index fi_index;
typedef struct fi_regex fi_regex;

/// Whether ICU has data of the locale's language or a collation for it; otherwise it would silently use the root's.
bool fi_locale_is_known(const char *locale);

/// ucol_open. NULL if the locale or ICU's data can't be loaded.
fi_collator *fi_collator_open(const char *locale);

void fi_collator_close(fi_collator *collator);

/// Sets the levels to compare (1: letters, 2: also accents, 3: also case). If numeric, runs of digits compare by value.
bool fi_collator_configure(fi_collator *collator, int levels, bool caseLevel, bool numeric);

/// ucol_getVersion: four bytes that change whenever sort keys may change.
void fi_collator_version(const fi_collator *collator, uint8_t version[4]);

/// ucol_getSortKey for UTF-16 text. Returns the length of the key, even if it's greater than the buffer's.
int32_t fi_collator_sort_key(
    const fi_collator *collator, const uint16_t *text, int32_t length, uint8_t *key, int32_t capacity);

/// Converts UTF-8 to UTF-16; U+FFFD replaces broken sequences. Returns the length, or -1 if the buffer is too short.
int32_t fi_utf16_from_utf8(const char *text, int32_t length, uint16_t *utf16, int32_t capacity);

/// u_getVersion, e.g. 72.1.0.0.
void fi_icu_version(uint8_t version[4]);

/// ulocdata_getCLDRVersion, e.g. 42.0.0.0: the version of the data for index labels and calendars. False if it isn't
/// known.
bool fi_cldr_version(uint8_t version[4]);

/// Folds the case of UTF-16 text fully (ß = ss). Returns the length needed, or -1.
int32_t fi_fold_case(const uint16_t *text, int32_t length, uint16_t *folded, int32_t capacity);

/// Normalizes UTF-16 text to NFD, or to NFC if composed. Returns the length needed, or -1.
int32_t fi_normalize(
    bool composed, const uint16_t *text, int32_t length, uint16_t *normalized, int32_t capacity);

/// Opens a calendar in a time zone, for fi_zone_offset. NULL if the zone is unknown.
fi_zone *fi_zone_open(const uint16_t *name, int32_t length);

void fi_zone_close(fi_zone *zone);

/// Finds the offset from UTC in milliseconds at a moment in milliseconds since 1970, and the start and end of the
/// period in which the offset is valid. Returns false if ICU reports an error.
bool fi_zone_offset(
    fi_zone *zone, double moment, int32_t *offset, double *start, double *end);

/// Finds another name of a zone. Number 0 is the canonical name; the following numbers are the names that ICU treats as
/// equivalent. Returns the name's length; -1 if there are no more names, or if the buffer is too short.
int32_t fi_zone_other_name(
    const uint16_t *name, int32_t length, int32_t number, char *other, int32_t capacity);

/// ucal_getTZDataVersion, e.g. "2024a": section bounds change with it. NULL if it isn't known.
const char *fi_zone_data_version(void);

/// The reason why a regular expression doesn't compile: u_errorName, and its place in the pattern.
typedef struct {
    const char *name;
    int32_t offset;
} fi_regex_failure;

/// uregex_open. The limits are ICU's: about milliseconds per match, and bytes for backtracking. NULL if the pattern
/// doesn't compile.
fi_regex *fi_regex_open(
    const uint16_t *pattern, int32_t length, bool ignoresCase, int32_t timeLimit, int32_t stackLimit,
    fi_regex_failure *failure);

void fi_regex_close(fi_regex *regex);

/// Whether a whole UTF-8 text matches: 1 or 0, or -1 if ICU gives up.
int32_t fi_regex_matches(fi_regex *regex, const char *text, int32_t length);

/// Opens a calendar by its name in CLDR, e.g. "japanese", in UTC. Calendars that are based on the Gregorian one, such
/// as the Japanese, are proleptic: they don't become Julian for early dates. NULL if ICU lacks the calendar. For one
/// thread at a time.
fi_calendar *fi_calendar_open(const char *type);

void fi_calendar_close(fi_calendar *calendar);

/// Computes the fields of a day, given in days since 1 January 1970: era, year, month (0 for the first), and 1 for a
/// leap month. Returns false if ICU reports an error.
bool fi_calendar_fields(fi_calendar *calendar, int32_t day, int32_t fields[4]);

/// Opens icu::AlphabeticIndex of a locale, with the labels A to Z added. NULL if ICU's data can't be loaded. Takes half
/// a millisecond.
fi_index *fi_index_open(const char *locale);

void fi_index_close(fi_index *index);

int32_t fi_index_bucket_count(const fi_index *index);

/// Writes the UTF-8 label of a bucket, which is empty for texts outside of the index's scripts. Returns its length, or
/// -1 if the buffer is too short.
int32_t fi_index_label(const fi_index *index, int32_t bucket, char *label, int32_t capacity);

/// The bucket of UTF-16 text. Thread-safe.
int32_t fi_index_bucket(const fi_index *index, const uint16_t *text, int32_t length);

/// Writes, for each ASCII character, the bucket of all texts that consist of this character, or in which another ASCII
/// character follows it; -1 if these texts have different buckets, for example for C if CH is a letter. Returns false
/// if ICU reports an error. Takes several milliseconds: it reads all letters of more than one character.
bool fi_index_ascii_buckets(const fi_index *index, int16_t buckets[128]);

#ifdef __cplusplus
}
#endif
