#include <unicode/alphaindex.h>
#include <unicode/locid.h>
#include <unicode/ucol.h>
#include <unicode/uset.h>

#include <algorithm>
#include <memory>
#include <string>

#include "CFetchIndexICU.h"

// This file is C++, because ICU's alphabetic index has no C functions.

struct fi_index {
    std::string locale;
    std::unique_ptr<icu::AlphabeticIndex::ImmutableIndex> buckets;
};

fi_index *fi_index_open(const char *locale) {
    UErrorCode status = U_ZERO_ERROR;
    icu::AlphabeticIndex index(icu::Locale(locale), status);
    index.addLabels(icu::Locale::getEnglish(), status);
    std::unique_ptr<icu::AlphabeticIndex::ImmutableIndex> buckets(index.buildImmutableIndex(status));
    return U_SUCCESS(status) && buckets ? new fi_index{locale, std::move(buckets)} : nullptr;
}

void fi_index_close(fi_index *index) { delete index; }

int32_t fi_index_bucket_count(const fi_index *index) { return index->buckets->getBucketCount(); }

int32_t fi_index_label(const fi_index *index, int32_t number, char *label, int32_t capacity) {
    auto bucket = index->buckets->getBucket(number);
    if (!bucket || bucket->getLabelType() != U_ALPHAINDEX_NORMAL) return 0;
    std::string utf8;
    bucket->getLabel().toUTF8String(utf8);
    if (utf8.size() > static_cast<size_t>(capacity)) return -1;
    std::copy(utf8.begin(), utf8.end(), label);
    return static_cast<int32_t>(utf8.size());
}

int32_t fi_index_bucket(const fi_index *index, const uint16_t *text, int32_t length) {
    UErrorCode status = U_ZERO_ERROR;
    // Reads the buffer in place.
    icu::UnicodeString name(false, reinterpret_cast<const UChar *>(text), length);
    int32_t bucket = index->buckets->getBucketIndex(name, status);
    return U_SUCCESS(status) ? std::max(bucket, 0) : 0;
}

/// Sets the bucket of a character to -1 if the collation has a letter that begins with it and another ASCII character.
static bool forgetContractions(const char *locale, int16_t buckets[128]) {
    UErrorCode status = U_ZERO_ERROR;
    std::unique_ptr<UCollator, decltype(&ucol_close)> collator(ucol_open(locale, &status), ucol_close);
    std::unique_ptr<USet, decltype(&uset_close)> letters(uset_openEmpty(), uset_close);
    ucol_getContractionsAndExpansions(collator.get(), letters.get(), nullptr, false, &status);
    for (int32_t item = 0, count = uset_getItemCount(letters.get()); item < count && U_SUCCESS(status); item++) {
        UChar32 first, last;
        UChar text[64];
        int32_t length = uset_getItem(letters.get(), item, &first, &last, text, 64, &status);
        if (length >= 2 && text[0] < 128 && text[1] < 128) buckets[text[0]] = -1;
    }
    return U_SUCCESS(status);
}

bool fi_index_ascii_buckets(const fi_index *index, int16_t buckets[128]) {
    for (uint16_t character = 0; character < 128; character++) {
        // U+FFFF sorts after all other characters. So the texts that begin with the character are between these two
        // texts, unless the collation reads the character and the next one as one letter.
        uint16_t bounds[2] = {character, 0xFFFF};
        int32_t least = fi_index_bucket(index, bounds, 1);
        buckets[character] = least == fi_index_bucket(index, bounds, 2) ? static_cast<int16_t>(least) : -1;
    }
    return forgetContractions(index->locale.c_str(), buckets);
}
