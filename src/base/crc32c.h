/* CRC-32C (Castagnoli): the checksum of iSCSI, ext4 and TFRecord files. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *data, size_t size);

#endif
