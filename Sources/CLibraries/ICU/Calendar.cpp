#include <unicode/gregocal.h>
#include <unicode/locid.h>
#include <unicode/timezone.h>

#include <cstring>
#include <memory>

#include "CFetchIndexICU.h"

// This file is C++, because ICU's C functions can't remove the Julian calendar from the Japanese calendar and similar
// ones, and can't list the names of a time zone.

fi_calendar *fi_calendar_open(const char *type) {
    UErrorCode status = U_ZERO_ERROR;
    icu::Locale locale("und");
    locale.setKeywordValue("calendar", type, status);
    std::unique_ptr<icu::Calendar> calendar(
        icu::Calendar::createInstance(icu::TimeZone::getGMT()->clone(), locale, status));
    // ICU silently uses the Gregorian calendar for an unknown one.
    if (U_FAILURE(status) || !calendar || std::strcmp(calendar->getType(), type) != 0) return nullptr;
    if (auto gregorian = dynamic_cast<icu::GregorianCalendar *>(calendar.get())) {
        gregorian->setGregorianChange(-1e300, status);
    }
    return U_SUCCESS(status) ? reinterpret_cast<fi_calendar *>(calendar.release()) : nullptr;
}

void fi_calendar_close(fi_calendar *calendar) { delete reinterpret_cast<icu::Calendar *>(calendar); }

bool fi_calendar_fields(fi_calendar *opaque, int32_t day, int32_t fields[4]) {
    auto calendar = reinterpret_cast<icu::Calendar *>(opaque);
    UErrorCode status = U_ZERO_ERROR;
    calendar->setTime((day + 0.5) * 86400000, status);  // noon
    fields[0] = calendar->get(UCAL_ERA, status);
    fields[1] = calendar->get(UCAL_YEAR, status);
    fields[2] = calendar->get(UCAL_MONTH, status);
    fields[3] = calendar->get(UCAL_IS_LEAP_MONTH, status);
    return U_SUCCESS(status);
}

int32_t fi_zone_other_name(
    const uint16_t *name, int32_t length, int32_t number, char *other, int32_t capacity) {
    UErrorCode status = U_ZERO_ERROR;
    icu::UnicodeString text(false, reinterpret_cast<const UChar *>(name), length);
    icu::UnicodeString found;
    if (number == 0) {
        icu::TimeZone::getCanonicalID(text, found, status);
    } else if (number <= icu::TimeZone::countEquivalentIDs(text)) {
        found = icu::TimeZone::getEquivalentID(text, number - 1);
    }
    if (U_FAILURE(status) || found.isEmpty() || found.length() > capacity) return -1;
    return found.extract(0, found.length(), other, static_cast<uint32_t>(capacity), US_INV);
}
