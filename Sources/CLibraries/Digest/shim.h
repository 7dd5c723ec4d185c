// SHA-256 from libmd; Apple's systems have it in CommonCrypto.
#pragma once
#ifndef __APPLE__
#include <sha2.h>
#endif
