// SHA-256 of a body, for `call`.
#pragma once
#include <stddef.h>

// Writes 64 hexadecimal digits and a NUL.
void sha256(const void *bytes, size_t length, char *digits);
