/* Small files that one side writes while another may read. */
#ifndef BASE_SMALL_FILE_H
#define BASE_SMALL_FILE_H

#include "base/buf.h"

/* Appends at most `most` bytes of it; nothing if it is not there, a link, or can not be read. */
void small_file_read(const char *path, size_t most, struct buf *out);

/* Under another name first, then renamed, so that a reader sees all of it or nothing. Mode 0600;
 * replaces a file of that name. 0 or errno, also of a text that has failed. */
int small_file_write(const char *dir, const char *name, const struct buf *text);

#endif
