#include <stddef.h>
#include <stdint.h>

// libFuzzer comes with the compiler, without a header (llvm.org/docs/LibFuzzer.html, "Using libFuzzer as a library").
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*body)(const uint8_t *input, size_t length));
