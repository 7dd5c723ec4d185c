// ICU renames its functions by version (ucol_open becomes ucol_open_72), which Swift cannot follow, and its headers
// clash with those of Foundation's own ICU. These functions give the few that are used a stable name, and no header of
// ICU reaches Swift.
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

/// Whether ICU has data of the locale's language or a collation for it; else it would silently use its root's.
bool fi_locale_is_known(const char *locale);

/// ucol_open. NULL when the locale or ICU's data cannot be had.
fi_collator *fi_collator_open(const char *locale);

void fi_collator_close(fi_collator *collator);

/// Levels compared: 1 letters, 2 and accents, 3 and case; numeric compares runs of digits by value.
bool fi_collator_configure(fi_collator *collator, int levels, bool caseLevel, bool numeric);

/// ucol_getVersion: four bytes that change whenever sort keys may.
void fi_collator_version(const fi_collator *collator, uint8_t version[4]);

/// ucol_getSortKey of UTF-16 text; the length needed is returned even when it is larger than the buffer.
int32_t fi_collator_sort_key(
    const fi_collator *collator, const uint16_t *text, int32_t length, uint8_t *key, int32_t capacity);

/// UTF-8 to UTF-16, broken sequences as U+FFFD. Returns the length, or -1 when the buffer is too short.
int32_t fi_utf16_from_utf8(const char *text, int32_t length, uint16_t *utf16, int32_t capacity);

/// u_getVersion, e.g. 72.1.0.0.
void fi_icu_version(uint8_t version[4]);

/// ulocdata_getCLDRVersion, e.g. 42.0.0.0: the data of index labels and of calendars. False when it is not known.
bool fi_cldr_version(uint8_t version[4]);

/// Full case folding (ß = ss) of UTF-16 text. Returns the length needed, or -1.
int32_t fi_fold_case(const uint16_t *text, int32_t length, uint16_t *folded, int32_t capacity);

/// Canonical decomposition (NFD, or NFC when composed). Returns the length needed, or -1.
int32_t fi_normalize(
    bool composed, const uint16_t *text, int32_t length, uint16_t *normalized, int32_t capacity);

/// A calendar in a time zone, to ask for offsets. NULL when the zone is unknown.
fi_zone *fi_zone_open(const uint16_t *name, int32_t length);

void fi_zone_close(fi_zone *zone);

/// The offset from UTC in milliseconds at a moment (milliseconds since 1970), and the moments between
/// which it holds. False when ICU reports an error.
bool fi_zone_offset(
    fi_zone *zone, double moment, int32_t *offset, double *start, double *end);

/// Another name of a zone, from number 0 on: the canonical one, then all that ICU takes for the same. Returns its length,
/// or -1 when there are no more.
int32_t fi_zone_other_name(
    const uint16_t *name, int32_t length, int32_t number, char *other, int32_t capacity);

/// ucal_getTZDataVersion, e.g. "2024a": section bounds change with it. NULL when it is not known.
const char *fi_zone_data_version(void);

/// Why a regular expression does not compile: u_errorName, and where in the pattern.
typedef struct {
    const char *name;
    int32_t offset;
} fi_regex_failure;

/// uregex_open. The limits are ICU's: about milliseconds a match, and bytes for going back. NULL when the pattern does
/// not compile.
fi_regex *fi_regex_open(
    const uint16_t *pattern, int32_t length, bool ignoresCase, int32_t timeLimit, int32_t stackLimit,
    fi_regex_failure *failure);

void fi_regex_close(fi_regex *regex);

/// Whether all of a UTF-8 text matches: 1 or 0, or -1 when ICU gives up.
int32_t fi_regex_matches(fi_regex *regex, const char *text, int32_t length);

/// A calendar by its name in CLDR, e.g. "japanese", in UTC and, where it is a kind of Gregorian calendar, without the
/// change from the Julian one. NULL when ICU does not have it. For one thread at a time.
fi_calendar *fi_calendar_open(const char *type);

void fi_calendar_close(fi_calendar *calendar);

/// The era, year, month from 0 and 1 for a leap month of a day, counted since 1 January 1970. False when ICU reports an
/// error.
bool fi_calendar_fields(fi_calendar *calendar, int32_t day, int32_t fields[4]);

/// icu::AlphabeticIndex of a locale, with the labels A to Z added. NULL when ICU's data cannot be had. Half a
/// millisecond.
fi_index *fi_index_open(const char *locale);

void fi_index_close(fi_index *index);

int32_t fi_index_bucket_count(const fi_index *index);

/// The UTF-8 label of a bucket, empty for texts before, between and after the scripts of the index. Returns its length,
/// or -1 when the buffer is too short.
int32_t fi_index_label(const fi_index *index, int32_t bucket, char *label, int32_t capacity);

/// The bucket of UTF-16 text. Any number of threads may ask.
int32_t fi_index_bucket(const fi_index *index, const uint16_t *text, int32_t length);

/// For each ASCII character the bucket of all texts that begin with it and are over, or go on with another ASCII
/// character; -1 where there is no such bucket, as for C where CH is a letter. False when ICU reports an error. Several
/// milliseconds: it reads all letters of more than one character.
bool fi_index_ascii_buckets(const fi_index *index, int16_t buckets[128]);

#ifdef __cplusplus
}
#endif
