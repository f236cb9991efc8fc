#include "base/crc32c.h"

/* What four bits do to the rest: the polynomial 0x1edc6f41, lowest bit first. What is summed
 * is small, which needs no larger table. */
static const uint32_t by_nibble[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t crc32c(const void *data, size_t size)
{
    const uint8_t *bytes = data;
    uint32_t sum = UINT32_MAX;

    for (size_t i = 0; i < size; i++) {
        sum ^= bytes[i];
        sum = (sum >> 4) ^ by_nibble[sum & 15];
        sum = (sum >> 4) ^ by_nibble[sum & 15];
    }
    return ~sum;
}
