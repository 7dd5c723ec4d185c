// Empty: this target only finds and links ICU; CICU includes its headers.
