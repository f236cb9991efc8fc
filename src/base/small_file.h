/* Writes a small file so that a reader sees all of it or nothing: under another name first, then
 * renamed. */
#ifndef SUPERVISE_SMALL_FILE_H
#define SUPERVISE_SMALL_FILE_H

#include "base/buf.h"

/* Mode 0600; replaces a file of that name. 0 or errno, also of a text that has failed. */
int small_file_write(const char *dir, const char *name, const struct buf *text);

#endif
