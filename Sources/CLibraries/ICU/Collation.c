#include "CFetchIndexICU.h"

#include <string.h>

#include <unicode/ucal.h>
#include <unicode/ucol.h>
#include <unicode/uloc.h>
#include <unicode/ulocdata.h>
#include <unicode/unorm2.h>
#include <unicode/uregex.h>
#include <unicode/ures.h>
#include <unicode/ustring.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

bool fi_locale_is_known(const char *locale) {
    if (strcmp(locale, "root") == 0 || strcmp(locale, "und") == 0) return true;
    char language[ULOC_LANG_CAPACITY];
    UErrorCode status = U_ZERO_ERROR;
    if (uloc_getLanguage(locale, language, sizeof language, &status) <= 0 || U_FAILURE(status)) return false;
    if (status == U_STRING_NOT_TERMINATED_WARNING) return false;
    status = U_ZERO_ERROR;
    ures_close(ures_open(NULL, language, &status));
    if (U_SUCCESS(status) && status != U_USING_DEFAULT_WARNING) return true;
    status = U_ZERO_ERROR;
    ucol_close(ucol_open(language, &status));
    return U_SUCCESS(status) && status != U_USING_DEFAULT_WARNING;
}

fi_collator *fi_collator_open(const char *locale) {
    UErrorCode status = U_ZERO_ERROR;
    UCollator *collator = ucol_open(locale, &status);
    if (U_SUCCESS(status)) return (fi_collator *)collator;
    if (collator) ucol_close(collator);
    return 0;
}

void fi_collator_close(fi_collator *collator) { ucol_close((UCollator *)collator); }

bool fi_collator_configure(fi_collator *opaque, int levels, bool caseLevel, bool numeric) {
    UCollator *collator = (UCollator *)opaque;
    UErrorCode status = U_ZERO_ERROR;
    ucol_setStrength(collator, levels == 1 ? UCOL_PRIMARY : levels == 2 ? UCOL_SECONDARY : UCOL_TERTIARY);
    ucol_setAttribute(collator, UCOL_CASE_LEVEL, caseLevel ? UCOL_ON : UCOL_OFF, &status);
    ucol_setAttribute(collator, UCOL_NUMERIC_COLLATION, numeric ? UCOL_ON : UCOL_OFF, &status);
    return U_SUCCESS(status);
}

void fi_collator_version(const fi_collator *collator, uint8_t version[4]) {
    ucol_getVersion((const UCollator *)collator, version);
}

int32_t fi_collator_sort_key(
    const fi_collator *collator, const uint16_t *text, int32_t length, uint8_t *key, int32_t capacity) {
    return ucol_getSortKey((const UCollator *)collator, (const UChar *)text, length, key, capacity);
}

int32_t fi_utf16_from_utf8(const char *text, int32_t length, uint16_t *utf16, int32_t capacity) {
    UErrorCode status = U_ZERO_ERROR;
    int32_t needed = 0;
    u_strFromUTF8WithSub((UChar *)utf16, capacity, &needed, text, length, 0xFFFD, 0, &status);
    return U_SUCCESS(status) ? needed : -1;
}

void fi_icu_version(uint8_t version[4]) { u_getVersion(version); }

bool fi_cldr_version(uint8_t version[4]) {
    UErrorCode status = U_ZERO_ERROR;
    ulocdata_getCLDRVersion(version, &status);
    return U_SUCCESS(status);
}

int32_t fi_fold_case(const uint16_t *text, int32_t length, uint16_t *folded, int32_t capacity) {
    UErrorCode status = U_ZERO_ERROR;
    int32_t needed = u_strFoldCase(
        (UChar *)folded, capacity, (const UChar *)text, length, U_FOLD_CASE_DEFAULT, &status);
    return U_SUCCESS(status) || status == U_BUFFER_OVERFLOW_ERROR ? needed : -1;
}

