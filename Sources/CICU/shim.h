// ICU renames its functions by version (ucol_open becomes ucol_open_72), which Swift cannot follow.
// These inline functions give the few that are used a stable name.
#pragma once
#include <unicode/ucal.h>
#include <unicode/ucol.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>
#include <unicode/utf8.h>
#include <stdbool.h>
#include <stdint.h>

/// ucol_open. NULL when the locale or ICU's data cannot be had.
static inline UCollator *fi_collator_open(const char *locale) {
    UErrorCode status = U_ZERO_ERROR;
    UCollator *collator = ucol_open(locale, &status);
    if (U_SUCCESS(status)) return collator;
    if (collator) ucol_close(collator);
    return 0;
}

static inline void fi_collator_close(UCollator *collator) { ucol_close(collator); }

/// Levels compared: 1 letters, 2 and accents, 3 and case; numeric compares runs of digits by value.
static inline bool fi_collator_configure(UCollator *collator, int levels, bool caseLevel, bool numeric) {
    UErrorCode status = U_ZERO_ERROR;
    ucol_setStrength(collator, levels == 1 ? UCOL_PRIMARY : levels == 2 ? UCOL_SECONDARY : UCOL_TERTIARY);
    ucol_setAttribute(collator, UCOL_CASE_LEVEL, caseLevel ? UCOL_ON : UCOL_OFF, &status);
    ucol_setAttribute(collator, UCOL_NUMERIC_COLLATION, numeric ? UCOL_ON : UCOL_OFF, &status);
    return U_SUCCESS(status);
}

/// ucol_getVersion: four bytes that change whenever sort keys may.
static inline void fi_collator_version(const UCollator *collator, uint8_t version[4]) {
    ucol_getVersion(collator, version);
}

/// ucol_getSortKey of UTF-16 text; the length needed is returned even when it is larger than the buffer.
static inline int32_t fi_collator_sort_key(
    const UCollator *collator, const uint16_t *text, int32_t length, uint8_t *key, int32_t capacity) {
    return ucol_getSortKey(collator, (const UChar *)text, length, key, capacity);
}

/// UTF-8 to UTF-16, broken sequences as U+FFFD. Returns the length, or -1 when the buffer is too short.
static inline int32_t fi_utf16_from_utf8(const char *text, int32_t length, uint16_t *utf16, int32_t capacity) {
    UErrorCode status = U_ZERO_ERROR;
    int32_t needed = 0;
    u_strFromUTF8WithSub((UChar *)utf16, capacity, &needed, text, length, 0xFFFD, 0, &status);
    return U_SUCCESS(status) ? needed : -1;
}

/// u_getVersion, e.g. 72.1.0.0.
static inline void fi_icu_version(uint8_t version[4]) { u_getVersion(version); }

/// Full case folding (ß = ss) of UTF-16 text. Returns the length needed, or -1.
static inline int32_t fi_fold_case(const uint16_t *text, int32_t length, uint16_t *folded, int32_t capacity) {
    UErrorCode status = U_ZERO_ERROR;
    int32_t needed = u_strFoldCase(
        (UChar *)folded, capacity, (const UChar *)text, length, U_FOLD_CASE_DEFAULT, &status);
    return U_SUCCESS(status) || status == U_BUFFER_OVERFLOW_ERROR ? needed : -1;
}

/// Canonical decomposition (NFD, or NFC when composed). Returns the length needed, or -1.
static inline int32_t fi_normalize(
    bool composed, const uint16_t *text, int32_t length, uint16_t *normalized, int32_t capacity) {
    UErrorCode status = U_ZERO_ERROR;
    const UNormalizer2 *form = composed ? unorm2_getNFCInstance(&status) : unorm2_getNFDInstance(&status);
    if (U_FAILURE(status)) return -1;
    int32_t needed =
        unorm2_normalize(form, (const UChar *)text, length, (UChar *)normalized, capacity, &status);
    return U_SUCCESS(status) || status == U_BUFFER_OVERFLOW_ERROR ? needed : -1;
}

/// A calendar in a time zone, to ask for offsets. NULL when the zone is unknown.
static inline UCalendar *fi_zone_open(const uint16_t *name, int32_t length) {
    UErrorCode status = U_ZERO_ERROR;
    UChar canonical[128];
    UBool isSystem = 0;
    ucal_getCanonicalTimeZoneID((const UChar *)name, length, canonical, 128, &isSystem, &status);
    if (U_FAILURE(status)) return 0;
    UCalendar *zone = ucal_open((const UChar *)name, length, "en_US_POSIX", UCAL_GREGORIAN, &status);
    if (U_SUCCESS(status)) return zone;
    if (zone) ucal_close(zone);
    return 0;
}

static inline void fi_zone_close(UCalendar *zone) { ucal_close(zone); }

/// The offset from UTC in milliseconds at a moment (milliseconds since 1970), and the moments between
/// which it holds. False when ICU reports an error.
static inline bool fi_zone_offset(
    UCalendar *zone, double moment, int32_t *offset, double *start, double *end) {
    UErrorCode status = U_ZERO_ERROR;
    ucal_setMillis(zone, moment, &status);
    *offset = ucal_get(zone, UCAL_ZONE_OFFSET, &status) + ucal_get(zone, UCAL_DST_OFFSET, &status);
    if (U_FAILURE(status)) return false;
    if (!ucal_getTimeZoneTransitionDate(zone, UCAL_TZ_TRANSITION_PREVIOUS_INCLUSIVE, start, &status))
        *start = -1e300;
    if (!ucal_getTimeZoneTransitionDate(zone, UCAL_TZ_TRANSITION_NEXT, end, &status)) *end = 1e300;
    return U_SUCCESS(status);
}

/// ucal_getTZDataVersion, e.g. "2024a": section bounds change with it. NULL when it is not known.
static inline const char *fi_zone_data_version(void) {
    UErrorCode status = U_ZERO_ERROR;
    const char *version = ucal_getTZDataVersion(&status);
    return U_SUCCESS(status) ? version : 0;
}
