// Empty: this target only finds and links ICU; CFetchIndexICU includes its headers.