int32_t fi_normalize(
    bool composed, const uint16_t *text, int32_t length, uint16_t *normalized, int32_t capacity) {
    UErrorCode status = U_ZERO_ERROR;
    const UNormalizer2 *form = composed ? unorm2_getNFCInstance(&status) : unorm2_getNFDInstance(&status);
    if (U_FAILURE(status)) return -1;
    int32_t needed =
        unorm2_normalize(form, (const UChar *)text, length, (UChar *)normalized, capacity, &status);
    return U_SUCCESS(status) || status == U_BUFFER_OVERFLOW_ERROR ? needed : -1;
}

fi_zone *fi_zone_open(const uint16_t *name, int32_t length) {
    UErrorCode status = U_ZERO_ERROR;
    UChar canonical[128];
    UBool isSystem = 0;
    ucal_getCanonicalTimeZoneID((const UChar *)name, length, canonical, 128, &isSystem, &status);
    if (U_FAILURE(status)) return 0;
    UCalendar *zone = ucal_open((const UChar *)name, length, "en_US_POSIX", UCAL_GREGORIAN, &status);
    if (U_SUCCESS(status)) return (fi_zone *)zone;
    if (zone) ucal_close(zone);
    return 0;
}

void fi_zone_close(fi_zone *zone) { ucal_close((UCalendar *)zone); }

bool fi_zone_offset(
    fi_zone *opaque, double moment, int32_t *offset, double *start, double *end) {
    UCalendar *zone = (UCalendar *)opaque;
    UErrorCode status = U_ZERO_ERROR;
    ucal_setMillis(zone, moment, &status);
    *offset = ucal_get(zone, UCAL_ZONE_OFFSET, &status) + ucal_get(zone, UCAL_DST_OFFSET, &status);
    if (U_FAILURE(status)) return false;
    if (!ucal_getTimeZoneTransitionDate(zone, UCAL_TZ_TRANSITION_PREVIOUS_INCLUSIVE, start, &status))
        *start = -1e300;
    if (!ucal_getTimeZoneTransitionDate(zone, UCAL_TZ_TRANSITION_NEXT, end, &status)) *end = 1e300;
    return U_SUCCESS(status);
}

const char *fi_zone_data_version(void) {
    UErrorCode status = U_ZERO_ERROR;
    const char *version = ucal_getTZDataVersion(&status);
    return U_SUCCESS(status) ? version : 0;
}

fi_regex *fi_regex_open(
    const uint16_t *pattern, int32_t length, bool ignoresCase, int32_t timeLimit, int32_t stackLimit,
    fi_regex_failure *failure) {
    UErrorCode status = U_ZERO_ERROR;
    UParseError error = {0, 0, {0}, {0}};
    URegularExpression *regex = uregex_open(
        (const UChar *)pattern, length, ignoresCase ? UREGEX_CASE_INSENSITIVE : 0, &error, &status);
    if (U_SUCCESS(status)) uregex_setTimeLimit(regex, timeLimit, &status);
    if (U_SUCCESS(status)) uregex_setStackLimit(regex, stackLimit, &status);
    if (U_SUCCESS(status)) return (fi_regex *)regex;
    failure->name = u_errorName(status);
    failure->offset = error.offset > 0 ? error.offset : 0;
    if (regex) uregex_close(regex);
    return 0;
}

void fi_regex_close(fi_regex *regex) { uregex_close((URegularExpression *)regex); }

int32_t fi_regex_matches(fi_regex *opaque, const char *text, int32_t length) {
    URegularExpression *regex = (URegularExpression *)opaque;
    UErrorCode status = U_ZERO_ERROR;
    UText utf8 = UTEXT_INITIALIZER;
    utext_openUTF8(&utf8, text ? text : "", length, &status);
    uregex_setUText(regex, &utf8, &status);
    UBool matches = uregex_matches(regex, 0, &status);
    utext_close(&utf8);
    return U_SUCCESS(status) ? matches != 0 : -1;
}
